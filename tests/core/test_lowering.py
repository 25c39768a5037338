"""From jaxprs to StableHLO: the text itself, and that XLA computes from it what JAX's does."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import minijax
from minijax import lax
from minijax.core.core import Primitive, ShapedArray
from minijax.core.jaxpr import Effect
from minijax.core.jit import Spec
from minijax.core.lowering import dense_text, lower_jaxpr, register_lowering, tensor_type
from minijax.lax.families import lower_fun
from minijax.runtime import client
from minijax.runtime.effect_sets import lowerable_effects
from minijax.runtime.modules import HOIST_BYTES, Asked, DonatingModule, ProgramModule
from tests.core import arrays as jnp
from tests.counting import calls_in
from tests.oracle import jax
from tests.oracle.compare import both, in_both

F32 = np.float32


def lowered(fun, *args, locations=False, **options):
    module = ProgramModule("jit_f", locations)
    return lower_jaxpr(minijax.make_jaxpr(fun)(*args), "f", module=module, **options)


def body(text: str) -> list[str]:
    """The lines of `@main`, stripped."""
    return [line.strip() for line in text.split("@main")[1].split("\n  }")[0].splitlines()[1:]]


# ----------------------------------------------------------------------------------------------
# The text


def test_the_text_of_a_small_function():
    module = lowered(lambda x, y: jnp.sin(x) * y + 1.5, np.ones(3, F32), F32(2))
    assert (
        module.text
        == """\
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<f32>) -> (tensor<3xf32>) {
    %c0 = stablehlo.constant dense<1.5> : tensor<3xf32>
    %0 = stablehlo.sine %arg0 : tensor<3xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<3xf32>
    %3 = stablehlo.add %2, %c0 : tensor<3xf32>
    return %3 : tensor<3xf32>
  }
}
"""
    )


def test_locations_name_the_equation():
    text = lowered(minijax.jit(lambda x: jnp.sin(x), inline=True), 1.0, locations=True).text
    assert 'stablehlo.sine %arg0 : tensor<f32> loc("jit(f)/sin")' in text
    compiled = minijax.jit(lambda x: jnp.sin(x)).lower(1.0).compile()
    assert 'op_name="jit(<lambda>)/sin"' in compiled.as_text()


@pytest.mark.parametrize("shape, dtype, expected", [
    ((), "float32", "tensor<f32>"),
    ((2, 0), "bool", "tensor<2x0xi1>"),
    ((3,), "uint16", "tensor<3xui16>"),
    ((1, 2), "complex128", "tensor<1x2xcomplex<f64>>"),
    ((2,), ml_dtypes.bfloat16, "tensor<2xbf16>"),
    ((2,), ml_dtypes.float8_e4m3fn, "tensor<2xf8E4M3FN>"),
    ((2,), minijax.dtypes.float0, "tensor<2xi1>"),
])  # fmt: skip
def test_types(shape, dtype, expected):
    assert tensor_type(ShapedArray(shape, np.dtype(dtype))) == expected


@pytest.mark.parametrize("value, expected", [
    (np.zeros((0, 3), F32), ""),
    (np.full((2, 3), 0.1, F32), "0.1"),
    (np.array([True, False]), "[true, false]"),
    (np.array([1, 2], np.int8), '"0x0102"'),
    (np.array(1 + 2j, np.complex64), "(1.0,2.0)"),
    (np.array(np.nan, F32), "0x7FC00000"),
    (np.array(-np.inf), "0xFFF0000000000000"),
    (np.array([0.0, -0.0], np.float16), '"0x00000080"'),
    (np.array(1e-5, F32), "1.0e-05"),
    (np.array(1e30, ml_dtypes.bfloat16), "1.00026e+30"),
])  # fmt: skip
def test_constants_as_text(value, expected):
    assert dense_text(value) == expected


def compiled_constants(values: list[np.ndarray]) -> list[np.ndarray]:
    """The values, after XLA has read their texts."""
    avals = [ShapedArray(value.shape, value.dtype) for value in values]
    kinds = [tensor_type(aval) for aval in avals]
    lines = [f"%c{i} = stablehlo.constant dense<{dense_text(value)}> : {kind}"
             for i, (value, kind) in enumerate(zip(values, kinds))]
    names = ", ".join(f"%c{i}" for i in range(len(values)))
    text = "\n".join([f"module @constants {{ func.func public @main() -> ({', '.join(kinds)}) {{",
                      *lines, f"return {names} : {', '.join(kinds)} }} }}"])
    return [client.to_numpy(x) for x in client.compile(text, avals)([])]


NUMBERS = [0.0, -0.0, 1 / 3, -1e-5, 1e5, 3.0, np.inf, -np.inf, np.nan, 1e-40, 65504.0]


@pytest.mark.parametrize("dtype", [
    "bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64",
    "complex64", "complex128", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2,
], ids=lambda d: np.dtype(d).name)  # fmt: skip
def test_xla_reads_constants_exactly(dtype):
    with np.errstate(all="ignore"):
        numbers = np.array(NUMBERS).astype(dtype)
    values = [numbers, numbers.reshape(11, 1), numbers[:1].repeat(3), *numbers[:, None],
              *(np.array(number) for number in numbers)]
    for value, found in zip(values, compiled_constants(values), strict=True):
        assert (found.shape, found.tobytes()) == (value.shape, value.tobytes())


@given(st.floats(width=32), st.floats())
def test_floats_are_written_so_that_they_read_back(x32, x64):
    for value in (np.float32(x32), np.float64(x64)):
        text = dense_text(np.array(value))
        if np.isfinite(value):
            assert type(value)(float(text)) == value
            assert re.fullmatch(r"-?\d+\.\d*(e[+-]\d+)?", text)  # MLIR's syntax, with the point
        else:
            assert text.startswith("0x")


# ----------------------------------------------------------------------------------------------
# Arguments, constants, functions


def test_arguments_that_nothing_needs_are_dropped_unless_kept():
    def f(x, y, z):
        jnp.cos(y)  # the result is not used
        return x + z

    assert lowered(f, 1.0, 2.0, 3.0).kept == (0, 2)
    module = lowered(f, 1.0, 2.0, 3.0, keep_unused=True)
    assert module.kept == (0, 1, 2)
    assert "cosine" not in module.text


class Ping(Effect):
    pass


class Pong(Effect):
    pass


lowerable_effects.add_type(Ping)


@pytest.mark.parametrize("effects", [set(), {Ping()}, {Pong()}])
def test_equations_with_effects_stay(effects):
    ping_p = Primitive("ping", multiple_results=True)
    ping_p.def_effectful_abstract_eval(lambda x: ([], effects))
    register_lowering(
        ping_p,
        lambda ctx, x: ctx.ops(f"stablehlo.custom_call @ping({x.name}) : ({x.type}) -> ()", []),
    )

    def f(x):
        minijax.jit(lambda y: ping_p.bind(y))(x)
        return 1.0

    if any(isinstance(effect, Pong) for effect in effects):
        with pytest.raises(ValueError, match="effects"):
            lowered(f, 2.0)
    else:
        assert ("ping" in lowered(f, 2.0).text) == bool(effects)


def test_donated_arguments_are_paired_with_results_of_their_type():
    def f(a, b, c, d):
        return a + 1, b * 2, c[:1] + d[:1]

    args = np.ones(3, F32), np.ones(2, F32), np.ones(3, F32), np.ones(4, F32)
    jaxpr = minijax.make_jaxpr(f)(*args)
    donating = DonatingModule(jaxpr, Spec("f", more=Asked((True, True, True, False))))
    module = lower_jaxpr(jaxpr, "f", module=donating)
    assert module.donated == (0, 1)
    assert donating.not_donated == (2,)
    assert re.findall(r"%arg(\d)[^%]*aliasing_output = (\d)", module.text) == [
        ("0", "0"),
        ("1", "1"),
    ]


def test_a_function_called_twice_is_written_once():
    @minijax.jit
    def inner(x):
        return jnp.tanh(x)

    text = lowered(lambda x: inner(inner(x)) + minijax.jit(inner)(x), 1.0).text
    assert text.count("stablehlo.tanh") == 1
    assert text.count("func.call @inner(") == 3
    assert text.count("func.func private") == 2  # the jit of a jit has a function of its own


def test_functions_of_one_name_get_different_symbols():
    f, g = minijax.jit(lambda x: x + 1), minijax.jit(lambda x: x + 2)
    text = lowered(lambda x: f(g(x)), 1.0).text
    assert set(re.findall(r"private @(\S+?)\(", text)) == {"_lambda", "_lambda_0"}


def test_names_that_are_no_symbols():
    def f(x):
        return x + 1

    f.__name__ = 'a "name" \\ with é spaces'
    np.testing.assert_array_equal(minijax.jit(lambda x: minijax.jit(f)(x))(1.0), 2.0)


big = np.arange(2 * HOIST_BYTES, dtype=F32)


def test_large_constants_are_handed_over_not_spelt_out():
    x = jnp.asarray(big)
    module = lowered(lambda y: (y + x, x * 2), 1.0)
    assert [value is x for value, _ in module.hoisted] == [True]
    assert len(module.text) < 1000
    both(lambda jx: jx.jit(lambda y: (y + big, big * 2 + y)), 1.0)


@in_both
def test_large_constants_reach_inner_functions(jx):
    inner = jx.jit(lambda y: y + big)
    return jx.jit(lambda y: (inner(y), jx.jit(lambda z: inner(z) * 2)(y), big[:3]))(1.0)


def test_results_that_are_arguments_constants_or_the_same():
    both(lambda jx: jx.jit(lambda x, y: (x, x, 1, 2.5, None, y, np.arange(3))), F32(1), F32(2))
    both(lambda jx: jx.jit(lambda: (1.0, jx.numpy.arange(3))))
    both(lambda jx: jx.jit(lambda x: None), 1.0)
    both(lambda jx: jx.jit(lambda x: ()), 1.0)


# ----------------------------------------------------------------------------------------------
# Rules


def test_a_primitive_without_a_rule_is_named():
    mystery_p = Primitive("mystery")
    mystery_p.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="rule for primitive 'mystery' not found"):
        minijax.jit(mystery_p.bind)(1.0)


def test_rules_can_be_made_of_functions():
    hypot_p, polar_p = Primitive("hypot"), Primitive("polar", multiple_results=True)
    hypot_p.def_abstract_eval(lambda x, y: x)
    polar_p.def_abstract_eval(lambda x, y, *, times: [x, x])
    register_lowering(hypot_p, lower_fun(lambda x, y: jnp.sqrt(x * x + y * y)))
    polar = lambda r, phi, *, times: (times * r * jnp.cos(phi), times * r * jnp.sin(phi))
    register_lowering(polar_p, lower_fun(polar, multiple_results=True))
    assert minijax.jit(hypot_p.bind)(3.0, 4.0) == 5.0
    x, y = minijax.jit(lambda r, phi: polar_p.bind(r, phi, times=2.0))(1.0, 0.0)
    assert (x, y) == (2.0, 0.0)


# ----------------------------------------------------------------------------------------------
# As good as JAX's

x34 = np.linspace(-2, 2, 12, dtype=F32).reshape(3, 4)


def mlp_loss(jx):
    def loss(params, x, y):
        for w, b in params[:-1]:
            x = jx.numpy.tanh(x @ w + b)
        w, b = params[-1]
        return jx.numpy.mean((x @ w + b - y) ** 2)

    return jx.value_and_grad(loss)


MLP = [(np.ones(shape, F32) / 8, np.ones(shape[1], F32)) for shape in ((4, 8), (8, 8), (8, 1))]
PROGRAMS = {
    "chain": (lambda jx: lambda x: jx.numpy.exp(jx.numpy.sin(x) * 2 + 1), (x34,)),
    "broadcast": (lambda jx: lambda x, y: x[:, None] * y + x.T[0, :3, None], (x34, x34[:1])),
    "softmax": (lambda jx: lambda x: jx.numpy.exp(x) / jx.numpy.exp(x).sum(1)[:, None], (x34,)),
    "matmul": (lambda jx: lambda x: x @ x.T, (x34,)),
    "sigmoid": (lambda jx: jx.vmap(jx.grad(lambda x: jx.lax.logistic(x))), (x34[0],)),
    "cumsum": (lambda jx: lambda x: jx.lax.cumsum(x, 1), (x34,)),
    "argmax": (lambda jx: lambda x: jx.lax.argmax(x, 1, np.int32), (x34,)),
    "select": (lambda jx: lambda x: jx.numpy.where(x > 0, x, 0.1 * x), (x34,)),
    "powers": (lambda jx: lambda x: x**2 + x**3 - 1 / x, (x34,)),
    "complex": (lambda jx: lambda x: (jx.lax.complex(x, x) * 2j).imag, (x34,)),
    "reshape": (lambda jx: lambda x: x.T.reshape(2, 6)[::-1, 1:4], (x34,)),
    "mlp gradient": (mlp_loss, (MLP, np.ones((5, 4), F32), np.ones((5, 1), F32))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_cost_what_they_cost_in_jax(name):
    program, args = PROGRAMS[name]
    both(lambda jx: jx.jit(program(jx)), *args)
    ours = minijax.jit(program(minijax)).lower(*args)
    theirs = jax.jit(program(jax)).lower(*args)
    assert ours.cost_analysis().get("flops") == theirs.cost_analysis().get("flops")
    ours, theirs = ours.compile(), theirs.compile()
    for key in ("flops", "transcendentals", "bytes accessed"):
        assert ours.cost_analysis().get(key) == theirs.cost_analysis().get(key), key
    for key in ("argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes"):
        assert getattr(ours.memory_analysis(), key) == getattr(theirs.memory_analysis(), key), key


def test_long_programs_take_time_in_proportion_and_meet_no_recursion_limit():
    def chain(n):
        def f(x):
            for _ in range(n):
                x = lax.add(x, x)
            return x

        return minijax.make_jaxpr(f)(np.ones(3, F32))

    short, long = chain(500), chain(5_000)
    assert lower_jaxpr(long, "f").text.count("stablehlo.add") == 5_000
    assert calls_in(lambda: lower_jaxpr(long, "f")) < 12 * calls_in(lambda: lower_jaxpr(short, "f"))
