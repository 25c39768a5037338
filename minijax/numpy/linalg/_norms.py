"""Chapter 12: norms of vectors and matrices, and what singular values say about a matrix."""

import functools
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.array import Array
from ...core.boundary import public
from ...core.core import typeof
from ...lax.staged import compiled, staged
from .._arguments import (
    canonical_axis,
    ensure_arraylike,
    is_integer,
    promote_dtypes_inexact,
    strong_constant,
)
from .._arithmetic import power
from .._reductions import amax, amin, any, sum
from .._shaping import expand_dims, moveaxis
from .._special import where
from .._ufuncs import abs, conj, isnan, real, sqrt
from ._factorizations import svd, svdvals
from ._solvers import inv

_OF_SUMS = 1, -1, np.inf, -np.inf  # orders of a matrix norm: of sums along one dimension


@staged(static_argnames=("ord", "axis", "keepdims"))
def norm(x, ord=None, axis=None, keepdims: bool = False):
    """The norm of a vector or a matrix, or of many along some dimensions.

    Args:
      x: an array; integers are converted to floating point.
      ord: which norm. By default the root of the sum of squares. Of vectors see `vector_norm`, of
        matrices `matrix_norm`.
      axis: an int for norms of vectors, two for norms of matrices; by default all dimensions.
      keepdims: whether these dimensions stay, with size 1.

    Returns:
      a real array without these dimensions.

    Raises:
      ValueError: an unknown `ord`, or another number of axes.

    >>> norm(jnp.array([3.0, 4.0]))
    Array(5., dtype=float32)
    """
    x = ensure_arraylike("jnp.linalg.norm", x)
    if is_integer(x):
        (x,) = promote_dtypes_inexact(x)
    if axis is None and ord is None:
        return _root_of_squares(x, None, keepdims)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(canonical_axis(i, x.ndim) for i in axes)
    if len(axes) == 1:
        return vector_norm(x, ord=2 if ord is None else ord, axis=axes[0], keepdims=keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"Improper number of axes for norm: axis={axes}. Pass one axis to compute a "
                     "vector-norm, or two axes to compute a matrix-norm.")


def _root_of_squares(x, axes, keepdims):
    return sqrt(sum(real(x * conj(x)), axis=axes, keepdims=keepdims))


def _matrix_norm(x, ord, axes, keepdims):
    if ord in (None, "f", "fro"):
        return _root_of_squares(x, axes, keepdims)
    if ord in _OF_SUMS:
        return _extreme_sum(x, ord, axes, keepdims)
    reduced = [f for known, f in _of_singular_values.items() if known == ord]  # it may lack a hash
    if not reduced:
        raise ValueError(f"Invalid order {ord!r} for a matrix norm. Use 'fro', 'nuc', inf, -inf, "
                         "1, -1, 2 or -2.")
    if not (type(x) is Array and axes == (x.ndim - 2, x.ndim - 1)):
        x = moveaxis(x, axes, (-2, -1))
    value = reduced[0](x)
    return expand_dims(value, axes) if keepdims else value


def _with_singular_values(reduce):
    return compiled(lambda x: reduce(svd(x, compute_uv=False), axis=-1))


_of_singular_values = {
    "nuc": _with_singular_values(sum), -2: _with_singular_values(amin),
    2: _with_singular_values(functools.partial(amax, initial=0))}


def _extreme_sum(x, ord, axes, keepdims):
    """The largest sum of absolute values along a column (`ord` 1) or a row (infinity); the
    smallest for a negative `ord`."""
    summed, other = axes if ord in (1, -1) else axes[::-1]
    sums = sum(abs(x), axis=summed, keepdims=keepdims)
    if other > summed and not keepdims:
        other -= 1
    if ord > 0:
        return amax(sums, axis=other, keepdims=keepdims, initial=0)
    return amin(sums, axis=other, keepdims=keepdims)


@public
def matrix_norm(x, /, *, keepdims: bool = False, ord="fro"):
    """The norms of the matrices in the last two dimensions.

    Args:
      x: an array `(…, m, n)`.
      keepdims: whether the result is `(…, 1, 1)`.
      ord: "fro", the root of the sum of squares; "nuc", the sum of the singular values; 2 or -2,
        the largest or smallest of them; 1 or -1, the largest or smallest sum of absolute values
        along a column; infinity or its negative, the same along a row.

    >>> matrix_norm(jnp.array([[1.0, -2.0], [3.0, 4.0]]), ord=1)
    Array(6., dtype=float32)
    """
    x = ensure_arraylike("jnp.linalg.matrix_norm", x)
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


