"""What JAX's libraries use and users seldom do. Each program is a library's habit, made small."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gzip
import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from tests.oracle import both, subject


class Named:
    """A callable whose `__name__` is not a string, as a module with a field of that name has."""

    __name__ = 3  # type: ignore[assignment]

    def __call__(self, x):
        return x * x


class Annotated:
    """A callable whose annotations are a view, as modules have whose classes wrap their fields."""

    __annotations__ = MappingProxyType({"x": "float"})  # type: ignore[assignment]

    def __call__(self, x):
        return x * x


def part(jx: Any, name: str) -> Any:
    """The module `name` of the library."""
    return import_module(f"{jx.__name__}.{name}")


def struct(jx: Any, *shape: int, dtype: str = "float32", **kwargs: Any) -> Any:
    return jx.ShapeDtypeStruct(shape, dtype, **kwargs)


# ----------------------------------------------------------------------------------------------
# Custom rules see arrays


def is_array(jx: Any, x: Any) -> bool:
    return isinstance(x, (jx.Array, jx.core.Tracer))


def operands_of_rules(jx: Any, wrap: Any, value: Any) -> list:
    """What the rules of a custom derivative see of a literal."""
    seen: list = []

    def look(where, *values):
        seen.append((where, [str(v.dtype) for v in values]))

    f = jx.custom_vjp(lambda x, n: x * n)

    def fwd(x, n):
        look("fwd", n)
        assert is_array(jx, n)
        return x * n, n

    def bwd(n, g):
        look("bwd", n)
        return g * n, None

    f.defvjp(fwd, bwd)
    h = jx.custom_jvp(lambda x, n: x * n)

    @h.defjvp
    def h_jvp(primals, tangents):
        look("jvp", primals[1], tangents[1])
        assert is_array(jx, primals[1])
        return primals[0] * primals[1], tangents[0] * primals[1]

    for function in (f, h):
        jx.grad(wrap(jx)(lambda x, function=function: function(x, jx.numpy.array(value))))(2.0)
    return seen


@pytest.mark.parametrize("value", [3, 3.5, np.int8(3), np.float32(2), np.uint16(1)])
@pytest.mark.parametrize("wrap", [lambda jx: jx.jit, lambda jx: lambda f: jx.jit(jx.jit(f))],
                         ids=["jit", "twice"])
def test_literals_reach_rules_as_arrays(wrap, value):
    both(lambda jx: lambda: operands_of_rules(jx, wrap, value))


def residual_types(jx: Any, transformed: Any) -> list:
    seen: list = []
    f = jx.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, True),
             lambda r, g: (seen.append(type(r) is bool), (2 * g,))[1])
    transformed(jx, f)
    return seen


@pytest.mark.parametrize("transformed", [
    lambda jx, f: jx.grad(f)(2.0), lambda jx, f: jx.jit(jx.grad(f))(2.0),
    lambda jx, f: jx.grad(jx.jit(f))(2.0), lambda jx, f: jx.vmap(jx.grad(f))(np.ones(2, "f")),
    lambda jx, f: jx.vjp(f, 2.0)[1](1.0)], ids=["grad", "jit", "of jit", "vmap", "vjp"])
def test_bool_residual_stays_bool(transformed):
    both(lambda jx: lambda: residual_types(jx, transformed))


@pytest.mark.parametrize("symbolic", [False, True])
def test_zero_from_primal_takes_trees(symbolic):
    both(lambda jx: lambda: jx.tree.map(
        lambda z: (str(z.dtype), z.shape), part(jx, "custom_derivatives").zero_from_primal(
            {"a": 1.0, "b": [jx.numpy.ones(2), None]}, symbolic_zeros=symbolic)))
    both(lambda jx: lambda: part(jx, "custom_derivatives").zero_from_primal([1.0, np.ones(2)]))


# ----------------------------------------------------------------------------------------------
# Structs are values of traced programs


def like_of_tracer(jx: Any, x: Any) -> list[str]:
    seen: list[str] = []
    jx.jit(lambda x: seen.append(str(jx.ShapeDtypeStruct.like(x))))(x)
    return seen


STRUCTS = {
    "result": lambda jx: jx.eval_shape(lambda: struct(jx, 2)),
    "weak": lambda jx: jx.eval_shape(lambda x: (x, struct(jx, dtype="int8", weak_type=True)), 1.0),
    "jaxpr": lambda jx: jx.make_jaxpr(lambda: struct(jx, 2))(),
    "scalar's jaxpr": lambda jx: jx.make_jaxpr(lambda: struct(jx))(),
    "operand": lambda jx: jx.make_jaxpr(lambda x: jx.lax.sin(struct(jx, 2)))(1.0),
    "typeof": lambda jx: str(jx.typeof(struct(jx, 2, 3, dtype="int8"))),
    "vmap": lambda jx: jx.eval_shape(jx.vmap(lambda x: struct(jx, 3)), np.ones(2)),
    "grad": lambda jx: jx.eval_shape(jx.grad(lambda x: struct(jx)), 1.0),
    "like array": lambda jx: jx.ShapeDtypeStruct.like(jx.numpy.ones((2, 1), "int8")),
    "like number": lambda jx: jx.ShapeDtypeStruct.like(1.0),
    "like struct": lambda jx: jx.ShapeDtypeStruct.like(struct(jx, 2, weak_type=True)),
    "like keys": lambda jx: jx.ShapeDtypeStruct.like(jx.random.key(0)),
    "like committed": lambda jx: jx.ShapeDtypeStruct.like(
        jx.device_put(np.ones(2, "f"), jx.devices()[1])),
    "like committed keys": lambda jx: jx.ShapeDtypeStruct.like(
        jx.device_put(jx.random.key(0), jx.devices()[1])),
    "like placed struct": lambda jx: jx.ShapeDtypeStruct.like(struct(
        jx, 2, sharding=jx.sharding.SingleDeviceSharding(jx.devices()[1]))),
    "like split": lambda jx: on_a_mesh(jx, lambda x: jx.ShapeDtypeStruct.like(x)),
    "like split tracer": lambda jx: on_a_mesh(jx, lambda x: like_of_tracer(jx, x)),
    "like list": lambda jx: jx.ShapeDtypeStruct.like([1.0]),
    "jit": lambda jx: jx.jit(lambda: struct(jx, 2))(),
    "jnp": lambda jx: jx.numpy.sin(struct(jx, 2)),
    "vmap now": lambda jx: jx.vmap(lambda x: struct(jx))(np.ones(2)),
}
REFUSED_STRUCTS = {"jit", "jnp", "like list", "vmap now"}


@pytest.mark.parametrize("name", STRUCTS)
def test_structs_as_values(name):
    def program(jx):
        def run():
            out = STRUCTS[name](jx)
            return str(out) if "Struct" in str(type(out)) or type(out) is tuple else out
        return run

    both(program, raises=TypeError if name in REFUSED_STRUCTS else None)


def reads_the_rank(jx: Any) -> Any:
    return jx.jit(lambda x, s: x + len(s.shape))


UNREAD_STRUCTS = {
    "argument": lambda jx, s: reads_the_rank(jx)(1.0, s),
    "twice": lambda jx, s: [f(x, s) for f in [reads_the_rank(jx)] for x in (1.0, 2.0)],
    "tree": lambda jx, s: jx.jit(lambda x, t: x + t["a"][0].shape[0])(1.0, {"a": [s]}),
    "keyword": lambda jx, s: jx.jit(lambda x, *, t: x + t["a"][0].shape[0])(1.0, t={"a": [s]}),
    "nested": lambda jx, s: jx.jit(lambda x, s: 2 * reads_the_rank(jx)(x, s))(1.0, s),
    "closed over": lambda jx, s: jx.jit(lambda x: 2 * reads_the_rank(jx)(x, s))(1.0),
    "both": lambda jx, s: jx.jit(lambda x, t: reads_the_rank(jx)(x, s) + reads_the_rank(jx)(x, t))(1.0, s),
    "deep": lambda jx, s: jx.jit(lambda x, s: jx.jit(lambda s, x: reads_the_rank(jx)(x, s))(s, x))(1.0, s),
    "donated": lambda jx, s: jx.jit(lambda s, x: jx.jit(lambda s, x: x + 1.0, donate_argnums=1)(s, x))(s, 1.0),
    "split": lambda jx, s: on_a_mesh(jx, lambda x: jx.jit(lambda x, s: reads_the_rank(jx)(x, s))(x, s)),
    "result": lambda jx, s: str(jx.eval_shape(lambda x: jx.jit(lambda x, s: x + s)(x, s), 1.0)),
    "lowered": lambda jx, s: str(jx.jit(lambda x, s: x + s).lower(1.0, s).out_info),
    "grad": lambda jx, s: jx.grad(lambda x: reads_the_rank(jx)(x, s))(1.0),
    "vmap": lambda jx, s: jx.vmap(lambda x: reads_the_rank(jx)(x, s))(np.ones(3, "f")),
}
READ_STRUCTS = {
    "read": lambda jx, s: jx.jit(lambda x, s: x + s)(1.0, s),
    "read in a tree": lambda jx, s: jx.jit(lambda x, t: x + t["a"][0])(1.0, {"a": [s]}),
    "read by keyword": lambda jx, s: jx.jit(lambda x, *, t: x + t["a"][0])(1.0, t={"a": [s]}),
    "read deep": lambda jx, s: jx.jit(lambda x, s: jx.jit(lambda s, y: y * s)(s, x))(1.0, s),
    "returned": lambda jx, s: jx.jit(lambda x, s: (x, s))(1.0, s),
    "kept": lambda jx, s: jx.jit(lambda x, s: x, keep_unused=True)(1.0, s),
}


def on_a_mesh(jx: Any, f: Any) -> Any:
    """`f` of an array that is split over a mesh."""
    mesh = jx.make_mesh((2,), ("i",))
    return f(jx.device_put(np.arange(4, dtype="f"), jx.NamedSharding(mesh, jx.P("i"))))


@pytest.mark.parametrize("name", UNREAD_STRUCTS)
def test_structs_are_arguments_where_no_value_is_read(name):
    both(lambda jx: lambda: UNREAD_STRUCTS[name](jx, struct(jx, 2)))


@pytest.mark.parametrize("name", READ_STRUCTS)
def test_structs_have_no_value_to_read(name):
    both(lambda jx: lambda: READ_STRUCTS[name](jx, struct(jx, 2)), raises=TypeError)


def test_which_argument_has_no_value():
    def words(jx):
        try:
            jx.jit(lambda x, *, t: x + t["a"][0])(1.0, t={"a": [struct(jx, 2)]})
        except TypeError as error:
            return str(error).partition(" of type")[0]
    both(lambda jx: lambda: words(jx))


# ----------------------------------------------------------------------------------------------
# Arguments that libraries pass


def recorded(jx: Any, seen: list) -> Any:
    def dot_general(*args, **kwargs):
        seen.append([np.shape(x) for x in args[:2]] + [args[2]])
        return 2 * jx.lax.dot_general(*args, **kwargs)
    return dot_general


@pytest.mark.parametrize("subscripts, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 4)]),
    ("ij,j,k->ik", [(2, 3), (3,), (2,)]), ("ii->i", [(2, 2)])])
def test_einsum_calls_the_given_dot_general(subscripts, shapes):
    def program(jx):
        def run():
            seen: list = []
            arrays = [np.ones(shape, "float32") for shape in shapes]
            return jx.numpy.einsum(subscripts, *arrays, _dot_general=recorded(jx, seen)), seen
        return run

    both(program)


X = np.arange(6, dtype="float32")
SHAPES = [np.array([2, 3]), np.array([3, -1]), np.array(6), np.int64(6)]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shapes_may_be_numpy_arrays(shape):
    both(lambda jx: lambda x: (jx.numpy.reshape(x, shape), jx.numpy.asarray(x).reshape(shape),
                               jx.jit(lambda x: x.reshape(shape))(x)), X)


def test_shapes_may_be_arrays():
    both(lambda jx: lambda x: jx.numpy.reshape(x, jx.numpy.array([2, 3])), X)


@pytest.mark.parametrize("shape, dims", [((3, 2), (1, 0)), ((3, 4, 2), (2, 0)), ((3, 2), (0, 1)),
                                         ((3, 2), (1, 1)), ((2, 2), (1, 0)), ((3, 2), (2, 0))])
def test_broadcast_in_dim_takes_dimensions_in_any_order(shape, dims):
    x = X.reshape(2, 3)
    refused = dims in [(0, 1), (1, 1), (2, 0)] and shape != (3, 4, 2) or shape == (2, 2)
    both(lambda jx: lambda x: jx.lax.broadcast_in_dim(x, shape, dims), x,
         raises=(TypeError, ValueError) if refused else None)
    if not refused:
        both(lambda jx: jx.vmap(lambda x: jx.lax.broadcast_in_dim(x, shape, dims), 1, 1),
             np.stack([x, x + 1], 1))


@pytest.mark.parametrize("transform", [
    "vmap", "grad", "checkpoint", "value_and_grad", "jacfwd", "jacrev", "hessian", "linearize"])
@pytest.mark.parametrize("kind", [Named, Annotated])
def test_callables_with_attributes_that_no_function_has(transform, kind):
    def program(jx):
        if transform == "linearize":
            return lambda x: jx.linearize(kind(), x)[0]
        function = getattr(jx, transform)(kind())
        assert isinstance(getattr(function, "__name__", ""), str)
        return function

    both(program, np.ones(2, "float32") if transform == "vmap" else 2.0)


# ----------------------------------------------------------------------------------------------
# Tables and older names


def test_types_added_to_the_table_of_types():
    def program(jx):
        def run():
            class Two:
                pass

            table = part(jx, "core").pytype_aval_mappings
            table[Two] = lambda x: jx.core.ShapedArray((2,), np.dtype("float32"))
            try:
                return str(jx.typeof(Two()))
            finally:
                del table[Two]
        return run

    both(program)


def test_the_tag_of_the_current_trace():
    def program(jx):
        def run():
            core, seen = part(jx, "extend.core"), []

            def look(x):
                seen.append(core.find_top_trace((x,)).main is None)
                return x

            look(1.0)
            jx.vmap(look)(np.ones(2))
            jx.jit(look)(1.0)
            return seen
        return run

    both(program)


# ----------------------------------------------------------------------------------------------
# Copies, and the memory of arrays

COPIES = {
    "array": lambda jx, x: jx.numpy.array(x), "copy=True": lambda jx, x: jx.numpy.array(
        x, copy=True), "asarray": lambda jx, x: jx.numpy.asarray(x, copy=True),
    "copy": lambda jx, x: jx.numpy.copy(x), "method": lambda jx, x: x.copy(),
    "astype": lambda jx, x: jx.numpy.astype(x, x.dtype, copy=True),
    "copy.copy": lambda jx, x: copy.copy(x), "deepcopy": lambda jx, x: copy.deepcopy(x),
    "jit": lambda jx, x: jx.jit(jx.numpy.copy)(x), "vmap": lambda jx, x: jx.vmap(
        jx.numpy.copy)(x), "of a view": lambda jx, x: x.reshape(2, -1).copy(),
    "device_put": lambda jx, x: jx.device_put(x, may_alias=False),
}


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_survives_its_original(name, computed):
    def program(jx):
        def run(x, delete):
            x = jx.numpy.arange(2048.0)
            x = jx.jit(lambda x: x + 1)(x) if computed else x
            other = COPIES[name](jx, x)
            if delete:
                x.delete()
            else:
                jx.block_until_ready(jx.jit(lambda x: 0 * x - 7, donate_argnums=0)(x))
            return other, x.is_deleted()
        return run

    both(program, 1.0, False)
    both(program, 1.0, True)


def test_a_copy_has_its_own_memory():
    def program(jx):
        def run():
            x = jx.numpy.arange(2048.0)
            x.copy_to_host_async()
            y = jx.numpy.copy(x)
            same = x.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
            return same, x.unsafe_buffer_pointer() == y.unsafe_buffer_pointer()
        return run

    both(program)


def test_an_address_is_that_of_the_contents():
    x = subject.numpy.arange(8.0) + 1
    found = (ctypes.c_float * 8).from_address(x.unsafe_buffer_pointer())
    assert list(found) == list(range(1, 9))


# ----------------------------------------------------------------------------------------------
# The profiler


def profiled(jx: Any, folder: Path, **kwargs: Any) -> str:
    """What is in the trace of a small program."""
    profiler = jx.profiler
    with profiler.trace(folder, create_perfetto_trace=True, **kwargs):
        f = profiler.annotate_function(jx.jit(lambda x: x @ x), name="the_product")
        for step in range(2):
            with profiler.StepTraceAnnotation("one_step", step_num=step):
                f(np.ones((8, 8), "float32")).block_until_ready()
        with profiler.TraceAnnotation("an_annotation", size=3):
            pass
    (file,) = folder.glob("plugins/profile/*/perfetto_trace.json.gz")
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    assert next(e for e in events if e.get("name") == "an_annotation")["args"]["size"] == "3"
    return " ".join(sorted(str(event.get("name")) for event in events))


def test_a_trace_holds_annotations_and_steps(tmp_path):
    text = profiled(subject, tmp_path)
    assert text.count("the_product") == text.count("one_step") == 2


def test_traces_do_not_overlap(tmp_path):
    profiler = subject.profiler
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    with profiler.trace(tmp_path), pytest.raises(RuntimeError, match="already been started"):
        profiler.start_trace(tmp_path)
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()
    with pytest.raises(NotImplementedError, match="create_perfetto_trace"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)


def test_memory_profiles_are_written(tmp_path):
    keep = subject.jit(lambda x: x + 1)(subject.numpy.ones(1000))
    subject.profiler.save_device_memory_profile(tmp_path / "memory.prof")
    text = gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert b"bytes" in text and keep.size == 1000


def test_annotate_function_keeps_the_function():
    def f(x, *, y):
        "Its text."
        return x + y

    both(lambda jx: lambda: (lambda g: (g(1, y=2), g.__name__, g.__doc__))(
        jx.profiler.annotate_function(f)))


# ----------------------------------------------------------------------------------------------
# Static arguments, and shardings of types


def checkpoint_of_static(jx: Any, static: Any) -> Any:
    f = jx.checkpoint(lambda s, x: jx.numpy.sin(x) * s[0]["a"], static_argnums=(0,))
    return jx.grad(f, argnums=1)(static, 2.0), jx.jit(lambda x: f(static, x))(2.0)


@pytest.mark.parametrize("static", [({"a": 2.0},), [{"a": 3.0}]], ids=["tuple", "list"])
def test_checkpoint_takes_static_arguments_without_a_hash(static):
    both(lambda jx: lambda: checkpoint_of_static(jx, static))


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_types_state_no_sharding(shape):
    def texts(jx):
        seen = [str(jx.typeof(jx.numpy.ones(shape)).sharding)]
        jx.jit(lambda x: (seen.append(str(jx.typeof(x).sharding)), x)[1])(np.ones(shape, "f"))
        again = jx.core.ShapedArray(shape, "int8", sharding=jx.typeof(np.ones(shape)).sharding)
        return [*seen, str(again)]

    both(lambda jx: lambda: texts(jx))


def samples_where_the_operand_lies(jx: Any, *shape: int) -> list:
    key, x = jx.random.key(0), jx.numpy.zeros(shape)
    place = {"out_sharding": jx.typeof(x).sharding}
    return [jx.random.normal(key, shape, **place), jx.random.bernoulli(key, 0.5, shape, **place),
            jx.random.laplace(key, shape, **place), jx.random.bits(key, shape, **place)]


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_samples_take_an_operands_sharding(shape):
    both(lambda jx: lambda: samples_where_the_operand_lies(jx, *shape))


@pytest.mark.parametrize("make", [
    lambda jx, s: jx.numpy.zeros(3, out_sharding=s),
    lambda jx, s: jx.numpy.arange(3, out_sharding=s),
    lambda jx, s: jx.numpy.reshape(np.ones((3, 1), "f"), (3,), out_sharding=s),
    lambda jx, s: jx.numpy.dot(np.ones((3, 2), "f"), np.ones(2, "f"), out_sharding=s),
    lambda jx, s: jx.lax.broadcast(1.0, (3,), out_sharding=s),
    lambda jx, s: jx.jit(lambda: jx.numpy.ones(3, out_sharding=s))(),
    lambda jx, s: jx.numpy.ones((3, 1)).at[:, 0].get(out_sharding=s),
])
def test_the_sharding_of_an_array_on_no_mesh_says_nothing(make):
    both(lambda jx: lambda: make(jx, jx.typeof(jx.numpy.ones(3)).sharding))


# ----------------------------------------------------------------------------------------------
# The private names that libraries import


PRIVATE = {
    "ad_checkpoint": ["remat_p", "checkpoint_name"],
    "ad_util": ["stop_gradient_p", "Zero", "SymbolicZero"],
    "api": ["jit", "vmap", "ShapeDtypeStruct"],
    "api_util": ["infer_argnums_and_argnames", "flatten_fun_nokwargs", "flatten_axes"],
    "array": ["ArrayImpl"],
    "checkify": ["Error", "JaxException", "checkify", "user_checks"],
    "compiler": [],
    "core": ["ShapedArray", "trace_state_clean", "AbstractValue", "CallPrimitive", "ClosedJaxpr",
             "DropVar", "Jaxpr", "Literal", "Primitive", "Trace", "TraceTag", "Tracer", "Var",
             "call_p", "eval_context", "eval_jaxpr", "full_lower", "get_opaque_trace_state",
             "jaxpr_as_fun", "physical_aval", "safe_map", "safe_zip", "set_current_trace",
             "take_current_trace", "typeof", "jaxprs_in_params"],
    "dispatch": ["wait_for_tokens", "apply_primitive"],
    "dtypes": ["DType", "ExtendedDType", "TypePromotionError", "extended", "finfo",
               "supports_inf", "to_complex_dtype", "canonicalize_dtype", "result_type", "dtype"],
    "effects": ["Effect", "control_flow_allowed_effects", "lowerable_effects",
                "remat_allowed_effects"],
    "flatten_util": ["ravel_pytree"],
    "interpreters.ad": ["primitive_jvps", "primitive_transposes", "JVPTracer"],
    "interpreters.batching": ["primitive_batchers", "BatchTracer"],
    "interpreters.partial_eval": ["dce_jaxpr", "DynamicJaxprTracer"],
    "lax.control_flow": ["cond_p", "scan_p", "while_p", "fori_loop"],
    "lax.control_flow.loops": ["scan", "while_loop"],
    "lax.lax": ["add_p", "mul", "broadcast_shapes"],
    "lax.linalg": ["cholesky_p", "eigh"],
    "lax.slicing": ["gather_p", "GatherDimensionNumbers"],
    "lib": ["xla_client"],
    "linear_util": ["wrap_init", "transformation_with_aux"],
    "literals": ["TypedInt", "TypedFloat", "TypedComplex"],
    "mesh": ["Mesh", "AbstractMesh"],
    "nn.functions": ["relu", "softmax"],
    "nn.initializers": ["glorot_normal", "variance_scaling"],
    "numpy.array_methods": ["_IndexUpdateHelper", "_IndexUpdateRef"],
    "numpy.index_tricks": ["CClass", "RClass"],
    "numpy.lax_numpy": ["array", "where"],
    "numpy.ufuncs": ["add", "logaddexp"],
    "numpy.util": ["promote_dtypes", "promote_dtypes_inexact", "promote_args", "check_arraylike"],
    "numpy.vectorize": ["_apply_excluded", "_check_output_dims", "_parse_gufunc_signature",
                        "_parse_input_dimensions"],
    "ops.scatter": ["segment_sum"],
    "partition_spec": ["PartitionSpec"],
    "pjit": ["jit_p", "with_sharding_constraint"],
    "random": ["normal", "PRNGKey"],
    "random.prng": ["PRNGImpl"],
    "scipy.special": ["gammaln"],
    "sharding_impls": ["UNSPECIFIED", "UnspecifiedValue", "NamedSharding", "SingleDeviceSharding"],
    "source_info_util": ["current", "new_name_stack"],
    "stages": ["Compiled", "Lowered"],
    "state.types": ["AbstractRef"],
    "traceback_util": ["UnfilteredStackTrace", "api_boundary", "include_frame",
                       "register_exclusion"],
    "tree_util": ["_registry", "flatten_one_level", "tree_leaves"],
    "util": ["HashablePartial", "safe_map", "safe_zip", "unzip2", "split_list", "partition_list"],
    "xla_bridge": ["get_backend", "local_devices"],
}


@pytest.mark.parametrize("module", PRIVATE)
def test_private_names_that_libraries_import(module):
    both(lambda jx: lambda: [callable(getattr(part(jx, f"_src.{module}"), name))
                             for name in PRIVATE[module]])


def test_the_table_of_private_modules_names_modules():
    from minijax._src import SOURCES
    ours = {source for sources in SOURCES.values() for source in sources.split()} - {"."}
    for module in ours:
        import_module(f"minijax.{module}")


@pytest.mark.live_jax
def test_the_table_of_private_modules_names_modules_of_jax():
    from minijax._src import SOURCES
    for module in SOURCES:
        try:
            import_module(f"jax._src.{module}")
        except ImportError as error:  # JAX has the module, which needs a package
            assert re.search("absl|flatbuffers", str(error)), error


def test_entries_of_the_private_registry_take_trees_apart():
    def answers(jx):
        entry = part(jx, "_src.tree_util")._registry[dict]
        children, aux = entry.to_iter({"b": 1, "a": 2})
        return tuple(children), aux, entry.from_iter(aux, [5, 6])

    both(lambda jx: lambda: answers(jx))


def test_excluded_paths_are_a_list():
    def answers(jx):
        paths = part(jx, "_src.traceback_util")._exclude_paths
        paths.append(__file__)
        inside = __file__ in paths
        paths.remove(__file__)
        return inside, __file__ in paths

    both(lambda jx: lambda: answers(jx))


def test_small_private_functions():
    def answers(jx):
        core, util = part(jx, "_src.core"), part(jx, "_src.util")
        keys = core.physical_aval(jx.typeof(jx.random.split(jx.random.key(0), 3)))
        partial, other = (util.HashablePartial(lambda x, y: x + y, 4) for _ in range(2))
        number = part(jx, "_src.literals").TypedInt(3, np.dtype("int16"))
        return (str(keys), str(core.physical_aval(core.ShapedArray((2,), np.dtype("float32")))),
                partial(3), partial == other, partial == 3, hash(partial) == hash(other),
                core.full_lower(3),
                number + 1, str(number.dtype), repr(number), isinstance(number, int))

    both(lambda jx: lambda: answers(jx))


@pytest.mark.parametrize("args", [(1,), (1.0, 2), (np.ones(2, "f"), 1), (np.int8(1), np.arange(2)),
                                  (1j, 2.0), (np.float16(3), True)], ids=str)
def test_promotion_to_complex_types(args):
    both(lambda jx: lambda *args: part(jx, "_src.numpy.util").promote_dtypes_complex(
        *map(jx.numpy.asarray, args)), *args)


@pytest.mark.parametrize("xs, ys, options", [
    (1.0, 1.0, {}), ([1.0, X], [1.0, X], {}), (X, X + 1e-4, {}), (X, X + 1e-7, {}), (X, X + 1, {"atol": 1}),
    (X, X + 1, {"atol": {np.float64: 1.0}}), (X, X + 1, {"rtol": {np.dtype("float32"): 1.0}}),
    (X, X[:2], {}), (np.int32([1]), np.int32([2]), {}), (X.astype("float16"), X.astype("float16") + 1e-3, {}),
], ids=str)  # fmt: skip
def test_results_are_close(xs, ys, options):
    def program(jx):
        def compare():
            try:
                part(jx, "_src.public_test_util").check_close(xs, ys, **options)
            except AssertionError:
                return "far"
            return "close"
        return compare

    both(program)


def test_the_clients_that_have_started():
    def answers(jx):
        jx.devices("cpu")
        return "cpu" in part(jx, "_src.xla_bridge")._backends

    both(lambda jx: lambda: answers(jx))


def test_parts_of_vectorize_and_joins():
    """A library of arrays with units writes its own `vectorize`, `c_` and `r_` with these."""
    def answers(jx):
        parts, tricks = part(jx, "_src.numpy.vectorize"), part(jx, "_src.numpy.index_tricks")
        x, y = np.ones((4, 2, 3), "f"), np.ones((3,), "f")
        ins, outs = parts._parse_gufunc_signature("(n,m),(m)->(n)")
        shape, sizes = parts._parse_input_dimensions((x, y), ins, "here")
        checked = parts._check_output_dims(lambda x, y: x @ y, sizes, outs, "here")
        f, args, kwargs = parts._apply_excluded(
            lambda a, b, c: a + 10 * b + 100 * c, {1}, (1.0, 2.0, 3.0), {})
        return (list(map(tuple, ins)), list(map(tuple, outs)), tuple(shape), sizes,
                checked(x[0], y), f(*args), list(args), dict(kwargs),
                tricks.CClass()[y, y], tricks.RClass()[1:3, y], tricks.RClass()["0,2", y, y])

    both(lambda jx: lambda: answers(jx))


def logged(jx, function, *args):
    """The result of a function, and the primitives that a library's trace met in it."""
    core = part(jx, "_src.core")
    met: list[str] = []

    class Boxed(core.Tracer):
        __slots__ = ("value",)

        def __init__(self, trace, value):
            self._trace, self.value = trace, value

        @property
        def aval(self):
            return jx.typeof(self.value)

    class Logging(core.Trace):
        __slots__ = ("parent_trace",)

        def __init__(self, parent_trace):
            self.parent_trace = parent_trace
            super().__init__()

        def process_primitive(self, primitive, tracers, params):
            met.append(primitive.name)
            values = [x.value if isinstance(x, Boxed) else x for x in tracers]
            with core.set_current_trace(self.parent_trace):
                out = primitive.bind(*values, **params)
            box = lambda x: Boxed(self, x)
            return [*map(box, out)] if primitive.multiple_results else box(out)

        def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
            met.append("custom_jvp")
            values = [x.value if isinstance(x, Boxed) else x for x in tracers]
            avals = [jx.typeof(x) for x in values]
            outs = primitive.bind_with_trace(
                self.parent_trace, tuple(values), tuple(avals),
                {"subfuns": (fun, jvp), "symbolic_zeros": symbolic_zeros})
            return [Boxed(self, x) for x in outs]

    with core.take_current_trace() as parent:
        trace = Logging(parent)
        with core.set_current_trace(trace):
            out = function(*(Boxed(trace, x) for x in args))
        assert isinstance(trace, core.Trace) and isinstance(parent, core.Trace)
        assert not isinstance(parent, Logging)
        return trace.full_raise(out).value, met


