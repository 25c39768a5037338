"""Chapter 11: XLA's own generator of random bits, which `rbg` keys use."""

import enum
import functools
from collections.abc import Sequence

import numpy as np

from ..compat.optional import may_be_asked
from ..core.batching import moveaxis, primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray, typeof
from ..core.forward import defjvp_zero
from ..core.lowering import register_lowering, tensor_type
from ..runtime.dispatch import apply_primitive
from .cutting import index_in_dim
from .dtypes import check_and_canonicalize_user_dtype
from .out_shardings import resharded
from .sizes import canonical_shape
from .slicing import dynamic_update_index_in_dim


class RandomAlgorithm(enum.IntEnum):
    """The generator behind `rng_bit_generator`; the default is the platform's."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self):
        return self.name


def _bits_types(key, *, shape, dtype, algorithm):
    return [key, ShapedArray(shape, dtype)]


_STATE = ShapedArray((2,), np.dtype("uint64"))
_HALVES = ShapedArray((2, 2), np.dtype("uint32"))


def _lower_bits(ctx, key, *, shape, dtype, algorithm):
    """XLA's state is two words of 64 bits; ours, where there are no such words, four of 32."""
    key_aval, out = ctx.avals_out
    if (key_aval.shape, key_aval.dtype.name) not in (((4,), "uint32"), ((2,), "uint64")):
        raise TypeError("the key of rng_bit_generator must be 4 of uint32 or 2 of uint64, got "
                        f"{key_aval.str_short(True)}")
    narrow = key_aval.dtype == np.uint32
    if narrow:
        key = _cast(ctx, "bitcast_convert", _cast(ctx, "reshape", key, _HALVES), _STATE)
    state, bits = ctx.ops(
        f"stablehlo.rng_bit_generator {key.name}, algorithm = {algorithm.name.removeprefix('RNG_')}"
        f" : ({key.type}) -> ({key.type}, {tensor_type(out)})", [_STATE, out])
    if narrow:
        state = _cast(ctx, "reshape", _cast(ctx, "bitcast_convert", state, _HALVES), key_aval)
    return [state, bits]


def _cast(ctx, op, x, out):
    return ctx.op(f"stablehlo.{op} {x.name} : ({x.type}) -> {tensor_type(out)}", out)


def _batch_bits(args, dims, *, shape, **params):
    """All examples get bits of the first one's state, which alone moves on: as in JAX."""
    keys = moveaxis(args[0], dims[0], 0)
    size = typeof(keys).shape[0]
    key, bits = rng_bit_generator_p.bind(index_in_dim(keys, 0, 0, keepdims=False),
                                         shape=(size, *shape), **params)
    return (dynamic_update_index_in_dim(keys, key, 0, 0), bits), (0, 0)


rng_bit_generator_p = Primitive("rng_bit_generator", multiple_results=True)
may_be_asked(rng_bit_generator_p, "out_sharding")
rng_bit_generator_p.def_abstract_eval(_bits_types)
rng_bit_generator_p.def_impl(functools.partial(apply_primitive, rng_bit_generator_p))
primitive_batchers[rng_bit_generator_p] = _batch_bits
defjvp_zero(rng_bit_generator_p)
register_lowering(rng_bit_generator_p, _lower_bits)


@public
def rng_bit_generator(key, shape: Sequence[int], dtype=np.uint32,
                      algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT, *,
                      out_sharding=None):
    """Random bits, and the generator's next state. Which bits they are is up to the platform.

    Args:
      key: the state: four numbers of dtype uint32, or two of uint64.
      shape: of the bits.
      dtype: of the bits, an unsigned integer type.
      algorithm: the generator.
      out_sharding: the sharding of the bits, on a mesh with axes of type Explicit (chapter 14).

    Returns:
      the next state, and an array of random bits.

    Raises:
      TypeError: another dtype.

    >>> key = jnp.array([1, 2, 3, 4], dtype="uint32")
    >>> next_key, bits = lax.rng_bit_generator(key, (2, 3))
    >>> bits.shape
    (2, 3)
    """
    dtype = check_and_canonicalize_user_dtype(dtype)
    if dtype.name not in ("uint8", "uint16", "uint32", "uint64"):
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtype.name}")
    state, bits = rng_bit_generator_p.bind(key, shape=canonical_shape(shape), dtype=dtype,
                                           algorithm=RandomAlgorithm(algorithm))
    return state, bits if out_sharding is None else resharded(bits, out_sharding)