@public
def vector_norm(x, /, *, axis=None, keepdims: bool = False, ord=2):
    """The norms of vectors.

    Args:
      x: an array.
      axis: the dimension of the vectors, or several as if they were one; by default all.
      keepdims: whether these dimensions stay, with size 1.
      ord: infinity or its negative, the largest or smallest absolute value; 0, how many elements
        are not zero; any other number p, (Σ |x|^p)^(1/p).

    Raises:
      ValueError: a string as `ord`.

    >>> vector_norm(jnp.array([3.0, -4.0]), ord=1)
    Array(7., dtype=float32)
    """
    x = ensure_arraylike("jnp.linalg.vector_norm", x)
    if ord is None or ord == 2:
        return _root_of_squares(x, axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid order '{ord}' for vector norm: it must be a number, such as "
                         "jax.numpy.inf.")
    if ord == np.inf:
        return amax(abs(x), axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return amin(abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        dtype = dtypes.finfo(typeof(x).dtype).dtype
        return sum(x != 0, dtype=dtype, axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum(abs(x), axis=axis, keepdims=keepdims)
    abs_x = abs(x)
    p: Any = strong_constant(abs_x, ord)
    sums = sum(abs_x ** p, axis=axis, keepdims=keepdims)
    return power(sums, strong_constant(abs_x, 1.0 / p))


# ----------------------------------------------------------------------------------------------
# From singular values


@staged(static_argnames=("p",), eager=False)
def cond(x, p=None):
    """The condition number: by how much a matrix can magnify a relative error.

    Args:
      x: an array `(…, m, n)`.
      p: a norm of `matrix_norm`; by default 2, the ratio of the extreme singular values. For
        another than ±2 the matrices must be square.

    Returns:
      an array `(…)`; infinity for singular matrices.

    Raises:
      ValueError: matrices that are empty, or not square.

    >>> cond(jnp.array([[2.0, 0.0], [0.0, 0.5]]))
    Array(4., dtype=float32)
    """
    x = ensure_arraylike("cond", x)
    if x.ndim < 2:
        raise ValueError(f"jnp.linalg.cond: input array must be at least 2D; got {x.shape=}")
    if 0 in x.shape[-2:]:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got {x.shape=}")
    if p in (None, 2, -2):
        s = svdvals(x)
        if p != -2:
            return s[..., 0] / s[..., -1]
        ratio = s[..., -1] / s[..., 0]
    else:
        if x.shape[-2] != x.shape[-1]:
            raise ValueError(f"jnp.linalg.cond: for {p=}, array must be square; got {x.shape=}")
        ratio = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    return where(isnan(ratio) & ~any(isnan(x), axis=(-2, -1)), np.inf, ratio)


@staged(static_argnames=("hermitian",))
def matrix_rank(M, rtol=None, *, hermitian: bool = False, tol=None):
    """How many singular values of a matrix are not nearly zero.

    Args:
      M: an array `(…, m, n)`; or a vector, whose rank is 1 unless it is zero.
      rtol, tol: below this a singular value counts as zero; by default a few units in the last
        place of the largest.
      hermitian: whether `M` is its own adjoint.

    Returns:
      an integer array `(…)`.

    Raises:
      ValueError: both `rtol` and `tol`.

    >>> matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
    Array(1, dtype=int32)
    """
    M = ensure_arraylike("jnp.linalg.matrix_rank", M)
    if tol is not None:
        if rtol is not None:
            raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
        rtol = tol
    (M,) = promote_dtypes_inexact(M)
    if M.ndim < 2:
        return (M != 0).any().astype(np.int32)
    s = svd(M, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if rtol is None:
        dtype = s.dtype.type
        rtol = s.max(-1) * dtype(max(M.shape[-2:])) * dtypes.finfo(dtype).eps
    return sum(s > expand_dims(rtol, np.ndim(rtol)), axis=-1)
