"""Faddeeva's function w(z) = exp(-z²) erfc(-iz), the error function of complex numbers, and real
functions that are parts of it: `erfcx`, Dawson's, Fresnel's."""

import functools
import math

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.boundary import public
from ...core.core import typeof
from ...custom_rules import custom_jvp
from ...lax import complex_numbers, elementwise as lax
from ...lax.dtypes import to_complex_dtype
from ...lax.selection import select
from ...lax.shaping import full_like
from ...lax.special import erfc
from ...numpy._arguments import promote_numbers_inexact
from ...runtime.jit import jit
from .entropies import real_args

TERMS = 32
WIDTH = math.sqrt(TERMS / math.sqrt(2))
ROOT_PI = math.sqrt(math.pi)


@functools.cache
def _coefficients() -> np.ndarray:
    """Of a polynomial of degree 31 in (L + iz) / (L - iz), highest first. Weideman, "Computation of
    the complex error function", 1994: they are Fourier coefficients."""
    n = 2 * TERMS
    t = WIDTH * np.tan(np.arange(-n + 1, n) * np.pi / n / 2)
    samples = np.concatenate([[0], np.exp(-t * t) * (WIDTH**2 + t * t)])
    return (np.fft.fft(np.fft.fftshift(samples)).real / (2 * n))[TERMS:0:-1]


def _upper(z):
    """w(z) for z above the real axis."""
    iz = complex_numbers.complex(-z.imag, z.real)
    below = WIDTH - iz
    polynomial = jnp.polyval(jnp.asarray(_coefficients(), z.dtype), (WIDTH + iz) / below)
    return 2 * polynomial / (below * below) + (1 / ROOT_PI) / below


@custom_jvp
@jit
def _wofz(z):
    is_upper = z.imag >= 0
    upper = _upper(jnp.where(is_upper, z, -z))
    return jnp.where(is_upper, upper, 2 * jnp.exp(-z * z) - upper)


_wofz.defjvps(lambda t, ans, z: t * (2j / ROOT_PI - 2 * z * ans))


@public
def wofz(z):
    """Faddeeva's function, exp(-z²) erfc(-iz).

    Args:
      z: an array; real numbers become complex.

    >>> wofz(0.0).real.round(4).item()
    1.0
    """
    (z,) = promote_numbers_inexact("wofz", z)
    return _wofz(z.astype(np.result_type(np.complex64, to_complex_dtype(z.dtype))))


# ----------------------------------------------------------------------------------------------
# On the axes


@custom_jvp
@jit
def _erfcx(x):
    """The definition, or where the exponential would overflow, https://dlmf.nist.gov/7.12.E1."""
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    is_large = _is_large(wide)
    small = select(is_large, full_like(wide, 1), wide)
    large = select(is_large, wide, full_like(wide, 100))
    series = 1 - _rest_of_series(large, -1)
    direct = lax.exp(lax.square(small)) * erfc(small)
    return select(is_large, series / (large * ROOT_PI), direct).astype(x.dtype)


def _is_large(x):
    """Whether exp(x²) is too large, or nearly."""
    info = dtypes.finfo(np.promote_types(typeof(x).dtype, np.float32))
    return x > math.sqrt(math.log(float(info.max)))


def _rest_of_series(x, sign):
    """1/(2x²) · (1 ± 3/(2x²) · (1 ± 5/(2x²) · …)), for large x."""
    part, rest = 0.5 / (x * x), jnp.ones_like(x)
    for k in range(8, 1, -1):
        rest = 1 + sign * (2 * k - 1) * part * rest
    return part * rest


def _erfcx_slope(t, ans, x):
    """2x erfcx(x) - 2/√π; where x is large, of the series, as the two nearly cancel."""
    is_large = _is_large(x)
    far = _rest_of_series(jnp.where(is_large, x, 100), -1) * (-2 / ROOT_PI)
    return t * jnp.where(is_large, far, 2 * x * ans - 2 / ROOT_PI)


_erfcx.defjvps(_erfcx_slope)


@public
def erfcx(x):
    """exp(x²) erfc(x), the scaled complementary error function.

    Args:
      x: an array.

    >>> erfcx(0.0).item()
    1.0
    """
    (x,) = promote_numbers_inexact("erfcx", x)
    if typeof(x).dtype.kind == "c":
        return _wofz(complex_numbers.complex(-x.imag, x.real))
    return _erfcx(x)


