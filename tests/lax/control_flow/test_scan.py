"""`scan`, `map` and `associative_scan`: types, laws, partial evaluation, cost, mistakes.

Their values, jaxprs and derivatives are compared with JAX's by the rows of `oracle/lax_table.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minijax
from minijax import lax, numpy as jnp
from minijax.checks.typecheck import check_jaxpr
from minijax.core.jaxpr import eval_jaxpr
from minijax.core.partial_eval import dce_jaxpr, partial_eval_jaxpr
from tests.halves import check_halves
from tests.oracle import both, in_both, jax as real_jax
from tests.oracle.lax_table import CALLS, function
from tests.oracle.primitives_table import operands

VECTOR = np.array([0.5, 1.5, 2.5], np.float32)
MATRIX = np.arange(6, dtype=np.float32).reshape(3, 2) / 5 + 0.3
WEIGHTS = np.array([[0.3, -0.2], [0.5, 0.1]], np.float32)
SCALAR = np.float32(0.7)
ONES = np.ones(2, np.float32)


def _oscillator(jx):
    """A semi-implicit step of a pendulum: the new speed, then the new place."""

    def step(theta, state, _):
        place, speed = state
        speed = speed - 0.1 * theta * jx.numpy.sin(place)
        return (place + 0.1 * speed, speed), place

    return step


def _loss(jx, f):
    """The sum of the real results."""
    return lambda *args: sum(jx.numpy.sum(x) for x in jx.tree.leaves(f(*args))
                             if x.dtype.kind == "f")


# ----------------------------------------------------------------------------------------------
# Types


@pytest.mark.parametrize(
    ("init", "xs"),
    [
        (0, VECTOR),  # a weakly typed carry becomes a float
        (0, np.arange(3, dtype=np.int32)),
        (0.0, np.arange(3, dtype=np.int32)),
        (np.int8(1), np.arange(3, dtype=np.int8)),
        (np.float16(1), np.arange(3, dtype=np.float16)),
        (1j, VECTOR),
        (np.complex64(1), VECTOR),
        (np.zeros((0, 2), np.float32), np.zeros((3, 0, 2), np.float32)),
        (np.float32(1), np.zeros(0, np.float32)),
        (1.0, np.zeros((0, 2, 0), np.float32)),
        (True, np.array([True, False])),
    ],
)
def test_dtypes_weak_types_and_empty_arrays(init, xs):
    def program(jx):
        def body(c, x):
            return (c & x if x.dtype == bool else c + x.sum().astype(x.dtype) * 1), (c, x)

        return lambda init, xs: jx.lax.scan(body, init, xs)

    both(program, init, xs)
    both(lambda jx: lambda init, xs: jx.make_jaxpr(program(jx))(init, xs), init, xs)


@in_both
def test_named_axes_inside(jx):
    def f(c, xs):
        return jx.lax.scan(lambda c, x: (c * jx.lax.axis_size("i") + x, c), c, xs)

    return jx.vmap(f, (0, None), axis_name="i")(VECTOR, MATRIX[:, 0])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, 5, 7, 0, True, False])
@in_both
def test_unroll(jx, reverse, unroll):
    def f(a, xs):
        c, ys = jx.lax.scan(lambda c, x: (c * a + x, (c, x * c)), a, xs, None, reverse, unroll)
        return c + (ys[0] * ys[1]).sum()

    return jx.value_and_grad(f, (0, 1))(SCALAR, np.arange(5, dtype=np.float32))


@pytest.mark.parametrize("reverse", [False, True])
@in_both
def test_python_loop_when_jit_is_disabled(jx, reverse):
    xs = VECTOR
    seen = []
    with jx.disable_jit():
        out = jx.lax.scan(lambda c, x: (seen.append(float(c)), (c + x, c))[1], 0.0, xs,
                          reverse=reverse)
        grads = jx.grad(lambda xs: jx.lax.scan(lambda c, x: (c * x, c), 1.0, xs)[0])(xs)
    return out, seen, grads


# ----------------------------------------------------------------------------------------------
# Laws: any length, direction and unrolling is the Python loop


@settings(max_examples=25, deadline=None)
@given(
    length=st.integers(1, 9),
    reverse=st.booleans(),
    unroll=st.one_of(st.integers(0, 10), st.booleans()),
    shape=st.sampled_from([(), (2,), (0,), (2, 3)]),
)
def test_scan_is_the_loop(length, reverse, unroll, shape):
    xs = np.random.RandomState(length).rand(length, *shape).astype(np.float32)
    init = np.full(shape, 0.5, np.float32)

    def loss(c, xs, **options):
        def body(c, x):
            return jnp.sin(c) * x + c, c * x

        c, ys = lax.scan(body, c, xs, reverse=reverse, **options)
        return c.sum() + (ys * jnp.arange(length).reshape(length, *[1] * len(shape))).sum()

    grad = minijax.value_and_grad(loss, (0, 1))
    value, grads = grad(init, xs, unroll=unroll)
    with minijax.disable_jit():
        expected, expected_grads = grad(init, xs)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for got, want in zip(grads, expected_grads, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def _mixed(a, b, c, xs, zs):
    """Carries that depend on one another in a chain, one on nothing else, and a constant part."""

    def body(carry, x):
        first, second, third, alone = carry
        x, z = x
        new = first * jnp.sin(a), second + first * x, third * jnp.cos(second), alone * z
        return new, (third * x, alone + jnp.exp(a), x)

    return lax.scan(body, (a, b, c, b * c), (xs, zs))


MIXED_ARGS = (SCALAR, np.float32(0.4), np.float32(1.3), VECTOR, VECTOR[::-1].copy())


@pytest.mark.parametrize("unknown", [*itertools.product([False, True], repeat=5)])
def test_partial_evaluation_of_any_part(unknown):
    check_halves(minijax.make_jaxpr(_mixed)(*MIXED_ARGS), unknown, MIXED_ARGS)


def test_partial_evaluation_finds_what_is_known_in_both_directions():
    jaxpr = minijax.make_jaxpr(_mixed)(*MIXED_ARGS)

    def out_unknown(*unknown):
        known, rest, flags, *_ = partial_eval_jaxpr(jaxpr, unknown, (False,) * 7)
        loops = [[e.params["num_carry"] for e in half.eqns if e.primitive is lax.scan_p]
                 for half in (known, rest)]
        return flags, *loops

    # first, second, third, alone; third * x, alone + exp(a), x
    flags, known, rest = out_unknown(False, True, False, False, False)
    assert flags == (False, True, True, True, True, True, False)
    assert (known, rest) == ([1], [3])
    flags, known, rest = out_unknown(False, False, False, False, True)
    assert flags == (False, False, False, True, False, True, False)
    assert (known, rest) == ([3], [1])
    flags, known, rest = out_unknown(True, False, False, False, False)
    assert flags == (True, True, True, False, True, True, False)
    assert (known, rest) == ([1], [3])
    flags, known, rest = out_unknown(False, False, False, True, False)
    assert flags == (False, True, True, False, True, False, True)
    assert (known, rest) == ([2], [2])


def test_what_is_known_of_constants_leaves_the_loop():
    def f(w, xs):
        return lax.scan(lambda c, x: (c * jnp.sin(w) + x, None), w, xs)[0].sum()

    jaxpr = minijax.make_jaxpr(lambda w, xs: minijax.linearize(f, w, xs)[1](w, xs))(ONES, MATRIX)
    outside = [e.primitive.name for e in jaxpr.eqns]
    loops = [e for e in jaxpr.eqns if e.primitive is lax.scan_p]
    assert "sin" in outside
    assert "cos" in outside
    inside = {e.primitive.name for loop in loops for e in loop.params["jaxpr"].eqns}
    assert not inside & {"sin", "cos"}
    assert [len(loop.params["jaxpr"].outvars) for loop in loops] == [2, 1]


@pytest.mark.parametrize("used", [*itertools.product([False, True], repeat=4)])
def test_dead_code(used):
    """Of the four carries and three `ys`, what is used is kept, and what that needs."""
    used = (*used, True, False, False)
    jaxpr = minijax.make_jaxpr(_mixed)(*MIXED_ARGS)
    alive, used_inputs = dce_jaxpr(jaxpr.jaxpr, used)
    check_jaxpr(alive)
    args = [x for x, u in zip(MIXED_ARGS, used_inputs, strict=True) if u]
    got = eval_jaxpr(alive, jaxpr.consts, *args)
    whole = eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *MIXED_ARGS)
    for value, want in zip(got, [x for x, u in zip(whole, used, strict=True) if u], strict=True):
        np.testing.assert_allclose(value, want, rtol=1e-6)
    (loop,) = [e for e in alive.eqns if e.primitive is lax.scan_p]
    assert loop.params["num_carry"] == 3 + used[3]  # `third` needs the two before it
    assert used_inputs[4] == used[3]


def test_a_scan_that_nobody_needs_is_dropped():
    def f(x):
        return lax.scan(lambda c, y: (c * y, c), x, VECTOR), x * 2

    jaxpr = minijax.make_jaxpr(f)(1.0)
    alive, used_inputs = dce_jaxpr(jaxpr.jaxpr, [False, False, True])
    assert [e.primitive.name for e in alive.eqns] == ["mul"]
    assert used_inputs == [True]


def test_linear_transpose_with_a_counter():
    """A carry that is not linear is run forwards, and the rest transposed."""
    weights = jnp.arange(1.0, 5.0)

    def f(x):
        def body(carry, w):
            i, total = carry
            return (i + 1, total * w + i * x), total * i

        (_, total), ys = lax.scan(body, (0.0, x), weights)
        return total, ys

    ct = (jnp.float32(2.0), jnp.arange(4.0))
    (got,) = minijax.linear_transpose(f, jnp.float32(1.0))(ct)
    slope = f(jnp.float32(1.0))
    np.testing.assert_allclose(got, slope[0] * ct[0] + (slope[1] * ct[1]).sum(), rtol=1e-6)


def test_transpose_is_the_adjoint():
    rng = np.random.RandomState(0)
    tangents = [np.float32(rng.randn(*np.shape(x))) for x in MIXED_ARGS]
    outs, f_jvp = minijax.linearize(_mixed, *MIXED_ARGS)
    _, f_vjp = minijax.vjp(_mixed, *MIXED_ARGS)
    leaves, tree = minijax.tree.flatten(outs)
    cts = [np.float32(rng.randn(*x.shape)) for x in leaves]
    forward = minijax.tree.leaves(f_jvp(*tangents))
    backward = f_vjp(tree.unflatten(cts))
    assert sum(np.vdot(x, y) for x, y in zip(forward, cts, strict=True)) == pytest.approx(
        sum(np.vdot(x, y) for x, y in zip(tangents, backward, strict=True)), rel=1e-4)


# ----------------------------------------------------------------------------------------------
# Cost


def _long_pendulum(jx, length, unroll=1):
    def loss(theta):
        body = _oscillator(jx)
        start = jx.numpy.float32(1), jx.numpy.float32(0)
        _, places = jx.lax.scan(lambda s, x: body(theta, s, x), start, None, length, unroll=unroll)
        return (places**2).sum()

    return loss


def _lowered(jx, length, unroll=1):
    return jx.jit(jx.grad(_long_pendulum(jx, length, unroll))).lower(SCALAR)


def test_the_program_does_not_grow_with_the_length():
    short, long = (_lowered(minijax, n).as_text() for n in (10, 100_000))
    assert len(short.splitlines()) == len(long.splitlines())
    assert long.count("stablehlo.while") == 2


@pytest.mark.parametrize("unroll", [1, 8])
def test_flops_and_memory_are_those_of_jax(unroll):
    ours, theirs = (_lowered(jx, 1000, unroll).compile() for jx in (minijax, real_jax))
    assert _analysis(ours)["flops"] <= 1.05 * _analysis(theirs)["flops"]
    temp, expected = (c.memory_analysis().temp_size_in_bytes for c in (ours, theirs))
    assert temp <= 1.05 * expected


def _analysis(compiled):
    costs = compiled.cost_analysis()
    return costs[0] if isinstance(costs, list) else costs


@pytest.mark.parametrize("line, call", [row for row in CALLS if row[1].startswith("lax.scan")
                                        and "float32" in row[0] and "length=n" not in row[1]][:6])
def test_residuals_are_those_of_jax(line, call):
    """As many bytes, of arrays of more than one element."""
    def program(jx):
        def residuals(*args):
            leaves = jx.tree.leaves(jx.vjp(function(call)(jx), *args)[1])
            return sum(x.nbytes for x in leaves if x.size > 1)

        return residuals

    both(program, *operands(line, "float32"))


def test_a_gradient_outside_jit_is_compiled_once(monkeypatch):
    from minijax.core import jit as jit_room

    compiled, compile_module = [], jit_room.compile_module
    monkeypatch.setattr(jit_room, "compile_module",
                        lambda *args: compiled.append(args) or compile_module(*args))

    def body(c, x):
        return jnp.sin(c) * x, c

    def loss(c):
        return lax.scan(body, c, VECTOR)[1].sum()

    minijax.grad(loss)(1.5)
    n = len(compiled)
    assert n == 2  # forwards and backwards
    minijax.grad(loss)(2.5)
    assert len(compiled) == n


def test_donated_carry():
    run = minijax.jit(lambda c, xs: lax.scan(lambda c, x: (c + x, None), c, xs)[0],
                      donate_argnums=0)
    c = jnp.zeros(3)
    np.testing.assert_allclose(run(c, np.ones((4, 3), np.float32)), [4, 4, 4])
    assert c.is_deleted()


# ----------------------------------------------------------------------------------------------
# Mistakes


def _keep(c, x):
    return c, x


MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "not_callable": (lambda jx: jx.lax.scan(3, 0.0, VECTOR), "f argument should be a callable."),
    "number_for_xs": (lambda jx: jx.lax.scan(_keep, 0.0, 3.0), "xs is 3.0"),
    "scalar_for_xs": (lambda jx: jx.lax.scan(_keep, 0.0, (VECTOR, SCALAR)), r"xs\[1\] is .*0\.7"),
    "text_for_xs": (lambda jx: jx.lax.scan(_keep, 0.0, "abc"), "not a valid JAX type"),
    "text_for_init": (lambda jx: jx.lax.scan(_keep, "a", VECTOR), "not a valid JAX type"),
    "no_length": (lambda jx: jx.lax.scan(_keep, 0.0), "`length` not provided"),
    "wrong_length": (
        lambda jx: jx.lax.scan(_keep, 0.0, VECTOR, length=4),
        r"4 which disagrees with leading axis sizes \[3\]. xs of type f32\[3\]",
    ),
    "sizes_differ": (
        lambda jx: jx.lax.scan(_keep, 0.0, {"a": VECTOR, "b": VECTOR[:2]}),
        r"xs\['a'\] of type f32\[3\], xs\['b'\] of type f32\[2\]",
    ),
    "length_is_text": (lambda jx: jx.lax.scan(_keep, 0.0, None, length="a"), "integer|invalid literal"),
    "traced_length": (
        lambda jx: jx.jit(lambda n: jx.lax.scan(_keep, 0.0, None, length=n))(3),
        "concrete `int` value",
    ),
    "no_pair": (lambda jx: jx.lax.scan(lambda c, x: c, 0.0, VECTOR), "must be a pair"),
    "triple": (lambda jx: jx.lax.scan(lambda c, x: (c, c, c), 0.0, VECTOR), "must be a pair"),
    "nothing": (lambda jx: jx.lax.scan(lambda c, x: None, 0.0, VECTOR), "must be a pair"),
    "dtype_changes": (
        lambda jx: jx.lax.scan(lambda c, x: (c.astype(int), x), SCALAR, VECTOR),
        r"carry c has type f(loat)?32\[\] .* has type i(nt)?32\[\], so the dtypes do not match",
    ),
    "shape_changes": (
        lambda jx: jx.lax.scan(
            lambda c, x: ({"a": c["a"][:2], "b": c["b"]}, x), {"a": VECTOR, "b": 1.0}, VECTOR),
        r"component c\['a'\] has type f(loat)?32\[3\] .* has type f(loat)?32\[2\], so the shapes",
    ),
    "leaf_becomes_tuple": (
        lambda jx: jx.lax.scan(lambda c, x: ((c, c), x), 0.0, VECTOR),
        "[tT]he input carry c is a pytree leaf .* is a <class 'tuple'>",
    ),
    "tuple_becomes_list": (
        lambda jx: jx.lax.scan(lambda c, x: ([c[0], c[1]], x), (1.0, 2.0), VECTOR),
        "is a <class 'tuple'> .* is a <class 'list'>",
    ),
    "weak_type_not_deep_enough": (
        lambda jx: jx.lax.scan(lambda c, x: ((c[1], c[0] + x), x), (0, 0), VECTOR),
        r"component c\[0\] has type i(nt)?32\[\]",
    ),
    "text_returned": (lambda jx: jx.lax.scan(lambda c, x: (c, "a"), 0.0, VECTOR), "JAX type"),
    "negative_unroll": (lambda jx: jx.lax.scan(_keep, 0.0, VECTOR, unroll=-1), "non-negative"),
    "unroll_is_text": (lambda jx: jx.lax.scan(_keep, 0.0, VECTOR, unroll="a"), "'<' not supported"),
    "no_steps_in_python": (
        lambda jx: _without_jit(jx, lambda: jx.lax.scan(_keep, 0.0, VECTOR[:0])),
        "zero-length scan is not supported",
    ),
    "leaked": (lambda jx: _leak(jx), "argument .* of <lambda> at .*, traced for scan"),
    "error_in_the_body": (lambda jx: jx.lax.scan(lambda c, x: 1 / 0, 0.0, VECTOR), "division"),
    "bool_of_the_carry": (
        lambda jx: jx.lax.scan(lambda c, x: (c if c else x, x), 0.0, VECTOR), "boolean"),
    "map_of_nothing": (lambda jx: jx.lax.map(lambda x: x, ()), "no values to scan over"),
    "map_sizes_differ": (lambda jx: jx.lax.map(lambda x: x, (VECTOR, VECTOR[:2])), "different"),
    "map_negative_batch": (lambda jx: jx.lax.map(lambda x: x, VECTOR, batch_size=-1), "negative"),
    "associative_not_callable": (lambda jx: jx.lax.associative_scan(3, VECTOR), "callable"),
    "associative_sizes_differ": (
        lambda jx: jx.lax.associative_scan(jx.numpy.add, (VECTOR, VECTOR[:2])),
        r"elems\[0\] of type f32\[3\], elems\[1\] of type f32\[2\]",
    ),
    "associative_axis": (
        lambda jx: jx.lax.associative_scan(jx.numpy.add, VECTOR, axis=3), "out of bounds"),
}


def _without_jit(jx, f):
    with jx.disable_jit():
        return f()


def _leak(jx):
    kept = []
    jx.lax.scan(lambda c, x: (kept.append(c), (c, x + 1))[1], 0.0, VECTOR)
    return kept[0] + 1


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_raise_what_jax_raises(name):
    mistake, text = MISTAKES[name]
    both(lambda jx: lambda: mistake(jx))
    with pytest.raises(Exception, match=text):
        mistake(minijax)


def test_negative_length():
    """JAX runs no steps, or fails inside XLA."""
    for body in (_keep, lambda c, x: (c + 1, None)):
        with pytest.raises(ValueError, match="negative `length`: -1"):
            lax.scan(body, 0.0, None, length=-1)


def test_ill_typed_scan_equations():
    jaxpr = minijax.make_jaxpr(lambda c, xs: lax.scan(lambda c, x: (c * x, c), c, xs))(
        SCALAR, VECTOR)
    (eqn,) = jaxpr.eqns
    for change in ({"length": 4}, {"num_carry": 0}, {"num_consts": 1}):
        wrong = jaxpr.jaxpr.replace(eqns=[eqn.replace(params=eqn.params | change)])
        with pytest.raises(minijax.errors.JaxprTypeError):
            check_jaxpr(wrong)


# ----------------------------------------------------------------------------------------------
# map and associative_scan


@pytest.mark.parametrize("batch_size", [None, 0, 1, 2, 3, 4, 7])
def test_map(batch_size):
    xs = {"a": np.arange(7, dtype=np.float32), "b": np.arange(14.0).reshape(7, 2)}

    def program(jx):
        def f(x):
            return x["a"] * x["b"].sum(), (x["a"] + 1).astype(int)

        return lambda xs: jx.lax.map(f, xs, batch_size=batch_size)

    both(program, xs)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6, 7])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_of_matrices(n, reverse):
    """Products of matrices do not commute: the order counts."""
    mats = np.random.RandomState(n).randn(n, 2, 2).astype(np.float32)
    shifts = np.random.RandomState(n).randn(n, 2).astype(np.float32)

    def program(jx):
        def compose(f, g):
            return {"m": g["m"] @ f["m"], "s": (g["m"] @ f["s"][..., None])[..., 0] + g["s"]}

        def run(mats, shifts):
            return jx.lax.associative_scan(compose, {"m": mats, "s": shifts}, reverse=reverse)

        return lambda *args: (run(*args), jx.grad(_loss(jx, run), (0, 1))(*args))

    both(program, mats, shifts)


@pytest.mark.parametrize("axis", [0, 1, -1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64, bool])
def test_associative_scan_axis_and_dtype(axis, dtype):
    xs = (np.arange(2 * 3 * 5).reshape(2, 3, 5) % 4).astype(dtype)

    def program(jx):
        combine = jx.numpy.logical_xor if dtype is bool else jx.numpy.add
        return lambda xs: jx.lax.associative_scan(combine, xs, axis=axis)

    both(program, xs)


# ----------------------------------------------------------------------------------------------
# Deep nesting


NESTED = [  # V: a vector, M: a matrix, W: weights, S: a number
    "jx.grad(lambda w: jx.vmap(lambda xs: lax.scan(lambda h, x: (jnp.tanh(h @ w + x), h.sum()),"
    " jnp.ones(2), xs)[1].sum())(jnp.stack([M, M * 2])).sum())(W)",
    "lax.scan(lambda x, r: (x - r * jx.grad(lambda x: (jnp.sin(x) ** 2).sum())(x), x), V, V / 10)",
    "jx.grad(lambda rate: lax.scan(lambda x, _: (x - rate * jx.grad(lambda x: (jnp.sin(x) ** 2).sum())"
    "(x), None), V, None, length=3)[0].sum())(S)",
    "jx.vmap(lambda c: lax.scan(lambda c, x: (jx.vmap(lambda y: y * x.sum() + c.mean())(c), c[0]), c, M))"
    "(np.stack([V, V + 1]))",
    "jx.jit(jx.grad(lambda a: lax.scan(lambda c, _: (lax.scan(lambda d, _: (lax.scan(lambda e, _:"
    " (jnp.sin(e * a), None), d, None, 2)[0], d), c, None, 2)[0], c), a, None, 2)[0]))(S)",
    "jx.grad(jx.grad(jx.grad(lambda a: lax.scan(lambda c, x: (jnp.sin(c * a) * x, None), a, V)[0])))(S)",
    "jx.jvp(lambda a: jx.vjp(lambda a: lax.scan(lambda c, x: (c * a + x, c), a, V), a)[1]((1.0, V))[0],"
    " (S,), (S,))",
    "jx.hessian(lambda xs: lax.scan(lambda c, x: (jnp.tanh(c + x), c), xs[0], xs)[1].sum())(V)",
    "[jac(lambda xs: lax.scan(lambda c, x: (c * x, c), 1.0, xs)[1])(V) for jac in (jx.jacfwd, jx.jacrev)]",
    "jx.value_and_grad(lambda a: lax.scan(lambda c, x: (lax.cond(x > 1, lambda c: c * a, lambda c: c + a,"
    " c), c), 1.0, V)[0])(S)",
    "jx.vmap(jx.grad(lambda a: lax.scan(lambda c, x: (lax.cond(c > x, lambda c: c * a, lambda c: c + a,"
    " c), c), a, V)[0]))(V)",
    "jx.grad(lambda a: lax.cond(a > 0, lambda a: lax.scan(lambda c, x: (c * a, None), a, V)[0],"
    " lambda a: a, a))(S)",
    "lax.while_loop(lambda c: c < 10, lambda c: lax.scan(lambda d, x: (d + x, None), c, V)[0], S)",
    "jx.vmap(lambda a: lax.scan(lambda c, x: (lax.while_loop(lambda d: d < 3 * x, lambda d: d * 2, c), c),"
    " a, V))(V)",
]


@pytest.mark.parametrize("text", NESTED)
def test_nested_in_other_transformations(text):
    names = {"np": np, "V": VECTOR, "M": MATRIX, "W": WEIGHTS, "S": SCALAR}
    both(lambda jx: lambda: eval(text, {"jx": jx, "lax": jx.lax, "jnp": jx.numpy, **names}))
