"""Chapter 12: arrays joined and split."""

import numpy as np

from ..core.api import vmap
from ..core.array import Array
from ..core.boundary import public
from ..core.operators import with_own_arrays
from ..lax import cutting, shaping as lax
from ..lax.compile_time import concrete_or_error
from ..lax.sizes import size_along
from ..lax.stacking import stack_p, unstack_p
from ..text.naming import named
from ._arguments import (
    canonical_axis,
    check_arraylike,
    check_no_out,
    ensure_arraylike,
    ensure_arraylikes,
    promote_dtypes,
    static_index,
)
from ._constructors import asarray
from ._select import _where
from ._shaping import atleast_1d, atleast_2d, atleast_3d, expand_dims, ravel, transpose
from ._staged import staged


def _is_array(x) -> bool:
    return isinstance(x, (Array, np.ndarray))


# ----------------------------------------------------------------------------------------------
# Joining


@public
def concatenate(arrays, axis: int | None = 0, dtype=None):
    """Arrays one after another along an existing dimension.

    Args:
      arrays: a non-empty sequence of arrays, alike but for `axis`; dtypes are promoted.
      axis: an int; `None` joins all elements in row-major order.
      dtype: the type of the result.

    Raises:
      ValueError: no arrays, scalars, or an axis out of bounds.
      TypeError: shapes that do not fit.

    >>> concatenate([jnp.arange(2), jnp.ones(1)]).tolist()
    [0.0, 1.0, 1.0]
    """
    if _is_array(arrays):
        return _concatenate_rows(asarray(arrays, dtype), axis)
    if not hasattr(arrays, "__iter__"):
        raise TypeError(f"concatenate: arrays must be a sequence of arrays, got {arrays!r}.")
    arrays = ensure_arraylikes("concatenate", *arrays)
    if not arrays:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return concatenate([ravel(a) for a in arrays], 0, dtype)
    if arrays[0].ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonical_axis(axis, arrays[0].ndim)
    arrays = promote_dtypes(*arrays) if dtype is None else [asarray(a, dtype) for a in arrays]
    return cutting.concatenate(arrays, axis)


def _concatenate_rows(x, axis):
    """`concatenate` of the rows of one array is a transposed reshape."""
    if x.ndim == 0 or x.shape[0] == 0:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return lax.reshape(x, (x.size,))
    if x.ndim == 1:
        raise ValueError("Zero-dimensional arrays cannot be concatenated. Several arrays are "
                         "passed as one list: concatenate([a, b]), not concatenate(a, b).")
    axis = canonical_axis(axis, x.ndim - 1)
    shape = [*x.shape[1:axis + 1], x.shape[0] * x.shape[axis + 1], *x.shape[axis + 2:]]
    return lax.reshape(x, shape, [*range(1, axis + 1), 0, *range(axis + 1, x.ndim)])


@public
def concat(arrays, /, *, axis: int | None = 0):
    """`concatenate`."""
    check_arraylike("concat", *arrays)
    return concatenate(arrays, axis)


@staged(static_argnames=("axis",))
def append(arr, values, axis: int | None = None):
    """`arr` with `values` after it along `axis`; by default both in row-major order."""
    return concatenate([ravel(arr), ravel(values)], 0) if axis is None \
        else concatenate([arr, values], axis)


@public
def stack(arrays, axis: int = 0, out=None, dtype=None):
    """Arrays of one shape side by side along a new dimension.

    Args:
      arrays: a non-empty sequence of arrays; dtypes are promoted.
      axis: the position of the new dimension in the result.
      dtype: the type of the result.

    Raises:
      ValueError: no arrays, different shapes, or an axis out of bounds.
    """
    if not hasattr(arrays, "__len__"):
        raise TypeError(f"stack: arrays must be a sequence of arrays, got {arrays!r}.")
    if not len(arrays):
        raise ValueError("Need at least one array to stack.")
    check_no_out("stack", out)
    if _is_array(arrays):
        axis = canonical_axis(axis, arrays.ndim)
        return concatenate(expand_dims(arrays, axis + 1), axis, dtype)
    arrays = ensure_arraylikes("stack", *arrays)
    arrays = promote_dtypes(*arrays) if dtype is None else [asarray(a, dtype) for a in arrays]
    return stack_p.bind(*arrays, axis=canonical_axis(axis, arrays[0].ndim + 1))


