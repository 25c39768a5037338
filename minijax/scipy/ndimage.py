"""Images of any dimension, under the names of `jax.scipy.ndimage`."""

import functools
import itertools
import operator
from collections.abc import Callable, Sequence

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.boundary import public
from ..lax import rounding
from ..runtime.jit import jit


def _mirror(index, size):
    """d c b | a b c d | c b a"""
    period = size - 1
    return jnp.abs((index + period) % (2 * period) - period)


# How to bring an index into the array.
MODES: dict[str, Callable] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirror,
    # d c b a | a b c d | d c b a: the same, at half the distance
    "reflect": lambda index, size: jnp.floor_divide(_mirror(2 * index + 1, 2 * size + 1) - 1, 2),
}


def _rounded(x):
    return x if dtypes.issubdtype(x.dtype, np.integer) else rounding.round(x)


def _nearest(coordinate) -> list[tuple]:
    return [(_rounded(coordinate).astype(np.int32), coordinate.dtype.type(1))]


def _linear(coordinate) -> list[tuple]:
    lower = jnp.floor(coordinate)
    upper_weight = coordinate - lower
    lower_weight = 1 - upper_weight
    index = lower.astype(np.int32)
    return [(index, lower_weight), (index + 1, upper_weight)]


ORDERS = {0: _nearest, 1: _linear}


@public
def map_coordinates(input, coordinates: Sequence, order: int, mode: str = "constant", cval=0.0):
    """The values of an array between its elements, by interpolation.

    Args:
      input: an array of n dimensions.
      coordinates: n arrays of one shape: the places, counted in elements.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: what is outside of the array: "constant" (`cval`), "nearest" (the edge), "wrap",
        "mirror" or "reflect".
      cval: a number.

    Returns:
      an array of the shape of the coordinates and the dtype of `input`.

    Raises:
      NotImplementedError: another order or mode.
      ValueError: another number of coordinates.

    >>> map_coordinates(jnp.array([0.0, 10.0]), [jnp.array([0.25])], order=1).tolist()
    [2.5]
    """
    return _map_coordinates(input, coordinates, order, mode, cval)


@jit(static_argnames=("order", "mode", "cval"))
def _map_coordinates(input, coordinates, order, mode, cval):
    array, places = jnp.asarray(input), [jnp.asarray(c) for c in coordinates]
    cval = jnp.asarray(cval, array.dtype)
    if len(places) != array.ndim:
        raise ValueError(f"coordinates must be a sequence of length input.ndim, {array.ndim}; got "
                         f"{len(places)}")
    if mode not in MODES:
        raise NotImplementedError(f"map_coordinates has no mode {mode!r}; it has {[*MODES]}")
    if order not in ORDERS:
        raise NotImplementedError(f"map_coordinates has the orders 0 and 1; got {order}")
    neighbours = [[(MODES[mode](index, size), _is_valid(index, size, mode), weight)
                   for index, weight in ORDERS[order](place)]
                  for place, size in zip(places, array.shape)]
    terms = [_term(array, corner, mode, cval) for corner in itertools.product(*neighbours)]
    result = functools.reduce(operator.add, terms)
    if dtypes.issubdtype(array.dtype, np.integer):
        result = _rounded(result)
    return result.astype(array.dtype)


def _is_valid(index, size, mode):
    return (index >= 0) & (index < size) if mode == "constant" else True


def _term(array, corner, mode, cval):
    """The value at one of the neighbours, times its weight along each dimension."""
    indices, valid, weights = zip(*corner)
    if mode == "constant":
        inside = functools.reduce(operator.and_, valid)
        value = jnp.where(inside, array[indices], cval)
    else:
        value = array[indices]
    return functools.reduce(operator.mul, weights) * value
