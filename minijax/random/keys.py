"""Chapter 13: keys as array elements, and the primitives that make and use them.

To the programs of this library a key is one element of dtype `key<fry>`, so that arrays of keys
can be indexed, stacked, mapped over and carried through loops like any others. Underneath it is a
few words of 32 bits, usually two: NumPy and XLA move them about as one `uint64`, and only the
primitives of this file look inside. What they compute is up to the implementation that the dtype
names (`threefry_keys.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.array import Array, def_numpy
from ..core.batching import bdim_at_front, defbroadcasting, defvectorized, primitive_batchers
from ..core.core import Primitive, ShapedArray, typeof
from ..core.dtypes import ExtendedDType, issubdtype, storage_dtype
from ..core.forward import defjvp_zero
from ..core.lowering import Value, register_lowering, stored, tensor_type
from ..core.primitives import elementwise_shape
from ..core.staging import jaxpr_of
from ..lax import bitwise, elementwise as lax
from ..lax.bits import bitcast_convert_type_p
from ..lax.complex_numbers import complex_p, imag_p, real_p
from ..lax.cutting import index_in_dim
from ..lax.dtypes import prng_key
from ..lax.families import lower_fun
from ..lax.shaping import broadcast_in_dim, copy_p, full, full_like, reshape
from ..lax.stacking import stack
from ..runtime.platforms import program_platform
from ..text.printing import pp_rules
from .settings import threefry_partitionable

# ----------------------------------------------------------------------------------------------
# The dtype


@dataclass(frozen=True)
class PRNGImpl:
    """A way to make random bits from keys; jaxprs print its `tag`.

    Its functions take arrays of keys of any shape, and apply to each key by itself.
    """

    key_shape: tuple[int, ...]  # of the words of one key
    name: str
    tag: str
    seed: Callable  # (seeds, impl) -> keys
    split: Callable  # (keys, shape) -> keys, with `shape` behind the shape of `keys`
    random_bits: Callable  # (keys, bit_width, shape) -> unsigned integers
    fold_in: Callable  # (keys, data) -> keys

    def __str__(self) -> str:
        return self.tag

    def __hash__(self) -> int:
        return hash(self.tag)

    def __repr__(self) -> str:
        return f"PRNGSpec({self.name!r})"

    @property
    def _impl(self) -> PRNGImpl:
        """JAX wraps an implementation in a specification; here it is its own."""
        return self

    def __reduce__(self):
        """A registered implementation is pickled by its name: its functions may be local."""
        if IMPLEMENTATIONS.get(self.name) is self:
            return implementation, (self.name,)
        return super().__reduce__()


IMPLEMENTATIONS: dict[str, PRNGImpl] = {}


def register(impl: PRNGImpl) -> None:
    """Make an implementation known by its name."""
    IMPLEMENTATIONS[impl.name] = impl


def implementation(name: str) -> PRNGImpl | None:
    """The registered implementation of this name; `None` without one."""
    return IMPLEMENTATIONS.get(name)


@dataclass(frozen=True, repr=False)
class KeyTy(ExtendedDType):
    """The dtype of keys for one implementation."""

    _impl: PRNGImpl
    type = prng_key

    @property
    def storage(self) -> np.dtype:  # type: ignore[override]
        """One number of the size of a key. NumPy has such types for any size, XLA up to four words:
        complex numbers, of which nobody computes anything, are moved about bit by bit."""
        n_words = math.prod(self._impl.key_shape)
        return _STORAGE.get(n_words) or np.dtype(f"V{4 * n_words}")

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"key<{self._impl.tag}>"

    def readable(self, value) -> np.ndarray:
        """Stored elements as the words that people want to see."""
        return _unwrap(value).reshape(*np.shape(value), *self._impl.key_shape)

    def full(self, shape, fill_value):
        """Keys that are all `fill_value`, or whose words are. Several keys are broadcast."""
        if is_key_array(fill_value):
            return broadcast_in_dim(
                fill_value, shape, range(len(shape) - fill_value.ndim, len(shape)))
        return wrap(full((*shape, *self._impl.key_shape), fill_value, np.uint32), self._impl)

    def __repr__(self) -> str:
        return self.name


def is_key_array(x) -> bool:
    """Whether `x` is an array, or a tracer, of dtype `key<…>`."""
    return isinstance(x, Array) and issubdtype(x.dtype, prng_key)


# ----------------------------------------------------------------------------------------------
# Into keys, and out of them. The primitives know the words of a key as a vector.

_STORAGE: dict[int, np.dtype] = {
    1: np.dtype(np.uint32), 2: np.dtype(np.uint64), 4: np.dtype(np.complex128)}


def wrap(data, impl: PRNGImpl):
    """Keys made of their words, an array whose last dimensions are `impl.key_shape`.

    Raises:
      TypeError: an array of another dtype or shape.
    """
    aval, ndim = typeof(data), len(impl.key_shape)
    if ndim != 1:
        if aval.shape[max(aval.ndim - ndim, 0):] != impl.key_shape:
            raise _bad_shape(aval, impl)
        data = reshape(data, (*aval.shape[: aval.ndim - ndim], math.prod(impl.key_shape)))
    return random_wrap_p.bind(data, impl=impl)


def unwrap(keys) -> Any:
    """The words of keys, `impl.key_shape` for each."""
    data, key_shape = random_unwrap_p.bind(keys), impl_of(keys).key_shape
    return data if len(key_shape) == 1 else reshape(data, (*typeof(keys).shape, *key_shape))


def _bad_shape(data, impl) -> TypeError:
    return TypeError("JAX encountered invalid PRNG key data: expected key_data.shape to end "
                     f"with {impl.key_shape}; got shape={data.shape} for impl={impl}")


def _unwrap(keys):
    return np.asarray(keys, order="C")[..., None].view(np.uint32)


def _wrap(data, *, impl):
    return np.asarray(data, order="C").view(KeyTy(impl).storage)[..., 0]


def _wrapped_type(data, *, impl):
    """Raises `TypeError` unless the last dimension of `data` holds the words of a key."""
    if data.ndim < 1 or data.shape[-1] != math.prod(impl.key_shape):
        raise _bad_shape(data, impl)
    if data.dtype != np.uint32:
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; "
                        f"got dtype={data.dtype.name}")
    return ShapedArray(data.shape[:-1], KeyTy(impl))


def _reinterpret(ctx, x, **params):
    """The bits of words read as one number, or the other way round."""
    (out,) = ctx.avals_out
    if "complex" in x.type:
        return ctx.inline(jaxpr_of(_apart, (stored(x.aval),)), [x])[0]
    if "complex" in tensor_type(out):
        (number,) = ctx.inline(jaxpr_of(_together, (x.aval.update(placement=None),)), [x])
        return Value(number.name, out)
    if storage_dtype(x.aval.dtype) == storage_dtype(out.dtype):  # keys of one word
        return ctx.op(f"stablehlo.reshape {x.name} : ({x.type}) -> {tensor_type(out)}", out)
    return ctx.op(f"stablehlo.bitcast_convert {x.name} : ({x.type}) -> {tensor_type(out)}", out)


def _together(words):
    """Four words as one complex number: XLA reads no bits as a complex number, but as two reals."""
    pairs = reshape(words, (*words.shape[:-1], 2, 2))
    reals = bitcast_convert_type_p.bind(pairs, new_dtype=np.dtype(np.float64))
    return [complex_p.bind(*(index_in_dim(reals, i, -1, keepdims=False) for i in (0, 1)))]


def _apart(number):
    """The inverse of `_together`."""
    reals = stack([real_p.bind(number), imag_p.bind(number)], number.ndim)
    pairs = bitcast_convert_type_p.bind(reals, new_dtype=np.dtype(np.uint32))
    return [reshape(pairs, (*number.shape, 4))]


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
random_unwrap_p.def_abstract_eval(
    lambda keys: ShapedArray((*keys.shape, math.prod(keys.dtype._impl.key_shape)), np.uint32))
def_numpy(random_unwrap_p, _unwrap)
defvectorized(random_unwrap_p)
defjvp_zero(random_unwrap_p)
register_lowering(random_unwrap_p, _reinterpret)


# ----------------------------------------------------------------------------------------------
# The primitives that the implementation computes, for evaluation and for XLA alike


def mode() -> dict[str, Any]:
    """The parameter of an equation that says which numbers are wanted, if it is not the usual ones.
    The setting may be another one when the program is lowered."""
    return {} if threefry_partitionable.value else {"partitionable": False}


def in_mode(function: Callable) -> Callable:
    """`function`, computed as the parameter of `mode` says."""
    def computed(*args, partitionable=True, **params):
        if threefry_partitionable.value == partitionable:
            return function(*args, **params)
        with threefry_partitionable(partitionable):
            return function(*args, **params)

    return computed


def split_keys(keys, shape: tuple[int, ...]):
    """`shape` new keys for each key."""
    return random_split_p.bind(keys, shape=shape, **mode())


def bits_of(keys, bit_width: int, shape: tuple[int, ...]):
    """`shape` unsigned integers of random bits for each key."""
    return random_bits_p.bind(keys, bit_width=bit_width, shape=shape, **mode())


def _printed(params):
    return {name: x for name, x in params.items() if name != "partitionable"}


pp_rules |= dict.fromkeys(("random_split", "random_bits", "random_gamma"), _printed)


def _computed_once(bits):
    """`bits`, computed once in a program for the CPU.

    They come from many cheap operations, and XLA copies those into each place that uses the result.
    It does not copy what it takes to be expensive, such as a division by a value that is not
    constant. Here the divisor is 1, which LLVM finds out, so that nothing is divided.
    """
    if program_platform() != "cpu":
        return bits
    width, one = typeof(bits).dtype.itemsize * 8, full_like(bits, 1)
    highest = bitwise.shift_right_logical(bits, full_like(bits, width - 1))
    return lax.div(bits, lax.add(bitwise.shift_right_logical(highest, one), one))


def _primitive(name: str, function: Callable, result_type: Callable,
               lowered: Callable = lambda out: out, batcher: Callable = defvectorized) -> Primitive:
    """A primitive that is evaluated as `function`. A program computes `lowered` of its result."""
    primitive, function = Primitive(name), in_mode(function)
    primitive.def_impl(function)
    primitive.def_abstract_eval(result_type)
    batcher(primitive)
    defjvp_zero(primitive)
    register_lowering(primitive, lower_fun(
        lambda *args, **params: lowered(function(*args, **params))))
    return primitive


def impl_of(keys) -> PRNGImpl:
    """The implementation that these keys are for."""
    dtype: Any = typeof(keys).dtype
    return dtype._impl


def _seed(seeds, *, impl):
    _seed_type(typeof(seeds), impl=impl)
    return impl.seed(seeds, impl)


def _seed_type(seeds, *, impl):
    if not issubdtype(seeds.dtype, np.integer):
        raise TypeError(f"PRNG key seed must be an integer; got dtype {seeds.dtype.name}")
    return ShapedArray(seeds.shape, KeyTy(impl))


def _fold_in_type(keys, data):
    if data.dtype != np.uint32:
        raise TypeError(f"random_fold_in: data must be of dtype uint32, got {data.dtype.name}")
    return ShapedArray(elementwise_shape("random_fold_in", [keys, data]), keys.dtype)


random_seed_p = _primitive("random_seed", _seed, _seed_type)
random_split_p = _primitive(
    "random_split", lambda keys, *, shape: impl_of(keys).split(keys, shape),
    lambda keys, *, shape, **mode: ShapedArray(keys.shape + shape, keys.dtype))
random_bits_p = _primitive(
    "random_bits",
    lambda keys, *, bit_width, shape: impl_of(keys).random_bits(keys, bit_width, shape),
    lambda keys, *, bit_width, shape, **mode: ShapedArray(keys.shape + shape, f"uint{bit_width}"),
    _computed_once)
random_fold_in_p = _primitive(
    "random_fold_in", lambda keys, data: impl_of(keys).fold_in(keys, data), _fold_in_type,
    batcher=defbroadcasting)
# Another array, for those who keep account of keys.
random_clone_p = _primitive("random_clone", copy_p.bind, lambda keys: keys)
