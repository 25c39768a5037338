"""Chapter 12: sorted arrays, and the orders that sort them."""

import numpy as np

from ..checks.primitives import places_fit
from ..core import dtypes
from ..core.core import typeof
from ..lax.cutting import concatenate
from ..lax.dtypes import default_int_dtype, to_complex_dtype
from ..lax.shaping import broadcasted_iota, full, rev
from ..lax.sorting import sort as lax_sort, top_k
from ._arguments import canonical_axis, complex_input, convert, ensure_arraylike, user_dtype
from ._shaping import ravel, swapaxes
from ._staged import staged


def _check_unsupported(name, kind, order):
    if kind is not None:
        raise TypeError(f"'kind' argument to {name} is not supported. Use stable=True or "
                        "stable=False to specify sort stability.")
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


def _line_up(x, axis):
    """`x`, flattened if `axis` is `None`, and the axis."""
    if axis is None:
        return ravel(x), 0
    return x, canonical_axis(axis, typeof(x).ndim)


@staged(static_argnames=("axis", "kind", "order", "stable", "descending"))
def sort(a, axis: int | None = -1, *, kind=None, order=None, stable: bool = True,
         descending: bool = False):
    """The elements of `a` in ascending order along an axis; NaN comes last.

    Args:
      a: an array.
      axis: along which lines are sorted, or `None` for all elements.
      kind, order: not supported.
      stable: whether equal elements keep their order.
      descending: the opposite order.

    Raises:
      ValueError: no such axis.
      TypeError: `a` is no array; or an argument that is not supported.

    >>> jnp.sort(jnp.array([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    a = ensure_arraylike("sort", a)
    _check_unsupported("sort", kind, order)
    a, axis = _line_up(a, axis)
    result = lax_sort(a, axis, is_stable=stable)
    return rev(result, [axis]) if descending else result


@staged(static_argnames=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(a, axis: int | None = -1, *, kind=None, order=None, stable: bool = True,
            descending: bool = False, dtype=None):
    """The indices along an axis that sort `a`; NaN comes last.

    Args:
      a, axis, kind, order, stable, descending: as for `sort`.
      dtype: of the result; by default that of integers.

    Returns:
      integers, such that `jnp.take_along_axis(a, argsort(a, axis), axis)` is sorted.

    >>> jnp.argsort(jnp.array([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    a = ensure_arraylike("argsort", a)
    _check_unsupported("argsort", kind, order)
    a, axis = _line_up(a, axis)
    shape = typeof(a).shape
    dtype = user_dtype(dtype, "argsort") or default_int_dtype()
    places_fit("argsort", shape[axis], dtype)
    places = broadcasted_iota(dtype, shape, axis)
    # In reverse, so that of equal elements the first is first again when the order is turned.
    turn = descending and stable
    operands = [rev(x, [axis]) for x in (a, places)] if turn else [a, places]
    order = lax_sort(operands, axis, is_stable=stable)[1]
    return rev(order, [axis]) if descending else order


@staged(static_argnames=("axis",))
def lexsort(keys, axis: int = -1):
    """The indices along an axis that sort by the last key, and by the one before where it is equal.

    Args:
      keys: a sequence of arrays of one shape, or an array of them.
      axis: along which lines are sorted.

    Raises:
      TypeError: no keys.

    >>> jnp.lexsort((jnp.array([1, 0, 0]), jnp.array([5, 6, 5]))).tolist()
    [2, 0, 1]
    """
    if getattr(keys, "ndim", 0) == 1:
        keys = keys[:1]  # numbers, of which the first one says as much as all
    keys = tuple(ensure_arraylike("lexsort", key) for key in keys)
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    shape = typeof(keys[0]).shape
    if any(typeof(key).shape != shape for key in keys):
        raise ValueError("lexsort: all keys must have one shape, got "
                         f"{', '.join(str(typeof(key).shape) for key in keys)}.")
    if not shape:
        return convert(0, dtypes.canonicalize_dtype(np.int64))
    axis = canonical_axis(axis, len(shape))
    places = broadcasted_iota(dtypes.canonicalize_dtype(np.int64), shape, axis)
    return lax_sort([*keys[::-1], places], axis, num_keys=len(keys))[-1]



@staged(static_argnames=("kth", "axis"), eager=False)
def partition(a, kth: int, axis: int = -1):
    """The elements of each line, such that none before the k-th is greater, and none behind less.

    Args:
      a: an array of real numbers.
      kth: the place where the element is that would be there if all were sorted.
      axis: along which lines are partitioned.

    Raises:
      NotImplementedError: complex numbers.
      ValueError: no such axis, or no such place.

    >>> int(partition(jnp.array([5, 1, 4, 2]), 1)[1])
    2
    """
    lines, kth = _partition_lines("partition", a, kth, axis)
    front = _negative(top_k(_negative(lines), kth + 1)[0])
    back = top_k(lines, lines.shape[-1] - kth - 1)[0]
    return swapaxes(concatenate([front, back], lines.ndim - 1), -1, axis)


@staged(static_argnames=("kth", "axis"), eager=False)
def argpartition(a, kth: int, axis: int = -1):
    """The indices along an axis that partition `a`; arguments as for `partition`.

    >>> int(argpartition(jnp.array([5, 1, 4, 2]), 1)[1])
    3
    """
    lines, kth = _partition_lines("argpartition", a, kth, axis)
    front = top_k(_negative(lines), kth + 1)[1]
    rest = full(lines.shape, 1.0)
    others = [broadcasted_iota(front.dtype, front.shape, d) for d in range(lines.ndim - 1)]
    rest = rest.at[(*others, front)].set(0)
    back = top_k(rest, lines.shape[-1] - kth - 1)[1]
    return swapaxes(concatenate([front, back], lines.ndim - 1), -1, axis)


def _partition_lines(name, a, kth, axis):
    """The array, its lines along the last axis; and the place, counted from the front."""
    a = ensure_arraylike(name, a)
    if complex_input(a):
        raise NotImplementedError(f"jnp.{name} for complex dtype is not implemented.")
    axis = canonical_axis(axis, a.ndim)
    return swapaxes(a, axis, -1), canonical_axis(kth, a.shape[axis])


def _negative(x):
    """What turns the order round: the negative, for unsigned integers the complement."""
    return ~x if dtypes.issubdtype(x.dtype, np.unsignedinteger) else -x


@staged
def sort_complex(a):
    """`sort` along the last axis, and the result as complex numbers.

    >>> sort_complex(jnp.array([2, 1])).tolist()
    [(1+0j), (2+0j)]
    """
    a = lax_sort(ensure_arraylike("sort_complex", a))
    return convert(a, to_complex_dtype(a.dtype))