def test_a_call_on_a_trace_needs_a_type_for_each_operand():
    import minijax as jax
    from minijax._src import core
    assert core.Trace is not None  # its module gives primitives the method
    with core.take_current_trace() as trace, pytest.raises(TypeError, match="0 types for 1"):
        jax.lax.sin_p.bind_with_trace(trace, (1.0,), (), {})


def ruled(jx):
    f = jx.custom_jvp(lambda x: jx.numpy.sin(x) * 2)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 7))
    return f


@pytest.mark.parametrize("transformed", [
    lambda jx, f: f, lambda jx, f: jx.jit(f), lambda jx, f: jx.grad(f),
    lambda jx, f: lambda x: jx.vmap(f)(jx.numpy.stack([x, x]))],
    ids=["eager", "jit", "grad", "vmap"])
@pytest.mark.parametrize("program", [
    lambda jx, x: jx.lax.add(jx.lax.mul(x, x), jx.lax.sin(x)), lambda jx, x: ruled(jx)(x),
    lambda jx, x: jx.jit(lambda x: x * 2)(x),
    lambda jx, x: jx.lax.fori_loop(0, 3, lambda i, x: x * 2, x)],
    ids=["plain", "custom_jvp", "call", "loop"])
def test_a_trace_of_a_library_meets_each_primitive(program, transformed):
    def run(jx):
        seen: list = []

        def f(x):
            out, met = logged(jx, lambda x: program(jx, x), x)
            seen.append(met)
            return out

        return transformed(jx, f)(np.float32(0.5)), sorted(set(seen[0]))

    both(lambda jx: lambda: run(jx))


