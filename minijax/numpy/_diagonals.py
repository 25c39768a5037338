"""Chapter 12: matrices and their diagonals: identities, triangles, and the indices of both."""

from __future__ import annotations

import builtins
import operator

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.primitives import convert
from ..lax import cutting, shaping as lax
from ..lax.compile_time import dimension_or_error
from ..lax.cutting import slice_in_dim
from ..lax.dtypes import (
    check_and_canonicalize_user_dtype,
    default_int_dtype,
)
from ..lax.elementwise import add, eq, ge
from ..lax.selection import select
from ..lax.shaping import (
    broadcasted_iota,
    on_device,
)
from ..text.naming import named
from ._arguments import (
    canonical_axis,
    canonical_shape,
    check_arraylike,
    ensure_arraylike,
    known_sizes,
    static_index,
    user_dtype,
)
from ._constructors import array
from ._reductions import sum
from ._select import _where
from ._shaping import moveaxis, ravel, shape
from ._staged import staged, with_dtype


@public
def eye(N: int, M: int | None = None, k=0, dtype=None, *, device=None):
    """A matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N: the number of rows.
      M: the number of columns; by default `N`.
      k: which diagonal: 0 the main one, positive ones above it. May be traced.
      dtype: the element type; by default floating point.

    Raises:
      ValueError: a negative size, or `k` no integer scalar.

    >>> eye(2, 3, 1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    dtype = check_and_canonicalize_user_dtype(float if dtype is None else dtype, "eye")
    if isinstance(k, int):  # a bool, too
        k = int(np.clip(int(k), -2**31, 2**31 - 1))
    offset = ensure_arraylike("eye", k)
    if offset.ndim or not dtypes.issubdtype(offset.dtype, np.integer):
        raise ValueError(f"the number of the diagonal must be a scalar integer; got {k}.")
    shape = known_sizes((N, N if M is None else M))
    if any(n < 0 for n in shape):
        raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    rows, columns = (broadcasted_iota(offset.dtype, shape, d) for d in (0, 1))
    offset = convert(offset, offset.dtype)
    out = convert(eq(add(rows, offset), columns), dtype)
    return on_device(out, device)


@public
def identity(n: int, dtype=None):
    """The square matrix `eye(n)`."""
    return eye(n, dtype=user_dtype(dtype, "identity"))


@public
def tri(N: int, M: int | None = None, k: int = 0, dtype=None):
    """A matrix with ones on and below a diagonal.

    Args:
      N, M, k: as for `eye`.
      dtype: the element type; by default float32.

    >>> tri(2, 3).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    dtype = check_and_canonicalize_user_dtype("float32" if dtype is None else dtype, "tri")
    shape = (N, N if M is None else M)
    offset = ensure_arraylike("tri", k)
    if not dtypes.issubdtype(offset.dtype, np.integer):
        raise TypeError(f"offset must be an integer, got {offset!r}")
    index = dtypes.canonicalize_dtype(int)
    rows = add(broadcasted_iota(index, shape, 0), convert(offset, index))
    return convert(ge(rows, broadcasted_iota(index, shape, 1)), dtype)


@staged(static_argnames=("k",), eager=False)
def tril(m, k: int = 0):
    """`m` with zeros above a diagonal; `k` as for `eye`.

    Raises:
      ValueError: fewer than two dimensions.
    """
    m, mask = _triangle("tril", m, k)
    return select(mask, m, lax.full_like(m, 0))


@staged(static_argnames=("k",), eager=False)
def triu(m, k: int = 0):
    """`m` with zeros below a diagonal; `k` as for `eye`.

    Raises:
      ValueError: fewer than two dimensions.
    """
    m, mask = _triangle("triu", m, k - 1)
    return select(mask, lax.full_like(m, 0), m)


def _triangle(name, m, k):
    """`m`, and a mask of the elements on or below a diagonal."""
    m = ensure_arraylike(name, m)
    if m.ndim < 2:
        raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D, got shape {m.shape}.")
    return m, lax.broadcast(tri(*m.shape[-2:], k=k, dtype=bool), m.shape[:-2])