@public
def unstack(x, /, *, axis: int = 0) -> tuple:
    """The slices of `x` along `axis`, without that dimension."""
    x = ensure_arraylike("unstack", x)
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, x.ndim)))


# The classes of error are JAX's.
_NO_ARRAYS = {"vstack": ValueError, "hstack": IndexError, "dstack": ValueError}


def _stack_along(name, at_least, axis_of, doc):
    """`vstack`, `hstack` and `dstack`."""

    @named(name, doc=doc)
    @public
    def function(tup, dtype=None):
        """{doc}

        Args:
          tup: a sequence of arrays; dtypes are promoted.
          dtype: the type of the result.

        Raises:
          TypeError: shapes that do not fit.
        """
        if _is_array(tup):
            arrays = vmap(at_least)(asarray(tup))
            return concatenate(arrays, axis_of(arrays.ndim - 1), dtype)
        check_arraylike(name, *tup)
        arrays = [at_least(a) for a in tup]
        if not arrays:
            raise _NO_ARRAYS[name](f"{name} needs at least one array, got none.")
        return concatenate(arrays, axis_of(arrays[0].ndim), dtype)

    return function


vstack = _stack_along("vstack", atleast_2d, lambda ndim: 0, "Rows on top of each other.")
hstack = _stack_along("hstack", atleast_1d, lambda ndim: 0 if ndim == 1 else 1,
                      "Columns (or the elements of vectors) side by side.")
dstack = _stack_along("dstack", atleast_3d, lambda ndim: 2, "Layers along the third dimension.")


@public
def column_stack(tup):
    """Vectors and matrices side by side, a vector as a column."""
    if _is_array(tup):
        columns = asarray(tup)
        columns = vmap(lambda x: transpose(atleast_2d(x)))(columns) if columns.ndim < 3 else columns
    else:
        check_arraylike("column_stack", *tup)
        columns = [transpose(atleast_2d(a)) if a.ndim < 2 else a for a in map(asarray, tup)]
    return concatenate(columns, 1)


@staged(eager=False)
def block(arrays):
    """A large array assembled from nested lists of blocks: the innermost side by side.

    Raises:
      ValueError: tuples, empty lists, or lists nested to different depths.
    """
    return _block(arrays)[0]


