"""`eqn.params` has JAX's parameters, and interpreters of others can hand them back."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import minijax
from minijax.core import forward
from minijax.core.core import params_rules
from tests.oracle import ask, in_both, jax, subject
from tests.oracle.primitives_table import ROWS, operands

X = np.arange(1, 5, dtype=np.float32) / 5
M = np.arange(1, 17, dtype=np.float32).reshape(4, 4) / 9 + np.eye(4, dtype=np.float32)
I = np.arange(4, dtype=np.int32)
IMAGE = X.reshape(1, 2, 2, 1)

CALLS = """
lax.cbrt(x) | lax.exp2(x) | lax.expm1(x) | lax.log1p(x) | lax.logistic(x) | lax.rsqrt(x)
lax.sqrt(x) | lax.tan(x) | lax.sinh(x) | lax.erf(x) | lax.pow(x, x) | lax.atan2(x, x)
lax.clamp(0., x, 1.) | lax.betainc(x, x, x) | lax.reduce_precision(x, 5, 4)
lax.broadcasted_iota(np.int32, (2, 3), 1) + i[0] | lax.bitcast_convert_type(x, np.int32)
lax.convert_element_type(x, np.float16) | jnp.astype(x, np.int32) | lax.full_like(x, 2.)
lax.dot_general(m, m, (((1,), (0,)), ((), ())), precision="highest") | m @ x
lax.conv(t, t, (1, 1), "SAME") | lax.conv_transpose(t, t, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
lax.reduce_prod(x, (0,)) | lax.reduce_min(x, (0,)) | lax.reduce_and(i, (0,)) | lax.argmax(x, 0, np.int32)
lax.reduce(x, 0., lambda a, b: a * b + 1, (0,)) | lax.cumsum(x) | lax.cumlogsumexp(x) | lax.sort(x)
lax.reduce_window(t, 0., lax.add, (1, 1, 1, 1), (1, 1, 1, 1), "SAME") | lax.top_k(x, 2)
lax.dynamic_slice(x, (i[0],), (2,)) | lax.dynamic_update_slice(x, x[:2], (i[0],)) | x[i] | x.at[i].add(1.)
lax.linalg.cholesky(m) | lax.linalg.eigh(m) | lax.linalg.lu(m) | lax.linalg.qr(m) | lax.linalg.svd(m)
lax.linalg.triangular_solve(m, m) | lax.fft(x.astype(np.complex64), "fft", (4,))
lax.cond(x[0] > 0, jnp.sin, jnp.cos, x) | lax.scan(lambda c, y: (c + y, c * y), x[0], x)
lax.while_loop(lambda c: c.sum() < 10, lambda c: c * 2, x) | lax.fori_loop(0, 3, lambda j, c: c * 2, x)
jx.jit(lambda x: jnp.sin(x) * 2)(x) | jx.jit(jnp.sin, keep_unused=True)(x) | jx.jit(jnp.sum, donate_argnums=0)(x)
jx.checkpoint(jnp.sin)(x) | jx.ad_checkpoint.checkpoint_name(x, "a") | jnp.mean(x) | jnp.linspace(0, x[0], 5)
lax.rng_bit_generator(np.zeros(4, np.uint32) + i.astype(np.uint32), (3,)) | jx.nn.softmax(x)
jx.random.uniform(jx.random.key(i[0]), (3,)) | jx.random.split(jx.random.PRNGKey(i[0]))
lax.optimization_barrier(x) | lax.stop_gradient(x) | jnp.where(x > 0, x, 0) | jnp.einsum("ij,kj->ik", m, m)
""".replace("\n", " | ").split(" | ")
CALLS = [call.strip() for call in CALLS if call.strip()]


def plain(value: Any) -> str:
    """A parameter as text: the value if it is a plain one, else only what kind of thing it is."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"({', '.join(map(plain, value))})"
    if isinstance(value, np.integer):
        return str(int(value))
    if value is None or isinstance(value, bool | int | float | str | np.dtype):
        return repr(value)
    return "a jaxpr" if hasattr(value, "eqns") else "…"


def equations(jaxpr: Any) -> list[str]:
    """Each equation's primitive with its parameters, also of the jaxprs in it."""
    found = []
    for eqn in jaxpr.eqns:
        params = ", ".join(f"{name}={plain(eqn.params[name])}" for name in sorted(eqn.params))
        found.append(f"{eqn.primitive.name}[{params}]")
        for value in (eqn.params[name] for name in sorted(eqn.params)):
            for inner in value if isinstance(value, tuple) else (value,):
                if hasattr(inner, "eqns"):
                    found += equations(inner)
    return found


def equations_of_call(jx: Any, call: str) -> list[str]:
    import_module(f"{jx.__name__}.ad_checkpoint")
    names = {"jx": jx, "lax": jx.lax, "jnp": jx.numpy, "np": np}
    f = eval(f"lambda x, m, i, t: {call}", names)
    return equations(jx.make_jaxpr(f)(X, M, I, IMAGE))


def equations_of_row(jx: Any, row: Any) -> list[str]:
    of_integers = row.primitive.split("_")[-1] in {"not", "and", "or", "xor"} or (
        row.primitive.startswith("shift"))
    dtype = ("int32" if of_integers else
             "complex64" if row.primitive in {"real", "imag"} else "float32")
    return equations(jx.make_jaxpr(row.call(jx))(*operands(row.operands[0], dtype)))


@pytest.mark.parametrize("call", CALLS)
def test_the_parameters_are_those_of_jax(call):
    assert equations_of_call(subject, call) == ask(lambda: equations_of_call(jax, call))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.label)
