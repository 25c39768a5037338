"""What random programs have found, smaller and by hand. A row `program -> Error` is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.oracle import both

FOUND = """
jax.jit(lambda x, r: jnp.repeat(x, r, total_repeat_length=4))(jnp.arange(3.0), jnp.array([2, 0, 1]))
jax.jit(lambda x, r: jnp.repeat(x, r, axis=1, total_repeat_length=2))(jnp.ones((2, 3)), jnp.array([2, 0, 1]))
jax.jit(lambda x, r: jnp.repeat(x, r, total_repeat_length=7))(jnp.arange(3.0), jnp.array(2, 'uint8'))
jax.jit(lambda x, r: jnp.repeat(x, r, total_repeat_length=2))(jnp.zeros(0), jnp.zeros(0, int))
jax.grad(lambda x, r: jax.jit(lambda x, r: jnp.repeat(x, r, total_repeat_length=4))(x, r).sum())(jnp.arange(3.0), jnp.array([2, 0, 1]))
jax.vmap(lambda x, r: jnp.repeat(x, r, total_repeat_length=4))(jnp.arange(6.0).reshape(2, 3), jnp.array([[2, 0, 1], [1, 1, 1]]))
jax.jit(lambda x, r: jnp.repeat(x, r))(jnp.arange(3.0), jnp.array([2, 0, 1])) -> ConcretizationTypeError
jax.jit(lambda x, r: jnp.repeat(x, r, total_repeat_length=2))(jnp.arange(3.0), jnp.array([1, 2])) -> ValueError
jnp.repeat(jnp.float32(1.0), 2, axis=0)
jnp.repeat(1.0, 2, axis=-1)
jnp.repeat(1.0, 2, axis=1)
jnp.cumsum(1.0, axis=0)
jnp.cumsum(jnp.float32(1.0), axis=0) -> ValueError
jnp.cumprod(jnp.float32(1.0), axis=-1) -> ValueError
jnp.nancumsum(True, axis=0) -> ValueError
jnp.float32(1.0).cumsum(axis=0) -> ValueError
jnp.cumsum(jnp.float32(1.0))
jax.jacfwd(lambda a, b: b)(jnp.array([1.0, 2.0]), jnp.asarray(1))
jax.jacrev(lambda a, b: a * b, argnums=(0, 1), allow_int=True)(jnp.array([1.0, 2.0]), jnp.asarray(1))
jax.jacrev(lambda a: a * 1.0, allow_int=True)(jnp.int32(1))
jnp.round(1.234, 2)
jnp.around(jnp.asarray(1 + 2.345j), 1)
jnp.round(jnp.float16(1.234), 1)
jnp.diagonal(jnp.broadcast_to(jnp.asarray(0.5), (2, 2)))
jnp.diag(jnp.broadcast_to(jnp.asarray(0.5), (2, 2)))
jnp.diag(jnp.broadcast_to(jnp.asarray(0.5), (2,)))
jnp.diagflat(jnp.asarray(2))
jax.make_jaxpr(jnp.diagflat)(jnp.ones((2, 2)))
jax.make_jaxpr(lambda x: jax.jvp(lambda x: jnp.diagflat(x, -2), (x,), (x,)))(jnp.zeros(0))
jax.jacrev(lambda x: jax.jvp(lambda x: jax.lax.igamma(jnp.diagflat(x), jnp.diagflat(x)), (x,), (x,)))(jnp.zeros((0, 2)))
jnp.diagflat(jnp.ones(2), 1.5) -> TypeError
jnp.diagonal(jnp.zeros((0, 3)), -1)
jnp.diagonal(jnp.zeros((3, 0)), 2)
jnp.diagonal(jnp.ones((2, 3)), 7)
jnp.diagonal(jnp.ones((2, 3)), -2)
jnp.trace(jnp.zeros((0, 3)), -1)
jnp.diag(jnp.ones((2, 3)), -3)
jnp.polyval(jnp.broadcast_to(jnp.asarray(0.5), (3,)), 2.0)
jax.jvp(lambda x: jax.scipy.special.hyp1f1(1.5, 2.5, x), (jnp.float16(0.5),), (jnp.float16(1),))
jax.jvp(lambda a, x: jax.scipy.special.hyp1f1(a, 2.5, x), (1.5, jnp.float16(0.5)), (1.0, jnp.float16(1)))
jax.jvp(lambda a, x: jax.scipy.special.hyp2f1(a, 2.5, 0.5, x), (1.5, jnp.float16(0.5)), (1.0, jnp.float16(1)))
jnp.power(0.0, 1 + 2j)
jnp.power(jnp.complex64(0), np.array([1e-3 + 1j, 3 + 1e-20j, 2.5, 0j, 1j], 'complex64'))
jax.scipy.stats.t.logpdf(jnp.broadcast_to(jnp.asarray(0.5), (3,)), 2.0)
jax.scipy.stats.norm.logpdf(jnp.broadcast_to(jnp.asarray(0.5), (3,)), 2.0)
jax.scipy.stats.norm.logpdf(1.0, jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.norm.logpdf(jnp.asarray(0.5), 2.0)
jax.scipy.stats.cauchy.logpdf(jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.cauchy.cdf(jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.cauchy.ppf(jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.cauchy.isf(jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.beta.logpdf(jnp.broadcast_to(jnp.asarray(0.5), (3,)), 2.0, 2.0)
jax.scipy.stats.laplace.logpdf(jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.laplace.cdf(jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.laplace.logpdf(0.5, 1.0, jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.logistic.logpdf(jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.pareto.logpdf(jnp.broadcast_to(jnp.asarray(0.5), (3,)), 2.0)
jax.scipy.stats.pareto.logpdf(0.5, jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.bernoulli.logpmf(jnp.broadcast_to(jnp.asarray(0.5), (3,)), 0.5)
jax.scipy.stats.bernoulli.logpmf(1, jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.geom.logpmf(jnp.broadcast_to(jnp.asarray(0.5), (3,)), 0.3)
jax.scipy.stats.geom.logpmf(2, jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jax.scipy.stats.nbinom.logpmf(jnp.broadcast_to(jnp.asarray(0.5), (3,)), 3, 0.3)
jax.scipy.stats.nbinom.logpmf(2, 3, jnp.broadcast_to(jnp.asarray(0.5), (3,)))
jnp.setdiff1d(jnp.broadcast_to(jnp.asarray(0.5), (3,)), jnp.array([1.5]), size=2)
jnp.setdiff1d(jnp.broadcast_to(jnp.asarray(0.5), (3,)), jnp.array([1.5]), size=2, fill_value=np.float32(3))
jnp.setdiff1d(jnp.arange(3), jnp.array([1]), size=3)
jnp.gcd(jnp.broadcast_to(jnp.asarray(6), (3,)), 4)
jnp.gcd(jnp.asarray(6), jnp.asarray(4))
lax.dot(jnp.ones(2, 'int8'), jnp.ones(2, 'uint8'), preferred_element_type='uint8')
lax.dot(jnp.ones(2, 'int32'), jnp.ones(2, 'int8'), preferred_element_type='int8') -> TypeError
lax.pad(jnp.broadcast_to(jnp.asarray(2.0), (3,)), 0.0, [(1, 0, 0)])
lax.pad(jnp.broadcast_to(jnp.asarray(2.0), (3,)), jnp.float32(0), [(1, 0, 0)])
lax.pad(jnp.ones(3, 'int8'), 0, [(1, 0, 0)]) -> TypeError
jax.make_jaxpr(jax.jacrev(lambda x: lax.pad(x, 0.0, [(1, 0, 0)])))(jnp.broadcast_to(jnp.asarray(2.0), (3,)))
jax.make_jaxpr(jax.jacrev(lambda x: lax.slice(x, (0,), (1,))))(jnp.broadcast_to(jnp.asarray(2.0), (3,)))
jax.jacrev(lambda x: (lax.slice(x, (0,), (1,)), x * np.float32(2)))(jnp.broadcast_to(jnp.asarray(2.0), (3,)))
jax.jacrev(lambda x: x[0])(jnp.broadcast_to(jnp.asarray(2.0), (3,)))
jax.jacrev(lambda x: lax.dynamic_slice(x, (1,), (2,)))(jnp.broadcast_to(jnp.asarray(2.0), (3,)))
jnp.gcd(jnp.broadcast_to(jnp.asarray(6), (3,)), jnp.int8(4))
jax.jit(jnp.take_along_axis)(jnp.array([4], 'uint32'), jnp.array([4], 'uint32'))
jax.jit(jnp.take)(jnp.array([4, 5], 'uint32'), jnp.array([4, -3]))
jax.jit(jnp.take)(jnp.array([4, 5], 'uint8'), jnp.array([4, -3]))
jax.jit(lambda x, i: x.at[i].get(mode='fill'))(jnp.array([4], 'uint32'), jnp.array([4]))
jax.jit(lambda x, i: x.at[i].get(mode='fill', fill_value=-1))(jnp.array([4], 'uint16'), jnp.array([4]))
jax.jit(lambda x, i: x.at[i].get(mode='fill', fill_value=300))(jnp.array([4], 'uint8'), jnp.array([4]))
jax.jit(lambda x, i: x.at[i].get(mode='fill', fill_value=2**32 - 1))(jnp.array([4], 'uint32'), jnp.array([4]))
jax.jit(lambda x, i: x.at[i].get(mode='fill', fill_value=2.7))(jnp.array([4]), jnp.array([4]))
jax.jit(lambda x, i: x.at[i].get(mode='fill', fill_value=True))(jnp.array([4.0]), jnp.array([4]))
jax.jit(jnp.take)(jnp.asarray([True]), jnp.array([4]))
jax.scipy.fft.idct(jnp.array([[1, 0, 1.5]], 'bfloat16'))
jax.scipy.fft.idctn(jnp.array([[1, 0, 1.5]], 'bfloat16'), norm='ortho')
jax.scipy.fft.idct(jnp.array([[1, 0, 1.5]], 'complex64'))
jax.jit(lambda k, i: jax.random.key_data(k[i]))(jax.random.split(jax.random.key(0)), jnp.array([1, 0]))
jax.grad(lambda c: lax.scan(lambda c, k: (lax.cond(c > 0, lambda c: jax.random.normal(k) * jnp.sin(c), jnp.cos, c), c), c, jax.random.split(jax.random.key(2)))[0])(2.0)
"""


@pytest.mark.parametrize("row", FOUND.strip().splitlines())
def test_found(row):
    text, _, error = row.partition(" -> ")

    def program(jx):
        space = {"jax": jx, "jnp": jx.numpy, "lax": jx.lax, "np": np}
        return lambda: eval(text, space)

    both(program, raises=error or None)


def test_transposed_products_that_prefer_a_narrow_complex_type():
    """Their cotangents are of complex64, and the other operand of float64."""

    def program(jx):
        def f(x, y):
            return jx.numpy.matmul(x, y, preferred_element_type="complex64")

        def derivatives(ct):
            with jx.enable_x64(True):
                x, y = jx.numpy.array([1.0, 2.0]), jx.numpy.array([3.0, 1.0])
                with warnings.catch_warnings(action="ignore", category=np.exceptions.ComplexWarning):
                    return [jx.vjp(g, x, y)[1](ct.astype("complex64"))
                            for g in (f, jx.checkpoint(f), jx.jit(f))]

        return derivatives

    both(program, np.complex64(2))


def test_second_derivatives_of_pinv_with_traced_rtol():
    """JAX refuses this: its rule closes over `rtol`."""
    import minijax as mj
    import minijax.numpy as jnp

    x = jnp.array([[1.0, 0.5], [0.2, 2.0]])
    traced = mj.jit(lambda x, r: mj.grad(lambda x: jnp.linalg.pinv(x, rtol=r * 2).sum())(x))
    known = mj.jit(mj.grad(lambda x: jnp.linalg.pinv(x, rtol=0.02).sum()))
    got = mj.jvp(lambda x: traced(x, 0.01), (x,), (x,))
    for mine, wanted in zip(got, mj.jvp(known, (x,), (x,)), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5)


def test_second_derivatives_of_expn():
    """JAX refuses these: its rule closes over the order. E₀(x) = exp(-x) / x, with no order below."""
    import minijax as mj
    import minijax.numpy as jnp
    import minijax.scipy.special as special

    def third(f):
        return float(mj.grad(mj.jit(mj.grad(mj.jit(mj.grad(f)))))(0.7))

    expected = third(lambda x: -jnp.exp(-x) / x)
    assert abs(expected - float(mj.grad(mj.grad(lambda x: -special.expn(0, x)))(0.7))) > 1
    np.testing.assert_allclose(third(lambda x: -special.expn(0, x)), expected, rtol=1e-5)
    np.testing.assert_allclose(
        mj.grad(mj.grad(mj.grad(special.exp1)))(0.7),
        mj.grad(mj.grad(lambda x: -jnp.exp(-x) / x))(0.7), rtol=1e-5)
    np.testing.assert_allclose(
        mj.grad(mj.jit(mj.grad(lambda x: special.expn(3, x))))(0.7), special.exp1(0.7), rtol=1e-5)


def test_a_key_as_a_residual_of_one_branch():
    """JAX refuses this: its derivative of a gamma sample is a `while_loop`."""
    import minijax as mj
    import minijax.numpy as jnp

    def sample(c):
        return mj.random.gamma(mj.random.key(2), jnp.abs(c) + 0.5)

    def twice(c):
        return mj.lax.fori_loop(0, 2, lambda i, c: mj.lax.switch(1, [jnp.sin, sample], c), c)

    expected = mj.grad(mj.grad(lambda c: sample(sample(c))))(2.0)
    np.testing.assert_allclose(mj.grad(mj.grad(mj.checkpoint(twice)))(2.0), expected, rtol=1e-4)


EMPTY_DIAGONALS = [((0, 3), 0), ((0, 0), 0), ((0, 0), 1), ((3, 3), 5), ((2, 0, 3), 0), ((2, 3, 3), -4), ((2, 3), 0)]


@pytest.mark.parametrize(("shape", "offset"), EMPTY_DIAGONALS)
def test_an_empty_diagonal_is_a_constant(shape, offset):
    """It has no tangent, and the square root of its sum has none."""
    def program(jx):
        jnp = jx.numpy

        def f(x):
            return jnp.sqrt(jnp.diagonal(x, offset).sum())

        def derivatives(x):
            weak = jnp.broadcast_to(jnp.asarray(0.5), shape)
            return jx.jvp(f, (x,), (x,)), jnp.linalg.norm(jnp.diagonal(x, offset)), jnp.diagonal(weak, offset)

        return lambda x: (derivatives(x), jx.jit(derivatives)(x))

    both(program, np.ones(shape, np.float32))


# Functions of `x`, which is differentiated, and of `y`, which is known. Dead code of `g` reads `y`.
DEAD = {
    "jit": "jax.jit(lambda x, a: g(a) * x)(x, y)", "cond": "jax.lax.cond(True, g, g, y) * x",
    "jit in cond": "jax.lax.cond(True, jax.jit(g), g, y) * x",
}  # fmt: skip
DEAD_FOR_X = {"jit": "jax.jit(g)(x)", "cond": "jax.lax.cond(x.sum() > 0, g, lambda a: a, x)"}


def gradient_with_dead_code(jx, dead, function):
    names = {"jax": jx, "jnp": jx.numpy}
    names["g"] = eval(f"lambda a: ({dead}, a * 2)[1]", names)
    return jx.grad(eval(f"lambda x, y: ({function}).sum()", names))


@pytest.mark.parametrize("function", DEAD)
def test_dead_code_of_known_values_is_not_differentiated(function):
    """A full singular value decomposition has no derivative. None is needed where it is dead."""
    def program(jx):
        gradient = gradient_with_dead_code(jx, "jnp.linalg.svd(a)", DEAD[function])
        return lambda x: jx.jvp(gradient, (x, x), (x, x))

    both(program, np.array([[1.0, 0.5], [0.2, 2.0]], np.float32))


@pytest.mark.parametrize("function", [*DEAD.values(), *DEAD_FOR_X.values()])
def test_dead_code_is_not_in_jaxprs_of_known_values(function):
    both(lambda jx: jx.make_jaxpr(gradient_with_dead_code(jx, "jnp.sin(a)", function)),
         np.ones(2, np.float32), np.ones(2, np.float32))


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("calls", [1, 2])
def test_weak_types_of_references_that_calls_take(writes, calls):
    """What a call leaves alone has the type that it had before."""
    def program(jx):
        def f(a):
            ref = jx.new_ref(a)

            @jx.jit
            def first(ref, a):
                if writes:
                    ref[...] = ref[...]
                return a * 2

            a = first(ref, a)
            if calls == 2:
                a = jx.jit(lambda ref, a: a * 2)(ref, a)
            return jx.ref.get(ref)

        return lambda x: (jx.jit(jx.checkpoint(f))(x), jx.jit(f)(x), f(x))

    both(program, 2.0)
