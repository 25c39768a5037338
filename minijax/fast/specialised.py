"""NumPy rules for operands of known types.

A NumPy rule looks at its operands and parameters to find out what to do. Where a program is written
for operands of known types, most of this can be decided once. `SPECIALISED` maps the name of a
primitive to a function that returns the rule for one equation, with the same results to the last
bit, or `None` if the rule of the primitive is as good.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from ..core.array import numpy_rules
from ..core.dtypes import bfloat16
from ..core.jaxpr import JaxprEqn
from ..core.primitives import convert_element_type_p, lowest
from ..summation import has_many_rows, has_short_rows

# The functions behind NumPy's, without the search for other classes of arrays.
_where = getattr(np.where, "_implementation", np.where)
_putmask = getattr(np.putmask, "_implementation", np.putmask)
_SMALL = 4096  # elements: for more, the time is spent in NumPy
_MANY_BRANCHES = 2048  # elements: as many fit into what a processor remembers of branches


def numpy_rule(eqn: JaxprEqn) -> Callable | None:
    """The rule of an equation for its operands, or `None`."""
    specialise = SPECIALISED.get(eqn.primitive.name)
    avals = [atom.aval for atom in eqn.invars]
    if specialise is None or not all(isinstance(aval.dtype, np.dtype) for aval in avals):
        return None
    return specialise(*avals, **eqn.own_params)


def _select_n(which: Any, *cases: Any) -> Callable | None:
    if which.dtype != bool or len(cases) != 2:
        return None
    if not which.shape:
        return lambda which, x, y: y if which else x
    if which.size >= _MANY_BRANCHES and cases[0].dtype.itemsize in (1, 2, 4, 8):
        return _select_bits
    x, y = cases
    if x.shape == which.shape and y.shape in (x.shape, ()) and x.dtype.isbuiltin == 1:
        return _select_into_copy
    return lambda which, x, y: _where(which, y, x)


def _select_into_copy(which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`y` where `which` is true, else `x`: for small arrays in two thirds of the time."""
    out = x.copy()
    _putmask(out, which, y)
    return out


