"""Chapter 11: `tile`, an array laid side by side with itself."""

from collections.abc import Sequence

import numpy as np

from ..core.array import def_numpy
from ..core.batching import primitive_batchers
from ..core.boundary import public
from ..core.core import ShapedArray, typeof
from ..core.forward import deflinear_jvp
from ..core.lowering import register_lowering
from ..core.primitives import make_primitive
from ..core.transposition import deftranspose
from .families import lower_fun
from .reductions import reduce_sum
from .shaping import broadcast_in_dim, reshape
from .sizes import integers


def _tile_shape(x, *, reps):
    if len(reps) != x.ndim:
        raise TypeError(f"tile needs a number of repetitions for each dimension, got {len(reps)} "
                        f"for an array of shape {x.shape}.")
    if any(rep < 0 for rep in reps):
        raise ValueError(f"tile needs numbers of repetitions that are not negative, got {reps}.")
    return ShapedArray([n * rep for n, rep in zip(x.shape, reps)], x.dtype, x.weak_type)


def _interleaved(reps, shape) -> list[int]:
    """The repetitions as dimensions, each before the one that it repeats."""
    return [n for pair in zip(reps, shape) for n in pair]


def _tiled(x, *, reps):
    shape = typeof(x).shape
    repeated = broadcast_in_dim(x, _interleaved(reps, shape), range(1, 2 * len(shape), 2))
    return reshape(repeated, [n * rep for n, rep in zip(shape, reps)])


def _tile_transpose(ct, x, *, reps):
    """The sum over all copies."""
    copies = reshape(ct, _interleaved(reps, x.aval.shape))
    return reduce_sum(copies, range(0, 2 * len(reps), 2))


def _tile_batching(args, dims, *, reps):
    (x,), (bdim,) = args, dims
    return tile(x, (*reps[:bdim], 1, *reps[bdim:])), bdim


tile_p = make_primitive("tile", _tile_shape)
def_numpy(tile_p, lambda x, *, reps: x if {*reps} <= {1} else np.tile(x, reps))
deflinear_jvp(tile_p)
deftranspose(tile_p, _tile_transpose)
primitive_batchers[tile_p] = _tile_batching
register_lowering(tile_p, lower_fun(_tiled))


@public
def tile(operand, reps: Sequence[int]):
    """`operand` repeated along each of its dimensions.

    Args:
      operand: an array.
      reps: how often, for each dimension.

    Raises:
      TypeError: not a number for each dimension.
      ValueError: a negative number.

    >>> lax.tile(jnp.array([[1, 2]]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return tile_p.bind(operand, reps=integers("tile: reps", reps))