@pytest.mark.parametrize("transformed", [lambda f: lambda jx, x: f(jx, x),
                                         lambda f: lambda jx, x: jx.jit(lambda x: f(jx, x))(x)],
                         ids=["eager", "jit"])
def test_the_public_trace_class_learns_its_parent_after_its_constructor(transformed):
    """Haiku's trace, which writes down a graph. It imports no private module."""
    def run(jx):
        inner, met = part(jx, "extend.core"), []

        class Boxed(jx.core.Tracer):
            def __init__(self, trace, value):
                super().__init__(trace, jx.typeof(value))
                self.value = value

        class Logging(jx.core.Trace):
            def __init__(self, parent_trace):
                super().__init__()
                self.parent_trace, self.tag = parent_trace, inner.TraceTag()

            def process_primitive(self, primitive, tracers, params):
                met.append((primitive.name, sorted(params)))
                values = [x.value if isinstance(x, Boxed) else x for x in tracers]
                out = primitive.bind_with_trace(
                    self.parent_trace, values, [*map(jx.typeof, tracers)], params)
                return jx.tree.map(lambda x: Boxed(self, x), out)

        def f(jx, x):
            with inner.take_current_trace() as parent:
                trace = Logging(parent)
                with inner.set_current_trace(trace):
                    boxed = Boxed(trace, x)
                    return jx.lax.reduce_sum_p.bind(
                        jx.lax.sin(boxed), axes=(0,), out_sharding=None).value

        return transformed(f)(jx, np.arange(3, dtype="f")), met, jx.core.Trace.__name__

    both(lambda jx: lambda: run(jx))


