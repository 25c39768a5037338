"""Chapter 12: polynomials, as vectors of their coefficients, the highest degree first."""

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.primitives import convert
from ..lax.compile_time import concrete_or_error, ensure_known
from ..lax.control_flow.scan import scan
from ..lax.dtypes import to_complex_dtype
from ..lax.operators import maximum, true_divide
from ..lax.shaping import expand_dims
from ..lax.sorting import sort_key_val
from ._arguments import (
    ensure_arraylike,
    ensure_arraylikes,
    promote_dtypes,
    promote_dtypes_inexact,
    static_index,
)
from ._constructors import arange, array, asarray, full, ones, zeros, zeros_like
from ._convolutions import convolve
from ._diagonals import diag
from ._editing import trim_zeros
from ._joining import concatenate
from ._products import dot, outer
from ._reductions import all, prod
from ._searching import argmin
from ._select import _where
from ._sequences import vander
from ._shaping import atleast_1d, roll
from ._staged import staged
from ._ufuncs import abs, sqrt


def _linalg() -> Any:
    """The package of factorizations, which few programs need."""
    from . import linalg

    return linalg


@staged(static_argnames=("unroll",), eager=False)
def polyval(p, x, *, unroll: int = 16) -> Any:
    """The polynomial with coefficients `p` at `x` (Horner's scheme).

    Args:
      p: coefficients along the first dimension.
      x: where to evaluate it.
      unroll: how many steps a turn of the compiled loop makes.

    >>> polyval(jnp.array([1, 0, -2]), 3)
    Array(7, dtype=int32)
    """
    p, x = promote_dtypes(*ensure_arraylikes("polyval", p, x))
    y = zeros_like(x, shape=np.broadcast_shapes(p.shape[1:], x.shape))
    y, _ = scan(lambda y, coefficient: (y * x + coefficient, None), y, p, unroll=unroll)
    return convert(y, y.dtype)


@staged
def polyadd(a1, a2) -> Any:
    """The coefficients of the sum of two polynomials.

    >>> polyadd(jnp.array([1, 2, 3]), jnp.array([1, 1])).tolist()
    [1, 3, 4]
    """
    longer, shorter = promote_dtypes(*ensure_arraylikes("polyadd", a1, a2))
    if longer.shape[0] < shorter.shape[0]:
        longer, shorter = shorter, longer
    return longer.at[-shorter.shape[0]:].add(shorter)


@staged
def polysub(a1, a2) -> Any:
    """The coefficients of the difference of two polynomials."""
    a1, a2 = promote_dtypes(*ensure_arraylikes("polysub", a1, a2))
    return polyadd(a1, -a2)


@staged(static_argnames=("m",), eager=False)
def polyder(p, m: int = 1) -> Any:
    """The coefficients of the `m`-th derivative of a polynomial.

    Raises:
      ValueError: a negative `m`.

    >>> polyder(jnp.array([1.0, 2.0, 3.0])).tolist()
    [2.0, 2.0]
    """
    (p,) = promote_dtypes_inexact(ensure_arraylike("polyder", p))
    m = static_index(m, "'m' argument of jnp.polyder")
    if m < 0:
        raise ValueError(f"polyder: the order m must not be negative, got {m}.")
    return p[:-m] * _falling_powers(arange(m, len(p), dtype=p.dtype), m)[::-1] if m else p


