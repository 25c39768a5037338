"""Chapter 13: making keys, splitting them, and asking them for bits.

A key is used once: for one sample, or to `split` it into fresh keys. Keys come in two styles. New
ones (`key`) are arrays of dtype `key<fry>`; old ones (`PRNGKey`) are `uint32` arrays whose last
dimension is 2. Every function takes both, and those that return keys return the style they got.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.operators import with_own_arrays
from ..lax.dtypes import check_and_canonicalize_user_dtype, default_uint_dtype
from ..lax.out_shardings import shardable
from ..lax.sizes import canonical_shape
from ..text.locations import user_stacklevel
from .keys import (
    IMPLEMENTATIONS,
    KeyTy,
    PRNGImpl,
    bits_of,
    implementation,
    is_key_array,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    split_keys,
    unwrap,
    wrap,
)
from .settings import default_prng_impl, enable_custom_prng, legacy_prng_key


def typed_key(name: str, key, batched: bool = False) -> Any:
    """The `key` argument of the function `name`, in the new style.

    Raises:
      TypeError: it is no key.
      ValueError: it is an array of keys, unless `batched`.
    """
    if is_key_array(key):
        typed = key
    elif hasattr(key, "dtype") and hasattr(key, "shape"):
        _check_old_style()
        typed = wrap(key, resolve_implementation())
    else:
        raise TypeError(f"unexpected PRNG key type {type(key)}: expected a key from "
                        "jax.random.key() or jax.random.PRNGKey()")
    if typed.ndim and not batched:
        raise ValueError(f"{name} accepts a single key, but was given a key array of shape "
                         f"{key.shape} != (). Use jax.vmap for batching.")
    return typed


def _check_old_style() -> None:
    """Keys of the old style are allowed, unless `jax_legacy_prng_key` says otherwise."""
    if legacy_prng_key.value == "allow":
        return
    message = ("a key of the old style, an array of uint32, was passed to a function of "
               "jax.random. Make keys by jax.random.key(), or set jax_legacy_prng_key to 'allow'.")
    if legacy_prng_key.value == "error":
        raise ValueError(f"Legacy {message}")
    warnings.warn(f"Legacy {message}", stacklevel=user_stacklevel())


def _in_style_of(key, new_keys):
    if is_key_array(key) or enable_custom_prng.value:
        return new_keys
    return unwrap(new_keys)


def _implementation(impl, dtype, name: str) -> PRNGImpl:
    """The implementation that the arguments `impl` or `dtype` speak of.

    Raises:
      ValueError: both are given, or an unknown name.
      TypeError: neither a name nor an implementation nor a dtype of keys.
    """
    if impl is not None and dtype is not None:
        raise ValueError(f"Cannot specify both `impl` and `dtype` arguments to jax.random.{name}")
    return resolve_implementation(dtype if impl is None else impl)


def resolve_implementation(spec=None) -> PRNGImpl:
    """The implementation with this name or for this dtype of keys; by default the usual one.

    Raises:
      ValueError: an unknown name.
      TypeError: neither a name nor an implementation nor a dtype of keys.
    """
    if spec is None:
        spec = default_prng_impl.value
    if isinstance(spec, KeyTy):
        return spec._impl
    if isinstance(spec, PRNGImpl):
        return spec
    if not isinstance(spec, str):
        raise TypeError(f"unrecognized type {type(spec)} for specifying PRNG implementation.")
    impl = implementation(spec)
    if impl is None:
        raise ValueError(f'unrecognized PRNG implementation "{spec}". Did you mean one of: '
                         f"{', '.join(IMPLEMENTATIONS)}?")
    return impl


def _from_seed(name, seed, impl):
    if is_key_array(seed):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key.")
    (seed,) = with_own_arrays([seed])
    if isinstance(seed, int):  # any 64 bits, of which the high ones are lost without x64
        seed = np.int64(seed).astype(dtypes.canonicalize_dtype(np.int64))
    if seed is None:
        raise ValueError(f"{name}: the seed must be an integer, got None.")
    if typeof(seed).ndim:
        raise TypeError(f"{name} accepts a scalar seed, but was given an array of shape "
                        f"{typeof(seed).shape} != (). Use jax.vmap for batching")
    return random_seed_p.bind(seed, impl=impl)


@public
def key(seed, *, impl=None, dtype=None):
    """A key made of a seed.

    Args:
      seed: an integer scalar; 64 bits of it count, or 32 if x64 is disabled.
      impl: the name of an implementation: "threefry2x32".
      dtype: or instead, the dtype of keys to be made.

    Returns:
      a scalar array of dtype `key<fry>`.

    Raises:
      TypeError: the seed is not an integer, or not a scalar.

    >>> jax.random.key(0).dtype
    key<fry>
    """
    return _from_seed("key", seed, _implementation(impl, dtype, "key"))


@public
def PRNGKey(seed, *, impl=None):
    """A key made of a seed, in the old style: an array of two `uint32`.

    Args:
      seed, impl: as for `key`.

    Raises:
      TypeError: the seed is not an integer, or not a scalar.

    >>> jax.random.PRNGKey(7)
    Array([0, 7], dtype=uint32)
    """
    typed = _from_seed("PRNGKey", seed, _implementation(impl, None, "key"))
    return typed if enable_custom_prng.value else unwrap(typed)


@public
def key_dtype(impl_spec=None) -> KeyTy:
    """The dtype of keys for an implementation.

    Args:
      impl_spec: its name; by default that of the usual one.

    >>> jax.random.key_dtype()
    key<fry>
    """
    return KeyTy(resolve_implementation(impl_spec))


@public
def key_data(keys):
    """The words that keys consist of.

    Args:
      keys: an array of keys, of any shape and either style.

    Returns:
      a `uint32` array with a last dimension of 2 more than `keys`.

    >>> jax.random.key_data(jax.random.key(7))
    Array([0, 7], dtype=uint32)
    """
    return unwrap(typed_key("key_data", keys, batched=True))


@public
def wrap_key_data(key_bits_array, *, impl=None, dtype=None):
    """Keys made of their words; the inverse of `key_data`.

    Args:
      key_bits_array: a `uint32` array whose last dimension is 2.
      impl, dtype: as for `key`.

    Raises:
      TypeError: an array of another dtype or shape.
    """
    if not hasattr(key_bits_array, "dtype"):
        raise TypeError("JAX encountered invalid PRNG key data: expected an array, got "
                        f"{key_bits_array!r}")
    impl = _implementation(impl, dtype, "wrap_key_data")
    return wrap(key_bits_array, impl)


@public
def key_impl(keys) -> str | PRNGImpl:
    """The name of the implementation that the keys are for; or what a user has defined."""
    impl = typed_key("key_impl", keys, batched=True).dtype._impl
    return impl.name if impl.name in IMPLEMENTATIONS else impl


@public
def split(key, num: int | tuple[int, ...] = 2):
    """Fresh keys, as many as are wanted, from one that is not to be used again.

    Args:
      key: one key.
      num: how many, or the shape of the array of them.

    Returns:
      an array of keys, in the style of `key`.

    Raises:
      ValueError: an array of keys; use `vmap`.

    >>> a, b = jax.random.split(jax.random.key(0))
    """
    typed = typed_key("split", key)
    shape = canonical_shape(num if isinstance(num, Sequence) else (num,))
    return _in_style_of(key, split_keys(typed, shape))


@public
def fold_in(key, data):
    """A fresh key, made of a key and a number: of the step, of the layer …

    Args:
      key: one key.
      data: an integer scalar, of which 32 bits count.

    Raises:
      TypeError: `data` is not a scalar.

    >>> jax.random.fold_in(jax.random.PRNGKey(0), 1)
    Array([ 928981903, 3453687069], dtype=uint32)
    """
    typed = typed_key("fold_in", key)
    if data is None or isinstance(data, str):
        raise ValueError(f"fold_in: data must be an integer, got {data!r}.")
    if np.ndim(data):
        raise TypeError("fold_in accepts a scalar, but was given an array of shape "
                        f"{np.shape(data)} != (). Use jax.vmap for batching.")
    data = jnp.asarray(data, dtype=np.uint32)
    return _in_style_of(key, random_fold_in_p.bind(typed, data))


@public
def clone(key):
    """The same key, for those who want to use it twice and say so."""
    return random_clone_p.bind(key)


@shardable
def bits(key, shape: Sequence[int] = (), dtype=None):
    """Random bits: unsigned integers, each as likely as any other.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: an unsigned integer dtype; by default the widest that is enabled.

    Raises:
      ValueError: another dtype.

    >>> jax.random.bits(jax.random.key(0), (2,), "uint8").tolist()
    [167, 146]
    """
    typed = typed_key("bits", key)
    if dtype is None:
        dtype = default_uint_dtype()
    dtype = check_and_canonicalize_user_dtype(dtype)
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {dtype}")
    shape = canonical_shape(shape)
    return bits_of(typed, 8 * dtype.itemsize, shape)
