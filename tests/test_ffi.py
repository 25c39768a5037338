"""`jax.ffi`: calls of foreign functions. LAPACK's, which jaxlib brings, are there without a compiler."""

from __future__ import annotations

import ctypes
import os
from importlib import import_module

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import ffi
from minijax.lax.attributes import FrozenDict, HashableArray, attribute_text
from tests.oracle import both

X = np.arange(6, dtype="float32").reshape(2, 3)
A = np.sin(np.arange(48, dtype="float32")).reshape(2, 4, 6)  # of full rank


def call(jx, name, results, *args, attributes=None, **options):
    return import_module(f"{jx.__name__}.ffi").ffi_call(name, results, **options)(*args, **(attributes or {}))


def geqrf(jx, x, **options):
    """A = QR, the factors packed in place; LAPACK wants columns after columns."""
    jx.jit(jx.numpy.linalg.qr).lower(jx.ShapeDtypeStruct((2, 2), "float32"))  # registers LAPACK
    columns = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    taus = jx.ShapeDtypeStruct((*x.shape[:-2], min(x.shape[-2:])), x.dtype)
    return call(jx, "lapack_sgeqrf_ffi", [x, taus], x, input_output_aliases={0: 0},
                input_layouts=[columns], output_layouts=[columns, None], **options)


METHODS = ["expand_dims", "broadcast_all", "sequential", "sequential_unrolled", "legacy_vectorized"]


def test_calls():
    both(lambda jx: lambda x: geqrf(jx, x), A)
    both(lambda jx: jx.jit(lambda x: geqrf(jx, x)), A[0])
    both(lambda jx: lambda x: jx.lax.map(lambda x: geqrf(jx, x), x), A)


@pytest.mark.parametrize("method", METHODS)
def test_batches(method):
    both(lambda jx: jx.vmap(lambda x: geqrf(jx, x, vmap_method=method)), A)
    both(lambda jx: jx.make_jaxpr(jx.vmap(lambda x, y: call(
        jx, "t", (x, y), x, y, vmap_method=method), in_axes=(0, None))), X, X)


ATTRIBUTES = {"n": np.arange(3), "d": {"a": 1}, "s": "text", "f": np.float32(2), "t": (1, 2.5, True)}


def test_jaxprs():
    both(lambda jx: jx.make_jaxpr(lambda x: call(
        jx, "target", (jx.ShapeDtypeStruct((2,), "int8"), x), x, attributes=ATTRIBUTES,
        has_side_effect=True, input_output_aliases={0: 1})), X)
    both(lambda jx: jx.make_jaxpr(lambda x: call(
        jx, "target", x, x, custom_call_api_version=2, legacy_backend_config="12", output_layouts=(0, 1))), X)


