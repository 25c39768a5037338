"""Chapter 12: determinants, with derivatives that also hold for singular matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...custom_rules import custom_jvp
from ...lax import linalg as lax_linalg
from ...lax.shaping import broadcast_shapes, iota
from ...lax.shaping import expand_dims as expand
from ...runtime.jit import jit
from .._arguments import complex_input
from .._constructors import arange, array, ones, zeros_like
from .._diagonals import diagonal, trace
from .._grids import ix_
from .._joining import concatenate
from .._reductions import any, count_nonzero, prod, sum
from .._running import cumprod
from .._shaping import broadcast_to, tile
from .._special import where
from .._ufuncs import abs, exp, isinf, isnan, log, logical_or, real, sign
from ._factorizations import inexact
from ._solvers import solve


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Any
    logabsdet: Any


def _entries(a):
    """The entries of 2 × 2 matrices."""
    return a[..., 0, 0], a[..., 0, 1], a[..., 1, 0], a[..., 1, 1]


# ----------------------------------------------------------------------------------------------
# The logarithm of the determinant


@jit(static_argnames=("method",))
def slogdet(a, *, method: str | None = None):
    """The sign and the logarithm of the absolute value of determinants, which cannot overflow.

    Args:
      a: matrices `(…, n, n)`.
      method: "lu" or "qr"; here always the former.

    Returns:
      a `SlogdetResult` of two arrays `(…)`; the sign of a complex determinant is a number of
      absolute value 1. A singular matrix has sign 0, and logarithm -infinity.

    Raises:
      ValueError: matrices that are not square; another method.

    >>> slogdet(jnp.array([[0.0, 2.0], [2.0, 0.0]])).sign
    Array(-1., dtype=float32)
    """
    a = inexact("slogdet", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to slogdet() must have shape [..., n, n], got {a.shape}")
    if method not in (None, "lu", "qr"):
        raise ValueError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' "
                         "(`None`), and 'qr'.")
    return SlogdetResult(*(_slogdet_small if a.shape[-1] in (1, 2) else _slogdet_lu)(a))


@custom_jvp
def _slogdet_small(a):
    """Of 1 × 1 and 2 × 2 matrices, by the formula."""
    if a.shape[-1] == 1:
        det = a[..., 0, 0]
    else:
        a00, a01, a10, a11 = _entries(a)
        det = a00 * a11 - a01 * a10
    abs_det = abs(det)
    return sign(det), real(log(abs_det))


@_slogdet_small.defjvp
def _slogdet_small_jvp(primals, tangents):
    (a,), (t,) = primals, tangents
    sign, logdet = _slogdet_small(a)
    if a.shape[-1] == 1:
        ratio = t[..., 0, 0] / a[..., 0, 0]
    else:
        a00, a01, a10, a11 = _entries(a)
        t00, t01, t10, t11 = _entries(t)
        det = a00 * a11 - a01 * a10
        ratio = (t00 * a11 - t01 * a10 - t10 * a01 + t11 * a00) / det
    return (sign, logdet), _slogdet_tangents(a, sign, ratio)


def _slogdet_tangents(a, sign, ratio):
    """From the tangent of a determinant divided by it: its real part changes the logarithm, its
    imaginary part turns the sign."""
    if not complex_input(a):
        return zeros_like(sign), ratio
    return (ratio - real(ratio).astype(ratio.dtype)) * sign, real(ratio)


@custom_jvp
def _slogdet_lu(a):
    """The product of the diagonal of U; each exchange of rows changes the sign."""
    dtype = a.dtype
    lu, pivots, _ = lax_linalg.lu(a)
    diag = diagonal(lu, axis1=-2, axis2=-1)
    is_singular = any(diag == array(0, dtype=dtype), axis=-1)
    exchanges = _count_exchanges(pivots, a.shape[-1])
    if complex_input(a):
        sign = prod(diag / abs(diag).astype(dtype), axis=-1)
    else:
        sign = array(1, dtype=dtype)
        exchanges = exchanges + count_nonzero(diag < 0, axis=-1)
    sign = where(is_singular, array(0, dtype=dtype), sign * _sign_of(exchanges, dtype))
    logdet = where(is_singular, array(-np.inf, dtype=dtype),
                   sum(log(abs(diag)).astype(dtype), axis=-1))
    return sign, real(logdet)


def _count_exchanges(pivots, n):
    own_rows = expand(arange(n, dtype=pivots.dtype), range(pivots.ndim - 1))
    return count_nonzero(pivots != own_rows, axis=-1)


def _sign_of(exchanges, dtype):
    return array(-2 * (exchanges % 2) + 1, dtype=dtype)


@_slogdet_lu.defjvp
def _slogdet_lu_jvp(primals, tangents):
    """By Jacobi's formula the tangent of log det a is the trace of a⁻¹ times the tangent of a."""
    (a,), (t,) = primals, tangents
    sign, logdet = slogdet(a)
    ratio = trace(solve(a, t), axis1=-1, axis2=-2)
    return (sign, logdet), _slogdet_tangents(a, sign, ratio)


