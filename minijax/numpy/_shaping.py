"""Chapter 12: arrays in other shapes: dimensions moved, added, dropped, repeated and reversed."""

import math
import operator
import warnings
from collections.abc import Sequence

import numpy as np

from ..core.boundary import public
from ..core.dtypes import lattice_result_type
from ..core.operators import with_own_arrays
from ..core.primitives import convert
from ..lax import cutting, shaping as lax, tiling
from ..lax.compile_time import concrete_or_error
from ..lax.cutting import slice_in_dim
from ..lax.elementwise import max as lax_max, sub
from ..lax.operators import matrix_transpose as _matrix_transpose, reshape_method
from ..lax.out_shardings import call_sharded
from ..lax.shaping import broadcast_shapes as lax_broadcast_shapes
from ..lax.sizes import integers, size_along
from ..lax.slicing import dynamic_slice_in_dim
from ..lax.windows import size_value
from ..text.locations import user_stacklevel
from ..text.naming import named
from ._arguments import (
    canonical_axis,
    canonical_shape,
    check_arraylike,
    ensure_arraylike,
    index_tuple,
    static_index,
)
from ._arithmetic import remainder
from ._constructors import array, asarray, zeros, zeros_like
from ._running import cumsum
from ._staged import staged

# ----------------------------------------------------------------------------------------------
# Facts about shapes


def _shape_of(name: str, a) -> tuple[int, ...]:
    if not hasattr(a, "shape"):
        (a,) = with_own_arrays([a])
    if hasattr(a, "shape"):
        return a.shape
    if not np.isscalar(a):
        warnings.warn(f"{name} requires ndarray or scalar arguments, got {type(a)} at position 0. "
                      "Make it an array first, by `jnp.asarray`.", DeprecationWarning,
                      stacklevel=user_stacklevel())
    return np.shape(a)


def shape(a) -> tuple[int, ...]:
    """The sizes of the dimensions of `a`."""
    return _shape_of("shape", a)


def ndim(a) -> int:
    """The number of dimensions of `a`."""
    return len(_shape_of("ndim", a))