def test_the_parameters_of_starters_are_those_of_jax(row):
    assert equations_of_row(subject, row) == ask(lambda: equations_of_row(jax, row))


# ----------------------------------------------------------------------------------------------
# An interpreter of a jaxpr, as users write them


def program(jx):
    """Equations of all primitives whose parameters differ, also inside of a call."""
    def f(x):
        y = jx.jit(lambda x: jx.numpy.sin(x) * jx.lax.logistic(x))(x)
        z = jx.lax.broadcast_in_dim(y, (3, 4), (1,)) + jx.lax.broadcasted_iota("float32", (3, 4), 1)
        return (z.reshape(4, 3) @ z).astype("float16").sum()

    return f


def interpreted(jx, f, on_equation):
    """`f`, by an interpreter that shows every equation's parameters to `on_equation`."""
    def run(jaxpr, consts, args):
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
        for eqn in jaxpr.eqns:
            values = [v.val if hasattr(v, "val") else env[v] for v in eqn.invars]
            if eqn.primitive.name == "jit":
                closed = eqn.params["jaxpr"]
                outs = run(closed.jaxpr, closed.consts, values)
            else:
                outs = on_equation(eqn.primitive, values, eqn.params)
                outs = outs if eqn.primitive.multiple_results else [outs]
            env.update(zip(eqn.outvars, outs, strict=True))
        return [v.val if hasattr(v, "val") else env[v] for v in jaxpr.outvars]

    def call(*args):
        closed = jx.make_jaxpr(f)(*args)
        return run(closed.jaxpr, closed.consts, args)

    return call


def rules_of_a_library(jx):
    """Rules that name all of JAX's parameters."""
    lax = jx.lax

    def sin(x, *, accuracy):
        return lax.sin_p.bind(x, accuracy=accuracy)

    def logistic(x, *, accuracy):
        return lax.logistic_p.bind(x, accuracy=accuracy)

    def mul(x, y, *, out_dtype):
        return lax.mul_p.bind(x, y, out_dtype=out_dtype)

    def broadcast(x, *, shape, broadcast_dimensions, sharding):
        return lax.broadcast_in_dim_p.bind(x, shape=shape, sharding=sharding,
                                           broadcast_dimensions=broadcast_dimensions)

    def iota(*, dtype, shape, dimension, sharding):
        return lax.iota_p.bind(dtype=dtype, shape=shape, dimension=dimension, sharding=sharding)

    def reshape(x, *, new_sizes, dimensions, sharding):
        return lax.reshape_p.bind(x, new_sizes=new_sizes, dimensions=dimensions, sharding=sharding)

    def dot(x, y, *, dimension_numbers, precision, preferred_element_type, out_sharding):
        return lax.dot_general_p.bind(
            x, y, dimension_numbers=dimension_numbers, precision=precision,
            preferred_element_type=preferred_element_type, out_sharding=out_sharding)

    def convert(x, *, new_dtype, weak_type, sharding):
        return lax.convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=weak_type,
                                               sharding=sharding)

    def total(x, *, axes, out_sharding):
        return lax.reduce_sum_p.bind(x, axes=axes, out_sharding=out_sharding)

    return {"sin": sin, "logistic": logistic, "mul": mul, "broadcast_in_dim": broadcast,
            "iota": iota, "reshape": reshape, "dot_general": dot, "convert_element_type": convert,
            "reduce_sum": total, "add": lax.add_p.bind}


