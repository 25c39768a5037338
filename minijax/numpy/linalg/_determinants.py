"""Chapter 12: determinants, with derivatives that also hold for singular matrices."""

from typing import Any, NamedTuple

import numpy as np

from ...core.api import stop_gradient, vjp
from ...core.dtypes import finfo
from ...custom_rules import custom_jvp, custom_vmap
from ...lax import linalg as lax_linalg
from ...lax.control_flow.cond import cond
from ...lax.linalg.common import product
from ...lax.shaping import expand_dims as expand
from ...runtime.jit import jit
from .._arguments import complex_input
from .._constructors import arange, array, ones, ones_like, zeros_like
from .._diagonals import diagonal, eye, trace
from .._reductions import any, count_nonzero, prod, sum
from .._special import select, where
from .._ufuncs import abs, exp, log, real, sign
from ._factorizations import inexact
from ._solvers import inv, solve


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
    def of(i, j, k):
        return a[..., 0, i] * a[..., 1, j] * a[..., 2, k]

    return of(0, 1, 2) + of(1, 2, 0) + of(2, 0, 1) - of(2, 1, 0) - of(0, 2, 1) - of(1, 0, 2)


def _det_by_lu(a):
    """Its derivatives are those of `slogdet`: they hold for matrices that are not singular."""
    sign, logdet = slogdet(a)
    return sign * exp(logdet).astype(sign.dtype)


_det = custom_jvp(_det_by_lu)


@_det.defjvp
def _det_jvp(primals, tangents):
    """Jacobi's formula: the derivative by an entry is its cofactor."""
    (a,), (t,) = primals, tangents
    pivots = abs(diagonal(lax_linalg.lu(stop_gradient(a))[0], axis1=-2, axis2=-1))
    limit = finfo(pivots.dtype).eps ** (2 / 3) * pivots.max(-1, keepdims=True, initial=0)
    cofactors = cond(_any(pivots <= limit), _cofactors_by_parts, _cofactors_by_inverse, a)
    return _det(a), (cofactors * t).sum((-2, -1))


@custom_vmap
def _any(x):
    return any(x)


@_any.def_vmap
def _any_of_all_examples(size, batched, x):
    """One answer for all, so that `vmap` need not compute both branches."""
    return _any(x), False


def _cofactors_by_inverse(a):
    return _det_by_lu(a)[..., None, None] * inv(a).mT


def _cofactors_by_parts(a):
    return vjp(_det_by_parts, a)[1](ones(a.shape[:-2], a.dtype))[0]


def _det_by_parts(a):
    """A program whose first three derivatives also hold for singular matrices, of any rank.

    A decomposition `a` P = Q R with permuted columns shows which rows of R vanish. With P and Q
    held fixed, B = P Qᴴ `a` is linear in `a`. It has a regular block M and a block N that
    vanishes. With K = N - (N, M) M⁻¹ (M, N) of d rows, det B = det M det K, and Newton's
    identities give det K by traces. If d > 3, the first three derivatives are 0.
    """
    q, r, order = lax_linalg.qr(stop_gradient(a), pivoting=True)
    n = a.shape[-1]
    permutation = (arange(n)[:, None] == order[..., None, :]).astype(a.dtype)
    q = product(q, permutation.mT)
    sizes = abs(product(permutation, diagonal(r, axis1=-2, axis2=-1)[..., None]))
    eps, largest = finfo(sizes.dtype).eps, sizes.max(-2, keepdims=True, initial=0)
    few = (sizes <= eps ** 0.5 * largest).sum(-2, keepdims=True) <= 3
    vanish = sizes <= where(few, eps ** 0.5, n * eps) * largest
    b = product(q.mT.conj(), a)

    def block(rows, columns):
        return where(rows & columns.mT, b, 0)

    regular = block(~vanish, ~vanish) + eye(n, dtype=a.dtype) * vanish
    coupling = solve(regular, block(~vanish, vanish))
    k = block(vanish, vanish) - product(block(vanish, ~vanish), coupling)
    rest = _det_of_few(k, vanish.sum((-2, -1)))
    return slogdet(stop_gradient(q)).sign * _det_by_lu(regular) * rest


def _det_of_few(k, d):
    """The determinant of the `d` rows and columns that are not zero; 0 for more than three."""
    square = product(k, k)
    p1, p2, p3 = (trace(x, axis1=-1, axis2=-2) for x in (k, square, product(square, k)))
    two, three = p1 * p1 - p2, p1 * p1 * p1 - 3 * p1 * p2 + 2 * p3
    return select([d == 0, d == 1, d == 2, d == 3], [ones_like(p1), p1, two / 2, three / 6])