REFUSED = {
    "jvp": (ValueError, lambda jx, x: jx.jvp(lambda x: call(jx, "t", x, x), (x,), (x,))),
    "vmap": (NotImplementedError, lambda jx, x: jx.vmap(lambda x: call(jx, "t", x, x))(x)),
    "method": (ValueError, lambda jx, x: call(jx, "t", x, x, vmap_method="all")),
    "unknown target": ("JaxRuntimeError", lambda jx, x: call(jx, "no such target", x, x)),
    "result": (ValueError, lambda jx, x: call(jx, "t", (x, ()), x)),
    "no result": (ValueError, lambda jx, x: call(jx, "t", None, x)),
    "alias input": (ValueError, lambda jx, x: call(jx, "t", x, x, input_output_aliases={1: 0})),
    "alias output": (ValueError, lambda jx, x: call(jx, "t", x, x, input_output_aliases={0: 1})),
    "alias type": (ValueError, lambda jx, x: call(
        jx, "t", jx.ShapeDtypeStruct((2, 3), "int32"), x, input_output_aliases={0: 0})),
    "alias layout": (ValueError, lambda jx, x: call(
        jx, "t", x, x, input_layouts=[(1, 0)], input_output_aliases={0: 0})),
    "layouts": (ValueError, lambda jx, x: call(jx, "t", x, x, input_layouts=[])),
    "output layouts": (ValueError, lambda jx, x: call(jx, "t", (x,), x, output_layouts=[])),
    "legacy": (ValueError, lambda jx, x: call(jx, "t", x, x, legacy_backend_config="1")),
    "attributes": (ValueError, lambda jx, x: call(
        jx, "t", x, x, attributes={"a": 1}, custom_call_api_version=2)),
    "list": (TypeError, lambda jx, x: call(jx, "t", x, x, attributes={"a": [1]})),
    "None": (TypeError, lambda jx, x: call(jx, "t", x, x, attributes={"a": None})),
    "complex": (TypeError, lambda jx, x: call(jx, "t", x, x, attributes={"a": 1j})),
    "type id": (ValueError, lambda jx, x: import_module(f"{jx.__name__}.ffi").register_ffi_type_id("t", x)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    error, program = REFUSED[name]
    both(lambda jx: lambda x: program(jx, x), X, raises=error)


def test_modules():
    text = lambda **options: minijax.jit(lambda x: call(minijax, "t", x, x, **options)).lower(X).as_text()
    assert "has_side_effect = true" in text(has_side_effect=True)
    assert 'backend_config = "12345"' in text(custom_call_api_version=2, legacy_backend_config="12345")
    assert "operand_index = 0" in text(input_output_aliases={0: 0})
    assert "operand_layouts = [dense<[0, 1]> : tensor<2xindex>]" in text(input_layouts=[(1, 0)])
    assert "@t" in minijax.jit(lambda: call(minijax, "t", (), has_side_effect=True)).lower().as_text()
    key = minijax.jit(lambda k: call(minijax, "t", (), k, has_side_effect=True)).lower(minijax.random.key(0))
    assert "@t(%0)" in key.as_text() and "tensor<2xui32>) -> ()" in key.as_text()
    token = minijax.lax.create_token()
    with pytest.raises(NotImplementedError, match="has_side_effect=True"):
        call(minijax, "t", (), token)


# Attributes as text, and what MLIR's parser makes of them.
TEXTS = {
    "b": (True, "true"), "i": (3, "3 : i64"), "u": (np.uint8(3), "3 : ui8"),
    "f": (0.5, "5.000000e-01 : f64"), "h": (jnp.bfloat16.dtype.type(1.5), "1.500000e+00 : bf16"),
    "nan": (np.float32("nan"), "0x7FC00000 : f32"), "s": ('q"\\\n\xe9', '"q\\22\\\\\\0A\\C3\\A9"'),
    "a": (np.array([1.5, 2.5], "float32"), "dense<[1.500000e+00, 2.500000e+00]> : tensor<2xf32>"),
    "m": (np.array([True, False]), "dense<[true, false]> : tensor<2xi1>"),
    "e": (np.zeros((0, 2)), "dense<> : tensor<0x2xf64>"), "z": (np.array(7), "dense<7> : tensor<i64>"),
    "t": ((1, "x"), '[1, "x"]'), "d": ({"x y": 1, "z": 2.0}, '{"x y" = 1 : i64, z = 2.000000e+00 : f64}'),
    "dtype": (np.dtype("int8"), "i8"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_attributes(name):
    value, expected = TEXTS[name]
    lowered = minijax.jit(lambda x: call(minijax, "t", x, x, attributes={"v": value})).lower(X)
    assert f"{{v = {expected}}}" in str(lowered.compiler_ir())


def test_parameters_have_hashes():
    array, same = HashableArray(np.arange(3)), HashableArray(np.arange(3))
    assert array == same and hash(array) == hash(same) and array != HashableArray(np.arange(4))
    with pytest.raises(ValueError, match="read-only"):
        array.val[0] = 1
    assert FrozenDict({"a": 1}) == FrozenDict({"a": 1}) and len(FrozenDict({})) == 0
    with pytest.raises(TypeError, match="No attribute handler"):
        attribute_text(object())


def test_a_rule_that_calls_a_foreign_function():
    from minijax.interpreters import mlir

    packed_p = minijax.extend.core.Primitive("packed")
    packed_p.multiple_results = True
    packed_p.def_abstract_eval(lambda x: [x, x.update(shape=x.shape[:-1])])
    rule = ffi.ffi_lowering("lapack_sgeqrf_ffi", operand_layouts=[(0, 1)], result_layouts=[(0, 1), None],
                            operand_output_aliases={0: 0})
    mlir.register_lowering(packed_p, rule)
    x = A[0, :, :4]
    expected = geqrf(minijax, x)
    for out, wanted in zip(minijax.jit(packed_p.bind)(x), expected):
        np.testing.assert_array_equal(out, wanted)
    with pytest.raises(NotImplementedError, match="called_computations"):
        ffi.build_ffi_lowering_function("t", called_computations=())(None)


def test_shard_map():
    mesh = minijax.sharding.Mesh(np.array(minijax.devices()), ("i",))
    x = np.tile(A[:1], (mesh.size, 1, 1))
    split = minijax.shard_map(lambda x: geqrf(minijax, x), mesh=mesh, in_specs=minijax.P("i"),
                              out_specs=minijax.P("i"))
    for f in (split, minijax.jit(split)):
        for out, expected in zip(f(x), geqrf(minijax, A[0])):
            np.testing.assert_allclose(out, np.broadcast_to(expected, out.shape), rtol=1e-6)
    ffi.register_ffi_target_as_batch_partitionable("lapack_sgeqrf_ffi")


def test_the_library_is_there():
    for header in ("c_api.h", "api.h", "ffi.h"):
        assert os.path.exists(os.path.join(ffi.include_dir(), "xla", "ffi", "api", header))
    ffi.register_ffi_target("minijax test: abs", ffi.pycapsule(ctypes.CDLL(None).abs), api_version=0)