TRANSFORMATIONS = {
    "eager": lambda jx, f: f,
    "jit": lambda jx, f: jx.jit(f),
    "vmap": lambda jx, f: lambda x: jx.vmap(f)(jx.numpy.stack([x, x + 1])),
    "jvp": lambda jx, f: lambda x: jx.jvp(f, (x,), (x,)),
    "grad": lambda jx, f: jx.grad(lambda x: f(x)[0].astype("float32")),
    "text": lambda jx, f: jx.make_jaxpr(f),
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@in_both
def test_rules_may_require_the_parameters(jx, transformation):
    rules = rules_of_a_library(jx)
    return TRANSFORMATIONS[transformation](jx, interpreted(
        jx, program(jx), lambda primitive, values, params: rules[primitive.name](
            *values, **params)))(X)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@in_both
def test_a_call_takes_its_parameters_back(jx, transformation):
    def f(x):
        (eqn,) = jx.make_jaxpr(jx.jit(lambda x: jx.numpy.sin(x).sum()))(x).eqns
        return eqn.primitive.bind(x, **eqn.params)

    return TRANSFORMATIONS[transformation](jx, f)(X)


def tracing_library(jx):
    """Evaluation by a trace of a library: it doubles the results of `sin`, and writes down what
    it was given."""
    traces = import_module(f"{jx.__name__}.core")
    extended = import_module(f"{jx.__name__}.extend.core")
    seen = []

    class Doubling(traces.Trace):
        def __init__(self, parent):
            self.parent_trace = parent
            super().__init__()

        def process_primitive(self, primitive, tracers, params):
            seen.append((primitive.name, *sorted(params)))
            with extended.set_current_trace(self.parent_trace):
                out = primitive.bind(*tracers, **params)
                return out * 2 if primitive.name == "sin" else out

    def run(f, *args):
        with extended.take_current_trace() as parent, (
                extended.set_current_trace(Doubling(parent))):
            return f(*args)

    return run, seen


def test_a_trace_of_a_library_gets_the_parameters():
    def outcome(jx):
        run, seen = tracing_library(jx)
        lax = jx.lax
        out = run(lambda x: lax.reshape_p.bind(
            lax.mul_p.bind(lax.sin_p.bind(x, accuracy=None), x, out_dtype=None),
            new_sizes=(2, 2), dimensions=None, sharding=None), X)
        return np.asarray(out).tolist(), seen

    assert outcome(subject) == ask(lambda: outcome(jax))


# ----------------------------------------------------------------------------------------------
# Rule tables

NEEDED = {"sin": {"accuracy": None}, "mul": {"out_dtype": None}, "reshape": {
    "new_sizes": (2, 2), "dimensions": None, "sharding": None}}


@pytest.mark.parametrize("name", NEEDED)
@in_both
def test_derivative_rules_take_the_parameters(jx, name):
    ad = import_module(f"{jx.__name__}.interpreters.ad")
    p = getattr(jx.lax, f"{name}_p")
    x = X
    xs = (x, x) if name == "mul" else (x,)
    return ad.primitive_jvps[p](xs, xs, **NEEDED[name])


@pytest.mark.parametrize("name", NEEDED)
def test_batching_rules_take_the_parameters(name):
    """JAX gives the rules only to `vmap`."""
    p, x = getattr(minijax.lax, f"{name}_p"), minijax.numpy.stack([X, 2 * X])
    xs = (x, x) if name == "mul" else (x,)
    rule = minijax.interpreters.batching.primitive_batchers[p]
    out, d = rule(xs, (0,) * len(xs), **NEEDED[name])
    want = minijax.vmap(lambda *xs: p.bind(*xs, **NEEDED[name]))(*xs)
    np.testing.assert_array_equal(minijax.numpy.moveaxis(out, d, 0), want)


@in_both
def test_a_transpose_rule_takes_the_parameters(jx):
    ad = import_module(f"{jx.__name__}.interpreters.ad")
    x = X
    linear = ad.UndefinedPrimal(jx.typeof(x))
    by_two, _ = ad.primitive_transposes[jx.lax.mul_p](x, linear, 2 * x, out_dtype=None)
    flat, = ad.get_primitive_transpose(jx.lax.reshape_p)(
        x.reshape(2, 2), linear, new_sizes=(2, 2), dimensions=None, sharding=None)
    return by_two, flat


def test_a_rule_of_a_library_gets_the_parameters(monkeypatch):
    """A library may replace the rule of a primitive, and then calls the one that was there."""
    ad, sin_p, seen = minijax.interpreters.ad, minijax.lax.sin_p, []
    before = ad.primitive_jvps[sin_p]

    def rule(primals, tangents, *, accuracy):
        seen.append(accuracy)
        return before(primals, tangents, accuracy=accuracy)

    own = forward.primitive_jvps[sin_p]
    monkeypatch.setitem(ad.primitive_jvps, sin_p, rule)
    assert minijax.jvp(minijax.lax.sin, (0.0,), (2.0,))[1] == 2.0 and seen == [None]
    ad.primitive_jvps[sin_p] = before
    assert forward.primitive_jvps[sin_p] is own


# ----------------------------------------------------------------------------------------------
# What it must not cost


def test_equations_hold_only_what_rules_take():
    closed = minijax.make_jaxpr(lambda x: minijax.numpy.sin(x) * x)(X)
    sin, mul = closed.eqns
    assert (sin.own_params, mul.own_params) == ({}, {})
    assert sin.params == {"accuracy": None}
    assert sin.replace(params=sin.params).own_params == {}


def test_a_primitive_of_a_user_lists_what_it_was_given():
    p = minijax.extend.core.Primitive("sin")
    p.def_abstract_eval(lambda x: x)
    (eqn,) = minijax.make_jaxpr(p.bind)(X).eqns
    assert eqn.params == {} and p not in params_rules
