"""Chapter 12: products and views of matrices, as the array API standard defines them in `linalg`:
the functions of `minijax.numpy`, but for vectors and matrices only, in the last dimensions."""

import operator
from collections.abc import Sequence

from ...core.boundary import public
from ...lax.shaping import broadcast_to, transpose
from ...lax.staged import staged
from .. import _products as products
from .._arguments import ensure_arraylike, ensure_arraylikes
from .._diagonals import diagonal as diagonal_of_axes, eye, trace as trace_of_axes
from .._einsum import einsum
from ._solvers import inv


@public
def matmul(x1, x2, /, *, precision=None, preferred_element_type=None):
    """`jnp.matmul`.

    Args:
      x1, x2: arrays `(…, n, k)` and `(…, k, m)`, or vectors.
      precision, preferred_element_type: as for `lax.dot_general`.
    """
    x1, x2 = ensure_arraylikes("jnp.linalg.matmul", x1, x2)
    return products.matmul(x1, x2, precision=precision,
                           preferred_element_type=preferred_element_type)


@public
def vecdot(x1, x2, /, *, axis: int = -1, precision=None, preferred_element_type=None):
    """`jnp.vecdot`: the inner products of the vectors along an axis, those of `x1` conjugated."""
    x1, x2 = ensure_arraylikes("jnp.linalg.vecdot", x1, x2)
    return products.vecdot(x1, x2, axis=axis, precision=precision,
                           preferred_element_type=preferred_element_type)


@public
def tensordot(x1, x2, /, *, axes=2, precision=None, preferred_element_type=None, out_sharding=None):
    """`jnp.tensordot`: the sum of products over several dimensions."""
    x1, x2 = ensure_arraylikes("jnp.linalg.tensordot", x1, x2)
    return products.tensordot(x1, x2, axes=axes, precision=precision,
                              preferred_element_type=preferred_element_type,
                              out_sharding=out_sharding)


@public
def outer(x1, x2, /):
    """All products of an element of the vector `x1` and one of the vector `x2`, as a matrix.

    Raises:
      ValueError: arguments that are no vectors.

    >>> outer(jnp.array([1, 2]), jnp.array([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    x1, x2 = ensure_arraylikes("jnp.linalg.outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError("Input arrays must be one-dimensional, but they are "
                         f"{x1.ndim=} {x2.ndim=}")
    return x1[:, None] * x2[None, :]


@public
def cross(x1, x2, /, *, axis: int = -1):
    """The cross products of vectors of three components.

    Args:
      x1, x2: arrays that broadcast.
      axis: the dimension of the components.

    Raises:
      ValueError: vectors of another size.

    >>> cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    x1, x2 = ensure_arraylikes("jnp.linalg.outer", x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors, but they "
                         f"have {x1.shape[axis]=} and {x2.shape[axis]=}")
    return products.cross(x1, x2, axis=axis)


@public
def diagonal(x, /, *, offset: int = 0):
    """The diagonals of the matrices in the last two dimensions.

    Args:
      x: an array `(…, m, n)`.
      offset: how far above the main diagonal.
    """
    return diagonal_of_axes(ensure_arraylike("jnp.linalg.diagonal", x), offset, -2, -1)


@public
def trace(x, /, *, offset: int = 0, dtype=None):
    """The sums of the diagonals of the matrices in the last two dimensions.

    Args:
      x: an array `(…, m, n)`.
      offset: how far above the main diagonal.
      dtype: in which to sum; by default that of `x`.

    >>> trace(jnp.arange(8).reshape(2, 2, 2)).tolist()
    [3, 11]
    """
    x = ensure_arraylike("jnp.linalg.trace", x)
    return trace_of_axes(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


@public
def matrix_transpose(x, /):
    """The matrices in the last two dimensions, transposed.

    Raises:
      ValueError: `x` has less than two dimensions.
    """
    x = ensure_arraylike("jnp.linalg.matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose requires at least 2 dimensions; got {x.ndim=}")
    *batch, row, column = range(x.ndim)
    return transpose(x, (*batch, column, row))


# ----------------------------------------------------------------------------------------------
# Products of many matrices


@staged(static_argnames=("n",))
def matrix_power(a, n: int):
    """The product of `n` times the same matrix, by repeated squaring.

    Args:
      a: an array `(…, m, m)`.
      n: how often; if negative, of the inverse.

    Raises:
      TypeError: matrices that are not square, or `n` is not an integer.

    >>> matrix_power(jnp.array([[1, 1], [1, 0]]), 10).tolist()
    [[89, 55], [55, 34]]
    """
    a = ensure_arraylike("jnp.linalg.matrix_power", a)
    if a.ndim < 2 or a.shape[-2] != a.shape[-1]:
        raise TypeError("jnp.linalg.matrix_power: the last 2 dimensions of the array must be "
                        f"square; got {a.shape=}")
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"matrix_power: the exponent must be an integer, got {n!r}.") from None
    if n == 0:
        return broadcast_to(eye(a.shape[-1], dtype=a.dtype), a.shape)
    return _positive_power(a if n > 0 else inv(a), abs(n))


def _positive_power(a, n):
    if n == 3:
        return a @ a @ a
    power = None
    while True:
        n, odd = divmod(n, 2)
        if odd:
            power = a if power is None else power @ a
        if not n:
            return power
        a = a @ a


@public
def multi_dot(arrays: Sequence, *, precision=None):
    """The product of several matrices, in the order of multiplications that costs least.

    Args:
      arrays: at least two matrices; the first and the last may be vectors.
      precision: as for `lax.dot_general`.

    Raises:
      ValueError: fewer than two, or shapes that do not fit.

    >>> multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)]).tolist()
    [12.0, 12.0]
    """
    arrays = ensure_arraylikes("jnp.linalg.multi_dot", *arrays)
    _check_chain([x.shape for x in arrays])
    subscripts = [list(range(i, i + 2)) for i in range(len(arrays))]
    if arrays[0].ndim == 1:
        subscripts[0] = subscripts[0][1:]
    if arrays[-1].ndim == 1:
        subscripts[-1] = subscripts[-1][:1]
    interleaved = [x for pair in zip(arrays, subscripts) for x in pair]
    return einsum(*interleaved, optimize="auto", precision=precision)


def _check_chain(shapes):
    if len(shapes) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got {len(shapes)}")
    ends, between = (shapes[0], shapes[-1]), shapes[1:-1]
    if any(len(s) not in (1, 2) for s in ends) or any(len(s) != 2 for s in between):
        raise ValueError("multi_dot: input arrays must all be two-dimensional, except for the "
                         "first and last array which may be 1 or 2 dimensional. Got array shapes "
                         f"{shapes}")
    if any(s[-1] != t[0] for s, t in zip(shapes, shapes[1:])):
        raise ValueError("multi_dot: last dimension of each array must match first dimension of "
                         f"following array. Got array shapes {shapes}")