# ----------------------------------------------------------------------------------------------
# The determinant


@jit
def det(a):
    """The determinants of matrices.

    Args:
      a: matrices `(…, n, n)`.

    Returns:
      an array `(…)`.

    Raises:
      ValueError: matrices that are not square.

    >>> det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    a = inexact("det", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to det() must have shape [..., n, n], got {a.shape}")
    return {2: _det_2x2, 3: _det_3x3}.get(a.shape[-1], _det)(a)


def _det_2x2(a):
    return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]


def _det_3x3(a):
    """Three diagonals down, less three diagonals up (the rule of Sarrus)."""
    def product(i, j, k):
        return a[..., 0, i] * a[..., 1, j] * a[..., 2, k]

    return (product(0, 1, 2) + product(1, 2, 0) + product(2, 0, 1)
            - product(2, 1, 0) - product(0, 2, 1) - product(1, 0, 2))


@custom_jvp
def _det(a):
    sign, logdet = slogdet(a)
    return sign * exp(logdet).astype(sign.dtype)


@_det.defjvp
def _det_jvp(primals, tangents):
    """Jacobi's formula: the tangent is the trace of the adjugate times the tangent of `a`."""
    (a,), (t,) = primals, tangents
    det, product = _adjugate_times(a, t)
    return det, trace(product, axis1=-1, axis2=-2)


def _adjugate_times(a, b):
    """det(a), and det(a) a⁻¹ b; the latter exists also if `a` has rank n - 1.

    In a = L U let only the last entry of the diagonal of U, u, vanish. det(a) U⁻¹ divides by u
    only after multiplying by it: the last row is multiplied by the product p of the other entries
    instead of det(a) / u, and all rows above by det(a) at last. Where another entry vanishes too,
    the adjugate is zero.
    """
    if a.shape[-1] == 1:
        return a[..., 0, 0], b
    dtype, n = a.dtype, a.shape[-1]
    lu, pivots, permutation = lax_linalg.lu(a)
    batch = broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    x = broadcast_to(b, batch + b.shape[-2:])
    lu = broadcast_to(lu, batch + lu.shape[-2:])
    diag = diagonal(lu, axis1=-2, axis2=-1)
    sign = _sign_of(_count_exchanges(pivots, n), dtype)
    products = cumprod(diag, axis=-1) * sign[..., None]
    lu = lu.at[..., -1, -1].set(1.0 / products[..., -2])
    permutation = broadcast_to(permutation, (*batch, n))
    vanishes = _is_singular(lu, x)
    x = where(vanishes, zeros_like(x), x)
    x = _permute_rows(x, permutation, batch)
    x = lax_linalg.triangular_solve(lu, x, left_side=True, lower=True, unit_diagonal=True)
    x = concatenate((x[..., :-1, :] * products[..., -1, None, None], x[..., -1:, :]), axis=-2)
    x = lax_linalg.triangular_solve(lu, x, left_side=True, lower=False)
    return products[..., -1], where(vanishes, zeros_like(x), x)


def _is_singular(upper, like):
    """Whether an upper triangle cannot be divided by, for each matrix, with the shape of `like`."""
    trial = lax_linalg.triangular_solve(upper, ones(like.shape[:-1], like.dtype), left_side=True,
                                        lower=False)
    failed = any(logical_or(isnan(trial), isinf(trial)), axis=-1)
    return tile(failed[..., None, None], (1,) * failed.ndim + like.shape[-2:])


def _permute_rows(x, permutation, batch):
    places = ix_(*(iota(np.int32, size) for size in (*batch, 1)))
    return x[(*places[:-1], permutation, slice(None))]