def size(a, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements of `a`, or the product of its sizes along `axis`."""
    sizes = _shape_of("size", a)
    if axis is None:
        return math.prod(sizes)
    axes = [canonical_axis(d, len(sizes)) for d in index_tuple(axis)]
    if len(set(axes)) < len(axes):
        raise ValueError(f"repeated axis: {tuple(axes)}")
    return math.prod(sizes[d] for d in axes)


@public
def broadcast_shapes(*shapes) -> tuple[int, ...]:
    """The shape that all the `shapes` broadcast to.

    Raises:
      ValueError: they do not fit.

    >>> broadcast_shapes((3, 1), 4)
    (3, 4)
    """
    as_tuples = [(s,) if np.ndim(s) == 0 else tuple(s) for s in shapes]
    return lax_broadcast_shapes(*as_tuples) if as_tuples else ()


# ----------------------------------------------------------------------------------------------
# Shape and order of dimensions


@public
def reshape(a, shape, order: str = "C", *, copy: bool | None = None, out_sharding=None):
    """The elements of `a`, read in order, in another shape.

    Args:
      a: an array.
      shape: an int or ints. One may be -1: it is computed from the number of elements.
      order: `"C"` (the last index changes fastest) or `"F"` (the first does).
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    Raises:
      TypeError: another number of elements; a ValueError if `a` is an array of NumPy.

    >>> reshape(jnp.arange(6), (2, -1)).shape
    (2, 3)
    """
    x = ensure_arraylike("reshape", a)
    try:
        return reshape_method(x, shape, order=order, out_sharding=out_sharding)
    except (TypeError, ZeroDivisionError):
        if isinstance(a, np.ndarray):
            a.reshape(shape, order=order)  # type: ignore[call-overload]  # raises NumPy's own
        raise


@public
def ravel(a, order: str = "C", *, out_sharding=None):
    """The elements of `a` as a vector; `order` and `out_sharding` as for `reshape`."""
    a = ensure_arraylike("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    if order == "C":
        return lax.reshape(a, (a.size,), out_sharding=out_sharding)
    return reshape_method(a, a.size, order=order, out_sharding=out_sharding)


@public
def transpose(a, axes: Sequence[int] | None = None):
    """`a` with its dimensions in the order `axes`; by default reversed.

    Raises:
      TypeError, ValueError: `axes` are not the dimensions of `a`.
    """
    a = ensure_arraylike("transpose", a)
    if axes is None:
        return lax.transpose(a, range(a.ndim)[::-1])
    axes = axes if isinstance(axes, Sequence) else integers("transpose: axes", axes)
    return lax.transpose(a, [canonical_axis(d, a.ndim) for d in axes])


@public
def permute_dims(a, /, axes: Sequence[int]):
    """`transpose` with all axes given."""
    return lax.transpose(ensure_arraylike("permute_dims", a), axes)


@public
def matrix_transpose(x, /):
    """`x` with its last two dimensions swapped.

    Raises:
      ValueError: fewer than two dimensions.
    """
    return _matrix_transpose(ensure_arraylike("matrix_transpose", x))


@public
def swapaxes(a, axis1: int, axis2: int):
    """`a` with two of its dimensions swapped.

    Raises:
      IndexError: an axis out of bounds.
    """
    a = ensure_arraylike("swapaxes", a)
    for axis in (axis1, axis2):
        size_along("swapaxes", a.shape, axis)
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return lax.transpose(a, order)


@public
def moveaxis(a, source, destination):
    """`a` with dimensions `source` moved to `destination`, the others in their order.

    Args:
      a: an array.
      source, destination: an int each, or sequences of one length.

    Raises:
      ValueError: sequences of different lengths, or a dimension out of bounds.
    """
    a = ensure_arraylike("moveaxis", a)
    source = [canonical_axis(d, a.ndim) for d in index_tuple(source)]
    destination = [canonical_axis(d, a.ndim) for d in index_tuple(destination)]
    if len(source) != len(destination):
        raise ValueError("Inconsistent number of elements: "
                         f"{len(source)} vs {len(destination)}")
    order = [d for d in range(a.ndim) if d not in source]
    for to, origin in sorted(zip(destination, source)):
        order.insert(to, origin)
    return lax.transpose(a, order)


@staged(static_argnames=("axis", "start"))
def rollaxis(a, axis: int, start: int = 0):
    """`a` with dimension `axis` moved to stand before dimension `start`."""
    a, start = ensure_arraylike("rollaxis", a), static_index(start)
    axis = canonical_axis(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise ValueError(f"{start=} must satisfy {-a.ndim}<=start<={a.ndim}")
    start += a.ndim * (start < 0)
    return moveaxis(a, axis, start - (start > axis))


@public
def expand_dims(a, axis):
    """`a` with new dimensions of size 1 at these positions of the result.

    Raises:
      ValueError: a position that is repeated or out of bounds.
    """
    return lax.expand_dims(ensure_arraylike("expand_dims", a), index_tuple(axis))


@public
def squeeze(a, axis=None):
    """`a` without these dimensions, by default without all those of size 1.

    Raises:
      ValueError: a dimension of another size.
    """
    a = ensure_arraylike("squeeze", a)
    ones = [d for d, n in enumerate(a.shape) if n == 1]
    return lax.squeeze(a, ones if axis is None else index_tuple(axis))


@public
def broadcast_to(array, shape, *, out_sharding=None):
    """`array` repeated to `shape`; `out_sharding` as for `reshape`.

    Raises:
      ValueError: it does not broadcast to it.
    """
    shape = (shape,) if not isinstance(shape, tuple) and np.ndim(shape) == 0 else shape
    return lax.broadcast_to(ensure_arraylike("broadcast_to", array), canonical_shape(shape),
                            out_sharding=out_sharding)


def _at_least(n, positions, doc):
    """`atleast_1d`, `_2d` and `_3d`: `positions` of the new dimensions for each rank."""
    name = f"atleast_{n}d"

    @staged
    @named(name, doc=doc)
    def function(*arys):
        """{doc}

        Args:
          *arys: arrays; for several, a list is returned.
        """
        check_arraylike(name, *arys)
        out = [_add_dims(asarray(x)) for x in arys]
        return out[0] if len(out) == 1 else out

    def _add_dims(x):
        return lax.expand_dims(x, positions[x.ndim]) if x.ndim < n else x

    return function


atleast_1d = _at_least(1, [(0,)], "A scalar as a vector of one element.")
atleast_2d = _at_least(2, [(0, 1), (0,)], "Scalars and vectors as matrices of one row.")
atleast_3d = _at_least(3, [(0, 1, 2), (0, 2), (2,)], "New dimensions of size 1 up to three.")


# ----------------------------------------------------------------------------------------------
# Order of elements


@public
def flip(m, axis=None):
    """`m` with its elements in reverse order along `axis` (an int or ints; by default all)."""
    m = ensure_arraylike("flip", m)
    return _flip(m, axis if axis is None else index_tuple(axis))


@staged(static_argnames=("axis",))
def _flip(m, axis=None):
    axes = range(m.ndim) if axis is None else [canonical_axis(d, m.ndim) for d in index_tuple(axis)]
    return lax.rev(m, axes)


@public
def fliplr(m):
    """`m` reversed along its second dimension."""
    return _flip(ensure_arraylike("fliplr", m), 1)


@public
def flipud(m):
    """`m` reversed along its first dimension."""
    return _flip(ensure_arraylike("flipud", m), 0)


@staged(static_argnames=("k", "axes"))
def rot90(m, k: int = 1, axes: tuple[int, int] = (0, 1)):
    """`m` turned by `k` right angles in the plane of two dimensions, the first towards the second.

    Raises:
      ValueError: fewer than two dimensions, or equal `axes`.
    """
    m = ensure_arraylike("rot90", m)
    if m.ndim < 2:
        raise ValueError("rot90 requires its first argument to have ndim at least two, but got "
                         f"first argument of shape {m.shape}, which has ndim {m.ndim}")
    if len(axes) != 2:
        raise ValueError(f"rot90 turns the plane of two dimensions, but axes={axes!r}.")
    first, second = (canonical_axis(d, m.ndim) for d in axes)
    if first == second:
        raise ValueError(f"rot90: axes must be different, got {tuple(axes)}.")
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return flip(flip(m, first), second)
    if k % 4 == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


@public
def roll(a, shift, axis=None):
    """`a` with its elements moved on, those that leave at the end coming in at the start.

    Args:
      a: an array.
      shift: how far: an int or ints; an integer array if it is traced.
      axis: an int or ints; by default the elements in row-major order.

    Raises:
      ValueError: shifts and axes that do not broadcast.

    >>> roll(jnp.arange(4), 1).tolist()
    [3, 0, 1, 2]
    """
    a = ensure_arraylike("roll", a)
    if axis is None:
        return lax.reshape(roll(ravel(a), shift, 0), a.shape)
    axes = tuple(canonical_axis(d, a.ndim) for d in index_tuple(axis))
    try:
        shift = index_tuple(shift)
    except TypeError:
        return _roll_dynamic(a, asarray(shift), axes)
    return _roll_static(a, shift, axes)


@staged(static_argnames=("shift", "axis"))
def _roll_static(a, shift, axis):
    for d, s in zip(*np.broadcast_arrays(axis, shift)):
        if a.shape[d]:
            cut = -operator.index(s) % a.shape[d]
            pieces = [slice_in_dim(a, cut, a.shape[d], axis=d), slice_in_dim(a, 0, cut, axis=d)]
            a = cutting.concatenate(pieces, int(d))
    return a


@staged(static_argnames=("axis",))
def _roll_dynamic(a, shift, axis):
    """A window on two copies, at a place that depends on the shift."""
    shape = lax_broadcast_shapes(shift.shape, (len(axis),))
    if len(shape) != 1:
        raise ValueError("'shift' and 'axis' arguments to roll must be scalars or 1D arrays")
    for s, d in zip(broadcast_to(shift, shape), np.broadcast_to(axis, shape)):
        d, n = int(d), size_value(a.shape[d], np.dtype("int32"))
        s = remainder(convert(s, np.dtype("int32")), lax_max(n, np.int32(1)))
        a = dynamic_slice_in_dim(cutting.concatenate((a, a), d), sub(n, s), a.shape[d], axis=d)
    return a


# ----------------------------------------------------------------------------------------------
# Repetition


@public
def tile(A, reps):
    """`A` laid side by side.

    Args:
      A: an array.
      reps: how often, along each dimension (aligned at the last one).

    >>> tile(jnp.arange(2), (2, 2)).tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """
    A = ensure_arraylike("tile", A)
    reps = index_tuple(reps)
    reps = (1,) * (A.ndim - len(reps)) + reps
    if A.ndim < len(reps):
        A = lax.expand_dims(A, range(len(reps) - A.ndim))
    return tiling.tile(A, reps)


@public
def repeat(a, repeats, axis: int | None = None, *, total_repeat_length: int | None = None,
           out_sharding=None):
    """Each element repeated in place.

    Args:
      a: an array.
      repeats: how often: an int, or ints, one for each element along `axis`.
      axis: an int; by default the elements in row-major order.
      total_repeat_length: the size of the result along `axis`, where `repeats` are many or traced.
      out_sharding: as for `reshape`.

    Raises:
      ConcretizationTypeError: traced `repeats` without `total_repeat_length`: the shape would
        depend on them.
      ValueError: `repeats` that do not fit.

    >>> repeat(jnp.arange(3), 2).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    if out_sharding is not None:
        return call_sharded(repeat, a, repeats, axis, total_repeat_length=total_repeat_length,
                            out_sharding=out_sharding)
    check_arraylike("repeat", a, repeats)
    a, (dtype, _) = ensure_arraylike("repeat", a), lattice_result_type(repeats)
    if dtype.kind not in "biu":
        raise TypeError(f"jnp.repeat: `repeats` must be integers; got {dtype.name}.")
    if axis is None or a.ndim == 0:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    if total_repeat_length is not None:
        length, = canonical_shape((total_repeat_length,), "repeat: total_repeat_length")
        return _repeat_each(a, broadcast_to(ravel(repeats), (a.shape[axis],)), axis, length)
    repeats = concrete_or_error(np.asarray, repeats, "When jit-compiling jnp.repeat, the total "
                                "number of repeats must be static. To fix this, either specify a "
                                "static value for `repeats`, or pass a static value to "
                                "`total_repeat_length`.")
    if repeats.ndim == 0:
        return repeat_all(a, int(repeats), axis)
    repeats = np.broadcast_to(repeats.ravel(), (a.shape[axis],))
    return _repeat_each(a, repeats, axis, int(repeats.sum()))


def _repeat_each(a, counts, axis, length):
    """`a` with each element repeated as often as `counts` says, up to `length` elements."""
    if length == 0:
        return lax.reshape(array([], a.dtype), (*a.shape[:axis], 0, *a.shape[axis + 1:]))
    if a.shape[axis] == 0:
        return a
    starts = cumsum(roll(counts, 1).at[0].set(0))
    changes = zeros((length,), np.int32).at[starts].add(1)
    return a.take(cumsum(changes) - 1, axis=axis)


def repeat_all(a, count, axis):
    doubled = [*a.shape[:axis + 1], count, *a.shape[axis + 1:]]
    dims = [d for d in range(len(doubled)) if d != axis + 1]
    out_shape = [n * count if d == axis else n for d, n in enumerate(a.shape)]
    return lax.reshape(lax.broadcast_in_dim(a, doubled, dims), out_shape)


@staged(static_argnames=("new_shape",))
def resize(a, new_shape):
    """The elements of `a` in another shape, again from the start where they do not suffice.

    Raises:
      ValueError: a negative size.
    """
    new_shape = index_tuple(new_shape)
    if any(n < 0 for n in new_shape):
        raise ValueError(f"resize: all sizes of new_shape must be non-negative, got {new_shape}.")
    a, total = ravel(a), math.prod(new_shape)
    if a.size == 0 or total == 0:
        return zeros_like(a, shape=new_shape)
    return lax.reshape(tile(a, -(-total // a.size))[:total], new_shape)