def _block(xs):
    """The assembled array, and the depth of the nesting."""
    if isinstance(xs, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {xs}")
    if not isinstance(xs, list):
        return asarray(xs), 1
    if not xs:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    parts, depths = zip(*map(_block, xs))
    if len(set(depths)) > 1:
        raise ValueError("Mismatched list depths in jax.numpy.block")
    rank = max(depths[0], *(part.ndim for part in parts))
    parts = [lax.broadcast(part, (1,) * (rank - part.ndim)) for part in parts]
    return concatenate(parts, -depths[0]), depths[0] + 1


# ----------------------------------------------------------------------------------------------
# Splitting


def _split(name, ary, indices_or_sections, axis) -> list:
    """All the ways to split: at given places, or into equal parts."""
    ary = ensure_arraylike(name, ary)
    axis = static_index(axis, f"in jax.numpy.{name} argument `axis`")
    size = size_along(name, ary.shape, axis)
    context = f"in jax.numpy.{name} argument 1"
    if isinstance(indices_or_sections, (tuple, list)) or np.ndim(indices_or_sections):
        places = [static_index(i, context) for i in indices_or_sections]
        sizes = [stop - start for start, stop in zip([0, *places], [*places, size])]
    else:
        sections = concrete_or_error(int, indices_or_sections, context)
        if not sections:
            raise ZeroDivisionError(f"jnp.{name}: cannot cut an array into 0 parts. Pass a "
                                    "positive number of parts.")
        part, rest = divmod(size, sections)
        if rest and name != "array_split":
            raise ValueError(f"array split does not result in an equal division: rest is {rest}. "
                             "Use `jnp.array_split` for parts of different sizes.")
        sizes = [part + 1] * rest + [part] * (sections - rest)
    return list(cutting.split(ary, sizes, axis))


@public
def split(ary, indices_or_sections, axis: int = 0) -> list:
    """`ary` cut along `axis`.

    Args:
      ary: an array.
      indices_or_sections: how many equal parts; or the places of the cuts.
      axis: an int.

    Raises:
      ValueError: a size that cannot be divided equally.

    >>> [x.tolist() for x in split(jnp.arange(5), [2])]
    [[0, 1], [2, 3, 4]]
    """
    return _split("split", ary, indices_or_sections, axis)


@public
def array_split(ary, indices_or_sections, axis: int = 0) -> list:
    """`split`, but the first parts may be larger by one element."""
    return _split("array_split", ary, indices_or_sections, axis)


@public
def vsplit(ary, indices_or_sections) -> list:
    """`split` along the first dimension."""
    return _split("vsplit", ary, indices_or_sections, 0)


@public
def hsplit(ary, indices_or_sections) -> list:
    """`split` along the second dimension; of a vector, along its only one."""
    ary = ensure_arraylike("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@public
def dsplit(ary, indices_or_sections) -> list:
    """`split` along the third dimension."""
    return _split("dsplit", ary, indices_or_sections, 2)


@public
def delete(arr, obj, axis: int | None = None, *, assume_unique_indices: bool = False):
    """`arr` without some of its elements along `axis`.

    Args:
      arr: an array.
      obj: which: a known int, ints, slice, or boolean mask.
      axis: an int; by default the elements in row-major order.
      assume_unique_indices: a promise that no index is repeated; then ints need not be known.

    Raises:
      ValueError: an index out of bounds, or a mask of another length.
    """
    a = ensure_arraylike("delete", arr)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    size = a.shape[axis]
    if assume_unique_indices and getattr(obj, "ndim", None) is not None and obj.dtype.kind in "iu":
        return a[(*(slice(None),) * axis, _places_without(obj, size))]
    (obj,) = with_own_arrays([obj])
    if not isinstance(obj, slice):
        check_arraylike("delete", a, obj)
    before = (slice(None),) * axis
    try:
        place = canonical_axis(obj, size)
    except TypeError:
        keep = np.ones(size, bool)
        keep[_positions(obj, size)] = False
        return a[(*before, keep)]
    around = slice(0, place), slice(place + 1, None)
    return cutting.concatenate([a[(*before, rest)] for rest in around], axis)


def _places_without(gone, size):
    """The numbers below `size` that are not among these: each moves behind those that are gone."""
    gone = ensure_arraylike("delete", gone).ravel()
    gone = _where(gone < 0, gone + size, gone).clip(0, size).sort()
    gone = gone - lax.iota(gone.dtype, gone.size)
    kept = lax.iota(gone.dtype, size - gone.size)
    return kept + (kept[None, :] >= gone[:, None]).sum(0, dtype=gone.dtype)


def _positions(obj, size):
    """The positions that a slice, a mask or an array of ints means."""
    if isinstance(obj, slice):
        return np.arange(size)[obj]
    positions = concrete_or_error(np.asarray, obj, "'obj' array argument of jnp.delete()")
    if positions.dtype == bool and positions.shape != (size,):
        raise ValueError("jnp.delete: a boolean obj must have one element for each along the "
                         f"axis, {size}; got shape {positions.shape}.")
    if positions.dtype.kind not in "iub":
        raise ValueError("jnp.delete: obj must be integers or booleans, got "
                         f"{positions.dtype}.")
    return positions