def test_what_a_library_of_checkpoints_asks_of_one_process():
    both(lambda jx: lambda: [
        jx._src.distributed.global_state.client is None, jx._src.distributed.global_state.process_id,
        part(jx, "experimental.multihost_utils").reached_preemption_sync_point(3),
        callable(part(jx, "extend.ifrt_programs").ifrt_programs.make_plugin_program)])


def test_the_mesh_of_a_with_statement_is_read_from_pxla():
    def shapes(jx):
        mesh = jx.make_mesh((1,), ("x",))
        with pytest.warns(DeprecationWarning):
            resources = part(jx, "interpreters.pxla").thread_resources
            with mesh:
                inside = resources.env.physical_mesh == mesh
            return inside, resources.env.physical_mesh.empty

    both(lambda jx: lambda: shapes(jx))


def test_other_private_names_are_absent():
    with pytest.raises(ImportError):
        import_module("minijax._src.no_such_module")
    with pytest.raises(ImportError):
        exec("from minijax._src.lax import no_such_name")


def test_trace_state_is_clean_outside_transformations():
    def states(jx):
        clean = part(jx, "_src.core").trace_state_clean
        seen = [clean()]
        jx.jit(lambda x: (seen.append(clean()), x)[1])(1.0)
        jx.grad(lambda x: (seen.append(clean()), x)[1])(1.0)
        return [*seen, clean()]

    both(lambda jx: lambda: states(jx))


