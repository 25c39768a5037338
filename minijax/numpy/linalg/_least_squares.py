"""Chapter 12: pseudo-inverses and least squares, for equations without an exact solution."""

import functools

import numpy as np

from ...core import dtypes
from ...core.api import jvp
from ...core.boundary import public
from ...custom_rules import custom_jvp
from ...lax.precision import Precision, default_matmul_precision
from ...lax.shaping import expand_dims
from ...runtime.jit import jit
from .._arguments import (
    check_arraylike,
    convert,
    ensure_arraylike,
    ensure_arraylikes,
    promote_dtypes_inexact,
)
from .._arithmetic import divide
from .._constructors import array, asarray, empty, zeros
from .._products import matmul
from .._special import where
from .._ufuncs import conj, real
from ._factorizations import adjoint, svd


@public
def pinv(a, rtol=None, hermitian: bool = False, *, rcond=None):
    """The pseudoinverse of Moore and Penrose: it gives the least squares solution that is shortest.

    Args:
      a: matrices `(…, m, n)`.
      rtol, rcond: singular values below this part of the largest count as zero; by default ten
        times the larger of m and n, in units in the last place.
      hermitian: whether `a` is its own adjoint.

    Returns:
      an array `(…, n, m)`. Its derivative is by a formula for matrices of constant rank (Golub and
      Pereyra, "The differentiation of pseudo-inverses", 1973).

    Raises:
      ValueError: both `rtol` and `rcond`.

    >>> pinv(jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]]
    """
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: only one of rtol and rcond may be specified.")
        rtol = rcond
    if rtol is not None:
        check_arraylike("jnp.linalg.pinv: rtol", rtol)
    return _pinv(a, rtol, hermitian)


def _pinv_by_svd(a, rtol=None, hermitian=False):
    (a,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.pinv", a))
    if a.ndim < 2:
        raise ValueError(f"pinv: expected a matrix, or a stack of them, got shape {a.shape}.")
    m, n = a.shape[-2:]
    if not m or not n:
        return empty((*a.shape[:-2], n, m), a.dtype)
    a = conj(a)
    if rtol is None:
        rtol = 10.0 * max(m, n) * array(dtypes.finfo(a.dtype).eps)
    rtol = asarray(rtol)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    rtol = expand_dims(rtol[..., np.newaxis], range(s.ndim - rtol.ndim - 1))
    s = where(s > rtol * s[..., 0:1], s, np.inf).astype(u.dtype)
    p = matmul(vh.mT, divide(u.mT, s[..., np.newaxis]), precision=Precision.HIGHEST)
    return convert(p, a.dtype)


_pinv_by_svd.__name__ = _pinv_by_svd.__qualname__ = "_pinv"  # so do jaxprs call it
_pinv = custom_jvp(jit(_pinv_by_svd, static_argnames=("hermitian",)), nondiff_argnums=(2,))


@_pinv.defjvp
@default_matmul_precision("float32")
def _pinv_jvp(hermitian, primals, tangents):
    (a, rtol), (a_dot, _) = primals, tangents
    p = pinv(a, rtol=rtol, hermitian=hermitian)
    if hermitian:
        a, a_dot = _symmetrize(a), _symmetrize(a_dot)
    p_h, a_dot_h = adjoint(p), adjoint(a_dot)
    m, n = a.shape[-2:]
    if m >= n:  # the cheaper order of the same products
        s = p @ p_h @ a_dot_h
        t = a_dot_h @ p_h @ p
        return p, -(p @ a_dot) @ p + s - s @ a @ p + t - p @ a @ t
    s = p @ (p_h @ a_dot_h)
    t = a_dot_h @ (p_h @ p)
    return p, -p @ (a_dot @ p) + s - s @ (a @ p) + t - p @ (a @ t)


def _symmetrize(x):
    return (x + adjoint(x)) / 2


@public
def lstsq(a, b, rcond: float | None = None, *, numpy_resid: bool = False):
    """The `x` for which a x is nearest to b; of many, the shortest.

    Args:
      a: a matrix `(m, n)`.
      b: a vector `(m,)` or a matrix `(m, k)`.
      rcond: singular values below this part of the largest count as zero.
      numpy_resid: whether to leave the residuals empty where NumPy does; not under `jit`.

    Returns:
      `x`; the sums of the squared residuals; the rank of `a`; its singular values.

    Raises:
      TypeError: an argument that is no matrix.
      ValueError: shapes that do not fit.

    >>> x, residuals, rank, s = lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))
    >>> x.round(3).tolist(), residuals.round(3).tolist(), int(rank)
    ([2.0], [2.0], 1)
    """
    a, b = ensure_arraylikes("jnp.linalg.lstsq", a, b)
    if not numpy_resid:
        return _compiled_lstsq(a, b, rcond)
    x, residuals, rank, s = _lstsq(a, b, rcond)
    m, n = a.shape
    return x, array([]) if rank < n or m <= n else residuals, rank, s


def _lstsq(a, b, rcond):
    a, b = promote_dtypes_inexact(a, b)
    if a.shape[0] != b.shape[0]:
        raise ValueError("lstsq: the leading dimensions of a and b must match, got the "
                         f"shapes {a.shape} and {b.shape}.")
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise TypeError("lstsq: a must be two-dimensional, and b one- or two-dimensional; got "
                        f"{a.shape=}, {b.shape=}")
    columns = b[:, None] if b.ndim == 1 else b
    eps = dtypes.finfo(a.dtype).eps
    limit = float(eps) * max(a.shape) if rcond is None else where(rcond < 0, eps, rcond)
    x, s = _shortest_solution(a, columns, limit) if a.size else _no_solution(a, columns)
    error = columns - matmul(a, x, precision=Precision.HIGHEST)
    residuals = real(error * conj(error)).sum(0)
    return x.ravel() if b.ndim == 1 else x, residuals, _counts(s, limit).sum(), s


_compiled_lstsq = jit(_lstsq)


def _no_solution(a, b):
    s = empty(0, dtype=a.dtype)
    return zeros((a.shape[1], b.shape[1]), dtype=a.dtype), s


def _counts(s, limit):
    """Which singular values do not count as zero."""
    return (s > 0) & (s >= array(limit, dtype=s.dtype) * s[:1])


@custom_jvp
def _shortest_solution(a, b, limit):
    """By the pseudoinverse; the singular values that it ignores must not be divided by."""
    u, s, vt = svd(a, full_matrices=False)
    mask = _counts(s, limit)
    safe_s = where(mask, s, 1).astype(a.dtype)
    s_inv = where(mask, 1 / safe_s, 0)[:, np.newaxis]
    coordinates = matmul(u.conj().T, b, precision=Precision.HIGHEST)
    return matmul(vt.conj().T, s_inv * coordinates, precision=Precision.HIGHEST), s


@_shortest_solution.defjvp
@default_matmul_precision("float32")
def _shortest_solution_jvp(primals, tangents):
    """From that of the pseudoinverse p: singular values may be equal, or count as zero. JAX divides
    by their differences."""
    (a, b, limit), (a_dot, b_dot, _) = primals, tangents
    x, _ = _shortest_solution(*primals)
    p, a_dot_h = pinv(a, rtol=limit), adjoint(a_dot)
    across = a_dot_h @ (adjoint(p) @ x)
    b_dot = b_dot - a_dot @ x + adjoint(p) @ (a_dot_h @ (b - a @ x))
    x_dot = p @ b_dot + across - p @ (a @ across)
    s, s_dot = jvp(functools.partial(svd, compute_uv=False), (a,), (a_dot,))
    return (x, s), (x_dot, s_dot)
