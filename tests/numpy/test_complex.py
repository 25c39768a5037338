"""Complex numbers: every function that takes them (or refuses to), and derivatives, against JAX.

JAX's conventions: `grad` of a real function of complex arguments is the conjugate of the steepest
ascent; a holomorphic function must be declared so; the cotangents of real arguments are real.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.oracle import jax
from tests.oracle.compare import both
from tests.oracle.namespaces import oracle, subject

A = {
    "c": np.array([1 + 2j, -0.5j, 3.0, -1 + 1j], np.complex64) * np.float32(0.7),
    "d": np.array([0.3 - 1j, 2 + 0.5j, -1, 0.25j], np.complex64),
    "m": (np.arange(6).reshape(2, 3) * (1 - 0.5j) / 4 + 0.3).astype(np.complex64),
    "x": np.array([0.5, 1.5, -2, 3.25], np.float32),
    "i": np.array([2, 0, 1]),
}

UNARY = """sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh exp exp2 expm1 log log2 log10 log1p
sqrt cbrt square reciprocal negative positive abs sign conj real imag angle isfinite isnan isinf isreal
iscomplex rint round trunc floor ceil logical_not sinc nan_to_num sum prod mean max min any all argmax argmin
cumsum cumprod std var ptp sort argsort nansum nanmax count_nonzero fabs deg2rad signbit isposinf i0 unwrap
diff gradient trace fft.fft average modf nonzero trapezoid vander""".split()
BINARY = """add subtract multiply divide power float_power maximum minimum fmax logaddexp logaddexp2 hypot
arctan2 equal less not_equal isclose dot vdot inner outer mod floor_divide divmod copysign logical_and
bitwise_and polyval append""".split()
OTHERS = """
jnp.einsum("ij,kj->ik", m, m) | m @ m.T | jnp.where(x > 0, c, x) | c ** -1 | c ** 2.5 | c ** (1 + 1j) | 2 ** c | 1j * x
x + 1j | jnp.clip(c, 0, 1) | c[i] | c.at[i].add(2j) | x.at[0].set(1j) | c.astype("float32") | c.astype(bool)
x.astype("complex64") | c.imag | c.conj() | jnp.array(1j) | jnp.array([1, 2j]) | jnp.complex64(x) | jnp.zeros(2, complex)
jnp.linspace(0, 1j, 3) | jnp.max(m, axis=1) | lax.complex(x, x) | lax.conj(x) | lax.real(x) | lax.pow(c, d)
lax.integer_pow(c, 3) | lax.rsqrt(c) | lax.logistic(c) | lax.atan2(c, d) | lax.max(c, d)
lax.cummax(c) | lax.reduce_precision(c, 8, 7)
lax.convert_element_type(c, np.float32) | lax.rem(c, d) | lax.lt(c, d) | lax.population_count(c) | lax.erf(c) | lax.round(c)
lax.is_finite(c) | lax.shift_left(c, d) | lax.bitcast_convert_type(c, np.float32) | lax.bitcast_convert_type(x > 0, np.int8)
lax.pad(c, 1j, [(1, 1, 0)]) | lax.top_k(c, 2) | bool(c[0]) | float(c[0]) | int(c[0]) | complex(c[0]) | ~c | c // d | c < d
round(c[0], 1) | jnp.sum(c, initial=1j) | jnp.sum(c, dtype="float32") | jnp.var(x, dtype="complex64") | jnp.arange(3, dtype=complex)
jnp.float32(1j) | jnp.asarray(c, "float32") | jnp.finfo(c.dtype).eps | jnp.isscalar(1j) | nn.relu(c) | nn.softmax(c) | nn.gelu(c)
""".replace("\n", " | ").strip(" |").split(" | ")

# `all` takes a complex number as true if any part of it is: declared in tools/differences.py.
CALLS = [*(f"jnp.{name}(c)" for name in UNARY if name != "all"), *(f"jnp.{name}(c, d)" for name in BINARY),
         *(f"jnp.{name}(x, c)" for name in BINARY[::3]), *OTHERS]

# Smooth where the arguments are: one call for each kind of rule.
SMOOTH = """
jnp.sin(c) | jnp.tan(c) | jnp.acosh(c * c + 9) | jnp.atan(c) | jnp.log(c) | jnp.sqrt(c) | jnp.reciprocal(c) | jnp.abs(c)
jnp.conj(c) | jnp.real(c) | jnp.imag(c) | jnp.angle(c) | jnp.prod(c) | jnp.cumprod(c) | jnp.max(m, axis=1) | jnp.var(c)
jnp.sort(c) | c * d | c / d | c ** d | c ** 3 | x * c | x ** c | jnp.logaddexp(c, d) | jnp.arctan2(c, d) | jnp.vdot(c, d) | m @ m.T
jnp.where(x > 0, c, x) | c[i] | c.at[i].multiply(d[:3], unique_indices=True) | lax.complex(x, c.real) | lax.logistic(c)
x.astype("complex64") * c | c.astype("float32") * x | jnp.fft.fft(c) | lax.conj(x) * c | jnp.linalg.norm(c)
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # imaginary parts are dropped on purpose
        yield