def test_private_registry_tells_which_types_are_nodes():
    class Pair(list):
        pass

    def answers(jx):
        jx.tree_util.register_pytree_node(Pair, lambda p: (list(p), None), lambda _, xs: Pair(xs))
        registry = part(jx, "_src.tree_util")._registry
        return [t in registry for t in (Pair, dict, list, tuple, int, np.ndarray)]

    both(lambda jx: lambda: answers(jx))


@pytest.mark.parametrize("shapes", [((1, 3), (1, 1)), ((1, 1), (1, 3)), ((2, 1), (1, 3))])
def test_derivative_of_integer_powers_of_other_shapes(shapes):
    """Optimal transport takes powers of a row, with exponents for each problem."""
    base = np.linspace(0.5, 2, int(np.prod(shapes[0])), dtype="float32").reshape(shapes[0])
    power = np.arange(int(np.prod(shapes[1])), dtype="int32").reshape(shapes[1])
    both(lambda jx: lambda x: jx.jvp(lambda x: jx.lax.pow(x, power), (x,), (x + 1,)), base)
    both(lambda jx: jx.jit(jx.grad(lambda x: jx.lax.pow(x, power).sum())), base)


# ----------------------------------------------------------------------------------------------
# Which platforms may compile


def test_compilation_can_be_forbidden():
    """As chex does it: another function stands in the module while the context lasts."""
    import minijax._src.compiler as compiler

    def refuse(client, *args):
        raise PermissionError(f"no compilation for {client.platform}")

    given = compiler.backend_compile_and_load
    before, after = (subject.jit(lambda x, n=n: x * n) for n in (3, 4))
    assert before(2.0) == 6.0
    try:
        compiler.backend_compile_and_load = refuse
        assert before(2.0) == 6.0  # compiled already
        with pytest.raises(PermissionError, match="no compilation for cpu"):
            after(2.0)
    finally:
        compiler.backend_compile_and_load = given
    assert after(2.0) == 8.0


