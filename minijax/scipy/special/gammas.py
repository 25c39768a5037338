"""The gamma function and its relatives: factorials, beta, polygamma, zeta."""

import functools
import math
import operator
from fractions import Fraction

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.api import jvp
from ...core.boundary import public
from ...core.core import Tracer, typeof
from ...custom_rules import custom_jvp
from ...lax import (
    elementwise as lax,
    incomplete_beta,
    incomplete_gamma,
    rounding,
    special as families,
)
from ...lax.compile_time import concrete_or_error
from ...lax.dtypes import default_float_dtype
from ...lax.shaping import expand_dims
from ...numpy._arguments import constant_like, promote_numbers_inexact, strong_constant
from ...runtime.jit import jit
from .entropies import real_args

# ----------------------------------------------------------------------------------------------
# The gamma function


@public
def gammaln(x):
    """log |Γ(x)|.

    Args:
      x: a real array.

    >>> gammaln(4.0).round(4).item()  # log 6
    1.7918000221252441
    """
    return families.lgamma(*promote_numbers_inexact("gammaln", x))


@jit
def gammasgn(x):
    """The sign of Γ(x); NaN at the negative whole numbers.

    Args:
      x: a real array.

    Raises:
      ValueError: complex numbers.

    >>> gammasgn(jnp.array([-1.5, -0.5, 0.5])).tolist()
    [1.0, -1.0, 1.0]
    """
    (x,) = real_args("gammasgn", x)
    number = x.dtype.type
    floor, below = rounding.floor(x), x < 0
    poles = below & (x == floor) | jnp.isnan(x)
    negative = below & (floor % 2 != 0) | (x == 0) & jnp.signbit(x)
    return jnp.select([poles, negative], [number(np.nan), number(-1.0)], number(1.0))


@public
def loggamma(x):
    """log Γ(x), with no absolute value: a real x below 0 gives NaN, a complex one the branch that
    is continuous but for the negative real axis.

    Args:
      x: an array.

    >>> loggamma(4.0).round(4).item()  # log 6
    1.7918000221252441
    """
    (x,) = promote_numbers_inexact("loggamma", x)
    if typeof(x).dtype.kind == "c":
        return _without_poles(_log_gamma, x)
    value = families.lgamma(x)
    return jnp.where(x > 0, value, jnp.nan)


@public
def gamma(x):
    """Γ(x).

    Args:
      x: an array.

    >>> gamma(4.0).round(4).item()
    6.0
    """
    (x,) = promote_numbers_inexact("gamma", x)
    if typeof(x).dtype.kind == "c":
        return _without_poles(lambda z: jnp.exp(_log_gamma(z)), x)
    return gammasgn(x) * lax.exp(families.lgamma(x))


def _without_poles(function, z):
    """`function(z)`; NaN at the poles of Γ."""
    pole = (z.imag == 0) & (z.real == jnp.floor(z.real)) & (z.real <= 0) | jnp.isnan(z)
    nan = strong_constant(z, complex(np.nan, np.nan))
    return jnp.where(pole, nan, function(jnp.where(pole, 1, z)))


def _stirling(z):
    """The corrections to Stirling's formula for log Γ(z), https://dlmf.nist.gov/5.11.E1."""
    v = 1 / z
    w = v * v
    return v * (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188))))


def _log_gamma_right(z):
    """log Γ of complex numbers to the right of 0: for z + 10 by Stirling's formula, and then from
    Γ(z + 1) = z Γ(z)."""
    shifted = z + 10
    steps = sum(jnp.log(z + k) for k in range(10))
    return ((shifted - 0.5) * jnp.log(shifted) - shifted + 0.5 * math.log(2 * math.pi)
            + _stirling(shifted) - steps)


def _log_gamma(z):
    """To the left, by Γ(z) Γ(1 - z) = π / sin(πz)."""
    left = z.real < 0.5
    right = _log_gamma_right(jnp.where(left, 1 - z, z))
    log_sin = _log_sin(jnp.where(left, z, 0.5))
    return jnp.where(left, math.log(math.pi) - log_sin - right, right)


def _log_sin(z):
    """The logarithm of sin(πz) that is continuous on either side of the real axis. On the upper
    side exp(2πiz) is small in sin(πz) = i/2 exp(-πiz) (1 - exp(2πiz)); on the lower one, conjugate.
    Near a whole number, the difference needs the digits of z less that number."""
    lower = z.imag < 0
    z = jnp.where(lower, jnp.conj(z), z)
    turn = 2j * math.pi * (z - jnp.round(z.real))
    log_sin = 0.5j * math.pi - math.log(2) - 1j * math.pi * z + jnp.log(-jnp.expm1(turn))
    return jnp.where(lower, jnp.conj(log_sin), log_sin)