@custom_jvp
@jit
def _dawsn(x):
    """The imaginary part of w, which for small x is less exact than the power series."""
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    is_small, is_huge = abs(wide) < 1, abs(wide) > 1e8
    small = jnp.where(is_small, wide, 0)
    large = jnp.where(is_small | is_huge, 1, wide)
    series, term = small, small
    for k in range(1, 20):
        term = term * (-2 * small * small) / (2 * k + 1)
        series = series + term
    by_w = ROOT_PI / 2 * _wofz(complex_numbers.complex(large, jnp.zeros_like(large))).imag
    by_w = jnp.where(is_huge, 0.5 / jnp.where(is_huge, wide, 1), by_w)
    series = jnp.where(wide == 0, wide, series)  # the sum would lose the sign of -0
    return jnp.where(is_small, series, by_w).astype(x.dtype)


def _dawsn_slope(t, ans, x):
    """1 - 2x dawsn(x); where x is large, of the series, as the two nearly cancel."""
    is_large = _is_large(abs(x))
    far = -_rest_of_series(jnp.where(is_large, x, 100), 1)
    return t * jnp.where(is_large, far, 1 - 2 * x * ans)


_dawsn.defjvps(_dawsn_slope)


@public
def dawsn(x):
    """Dawson's function, exp(-x²) ∫₀ˣ exp(t²) dt.

    Args:
      x: a real array.

    Raises:
      ValueError: complex numbers.

    >>> dawsn(0.0).item()
    0.0
    """
    return _dawsn(*real_args("dawsn", x))


# ----------------------------------------------------------------------------------------------
# On the diagonal


def _turn(x):
    """Sine and cosine of πx²/2, exactly: multiples of 2 are taken off x and x²/2 beforehand."""
    x = abs(x)
    rest = jnp.fmod(x, 2.0)
    angle = np.pi * jnp.fmod(rest * (x - rest / 2), 2.0)
    return jnp.sin(angle), jnp.cos(angle)


@custom_jvp
@jit
def fresnel(x):
    """Fresnel's integrals, ∫₀ˣ sin(πt²/2) dt and ∫₀ˣ cos(πt²/2) dt.

    Args:
      x: a real array.

    Returns:
      both integrals.

    Raises:
      NotImplementedError: complex numbers.

    >>> [y.item() for y in fresnel(jnp.inf)]
    [0.5, 0.5]
    """
    (x,) = promote_numbers_inexact("fresnel", x)
    if typeof(x).dtype.kind == "c":
        raise NotImplementedError("fresnel does not support complex-valued inputs")
    size = abs(x.astype(np.promote_types(x.dtype, np.float32)))
    is_small, is_inf = size < 1.5, size > 1e30  # there, both are 1/2 to the last digit
    small = _fresnel_series(jnp.where(is_small, size, 0))
    large = _fresnel_by_w(jnp.where(is_small | is_inf, 2, size))
    both = (jnp.where(is_small, s, jnp.where(is_inf, 0.5, y)) for s, y in zip(small, large))
    return tuple((jnp.where(x < 0, -y, y)).astype(x.dtype) for y in both)


@fresnel.defjvp
def _fresnel_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    sine, cosine = _turn(x)
    return fresnel(x), (sine * t, cosine * t)


def _fresnel_series(x):
    """https://dlmf.nist.gov/7.6.E4 and https://dlmf.nist.gov/7.6.E6: every second term of a series
    belongs to the one, and every second to the other."""
    term, angle = x, np.pi / 2 * x * x
    totals = [jnp.zeros_like(x), jnp.zeros_like(x)]  # the cosine's and the sine's
    for k in range(28):
        sign = -1 if k % 4 >= 2 else 1
        totals[k % 2] = totals[k % 2] + sign * term / (2 * k + 1)
        term = term * angle / (k + 1)
    return totals[1], totals[0]


def _fresnel_by_w(x):
    """C + iS = (1 + i)/2 · (1 - exp(iπx²/2) w(√π (1 + i) x / 2)), https://dlmf.nist.gov/7.5.E8"""
    half = ROOT_PI / 2 * x
    sine, cosine = _turn(x)
    unit, diagonal = complex_numbers.complex(cosine, sine), complex_numbers.complex(half, half)
    rest = (1 + 1j) / 2 * unit * _wofz(diagonal)
    return 0.5 - rest.imag, 0.5 - rest.real
