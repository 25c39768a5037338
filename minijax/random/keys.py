"""Chapter 13: keys as array elements, and the primitives that make and use them.

To the programs of this library a key is one element of dtype `key<fry>`, so that arrays of keys
can be indexed, stacked, mapped over and carried through loops like any others. Underneath it is
64 bits, two words of 32: NumPy and XLA move it about as one `uint64`, and only the primitives of
this file look inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..array import Array, def_numpy
from ..batching import primitive_batchers
from ..batching.rules import defbroadcasting, defvectorized
from ..batching.trace import bdim_at_front
from ..core import Primitive, ShapedArray, typeof
from ..dtypes import ExtendedDType, issubdtype, prng_key
from ..forward import defjvp_zero
from ..primitives import elementwise as lax
from ..primitives.elementwise import convert
from ..primitives.shape_rules import elementwise_shape
from ..primitives.shaping import broadcast, full, full_like, iota_p, reshape, stack
from ..primitives.slicing import index_in_dim
from ..xla.jit import apply_primitive
from ..xla.lowering import lower_fun, register_lowering, tensor_type
from .threefry import FEW, MASK, one_block, threefry2x32_p

# ----------------------------------------------------------------------------------------------
# The dtype


@dataclass(frozen=True)
class PRNGImpl:
    """A way to make random bits from keys; jaxprs print its `tag`."""

    name: str
    tag: str

    def __str__(self) -> str:
        return self.tag


THREEFRY = PRNGImpl("threefry2x32", "fry")
IMPLEMENTATIONS = {THREEFRY.name: THREEFRY}


@dataclass(frozen=True, repr=False)
class KeyTy(ExtendedDType):
    """The dtype of keys for one implementation."""

    _impl: PRNGImpl
    type = prng_key
    storage = np.dtype(np.uint64)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"key<{self._impl.tag}>"

    def readable(self, value) -> np.ndarray:
        """Stored elements as the words that people want to see."""
        return _unwrap(value)

    def full(self, shape, fill_value):
        """Keys that are all `fill_value`, or whose words are."""
        if is_key_array(fill_value):
            return broadcast(fill_value, shape)
        words = full((*shape, 2), fill_value, np.uint32)
        return random_wrap_p.bind(words, impl=self._impl)

    def __repr__(self) -> str:
        return self.name


def is_key_array(x) -> bool:
    """Whether `x` is an array, or a tracer, of dtype `key<…>`."""
    return isinstance(x, Array) and issubdtype(x.dtype, prng_key)


# ----------------------------------------------------------------------------------------------
# Into keys, and out of them


def _unwrap(keys):
    return np.asarray(keys, order="C")[..., None].view(np.uint32)


def _wrap(data, *, impl):
    return np.asarray(data, order="C").view(np.uint64)[..., 0]


def _wrapped_type(data, *, impl):
    """Raises `TypeError` unless the last dimension of `data` holds the two words of a key."""
    if data.ndim < 1 or data.shape[-1] != 2:
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data.shape to end "
                        f"with (2,); got shape={data.shape} for impl={impl}")
    if data.dtype != np.uint32:
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; "
                        f"got dtype={data.dtype.name}")
    return ShapedArray(data.shape[:-1], KeyTy(impl))


def _reinterpret(ctx, x, **params):
    """As long as nobody looks, a pair of words and one of twice the size are the same bits."""
    (out,) = ctx.avals_out
    return ctx.op(f"stablehlo.bitcast_convert {x.name} : ({x.type}) -> {tensor_type(out)}", out)


def _batch_wrap(args, dims, *, impl):
    (data,), (dim,) = args, dims
    return random_wrap_p.bind(bdim_at_front(data, dim, 1), impl=impl), 0


random_wrap_p = Primitive("random_wrap")
random_wrap_p.def_abstract_eval(_wrapped_type)
def_numpy(random_wrap_p, _wrap)
primitive_batchers[random_wrap_p] = _batch_wrap
defjvp_zero(random_wrap_p)
register_lowering(random_wrap_p, _reinterpret)

random_unwrap_p = Primitive("random_unwrap")
random_unwrap_p.def_abstract_eval(lambda keys: ShapedArray((*keys.shape, 2), np.uint32))
def_numpy(random_unwrap_p, _unwrap)
defvectorized(random_unwrap_p)
defjvp_zero(random_unwrap_p)
register_lowering(random_unwrap_p, _reinterpret)


def _words(keys):
    """The two words of each key."""
    data = random_unwrap_p.bind(keys)
    return [index_in_dim(data, i, -1, keepdims=False) for i in (0, 1)]


def _from_words(word0, word1):
    return random_wrap_p.bind(stack([word0, word1], typeof(word0).ndim), impl=THREEFRY)


# ----------------------------------------------------------------------------------------------
# The primitives that hash. Each is a function on arrays; XLA is given the same.


def _primitive(name: str, function: Callable, result_type: Callable) -> Primitive:
    """A primitive that is evaluated and lowered as `function`."""
    primitive = Primitive(name)
    primitive.def_impl(function)
    primitive.def_abstract_eval(result_type)
    defvectorized(primitive)
    defjvp_zero(primitive)
    register_lowering(primitive, lower_fun(function))
    return primitive


def _seed(seeds, *, impl):
    """The key of a seed is the seed, as 64 bits with the high word first."""
    dtype = typeof(seeds).dtype
    if not issubdtype(dtype, np.integer):
        raise TypeError(f"PRNG key seed must be an integer; got dtype {dtype.name}")
    low = convert(seeds, np.uint32)
    if dtype.itemsize < 8:
        return _from_words(full_like(low, 0), low)
    high = lax.shift_right_logical(seeds, dtype.type(32))
    return _from_words(convert(high, np.uint32), low)


def _seed_type(seeds, *, impl):
    return ShapedArray(seeds.shape, KeyTy(impl))


def _counters(shape):
    """0, 1, 2 … in row-major order, as the high and the low words of 64-bit numbers."""
    size = math.prod(shape)
    if size <= 2**32:
        low = iota_p.bind(dtype=np.dtype(np.uint32), shape=(size,), dimension=0)
        return np.uint32(0), reshape(low, shape)
    wide = iota_p.bind(dtype=np.dtype(np.uint64), shape=(size,), dimension=0)
    words = lax.shift_right_logical(wide, np.uint64(32)), wide
    return [reshape(convert(word, np.uint32), shape) for word in words]


def _blocks(keys, shape):
    """Two random words for each key and each position in `shape`, which is the counter."""
    keys_shape = typeof(keys).shape
    with_positions = keys_shape + (1,) * len(shape)
    key_words = [reshape(word, with_positions) for word in _words(keys)]
    high, low = _counters((1,) * len(keys_shape) + shape)
    return threefry2x32_p.bind(*key_words, high, low)


def _split(keys, *, shape):
    return _from_words(*_blocks(keys, shape))


def _split_type(keys, *, shape):
    return ShapedArray(keys.shape + shape, keys.dtype)


def _bits(keys, *, bit_width, shape):
    word0, word1 = _blocks(keys, shape)
    dtype = np.dtype(f"uint{bit_width}")
    if bit_width < 64:
        return convert(lax.bitwise_xor(word0, word1), dtype)
    high = lax.shift_left(convert(word0, dtype), np.uint64(32))
    return lax.bitwise_or(high, convert(word1, dtype))


MANY = 10_000  # elements from which on it pays to compile


def _evaluate_bits(keys, *, bit_width, shape):
    if math.prod(shape) * typeof(keys).size < MANY:
        return _bits(keys, bit_width=bit_width, shape=shape)
    return apply_primitive(random_bits_p, keys, bit_width=bit_width, shape=shape)


def _bits_type(keys, *, bit_width, shape):
    return ShapedArray(keys.shape + shape, f"uint{bit_width}")


def _fold_in(keys, data):
    return _from_words(*threefry2x32_p.bind(*_words(keys), np.uint32(0), data))


def _fold_in_type(keys, data):
    if data.dtype != np.uint32:
        raise TypeError(f"random_fold_in: data must be of dtype uint32, got {data.dtype.name}")
    return ShapedArray(elementwise_shape("random_fold_in", [keys, data]), keys.dtype)


def _is_scalar(x) -> bool:
    return type(x) is Array and not x.aval.ndim


def _hashed(key: Array, counters) -> np.ndarray:
    """The keys that a key makes of a few counters: quicker in Python's integers."""
    words = int(key._numpy())
    blocks = [one_block(words & MASK, words >> 32, 0, i) for i in counters]
    return np.array([word0 | word1 << 32 for word0, word1 in blocks], np.uint64)


def _evaluate_split(keys, *, shape):
    if not _is_scalar(keys) or math.prod(shape) > FEW:
        return _split(keys, shape=shape)
    value = _hashed(keys, range(math.prod(shape))).reshape(shape)
    return Array(value, ShapedArray(shape, keys.dtype))


def _evaluate_fold_in(keys, data):
    if not _is_scalar(keys) or typeof(data) != ShapedArray((), np.uint32):
        return _fold_in(keys, data)
    return Array(_hashed(keys, [int(data)])[0], keys.aval)


random_seed_p = _primitive("random_seed", _seed, _seed_type)
random_split_p = _primitive("random_split", _split, _split_type)
random_bits_p = _primitive("random_bits", _bits, _bits_type)
random_bits_p.def_impl(_evaluate_bits)
random_fold_in_p = _primitive("random_fold_in", _fold_in, _fold_in_type)
random_split_p.def_impl(_evaluate_split)
random_fold_in_p.def_impl(_evaluate_fold_in)
defbroadcasting(random_fold_in_p)
random_clone_p = _primitive("random_clone", lambda keys: keys, lambda keys: keys)