@public
def factorial(n, exact: bool = False):
    """n! = Γ(n + 1), and 0 for negative n.

    Args:
      n: an array.
      exact: must be False.

    Raises:
      NotImplementedError: `exact`.

    >>> factorial(4.0).round(4).item()
    24.0
    """
    if exact:
        raise NotImplementedError("factorial with exact=True: use math.factorial")
    (n,) = promote_numbers_inexact("factorial", n)
    return jnp.where(n < 0, 0, lax.exp(families.lgamma(n + 1)))


@public
def comb(N, k, *, repetition: bool = False):
    """The number of ways to choose k of N things, whose order does not matter.

    Args:
      N, k: arrays that broadcast together.
      repetition: whether a thing may be chosen again.

    >>> comb(4.0, 2.0).round(4).item()
    6.0
    """
    N, k = promote_numbers_inexact("comb", N, k)
    if repetition:
        return jnp.where((k == 0) & (N >= 0), 1.0, comb(N + k - 1, k))
    possible = (k <= N) & (N >= 0) & (k >= 0)
    N, k = jnp.where(possible, N, 0.0), jnp.where(possible, k, 0.0)
    return jnp.where(possible, lax.exp(gammaln(N + 1) - gammaln(k + 1) - gammaln(N + 1 - k)), 0.0)


@public
def multigammaln(a, d):
    """The logarithm of the multivariate gamma function of dimension d,
    π^(d(d-1)/4) Γ(a) Γ(a - 1/2) … Γ(a - (d-1)/2).

    Args:
      a: a real array, above (d - 1) / 2.
      d: an int.

    >>> multigammaln(4.0, 1).round(4).item()  # log 6
    1.7918000221252441
    """
    d = concrete_or_error(int, d, "The argument d of multigammaln must be known statically.")
    a, size = promote_numbers_inexact("multigammaln", a, d)
    pairs = lax.mul(lax.mul(constant_like(a, 0.25), size), lax.sub(size, constant_like(a, 1)))
    constant = lax.mul(pairs, lax.log(constant_like(a, math.pi)))
    halves = lax.div(jnp.arange(d, dtype=size.dtype), constant_like(a, 2))
    terms = gammaln(jnp.expand_dims(a, -1) - jnp.expand_dims(halves, tuple(range(a.ndim))))
    return jnp.sum(terms, axis=-1) + constant


@custom_jvp
def poch(z, m):
    """Pochhammer's symbol, the rising factorial z (z + 1) … (z + m - 1) = Γ(z + m) / Γ(z).

    Args:
      z, m: real arrays that broadcast together.

    Raises:
      ValueError: complex numbers.

    >>> poch(2.0, 3.0).round(3).item()
    24.0
    """
    z, m = real_args("poch", z, m)
    return jnp.where(m == 0.0, jnp.array(1, dtype=z.dtype), gamma(z + m) / gamma(z))


poch.defjvps(lambda t, ans, z, m: (digamma(z + m) - digamma(z)) * poch(z, m) * t,
             lambda t, ans, z, m: digamma(z + m) * poch(z, m) * t)

# ----------------------------------------------------------------------------------------------
# The beta function


@public
def betaln(a, b):
    """log |B(a, b)| = log |Γ(a) Γ(b) / Γ(a + b)|.

    Args:
      a, b: real arrays that broadcast together.

    >>> betaln(1.0, 1.0).round(4).item()
    0.0
    """
    a, b = promote_numbers_inexact("betaln", a, b)
    # Where both are equal, the extremes have no derivative, but the function has.
    is_less = b < a
    a, b = jnp.where(is_less, b, a), jnp.where(is_less, a, b)
    is_large = b >= 8
    small_a, small_b = (jnp.where(is_large, 1.0, y) for y in (a, b))
    exact = families.lgamma(small_b) - families.lgamma(small_a + small_b)
    ratio = _log_gamma_ratio(a, jnp.where(is_large, b, 8.0))
    return families.lgamma(a) + jnp.where(is_large, ratio, exact)


def _log_gamma_ratio(a, b):
    """log Γ(b) - log Γ(a + b) for large b, where the two nearly cancel: by Stirling's formula."""
    total = a + b
    return (_stirling(b) - _stirling(total) - (total - 0.5) * lax.log1p(a / b)
            - a * (lax.log(b) - 1.0))