def _select_bits(which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`y` where `which` is true, else `x`, without a branch for each element: `np.where` takes five
    times as long if no processor can guess the elements of `which`."""
    bits = f"i{x.dtype.itemsize}"
    x_bits = x.view(bits)
    out = np.bitwise_xor(x_bits, y.view(bits))
    np.bitwise_and(out, np.negative(which.view(np.int8)).astype(bits), out)
    return np.bitwise_xor(out, x_bits, out).view(x.dtype)


def _convert_element_type(x: Any, *, new_dtype: Any, weak_type: bool) -> Callable | None:
    old, new = x.dtype, np.dtype(new_dtype)
    if old.kind == "f" and new.kind in "iu" and old.isbuiltin == new.isbuiltin == 1:
        return _to_integers(new)
    if (old.kind == "c" and new.kind != "c") or (new.kind in "iu" and old.kind not in "iub"):
        return None
    if not x.shape and old.isbuiltin == 1 and new.kind in "fc" and new.isbuiltin == 1:
        return new.type
    return methodcaller("astype", new)


def _to_integers(new: Any) -> Callable:
    """The conversion from floats. Numbers out of range are left to the primitive's rule."""
    least, greatest = (float(end) for end in (np.iinfo(new).min, np.iinfo(new).max))
    minimum, maximum = np.minimum.reduce, np.maximum.reduce
    rule = numpy_rules[convert_element_type_p]

    def convert(x):
        if x.size and least <= minimum(x, None) and maximum(x, None) < greatest:
            return x.astype(new)
        return rule(x, new_dtype=new, weak_type=False)

    return convert


def _slice(x: Any, *, start_indices: tuple, limit_indices: tuple, strides: Any) -> Callable | None:
    strides = strides or (1,) * len(x.shape)
    return itemgetter(tuple(map(slice, start_indices, limit_indices, strides)))


def _broadcast_in_dim(x: Any, *, shape: tuple, broadcast_dimensions: tuple) -> Callable | None:
    size = int(np.prod(shape, dtype=np.int64))
    if x.size == size:
        return _reshape(x, new_sizes=shape, dimensions=None)
    if size > _SMALL:
        return None
    sizes, dtype = [1] * len(shape), x.dtype
    for d, n in zip(broadcast_dimensions, x.shape):
        sizes[d] = n

    def broadcast(x):
        out = np.empty(shape, dtype)
        out[...] = x.reshape(sizes)
        return out

    def repeat(x):
        out = np.empty(shape, dtype)
        out[...] = x
        return out

    return broadcast if x.shape and sizes[-x.ndim:] != [*x.shape] else repeat


def _reshape(x: Any, *, new_sizes: tuple, dimensions: Any) -> Callable | None:
    if dimensions is not None:
        return None
    if [n for n in x.shape if n != 1] == [n for n in new_sizes if n != 1]:
        return itemgetter(_dimensions_of_size_one(x.shape, new_sizes))
    return methodcaller("reshape", new_sizes)


def _dimensions_of_size_one(old: tuple, new: tuple) -> tuple:
    """The index that adds and drops such dimensions. It takes half the time of a reshape."""
    index: list = []
    left = list(old)
    for n in new:
        while n != 1 and left[0] == 1:
            index.append(left.pop(0) - 1)
        index.append(slice(None) if left[:1] == [n] else None)
        left = left[index[-1] is not None:]
    return *index, *(n - 1 for n in left), ...


def _transpose(x: Any, *, permutation: tuple) -> Callable:
    return methodcaller("transpose", permutation)


def _concatenate(*xs: Any, dimension: int) -> Callable:
    concatenate = np.concatenate
    return lambda *xs: concatenate(xs, dimension)


def index_of(view: itemgetter) -> tuple:
    """The index at which a rule made here takes its operand."""
    index: Any = view.__reduce__()[1][0]
    return index


def composed(first: tuple, second: tuple) -> tuple | None:
    """The index of a part of a part, if `first` is of slices alone, as the rule of `slice` is."""
    if not all(type(part) is slice and part.stop is not None for part in first):
        return None
    parts, index = iter(first), []
    for part in second:
        if part is None or part is ...:
            index.append(part)
        elif part == slice(None):
            index.append(next(parts))
        elif part == 0:
            index.append(next(parts).start)
        else:
            return None
    return tuple(index)


def _split(x: Any, *, sizes: tuple, axis: int) -> Callable | None:
    ends = [*itertools.accumulate(sizes)]
    parts = [(slice(None),) * axis + (slice(end - n, end),) for n, end in zip(sizes, ends)]
    return lambda x: [x[part] for part in parts]


def _pad(x: Any, value: Any, *, padding_config: tuple) -> Callable | None:
    if any(low < 0 or high < 0 for low, high, _ in padding_config) or not x.size:
        return None
    spread = [(n - 1) * (interior + 1) + 1 for n, (_, _, interior) in zip(x.shape, padding_config)]
    shape = [low + n + high for n, (low, high, _) in zip(spread, padding_config)]
    inside = tuple([slice(low, low + n, interior + 1)
                    for n, (low, _, interior) in zip(spread, padding_config)])

    def pad(x, value):
        out = np.empty(shape, x.dtype)
        out[...] = value
        out[inside] = x
        return out

    return pad


def _reduce_sum(x: Any, *, axes: tuple) -> Callable | None:
    if x.dtype.isbuiltin != 1 or x.dtype.itemsize < 4 or not axes or (
            has_many_rows(x.dtype, x.shape, axes)):
        return None
    return _reduction(np.add, x.ndim, axes, x.dtype)


def _reduce_max(x: Any, *, axes: tuple) -> Callable | None:
    if x.dtype.isbuiltin != 1 or x.dtype.kind == "c" or not axes or (
            has_short_rows(x.dtype, x.shape, axes)):
        return None
    return _reduction(np.maximum, x.ndim, axes, None, lowest(x.dtype))


def _reduction(ufunc: np.ufunc, ndim: int, axes: tuple, dtype: Any, *start: Any) -> Callable:
    """The rule of a reduction. Its attribute `kept` is the rule that keeps the reduced dimensions,
    with size 1, and `keeps` the index by which the result would get them."""
    axis, reduce = axes[0] if len(axes) == 1 else axes, ufunc.reduce  # type: Any, Any
    rule: Any
    if start:
        least, = start
        rule = lambda x: reduce(x, axis, dtype, None, False, least)
        rule.kept = lambda x: reduce(x, axis, dtype, None, True, least)
    else:
        rule = lambda x: reduce(x, axis, dtype)
        rule.kept = lambda x: reduce(x, axis, dtype, None, True)
    rule.keeps = *(None if d in axes else slice(None) for d in range(ndim)), ...
    return rule


def _max(x: Any, y: Any) -> Callable | None:
    return np.maximum if x.dtype.kind != "c" else None


def _min(x: Any, y: Any) -> Callable | None:
    return np.minimum if x.dtype.kind != "c" else None


def _div(x: Any, y: Any) -> Callable | None:
    if x.dtype.kind not in "iu" or x.dtype.isbuiltin != 1 or y.dtype != x.dtype:
        return np.divide if x.dtype.kind == "f" else None
    zero, by_zero = np.zeros((), x.dtype), ~np.zeros((), x.dtype)
    divide, subtract, fmod, equal = np.floor_divide, np.subtract, np.fmod, np.equal
    if not y.shape:
        return lambda x, y: divide(subtract(x, fmod(x, y)), y) if y else _full_like(x, by_zero)
    return lambda x, y: _where(
        equal(y, zero), by_zero, divide(subtract(x, fmod(x, y)), y))


_full_like = getattr(np.full_like, "_implementation", np.full_like)


def _reduce_min(x: Any, *, axes: tuple) -> Callable | None:
    if x.dtype.isbuiltin != 1 or x.dtype.kind not in "iuf" or not axes:
        return None
    greatest = x.dtype.type(np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max)
    return _reduction(np.minimum, x.ndim, axes, None, greatest)


def _sign(x: Any) -> Callable | None:
    if x.dtype.kind == "c" and x.dtype.isbuiltin == 1:
        return _complex_sign(x)
    if x.dtype.kind != "f":
        return None
    sign, copysign = np.sign, np.copysign
    return lambda x: copysign(sign(x), x)


def _complex_sign(x: Any) -> Callable | None:
    part = np.dtype(f"f{x.dtype.itemsize // 2}")
    zero, one, equal, absolute = np.zeros((), x.dtype), np.ones((), part), np.equal, np.absolute
    divide, empty = np.divide, np.empty

    def sign(x):
        size, out = absolute(x), empty(x.shape, x.dtype)
        _putmask(size, equal(x, zero), one)
        divide(x.real, size, out.real)
        divide(x.imag, size, out.imag)
        return out

    return sign if x.shape else None


def _rsqrt(x: Any) -> Callable | None:
    if x.dtype.kind != "f":
        return None
    one, divide, sqrt = np.ones((), x.dtype), np.divide, np.sqrt
    return lambda x: divide(one, sqrt(x))


def _round(x: Any, *, rounding_method: Any) -> Callable | None:
    if x.dtype.kind != "f" or rounding_method:
        return np.rint if x.dtype.kind == "f" else None
    below_half = np.asarray(np.nextafter(x.dtype.type(0.5), x.dtype.type(0)))
    add, copysign, trunc = np.add, np.copysign, np.trunc
    return lambda x: trunc(add(x, copysign(below_half, x)))


def _rem(x: Any, y: Any) -> Callable | None:
    if x.dtype.kind not in "iu" or x.dtype.isbuiltin != 1 or y.dtype != x.dtype:
        return np.fmod if x.dtype.kind == "f" else None
    zero, fmod, equal = np.zeros((), x.dtype), np.fmod, np.equal
    if not y.shape:
        return lambda x, y: fmod(x, y) if y else x
    return lambda x, y: _where(equal(y, zero), x, fmod(x, y))


def _square(x: Any) -> Callable | None:
    return np.square if x.dtype.kind in "iuf" else None


def _squeeze(x: Any, *, dimensions: tuple) -> Callable | None:
    dropped = {d % x.ndim for d in dimensions}
    kept = tuple(n for d, n in enumerate(x.shape) if d not in dropped)
    return _reshape(x, new_sizes=kept, dimensions=None)


def _bitcast_convert_type(x: Any, *, new_dtype: Any) -> Callable | None:
    old, new = x.dtype, np.dtype(new_dtype)
    plain = {old.kind, new.kind} <= {*"iuf"} and old.isbuiltin == new.isbuiltin == 1
    plain = plain or bfloat16 in (old, new)
    return methodcaller("view", new) if plain and old.itemsize == new.itemsize else None


def _shift(ufunc: Callable, view: str | None = None, outside: Any = 0) -> Callable:
    """A shift whose operands are seen as of the kind `view`. By the width or more, it gives
    `outside`, or what the shift by all bits but one gives."""
    def specialise(x: Any, y: Any) -> Callable | None:
        bits, dtype = 8 * x.dtype.itemsize, x.dtype
        if dtype.kind not in "iu" or y.dtype != dtype:
            return None
        seen = np.dtype(f"{view or dtype.kind}{dtype.itemsize}")
        amounts, width = np.dtype(f"u{dtype.itemsize}"), np.asarray(bits, f"u{dtype.itemsize}")
        most, nothing = np.asarray(bits - 1, amounts), np.zeros((), dtype)

        def shift(x, y):
            y = y.view(amounts)  # what was negative is large
            out = ufunc(x.view(seen), np.minimum(y, most).view(seen)).view(dtype)
            return out if outside is None else _where(y < width, out, nothing)

        return shift

    return specialise


def _shift_right_arithmetic(x: Any, y: Any) -> Callable | None:
    return _shift(np.right_shift, "i", None)(x, y)


def _gather(x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: tuple, mode: Any,
            fill_value: Any, **params: Any) -> Callable | None:
    """Whole slices along one axis, the gather of `jnp.take`; those out of bounds are filled."""
    numbers, n_batch = dimension_numbers, indices.ndim - 1
    if len(numbers.start_index_map) != 1 or numbers.operand_batching_dims or not x.size or \
            numbers.collapsed_slice_dims != numbers.start_index_map or mode.name != "FILL_OR_DROP":
        return None
    (axis,) = numbers.start_index_map
    in_place = all(d == i + (n_batch if i >= axis else 0)
                   for i, d in enumerate(numbers.offset_dims))
    if not in_place or any(slice_sizes[d] != n for d, n in enumerate(x.shape) if d != axis):
        return None
    fill, all_of = np.asarray(fill_value).astype(x.dtype), np.logical_and.reduce
    places_dtype = np.dtype(f"u{indices.dtype.itemsize}")
    last = np.asarray(min(x.shape[axis], np.iinfo(places_dtype).max), places_dtype)
    window = (1,) * (x.ndim - axis - 1)

    def take(x, indices):
        places = indices[..., 0]
        inside = places.astype(places_dtype) < last  # what is negative becomes large
        out = x.take(places, axis, None, "clip")
        if all_of(inside, None):
            return out
        return _where(inside.reshape(inside.shape + window), out, fill)

    return take


def _sort(*xs: Any, dimension: int, is_stable: bool, num_keys: int) -> Callable | None:
    key, order = xs[0], {"axis": dimension, "kind": "stable"}
    if num_keys > 1 or len(xs) == 1 or key.dtype.isbuiltin != 1 or key.dtype.kind == "c":
        return None
    if key.ndim == 1:
        def sort(*xs):
            places = xs[0].argsort(**order)
            return [x[places] for x in xs]
    else:
        grid = np.ogrid[tuple(slice(n) for n in key.shape)]
        before, behind = tuple(grid[:dimension]), tuple(grid[dimension + 1:])

        def sort(*xs):
            index = *before, xs[0].argsort(**order), *behind
            return [x[index] for x in xs]

    return sort


def _dot_general(x: Any, y: Any, *, dimension_numbers: Any, precision: Any,
                 preferred_element_type: Any) -> Callable | None:
    """Products that are floats; `matmul` takes operands in the form (batch, rows, columns)."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    if preferred_element_type is None and x.dtype != y.dtype:
        return None
    dtype = np.dtype(preferred_element_type or x.dtype)
    if dtype.kind != "f" or dtype.itemsize <= 2 or not {x.dtype.kind, y.dtype.kind} <= {*"iuf"} or (
            precision is not None and type(precision) is not tuple):
        return None
    plain = y.ndim < 3 and not x_batch and x_contract == (x.ndim - 1,) and y_contract == (0,)
    if plain and x.dtype == y.dtype == dtype:
        return np.dot
    x_free = [d for d in range(x.ndim) if d not in (*x_contract, *x_batch)]
    y_free = [d for d in range(y.ndim) if d not in (*y_contract, *y_batch)]
    shape = [x.shape[d] for d in (*x_batch, *x_free)] + [y.shape[d] for d in y_free]
    left = _as_matrices(x, dtype, x_batch, x_free, x_contract)
    right = _as_matrices(y, dtype, y_batch, y_contract, y_free)
    matmul = np.matmul
    if len(x_free) == len(y_free) == 1:
        return lambda x, y: matmul(left(x), right(y))
    return lambda x, y: matmul(left(x), right(y)).reshape(shape)


def _as_matrices(aval: Any, dtype: Any, batch: Any, rows: Any, columns: Any) -> Callable:
    """The function that brings an operand into the form (batch, rows, columns), and a dtype."""
    if aval.dtype != dtype:
        in_form = _as_matrices(aval.update(dtype=dtype), dtype, batch, rows, columns)
        return lambda x: in_form(x.astype(dtype))
    order = *batch, *rows, *columns
    n, m = (int(np.prod([aval.shape[d] for d in dims], dtype=np.int64)) for dims in (rows, columns))
    shape = *(aval.shape[d] for d in batch), n, m
    moved = tuple(aval.shape[d] for d in order)
    if order == tuple(range(aval.ndim)):
        return (lambda x: x) if moved == shape else methodcaller("reshape", shape)
    if moved == shape:
        return methodcaller("transpose", order)
    return lambda x: x.transpose(order).reshape(shape)


SPECIALISED: dict[str, Callable] = {
    "select_n": _select_n, "convert_element_type": _convert_element_type, "slice": _slice,
    "broadcast_in_dim": _broadcast_in_dim, "reshape": _reshape, "split": _split, "pad": _pad,
    "reduce_sum": _reduce_sum, "reduce_max": _reduce_max, "div": _div, "max": _max, "min": _min,
    "gather": _gather, "reduce_min": _reduce_min, "dot_general": _dot_general, "sign": _sign,
    "rsqrt": _rsqrt, "rem": _rem, "round": _round, "square": _square, "squeeze": _squeeze,
    "transpose": _transpose, "concatenate": _concatenate, "sort": _sort,
    "bitcast_convert_type": _bitcast_convert_type, "shift_left": _shift(np.left_shift),
    "shift_right_logical": _shift(np.right_shift, "u"),
    "shift_right_arithmetic": _shift_right_arithmetic,
}
