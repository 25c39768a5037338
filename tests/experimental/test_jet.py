"""`jet`: JAX's derivatives where JAX has a rule; everywhere those of nested `jvp`s."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minijax
import minijax.experimental.jet
from minijax import lax, numpy as jnp
from tests.oracle import both, in_both
from tests.oracle.primitives_table import ROWS, operands

X = np.array([0.3, 0.7, 0.45], np.float32)
MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.1]], np.float32)
V = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)

UNARY = """sin cos sinh cosh tanh exp expm1 log log1p sqrt rsqrt square logistic erf erfc erf_inv neg
    abs sign floor ceil round asinh atanh is_finite""".split()

# Where JAX has a rule: a function of the namespace, and how many arguments it has.
LIKE_JAX = {
    **{name: (lambda jx, *xs, name=name: getattr(jx.lax, name)(*xs), 1) for name in UNARY},
    "acosh": (lambda jx, x: jx.lax.acosh(x + 1), 1),
    "round's slope": (lambda jx, x: x * jx.numpy.round(x), 1),
    "operators": (lambda jx, x, y: (x + y, x - y, x * y, x / y, x**y, x % (y + 0.1)), 2),
    "constants": (lambda jx, x: (x + 1, 2 - x, 3 * x, x / 2, 1 / x, x**2, x**-2, x**0, x**7), 1),
    "fractional power": (lambda jx, x: x**2.5, 1),
    "atan2": (lambda jx, x, y: jx.numpy.arctan2(x, y), 2),
    "extremes": (lambda jx, x, y: (jx.numpy.maximum(x, y), jx.numpy.minimum(x, y * 0 + 0.5)), 2),
    "ties": (lambda jx, x: (jx.lax.max(x, x * 1.0), jx.lax.min(x, x * 1.0)), 1),
    "where": (lambda jx, x: jx.numpy.where(x > 0.4, x**2, 1 / x), 1),
    "products": (lambda jx, x, y: (x @ MATRIX @ y, jx.numpy.outer(x, y)), 2),
    "sums": (lambda jx, x: (jx.numpy.sum(x**2), jx.numpy.cumsum(x), jx.numpy.mean(x)), 1),
    "running": (lambda jx, x: (jx.numpy.cumprod(x), jx.lax.cummax(x), jx.lax.cummin(x)), 1),
    "largest": (lambda jx, x: (jx.numpy.max(x), jx.numpy.min(x)), 1),
    "shapes": (lambda jx, x: jx.numpy.stack([x, x[::-1]]).T.reshape(2, 3)[:, 1:], 1),
    "pad": (lambda jx, x: jx.numpy.pad(x, 1), 1),
    "gather": (lambda jx, x: x[np.array([2, 0, 0])] ** 2, 1),
    "scatter": (lambda jx, x: jx.numpy.zeros(4).at[np.array([0, 0, 2])].add(x**2), 1),
    "slices": (lambda jx, x: jx.lax.dynamic_update_slice(x, jx.lax.dynamic_slice(x, (1,), (2,)) ** 2,
                                                        (0,)), 1),
    "complex": (lambda jx, x: jx.numpy.abs(jx.numpy.real(jx.lax.complex(x, 1 - x) ** 2)), 1),
    "conversion": (lambda jx, x: x.astype("float16") * x.astype("int32"), 1),
    "fft": (lambda jx, x: jx.numpy.real(jx.numpy.fft.fft(x**2)), 1),
    "convolution": (lambda jx, x: jx.lax.conv_general_dilated(
        x[None, None], x[None, None] ** 2, (1,), "SAME"), 1),
    "jit": (lambda jx, x: jx.jit(lambda x: (jx.numpy.sin(x) * x, 3))(x), 1),
    "softmax": (lambda jx, x: (jx.nn.softmax(x), jx.nn.logsumexp(x)), 1),
    "gradient": (lambda jx, x: jx.grad(lambda x: jx.numpy.sum(jx.numpy.tanh(x @ MATRIX) ** 2))(x), 1),
    "vmap": (lambda jx, x: jx.vmap(lambda x: x * jx.numpy.exp(x))(x), 1),
    "network": (lambda jx, x: jx.numpy.tanh(jx.numpy.tanh(x @ MATRIX) @ MATRIX), 1),
}  # fmt: skip


def curves(number: int, order: int):
    """Points, and directions with derivatives up to an order."""
    primals = tuple(X[::-1] if i else X for i in range(number))
    series = tuple([V[k] * (1 - 2 * i) for k in range(order)] for i in range(number))
    return primals, series


@pytest.mark.parametrize("name", LIKE_JAX)
def test_like_jax(name):
    f, number = LIKE_JAX[name]
    primals, series = curves(number, 3)

    def program(jx):
        return lambda: jx.experimental.jet.jet(lambda *xs: f(jx, *xs), primals, series)

    both(program, tol=1e-3)


# Where JAX has none: by its derivative, or a rule of ours.
BEYOND_JAX = {
    "more functions": lambda x: (jnp.tan(x), jnp.arctan(x), jnp.arcsin(x), jnp.arccos(x),
                                 lax.exp2(x), lax.cbrt(x), lax.lgamma(x + 1), lax.digamma(x + 1)),
    "relu": lambda x: minijax.nn.relu(x - 0.4) * x,
    "gelu": lambda x: minijax.nn.gelu(x, approximate=False),
    "logaddexp": lambda x: jnp.logaddexp(x, x**2),
    "clamp": lambda x: lax.clamp(0.4, x, 0.6) * jnp.minimum(x, 0.5),
    "sort": lambda x: jnp.sort(x**2) * jnp.arange(3.0),
    "prod": lambda x: jnp.prod(x),
    "moving exponent": lambda x: jnp.float32(2.0) ** x,
    "set": lambda x: jnp.zeros(4).at[1:].set(x**2),
    "cond": lambda x: lax.cond(x[0] > 0, lambda x: jnp.sin(x) * x, lambda x: x, x),
    "switch": lambda x: lax.switch(1, [lambda x: x, lambda x: x**3], x),
    "scan": lambda x: lax.scan(lambda c, a: (jnp.sin(c) * a, c * x), x[0], x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.cos(c) * x + i, x),
    "while_loop": lambda x: lax.while_loop(lambda c: c[0] < 2 * x[1] ** 0 + 1,
                                           lambda c: (c[0] + 1, c[1] * x), (0.0, jnp.ones(3))),
    "checkpoint": lambda x: minijax.checkpoint(lambda x: jnp.sin(x) ** 2)(x),
    "custom_vjp": lambda x: with_a_rule(x) * x,
    "determinant": lambda x: jnp.linalg.det(MATRIX + jnp.diag(x)),
    "solution": lambda x: jnp.linalg.solve(MATRIX + jnp.outer(x, x), x),
}  # fmt: skip


@minijax.custom_vjp
def with_a_rule(x):
    """Its rule is for going backwards: a jet looks inside."""
    return jnp.sin(x)


with_a_rule.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (7 * ct,))


def nested_derivatives(f, order):
    """The derivatives at 0 of f on the curve x(ε) = X + Σ V_k εᵏ / k!, one jvp in another."""
    def curve(e):
        powers = sum(V[k] * e ** (k + 1) / math.factorial(k + 1) for k in range(order))
        return X + powers

    g, out = lambda e: f(curve(e)), []
    for _ in range(order):
        g = lambda e, g=g: minijax.jvp(g, (e,), (jnp.ones_like(e),))[1]
        out.append(minijax.jit(g)(jnp.float32(0)))
    return out


def assert_close(ours, theirs, tol=1e-3):
    for a, b in zip(minijax.tree.leaves(ours), minijax.tree.leaves(theirs), strict=True):
        scale = max(1.0, float(np.max(np.abs(b), initial=0)))
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * scale)


def by_order(series, order):
    """The leaves of a pytree that has lists of derivatives, for each order."""
    leaves = minijax.tree.leaves(series)
    return [leaves[k::order] for k in range(order)]


@pytest.mark.daily(3)
@pytest.mark.parametrize("name", BEYOND_JAX)
def test_beyond_jax(name):
    f, order = BEYOND_JAX[name], 3
    value, series = minijax.experimental.jet.jet(f, (X,), ([*V[:order]],))
    assert_close(value, f(X))
    if name == "custom_vjp":  # which has no forward derivative
        f = lambda x: jnp.sin(x) * x
    assert_close(by_order(series, order), nested_derivatives(f, order))


@pytest.mark.parametrize("name", ["network", "operators", "where", "atan2"])
def test_transformed(name):
    """A jet is a function like others: compiled, mapped, differentiated, in another jet."""
    f, number = LIKE_JAX[name]
    primals, series = curves(number, 2)

    def total(library_jet, primals, series):
        outs = library_jet(lambda *xs: f(minijax, *xs), primals, series)
        return sum(jnp.sum(leaf) for leaf in minijax.tree.leaves(outs))

    jet = minijax.experimental.jet.jet
    expected = jet(lambda *xs: f(minijax, *xs), primals, series)
    compiled = minijax.jit(lambda p, s: jet(lambda *xs: f(minijax, *xs), p, s))(primals, series)
    assert_close(compiled, expected)
    twice = minijax.tree.map(lambda x: np.stack([x, x]), (primals, series))
    mapped = minijax.vmap(lambda p, s: jet(lambda *xs: f(minijax, *xs), p, s))(*twice)
    assert_close(minijax.tree.map(lambda x: x[0], mapped), expected)
    slope = lambda p: minijax.grad(lambda p: total(jet, p, series))(p)
    assert_close(minijax.jit(slope)(primals), slope(primals))


def test_gradient_of_a_jet_against_jax():
    def program(jx):
        def third(x):
            return jx.experimental.jet.jet(lambda x: jx.numpy.sum(jx.numpy.sin(x) * x**2), (x,),
                                           ([V[0], V[1], V[2]],))[1][2]

        return lambda: (jx.grad(third)(X), jx.jit(jx.vmap(third))(V))

    both(program, tol=1e-3)


def test_jet_in_jet():
    """x(ε, δ) = 1 + ε + δ: the coefficients of both directions are those of one."""
    jet = minijax.experimental.jet.jet
    inner = lambda x: jet(jnp.exp, (x,), ([1.0, 0.0],))[1][1]
    value, (first, second) = jet(inner, (1.0,), ([1.0, 0.0],))
    assert_close([value, first, second], [math.e] * 3)


def test_high_order():
    """Ten derivatives of exp(sin x), in 64 bits, as many nested derivatives would tell."""
    with minijax.enable_x64(True):
        f = lambda x: jnp.exp(jnp.sin(x))
        _, series = minijax.experimental.jet.jet(f, (0.0,), ([1.0] + [0.0] * 9,))
        assert_close(series, [1, 1, 0, -3, -8, -3, 56, 217, 64, -2951], tol=1e-9)


def test_the_work_grows_slowly():
    """Equations of the order-6 jet of a network: nested jvps would need 2⁶ times those of f."""
    f = lambda x: jnp.sum(jnp.tanh(jnp.tanh(x @ MATRIX) @ MATRIX))
    series = ([V[0]] * 6,)
    jet = minijax.make_jaxpr(lambda x: minijax.experimental.jet.jet(f, (x,), series))(X)
    assert len(jet.eqns) < 350
    nested = f
    for _ in range(6):
        nested = lambda x, g=nested: minijax.jvp(g, (x,), (V[0],))[1]
    assert len(minijax.make_jaxpr(nested)(X).eqns) > len(jet.eqns)


def test_one_equation_for_a_jit():
    f = minijax.jit(lambda x: jnp.sin(x) * 2)
    jaxpr = minijax.make_jaxpr(lambda x: minijax.experimental.jet.jet(f, (x,), ([V[0]],)))(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("jit") == 1


def test_a_primitive_of_the_user():
    """It needs no rule here: that of chapter 2 will do."""
    from minijax.interpreters import ad

    cube_p = minijax.core.Primitive("cube")
    cube_p.def_impl(lambda x: x * x * x)
    cube_p.def_abstract_eval(lambda x: x)
    ad.defjvp(cube_p, lambda t, x: t * 3 * x * x)
    _, series = minijax.experimental.jet.jet(cube_p.bind, (2.0,), ([1.0, 0.0, 0.0],))
    assert_close(series, [12.0, 12.0, 6.0])
    lost_p = minijax.core.Primitive("lost")
    lost_p.def_impl(lambda x: x)
    with pytest.raises(NotImplementedError, match="'lost'"):
        minijax.experimental.jet.jet(lost_p.bind, (2.0,), ([1.0],))


CALLS = {
    "coefficients": lambda jx, jet: jet(jx.numpy.exp, (0.5,), ([1.0, 0.5, 0.0],),
                                        factorial_scaled=False),
    "pytree of results": lambda jx, jet: jet(lambda x: {"a": x * 3, "b": (x * x, True)}, (0.5,),
                                             ([1.0, 0.0],)),
    "no order": lambda jx, jet: jet(jx.numpy.sin, (0.5,), ([],)),
    "constant": lambda jx, jet: jet(lambda x: np.float32(3), (0.5,), ([1.0, 2.0],)),
    "one argument still": lambda jx, jet: jet(lambda x, y: x * y, (0.5, 2.0), ([1.0], [0.0])),
    "other lengths": lambda jx, jet: jet(lambda x, y: x * y, (0.5, 2.0), ([1.0], [])),
    "no arguments": lambda jx, jet: jet(lambda: 1.0, (), ()),
    "a pytree": lambda jx, jet: jet(lambda x: x[0], ([0.5],), ([1.0],)),
    "a pytree as a term": lambda jx, jet: jet(lambda x: x, (0.5,), ([[1.0]],)),
    "integers": lambda jx, jet: jet(lambda x: x * x, (3,), ([1.0],)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    both(lambda jx: lambda: CALLS[name](jx, jx.experimental.jet.jet))


REFUSE_FLOATS = "real imag not and or xor shift_left shift_right_arithmetic shift_right_logical"


@pytest.mark.parametrize("row", [r for r in ROWS if r.takes("float32")
                                 and r.primitive not in REFUSE_FLOATS.split()], ids=lambda r: r.label)
def test_every_primitive(row):
    """The second derivative along a direction is that of a jvp of a jvp."""
    f, args = row.call(minijax), operands(row.operands[0], "float32")
    moves = [x.dtype.kind == "f" for x in args]
    values = tuple(x for x, m in zip(args, moves) if m)
    directions = tuple(np.cos(np.arange(x.size, dtype=x.dtype)).reshape(x.shape) for x in values)
    if not values:
        return  # nothing moves

    def of_moving(*moving):
        rest = iter(moving)
        return f(*(next(rest) if m else x for x, m in zip(args, moves)))

    def slope(*values):
        return minijax.jvp(of_moving, values, directions)[1]

    expected = [slope(*values), minijax.jvp(slope, values, directions)[1]]
    series = tuple([v, np.zeros_like(v)] for v in directions)
    _, found = minijax.experimental.jet.jet(of_moving, values, series)
    for ours, theirs in zip(by_order(found, 2), expected):
        for a, b in zip(ours, minijax.tree.leaves(theirs), strict=True):
            if b.dtype != minijax.dtypes.float0:
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


# ----------------------------------------------------------------------------------------------
# JAX's vocabulary


def test_factorials():
    both(lambda jx: lambda: [jx.experimental.jet.fact(n) for n in (0, 1, 2, 3, 5)])


def test_coefficients():
    both(lambda jx: lambda: jx.experimental.jet.jet2(jx.numpy.sin, (1.0,), ([1.0, 0.5],)))


@in_both
def test_marks_of_zeros(jx):
    jet = jx.experimental.jet
    leaves = jx.tree.leaves((jet.zero_series, jet.zero_term))
    x = jx.numpy.ones(1)
    series = jet.jet(lambda x: 2.0, (x,), ([x, x],))[1]
    return (leaves, type(jet.zero_series).__name__, series is jet.zero_series)


def test_arguments_that_do_not_move():
    """A boolean has no slope, whatever is given as such; an integer's is to be zero."""
    terms = [X, X * 2]
    both(lambda jx: lambda: jx.experimental.jet.jet(
        jx.numpy.where, (X > 0.4, X, -X), (terms, terms, terms)))
    both(lambda jx: lambda: jx.experimental.jet.jet(lambda x, n: x * n, (1.5, 2), ([1.0], [0])))
    with pytest.raises(TypeError, match="int32"):
        minijax.experimental.jet.jet(lambda x, n: x * n, (1.5, 2), ([1.0], [1]))