@staged(static_argnames=("m",), eager=False)
def polyint(p, m: int = 1, k=None) -> Any:
    """The coefficients of the `m`-th integral of a polynomial.

    Args:
      p: coefficients.
      m: how often to integrate.
      k: the constants of integration: one number, or one for each of the integrals.

    Raises:
      ValueError: a negative `m`, or a wrong number of constants.

    >>> polyint(jnp.array([3.0, 2.0, 1.0])).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    m = static_index(m, "'m' argument of jnp.polyint")
    p, k = promote_dtypes_inexact(*ensure_arraylikes("polyint", p, 0 if k is None else k))
    if m < 0:
        raise ValueError(f"polyint: the order m must not be negative, got {m}.")
    k = atleast_1d(k)
    k = full((m,), k[0]) if len(k) == 1 else k
    if k.shape != (m,):
        raise ValueError(f"polyint: k must be a scalar or a vector of length 1 or {m}, got shape "
                         f"{k.shape}.")
    if not m:
        return p
    powers = _falling_powers(arange(len(p) + m, dtype=p.dtype), m)
    return true_divide(concatenate((p, k)), powers[::-1])


def _falling_powers(n, m: int):
    """n (n - 1) … (n - m + 1), without the factors below 1: what m derivatives bring down."""
    factors = expand_dims(n, (0,)) - expand_dims(arange(m, dtype=n.dtype), (1,))
    return prod(maximum(1, factors), axis=0)


@public
def polydiv(u, v, *, trim_leading_zeros: bool = False) -> tuple:
    """The quotient and the remainder of two polynomials (long division).

    Args:
      u, v: coefficients of the dividend and of the divisor, whose first one is not zero.
      trim_leading_zeros: whether to take zeros off the remainder; not under `jit`.

    >>> [x.tolist() for x in polydiv(jnp.array([1.0, 3.0, 5.0]), jnp.array([1.0, 1.0]))]
    [[1.0, 2.0], [0.0, 0.0, 3.0]]
    """
    u, v = promote_dtypes_inexact(*ensure_arraylikes("polydiv", u, v))
    steps = len(u) - len(v) + 1
    scale = 1.0 / v[0]
    q = zeros(max(steps, 1), dtype=u.dtype)
    for k in range(steps):
        factor = scale * u[k]
        q = q.at[k].set(factor)
        u = u.at[k:k + len(v)].add(-factor * v)
    return q, _without_leading_zeros(u) if trim_leading_zeros else u


def _without_leading_zeros(p):
    """The coefficients from the first one that is more than an error of rounding."""
    p = ensure_known(p, "trim_leading_zeros=True needs known coefficients.")
    is_zero = np.asarray(abs(p) < np.sqrt(dtypes.finfo(p.dtype).eps))
    return p[int(is_zero.argmin()):] if not is_zero.all() else p[:0]


# ----------------------------------------------------------------------------------------------
# Products, roots and fits


@public
def polymul(a1, a2, *, trim_leading_zeros: bool = False) -> Any:
    """The coefficients of the product of two polynomials.

    Args:
      a1, a2: coefficients.
      trim_leading_zeros: whether to take leading zeros off first, as NumPy does; not under `jit`.

    >>> polymul(jnp.array([1.0, 1.0]), jnp.array([1.0, -1.0])).tolist()
    [1.0, 0.0, -1.0]
    """
    factors = promote_dtypes_inexact(*ensure_arraylikes("polymul", a1, a2))
    if trim_leading_zeros and any(len(factor) > 1 for factor in factors):
        factors = [trim_zeros(factor, trim="f") for factor in factors]
    factors = [factor if len(factor) else zeros(1, factor.dtype) for factor in factors]
    return convolve(*factors, mode="full")


@staged(eager=False)
def poly(seq_of_zeros) -> Any:
    """The coefficients of the polynomial with these roots: the product of all (x - root).

    Args:
      seq_of_zeros: a vector of roots, or a square matrix, whose eigenvalues are meant.

    Raises:
      ValueError: an array of another shape.

    >>> poly(jnp.array([1.0, -1.0])).tolist()
    [1.0, 0.0, -1.0]
    """
    (roots,) = promote_dtypes_inexact(ensure_arraylike("poly", seq_of_zeros))
    roots = atleast_1d(roots)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] != 0:
        roots = _linalg().eigvals(roots)
    if roots.ndim != 1:
        raise ValueError("poly: the input must be a vector or a square matrix that is not empty, "
                         f"got shape {roots.shape}.")
    if not len(roots):
        return ones((), dtype=roots.dtype)
    product = ones((1,), dtype=roots.dtype)
    for root in roots:
        product = convolve(product, array([1, -root], dtype=roots.dtype), mode="full")
    return product


@public
def roots(p, *, strip_zeros: bool = True) -> Any:
    """The roots of a polynomial: the eigenvalues of its companion matrix.

    Args:
      p: a vector of coefficients, the highest degree first.
      strip_zeros: whether to take leading zeros off, of which there are fewer roots, and which
        must be known then. If not, NaN stands for the missing roots.

    Raises:
      ValueError: `p` is no vector.
      ConcretizationTypeError: a traced `p`, unless `strip_zeros` is `False`.

    >>> roots(jnp.array([1.0, 0.0, -4.0])).real.round(3).tolist()
    [-2.0, 2.0]
    """
    (p,) = promote_dtypes_inexact(ensure_arraylike("roots", p))
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ValueError(f"roots: the coefficients must be a vector, got shape {p.shape}.")
    if p.size < 2:
        return array([], dtype=to_complex_dtype(p.dtype))
    leading_zeros = _where(all(p == 0), len(p), argmin(p == 0))
    if not strip_zeros:
        return _roots_of_unknown_degree(p, leading_zeros)
    leading_zeros = concrete_or_error(int, leading_zeros, "The number of roots depends on the "
                                      "leading zeros: under `jit`, pass strip_zeros=False to "
                                      "jnp.roots.")
    return _roots(p[leading_zeros:])


@staged(eager=False)
def _roots(p):
    if p.size < 2:
        return array([], dtype=to_complex_dtype(p.dtype))
    companion = diag(ones((p.size - 2,), p.dtype), -1)
    return _linalg().eigvals(companion.at[0, :].set(-p[1:] / p[0]))


@staged(eager=False)
def _roots_of_unknown_degree(p, leading_zeros):
    """Zeros moved from the front to the back are roots at 0, and known by that to be none."""
    p = _where(len(p) == leading_zeros, 1.0, p)
    found = _roots(roll(p, -leading_zeros))
    found = sort_key_val(found == 0, found)[1]
    there = arange(found.size) < found.size - leading_zeros
    return _where(there, found, complex(np.nan, np.nan))


@staged(static_argnames=("deg", "rcond", "full", "cov"), eager=False)
def polyfit(x, y, deg: int, rcond: float | None = None, full: bool = False, w=None,
            cov: bool = False) -> Any:
    """The polynomial that fits points best, in the sense of least squares.

    Args:
      x: a vector: where the points are.
      y: their values: a vector, or a matrix with a column for each of several fits.
      deg: the degree of the polynomial.
      rcond: singular values of the equations that are smaller, relative to the largest, do not
        count; by default the length of `x` times the precision of its dtype.
      full: whether to return also what `linalg.lstsq` says of the equations.
      w: a vector of weights of the points.
      cov: whether to return also the covariance of the coefficients; `"unscaled"`, not scaled by
        the mean residual.

    Returns:
      the coefficients, the highest degree first; or `(coefficients, residuals, rank, singular
      values, rcond)`; or `(coefficients, covariance)`.

    Raises:
      ValueError: a negative degree, or too few points for `cov`.
      TypeError: arrays of other shapes.

    >>> polyfit(jnp.array([0.0, 1, 2]), jnp.array([1.0, 3, 5]), 1).round(3).tolist()
    [2.0, 1.0]
    """
    x, y, *weights = ensure_arraylikes("polyfit", x, y, *([] if w is None else [w]))
    deg = concrete_or_error(int, deg, "deg must be int")
    _check_points(x, y, deg)
    rcond = len(x) * float(dtypes.finfo(x.dtype).eps) if rcond is None else rcond
    rcond = concrete_or_error(float, rcond, "rcond must be float")
    lhs, rhs = vander(x, deg + 1), y
    if weights:
        (w,) = promote_dtypes_inexact(*weights)
        _check_vector("w", w)
        _check_lengths("w", w, y)
        lhs, rhs = lhs * w[:, None], rhs * (w[:, None] if rhs.ndim == 2 else w)
    scale = sqrt((lhs * lhs).sum(axis=0))  # so that all columns are of the same length
    lhs = lhs / scale[None, :]
    c, residuals, rank, singular_values = _linalg().lstsq(lhs, rhs, rcond)
    c = (c.T / scale[None, :]).T if c.ndim > 1 else c / scale
    if full:
        return c, residuals, rank, singular_values, asarray(rcond)
    if not cov:
        return c
    base = _linalg().inv(dot(lhs.T, lhs)) / outer(scale, scale)
    if cov != "unscaled" and len(x) <= deg + 1:
        raise ValueError("the number of data points must exceed order to scale the covariance "
                         "matrix")
    factor = array(1.0) if cov == "unscaled" else residuals / (len(x) - deg - 1)
    if y.ndim == 1:
        return c, base * atleast_1d(factor)[None]
    return c, base[:, :, None] * atleast_1d(factor)[None, None, :]


def _check_points(x, y, deg):
    if deg < 0:
        raise ValueError(f"polyfit: deg must not be negative, got {deg}.")
    _check_vector("x", x)
    if not x.size:
        raise TypeError("polyfit: x must have an element, got an empty vector.")
    if y.ndim not in (1, 2):
        raise TypeError(f"polyfit: y must have one or two dimensions, got shape {y.shape}.")
    _check_lengths("x", x, y)


def _check_vector(name, x):
    if x.ndim != 1:
        raise TypeError(f"polyfit: {name} must be a vector, got shape {x.shape}.")


def _check_lengths(name, x, y):
    if x.shape[0] != y.shape[0]:
        raise TypeError(f"polyfit: {name} and y must have the same length, got {x.shape[0]} and "
                        f"{y.shape[0]}.")