def call(text, m):
    return eval(f"lambda {', '.join(A)}: {text}", {"jnp": m.numpy, "lax": m.lax, "np": np, "nn": m.nn})


@pytest.mark.parametrize("text", CALLS)
def test_eager(text):
    both(lambda m: lambda: call(text, m)(*map(m.numpy.asarray, A.values())))


def _pushed_and_pulled(text, m):
    """A JVP and a VJP, with tangents and cotangents that are neither real nor imaginary."""
    c, d, mat, x, i = A.values()

    def f(c, d, mat, x):
        return call(text, m)(c, d, mat, x, i)

    out, tangent = m.jvp(f, (c, d, mat, x), (d, c * 1j, mat * mat, -x))
    _, pull = m.vjp(f, c, d, mat, x)
    factor = 1 + 0.5j if out.dtype.kind == "c" else 1.5
    return out, tangent, pull(m.numpy.full_like(out, factor))


@pytest.mark.parametrize("text", SMOOTH)
def test_derivatives(text):
    both(lambda m: lambda: _pushed_and_pulled(text, m), tol=2e-4)


@pytest.mark.parametrize("text", ["c * d", "jnp.abs(c)", "jnp.sin(c) ** 2", "x * c", "c.real"])
def test_grad_conventions(text):
    """Of complex functions and of real ones, declared holomorphic and not; Jacobians; Hessians."""
    c, d, mat, x, i = A.values()
    for name in ("grad", "jacfwd", "jacrev", "hessian"):
        for holomorphic in (False, True):
            def program(m):
                f = lambda c: call(text, m)(c, d, mat, x, i)
                g = (lambda c: f(c).sum()) if name in ("grad", "hessian") else f
                return lambda: getattr(m, name)(g, holomorphic=holomorphic)(c)
            both(program)
    both(lambda m: m.grad(lambda x: call(text, m)(c, d, mat, x, i).sum(), holomorphic=True), x)
    both(lambda m: m.grad(lambda c: abs(call(text, m)(c, d, mat, x, i)).sum()), c)
    both(lambda m: m.jit(lambda *v: call(text, m)(*v)), *A.values())
    both(lambda m: m.make_jaxpr(lambda *v: call(text, m)(*v)), *A.values())


def test_control_flow():
    c = A["c"]
    both(lambda m: lambda c: m.lax.scan(lambda a, b: (a * b, a + b), 1j * m.numpy.ones(()), c), c)
    both(lambda m: lambda c: m.lax.while_loop(lambda z: abs(z) < 10, lambda z: z * (1 + 1j), c), c[0])
    both(lambda m: m.grad(lambda c: m.lax.fori_loop(0, 3, lambda i, z: z * z + c, c).real), c[1])
    both(lambda m: m.vmap(lambda c, x: m.numpy.exp(c) * x), c, A["x"])
    both(lambda m: lambda c: m.linear_transpose(m.numpy.real, c)(A["x"]), c)
    both(lambda m: lambda x: m.linear_transpose(lambda x: x * (1 + 2j), x)(c), A["x"])


@pytest.mark.parametrize("text", ["c * d", "jnp.abs(c)", "m @ m.T", "jnp.angle(c)"])
def test_64_bits(text):
    wide = [v.astype({"c": np.complex128, "f": np.float64}.get(v.dtype.kind, v.dtype)) for v in A.values()]
    with oracle.enable_x64(True), subject.enable_x64(True):
        both(lambda m: lambda: call(text, m)(*map(m.numpy.asarray, wide)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_log1p_keeps_its_digits(dtype):
    """Near 0, on the unit circle about -1, near -1, and far away: each part, not only the whole."""
    parts = [0, 1e-30, 1e-12, 1e-6, 1e-3, 0.5, 1, 2, 1e10]
    parts = np.array([*parts, *(-x for x in parts)])
    angles = np.linspace(-3, 3, 20)
    z = np.concatenate([(parts[:, None] + 1j * parts).ravel(), np.exp(1j * angles) - 1]).astype(dtype)
    with oracle.enable_x64(True), subject.enable_x64(True):
        ours = np.asarray(subject.numpy.log1p(subject.numpy.asarray(z)))
        theirs = np.asarray(oracle.numpy.log1p(z.astype("complex128")))
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(ours.real, theirs.real, rtol=8 * eps, atol=np.finfo(dtype).tiny)
    np.testing.assert_allclose(ours.imag, theirs.imag, rtol=8 * eps, atol=np.finfo(dtype).tiny)


def test_logistic_far_on_the_left():
    both(lambda m: m.lax.logistic, np.array([-1e4 + 1j, -1e4 - 0.5j, 1e4 + 1j, -90 + 2j], np.complex64))


def test_warnings():
    """Where the imaginary part is lost, the same warning as in JAX is given."""
    for lose in (lambda m, c: c.astype("float32"), lambda m, c: m.lax.convert_element_type(c, np.float32),
                 lambda m, c: m.numpy.asarray(c, "float32"), lambda m, c: m.numpy.float32(c)):
        kinds = []
        for m in (oracle, subject):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                lose(m, m.numpy.asarray(A["c"]))
            kinds.append([w.category for w in caught])
        assert kinds[0] == kinds[1]
    assert jax.numpy.ComplexWarning is subject.numpy.ComplexWarning