@public
def beta(a, b):
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b).

    Args:
      a, b: real arrays that broadcast together.

    Raises:
      ValueError: complex numbers.

    >>> beta(1.0, 2.0).round(4).item()
    0.5
    """
    a, b = real_args("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))


@public
def betainc(a, b, x):
    """The regularized incomplete beta function (`lax.betainc`).

    Args:
      a, b, x: real arrays that broadcast together; x between 0 and 1.

    Raises:
      ValueError: complex numbers; differentiation by a or b.

    >>> betainc(1.0, 2.0, 0.5).round(4).item()
    0.75
    """
    return incomplete_beta.betainc(*real_args("betainc", a, b, x))


# ----------------------------------------------------------------------------------------------
# Incomplete gamma functions and derivatives of the logarithm


@public
def gammainc(a, x):
    """The regularized lower incomplete gamma function (`lax.igamma`).

    Args:
      a, x: real arrays that broadcast together.

    >>> gammainc(1.0, 2.0).round(4).item()  # 1 - exp(-2)
    0.8647000193595886
    """
    return incomplete_gamma.igamma(*promote_numbers_inexact("gammainc", a, x))


@public
def gammaincc(a, x):
    """The regularized upper incomplete gamma function (`lax.igammac`).

    Args:
      a, x: real arrays that broadcast together.

    >>> gammaincc(1.0, 2.0).round(4).item()  # exp(-2)
    0.13529999554157257
    """
    return incomplete_gamma.igammac(*promote_numbers_inexact("gammaincc", a, x))


@public
def digamma(x):
    """The derivative of log Γ(x).

    Args:
      x: a real array.

    >>> digamma(1.0).round(4).item()  # minus Euler's constant
    -0.5771999955177307
    """
    return families.digamma(*promote_numbers_inexact("digamma", x))


@public
def polygamma(n, x):
    """Derivative number n of `digamma`.

    Args:
      n: an integer array.
      x: a real array.

    Raises:
      ValueError: an n of another dtype; complex numbers.

    >>> polygamma(1, 1.0).round(4).item()  # π²/6
    1.6448999643325806
    """
    if not dtypes.issubdtype(typeof(n).dtype, np.integer):
        raise ValueError("Argument `n` to polygamma must be of integer type. Got dtype "
                         f"{typeof(n).dtype}.")
    order, x = real_args("polygamma", n, x)
    if not isinstance(n, Tracer) and np.ndim(n) == 0 and n == 0:
        return families.digamma(x)  # whose derivative is right below 0
    return families.polygamma(order, x)


# ----------------------------------------------------------------------------------------------
# Zeta, and the numbers of Bernoulli


def _check_hurwitz(q):
    if q is None:
        raise NotImplementedError("zeta(x) without q is not implemented. Riemann's zeta function "
                                  "is zeta(x, 1).")


@custom_jvp
def zeta(x, q=None):
    """Hurwitz' zeta function, the sum of (k + q)⁻ˣ over k = 0, 1, 2 …

    Args:
      x, q: real arrays that broadcast together.

    Raises:
      NotImplementedError: no q.

    >>> zeta(2.0, 1.0).round(4).item()  # π²/6
    1.6448999643325806
    """
    _check_hurwitz(q)
    return families.zeta(*promote_numbers_inexact("zeta", x, q))


@zeta.defjvp
def _zeta_jvp(primals, tangents):
    return jvp(_euler_maclaurin, primals, tangents)


def _euler_maclaurin(x, q=None):
    """Some terms of the series for `zeta`, and for the rest the formula of Euler and Maclaurin,
    https://dlmf.nist.gov/25.11.E28."""
    _check_hurwitz(q)
    x, q = promote_numbers_inexact("zeta", x, q)
    number = q.dtype.type
    n = 8 if q.dtype == np.float32 else 16
    x_, q_, first = (expand_dims(y, (y.ndim,)) for y in (x, q, q + number(n)))
    terms = jnp.sum((q_ + np.arange(n, dtype=q.dtype)) ** -x_, -1)
    integral = lax.div(first[..., 0] ** (number(1) - x), x - number(1))
    # x (x + 1) … (x + 2m) / first^(2m + 1), times B₂ₘ₊₂ / (2m + 2)!
    rising = jnp.cumprod((x_ + np.arange(2 * n, dtype=q.dtype)) / first, -1)[..., ::2]
    rising = jnp.clip(rising, max=dtypes.finfo(q.dtype).max)
    factors = np.array([float(b) for b in bernoulli_over_factorial(2 * n)[2::2]]).astype(q.dtype)
    corrections = number(0.5) + jnp.sum(rising * factors, -1)
    return terms + integral + first[..., 0] ** -x * corrections


@functools.cache
def bernoulli_over_factorial(n: int) -> list[Fraction]:
    """Bₖ / k! for k = 0 … n: the coefficients of x / (eˣ - 1), as the product with (eˣ - 1) / x
    is 1."""
    b = [Fraction(1)]
    for m in range(1, n + 1):
        b.append(-sum((x / math.factorial(m + 1 - k) for k, x in enumerate(b)), Fraction(0)))
    return b


@public
def bernoulli(n: int):
    """The numbers of Bernoulli, B₀ … Bₙ.

    Args:
      n: an int.

    Returns:
      an array of n + 1 numbers.

    Raises:
      ValueError: a negative n.

    >>> bernoulli(2).round(4).tolist()
    [1.0, -0.5, 0.16670000553131104]
    """
    n = concrete_or_error(operator.index, n, "The argument n of bernoulli must be known.")
    if n < 0:
        raise ValueError(f"n must be a non-negative integer; got {n}.")
    exact = [x * math.factorial(k) for k, x in enumerate(bernoulli_over_factorial(n))]
    largest = float(dtypes.finfo(default_float_dtype()).max)
    return jnp.array([float(x) if abs(x) < largest else math.copysign(math.inf, x) for x in exact])