@with_dtype(4)
@staged(static_argnames=("axis1", "axis2", "dtype"), eager=False)
def trace(a, offset=0, axis1: int = 0, axis2: int = 1, dtype=None, out=None):
    """The sum along a diagonal.

    Args:
      a: an array of at least two dimensions.
      offset: which diagonal, as `k` for `eye`.
      axis1, axis2: the two dimensions of the matrices.
      dtype: the type to sum in.

    Raises:
      ValueError: equal axes, or ones out of bounds.
    """
    a = ensure_arraylike("trace", a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.trace is not supported.")
    if canonical_axis(axis1, a.ndim) == canonical_axis(axis2, a.ndim):
        raise ValueError(f"axis1 and axis2 can not be same. {axis1=} and {axis2=}")
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    mask = eye(a.shape[-2], a.shape[-1], offset, bool)
    return sum(_where(mask, a, lax.full_like(a, 0)), axis=(-2, -1), dtype=dtype)


@public
def diagonal(a, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """The elements on a diagonal, as a new last dimension.

    Args:
      a: an array of at least two dimensions.
      offset, axis1, axis2: as for `trace`.

    Raises:
      ValueError: fewer than two dimensions.
    """
    a, offset = ensure_arraylike("diagonal", a), operator.index(offset)
    if a.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions, got shape "
                         f"{a.shape}.")
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = a.shape[-2:]
    row, column = min(max(-offset, 0), rows), min(max(offset, 0), columns)
    length = min(rows - row, columns - column)
    stays_weak = a.ndim > 2 or rows != columns or offset or a.dtype == bool
    if stays_weak and not length:  # a constant, as in JAX: it has no tangent
        return lax.full_like(a, 0, shape=(*a.shape[:-2], 0))
    first = slice_in_dim(a, row, row + length, axis=-2)
    square = slice_in_dim(first, column, column + length, axis=-1)
    # In row-major order the diagonal is every (length + 1)-th element.
    flat = lax.reshape(square, (*a.shape[:-2], length * length))
    out = slice_in_dim(flat, 0, None, stride=length + 1, axis=-1)
    return out if stays_weak else convert(out, out.dtype)


@public
def diag(v, k: int = 0):
    """The matrix with a vector on a diagonal, or the diagonal of a matrix; `k` as for `eye`.

    Raises:
      ValueError: neither a vector nor a matrix.

    >>> diag(jnp.array([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    return _diag(ensure_arraylike("diag", v), operator.index(k))


@staged(static_argnames=("k",), eager=False)
def _diag(v, k):
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"diag input must be 1d or 2d, got shape {v.shape}.")
    zero = lax.full_like(v, 0, shape=())
    padded = cutting.pad(v, zero, [(max(0, -k), max(0, k), 0)])
    mask = eye(v.shape[0] + abs(k), k=k, dtype=bool)
    return _where(mask, lax.expand_dims(padded, (1,)), zero)


@public
def diagflat(v, k: int = 0):
    """The matrix with all elements of `v` on a diagonal; `k` as for `eye`."""
    flat = ravel(v)
    n, k = flat.shape[0], operator.index(k)
    rows = n + builtins.abs(k)
    zeros = lax.full((rows * rows,), 0, flat.dtype)
    i = lax.iota(default_int_dtype(), n)
    places = i + k + i * rows if k >= 0 else i + (i - k) * rows
    return zeros.at[places].set(flat).reshape(rows, rows)


@public
def diag_indices(n: int, ndim: int = 2) -> tuple:
    """The indices of the diagonal of an array of `ndim` dimensions of size `n`.

    Raises:
      ValueError: a negative argument.
    """
    n, ndim = dimension_or_error(n), static_index(ndim)
    if n < 0 or ndim < 0:
        raise ValueError(f"n and ndim arguments to diag_indices must be nonnegative, got {n}, "
                         f"{ndim}")
    return (lax.iota(default_int_dtype(), n),) * ndim


@public
def diag_indices_from(arr) -> tuple:
    """`diag_indices` for the shape of `arr`, all of whose dimensions are of one size."""
    arr = ensure_arraylike("diag_indices_from", arr)
    if arr.ndim < 2:
        raise ValueError(f"diag_indices_from: arr must be at least 2-d, got shape {arr.shape}.")
    if len(set(arr.shape)) != 1:
        raise ValueError("diag_indices_from: all dimensions of arr must be of equal length, got "
                         f"shape {arr.shape}.")
    return diag_indices(arr.shape[0], arr.ndim)


@public
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple:
    """The indices of the elements on and below a diagonal of an `n` by `m` matrix."""
    rows, columns = canonical_shape((n, n if m is None else m))
    return tuple(map(array, np.tril_indices(rows, static_index(k), columns)))


@public
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple:
    """The indices of the elements on and above a diagonal of an `n` by `m` matrix."""
    rows, columns = canonical_shape((n, n if m is None else m))
    return tuple(map(array, np.triu_indices(rows, static_index(k), columns)))


def _indices_from(name, function):
    @named(name, function=function.__name__)
    @public
    def from_array(arr, k: int = 0) -> tuple:
        """`{function}` for the shape of a matrix."""
        check_arraylike(name, arr)
        rows_columns = shape(arr)
        if len(rows_columns) != 2:
            raise ValueError("Only 2-D inputs are accepted")
        return function(rows_columns[0], k, rows_columns[1])

    return from_array


tril_indices_from = _indices_from("tril_indices_from", tril_indices)
triu_indices_from = _indices_from("triu_indices_from", triu_indices)