# ----------------------------------------------------------------------------------------------
# Lists that hold traced values, as the values of an update

LISTS = {
    "numbers": lambda jx, x, t: x.at[:].set([0, t, 1, 0]),
    "floats": lambda jx, x, t: x.at[:2].add([1.5, t]),
    "too many": lambda jx, x, t: x.at[0].set([t]),
    "tuple": lambda jx, x, t: x.at[jx.numpy.array([0, 1])].mul((t, 2.0), unique_indices=True),
    "arrays": lambda jx, x, t: x.at[:2].set([jx.numpy.ones(()), t]),
    "nested": lambda jx, x, t: x.reshape(2, 2).at[:2].set([[1, t], [np.float32(2), 3]]),
    "boolean": lambda jx, x, t: x.at[:2].set([t, True]),
    "ragged": lambda jx, x, t: x.at[:2].set([[t], 1]),
    "mixed": lambda jx, x, t: x.reshape(2, 2).at[:].min([t.astype("int8"), jx.numpy.int16(3)]),
    "dropped": lambda jx, x, t: x.at[jx.numpy.array([0, 9])].set([t, t], mode="drop"),
}


@pytest.mark.filterwarnings("ignore:scatter inputs have incompatible types")
@pytest.mark.parametrize("transformed", [
    lambda jx, f: f, lambda jx, f: jx.jit(f), lambda jx, f: lambda t: jx.jvp(f, (t,), (t,)),
    lambda jx, f: lambda t: jx.vmap(f)(jx.numpy.stack([t, t + 1]))],
    ids=["eager", "jit", "jvp", "vmap"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("update", LISTS)
def test_updates_by_lists_of_traced_values(update, dtype, transformed):
    both(lambda jx: lambda t: transformed(
        jx, lambda t: LISTS[update](jx, jx.numpy.zeros(4, dtype), t))(jx.numpy.asarray(t)),
        np.float32(3))


def test_pallas_is_refused_where_it_is_used():
    pallas = import_module("minijax.experimental.pallas")
    triton = import_module("minijax.experimental.pallas.triton")
    masks = import_module(  # keras imports it before it knows whether there is a TPU
        "minijax.experimental.pallas.ops.tpu.splash_attention.splash_attention_mask")
    for module in (pallas, triton, masks, pallas.ops.tpu.splash_attention):
        with pytest.raises(AttributeError, match=r"pallas\.pallas_call: .*`jax.numpy`"):
            _ = module.pallas_call
    assert not hasattr(pallas, "__path_of_nothing__")


def test_slices_of_pallas_index_mutable_arrays():
    """haliax imports the class to know such indices from others."""

    def program(jx):
        slices = import_module(f"{jx.__name__}._src.state.indexing")
        pallas = import_module(f"{jx.__name__}.experimental.pallas")
        assert pallas.ds is pallas.dslice is slices.ds and pallas.Slice is slices.Slice

        def run(x):
            ref = jx.new_ref(x)
            ref[pallas.ds(5, 2)] = ref[pallas.dslice(0, 2)] * 10
            part = jx.jit(lambda i: ref[pallas.ds(i, 3)])(2)
            return part, ref[...], [isinstance(index, slices.Slice) for index in
                                    (pallas.ds(0, 3), pallas.ds(3), pallas.ds(np.int32(1), 2), slice(3))]

        return run

    both(program, np.arange(8, dtype=np.float32))


def test_threefry_s_private_functions_work_on_words():
    def program(jx):
        threefry = import_module(f"{jx.__name__}._src.random.threefry2x32")

        def run(seed):
            key = threefry.threefry_seed(jx.numpy.asarray(seed))
            return (key, threefry.threefry_split(key, (2,)),
                    threefry.threefry_fold_in(key, jx.numpy.uint32(4)),
                    threefry.threefry_random_bits(key, 32, (3,)),
                    threefry.threefry_2x32(key, jx.numpy.arange(4, dtype="uint32")))

        return run

    both(program, 3)


def test_contractions_in_an_order_of_the_library_s_own():
    """haliax calls JAX's private `_einsum` with the result of `opt_einsum`."""
    def program(jx):
        einsum = import_module(f"{jx.__name__}._src.numpy.einsum")._einsum
        order = [((2, 1), frozenset("k"), "kl,jk->jl"), ((1, 0), frozenset("j"), "jl,ij->il")]
        return lambda x, y, z: (einsum([x, y, z], order, None, None, jx.lax.dot_general),
                                jx.jit(lambda *xs: einsum([*xs], order, None, np.float32,
                                                          jx.lax.dot_general))(x, y, z))

    both(program, *(np.arange(6, dtype=np.float32).reshape(shape)
                    for shape in ((3, 2), (2, 3), (3, 2))))


@pytest.mark.parametrize("sizes", [
    lambda: (n for n in (2, 3)), lambda: range(2, 4), lambda: map(int, (3, -1)),
    lambda: np.array([3, 2]), lambda: [6]], ids=["generator", "range", "map", "array", "list"])
def test_a_shape_may_be_any_iterable(sizes):
    """aqt reshapes to a generator of sizes."""
    both(lambda jx: lambda x: (jx.numpy.reshape(x, sizes()), x.reshape(sizes()),
                               jx.jit(lambda x: jx.numpy.reshape(x, sizes()))(x)),
         np.arange(6, dtype=np.float32))


def test_swap_takes_the_name_for_its_messages():
    both(lambda jx: lambda x: jx.ref.swap(jx.new_ref(x), 1, 2.0, _function_name="mine"),
         np.ones(3, np.float32))


@pytest.mark.filterwarnings("ignore:jax.core:DeprecationWarning")
def test_older_names_of_jax_core():
    """haliax asks `jax.core` whether sizes are constant."""

    def program(jx):
        core = jx.core

        def run(x):
            under = []

            def body(x):
                under.append((core.unsafe_am_i_under_a_jit_DO_NOT_USE(),
                              core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                              core.nonempty_axis_env_DO_NOT_USE()))
                return x

            jx.jit(body)(x)
            jx.vmap(body, axis_name="i")(x)
            closed = jx.make_jaxpr(jx.jit(body))(x)
            core.check_jaxpr(closed.jaxpr)
            return (under, core.is_constant_dim(3), core.is_constant_shape((2, "b")),
                    str(core.primal_dtype_to_tangent_dtype(np.dtype("int32"))),
                    len(list(core.jaxprs_in_params(closed.eqns[0].params))),
                    issubclass(core.InconclusiveDimensionOperation, Exception),
                    issubclass(core.JaxprTypeError, TypeError), isinstance(core.Effect, type))

        return run

    both(program, np.arange(2, dtype=np.float32))


@pytest.mark.filterwarnings("ignore:jax.core:DeprecationWarning")
def test_the_context_shows_the_current_trace():
    def program(jx):
        context = import_module(f"{jx.__name__}._src.core").trace_ctx
        names = [type(context.trace).__name__]
        jx.jit(lambda x: names.append(type(context.trace).__name__) or x)(1.0)
        return lambda: names

    both(program)


class Incomparable:
    def __init__(self, factor, error):
        self.factor, self.error = factor, error

    def __hash__(self):
        return 3

    def __eq__(self, other):
        raise self.error("not to be compared")


@pytest.mark.parametrize("error", [TypeError, ValueError, RuntimeError])
def test_a_static_argument_whose_comparison_fails(error):
    """Modules of libraries hold arrays, whose `==` has no truth value."""
    import minijax

    def run(jx):
        f = jx.jit(lambda x, s: x * s.factor, static_argnums=1)
        same = Incomparable(3.0, error)
        assert f(2.0, same) == f(2.0, same) == 6
        with pytest.raises(ValueError, match="(?s)comparable using __eq__.*Incomparable.*not to be"):
            f(2.0, Incomparable(4.0, error))
        return True

    if error is TypeError:
        both(lambda jx: lambda: run(jx))
    else:  # JAX says of these that a field of a pytree was compared, where no pytree is
        assert run(minijax)


def test_an_error_of_the_function_is_not_taken_for_one_of_a_comparison():
    import minijax as jax

    @jax.tree_util.register_pytree_node_class
    class Broken:
        def tree_flatten(self):
            raise ValueError("no leaves today")

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls()

    f = jax.jit(lambda x, s: x, static_argnums=1)
    with pytest.raises(ValueError, match="no leaves today"):
        f(Broken(), 1)


# ----------------------------------------------------------------------------------------------
# Trees as results of `vectorize`


class Wrapped:
    """A node around an array."""

    def __init__(self, x):
        self.x = x


class WrappedShape(Wrapped):
    """A node that has the shape of its array, as a quantum state or a quantity has."""

    shape = property(lambda self: self.x.shape)
    ndim = property(lambda self: self.x.ndim)


RESULTS = {
    "shaped": lambda jx, a: WrappedShape(a * jx.numpy.ones(3)),
    "shapeless": lambda jx, a: Wrapped(a * jx.numpy.ones(3)),
    "dictionary": lambda jx, a: {"a": a},
    "array": lambda jx, a: np.ones(3, "f"),
}


@pytest.mark.parametrize("x", [np.float32(2), np.ones(2, "f")], ids=["scalar", "vector"])
@pytest.mark.parametrize("signature", ["()->(n)", "()->()", None])
@pytest.mark.parametrize("result", RESULTS)
def test_vectorize_of_a_function_that_returns_a_tree(result, signature, x):
    def run(jx, x):
        for cls in (Wrapped, WrappedShape):
            with contextlib.suppress(ValueError):  # registered by an earlier test
                jx.tree_util.register_pytree_node(cls, lambda w: ((w.x,), None),
                                                  lambda _, xs, cls=cls: cls(*xs))
        f = jx.numpy.vectorize(lambda a: RESULTS[result](jx, a), signature=signature)
        return jx.tree.leaves(f(x))

    both(lambda jx: lambda x: run(jx, x), x)


# ----------------------------------------------------------------------------------------------
# What libraries ask of functions that `jit` returns, and of platforms


@pytest.mark.parametrize("follow_wrapped", [True, False])
def test_a_jitted_function_has_the_signature_of_its_function(follow_wrapped):
    def program(library):
        jitted = library.jit(lambda a, b=1, *, scale=2: a * b * scale)
        return lambda: str(inspect.signature(jitted, follow_wrapped=follow_wrapped))

    both(program)


def test_jitted_functions_are_known_by_the_name_of_their_class():
    both(lambda library: lambda: type(library.jit(abs)).__name__)


@pytest.mark.parametrize("ask", ["devices", "local_device_count", "device_count"])
def test_an_unknown_platform_is_refused_in_the_same_words(ask):
    def program(library):
        return lambda: getattr(library, ask)("nonsense")

    both(program, raises=RuntimeError)
    with pytest.raises(RuntimeError, match="Unknown backend nonsense. Available"):
        program(subject)()


def test_errors_of_prefixes_are_functions_of_the_argument_name():
    def program(library):
        errors = import_module(f"{library.__name__}._src.tree_util").prefix_errors
        return lambda: [len(errors(*trees)) for trees in (
            ((1, 2), (1, (2, 3))), ({"a": 1, "b": 2}, {"a": (1, 2)}), (((1, 2), 3), (1, 2)))]

    both(program)


@pytest.mark.parametrize("name", ["isclose", "allclose"])
def test_keys_are_close_if_they_are_equal(name):
    def program(library):
        random, function = library.random, getattr(library.numpy, name)
        a, b = (random.split(random.key(seed), 3) for seed in (0, 1))
        mixed = a.at[1].set(b[1])
        return lambda: [function(x, y) for f in (lambda g: g, library.jit)
                        for x, y in ((a, a), (a, b), (a, mixed), (a[0], a))]

    both(program)


def test_a_manager_of_checkpoints_can_be_imported_but_not_made():
    module = import_module("minijax.experimental.array_serialization.serialization")
    for make in (module.GlobalAsyncCheckpointManager, lambda: module.get_tensorstore_spec("a")):
        with pytest.raises(NotImplementedError, match=r"orbax\.checkpoint"):
            make()


def test_element_types_of_libraries_are_refused():
    class Scale(subject.dtypes.extended):
        pass

    class ScaleType(subject._src.dtypes.ExtendedDType):
        type, name, _rules = Scale, "scale32", object()

    with pytest.raises(NotImplementedError, match="defined by a library"):
        subject.lax.convert_element_type(np.float32(1), ScaleType())


@pytest.mark.parametrize("around", ["nothing", "jit", "grad"])
@pytest.mark.parametrize("name", ["grad", "value_and_grad", "vjp", "jvp", "linearize", "jacrev"])
def test_auxiliary_data_are_put_together_outside_of_the_differentiation(name, around):
    """A variable of a library notes the trace in which it is made, and may be changed only there."""
    def program(library):
        trace_state = part(library, "extend").core.get_opaque_trace_state
        found = []

        class Variable:
            def __init__(self, value):
                self.value, self.made_in = value, trace_state()

        library.tree_util.register_pytree_node(
            Variable, lambda v: ((v.value,), None), lambda _, parts: Variable(*parts))

        def f(x):
            return (x * x).sum(), Variable(x)

        def g(x):
            transformed = getattr(library, name)
            if name in ("vjp", "linearize"):
                aux = transformed(f, x, has_aux=True)[2]
            elif name == "jvp":
                aux = transformed(f, (x,), (x,), has_aux=True)[2]
            else:
                out = transformed(f, has_aux=True)(x)
                aux = out[0][1] if name == "value_and_grad" else out[1]
            found.append(aux.made_in == trace_state())
            return x.sum()

        wraps = {"nothing": lambda g: g, "jit": library.jit, "grad": library.grad}
        return lambda: (wraps[around](g)(library.numpy.ones(3)), found)[1]

    both(program)
