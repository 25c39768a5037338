"""Scaled dot-product attention (Vaswani et al., 2017), the heart of a transformer.

Every query asks how well it fits every key, `softmax` makes weights of the answers, and the result
is the mean of the values with these weights. A mask says which answers do not count.

In the shapes: B sequences; T queries and S keys each; N heads, and K heads of keys and values; H
numbers a head. Where N > K, groups of G = N / K heads of queries share a head of keys and values
(Ainslie et al., 2023).
"""

from collections.abc import Sequence

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.api import vmap
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import stop_gradient_p
from ..lax.dot_algorithms import DotAlgorithmPreset
from ..numpy._softmax import logsumexp, softmax


@public
def dot_product_attention(query, key, value, bias=None, mask=None, *, scale: float | None = None,
                          is_causal: bool = False, query_seq_lengths=None,
                          key_value_seq_lengths=None,
                          local_window_size: int | tuple[int, int] | None = None,
                          implementation: str | None = None, return_residual: bool = False):
    """softmax(scale · query · keyᵀ + bias) · value, for each head.

    Args:
      query: [B,T,N,H] or [T,N,H].
      key, value: [B,S,K,H] or [S,K,H], of the query's dtype, where K divides N.
      bias: added to the scores; it can be repeated to [B,N,T,S] or [N,T,S].
      mask: booleans of such a shape: which scores count.
      scale: of the products; by default 1 / √H.
      is_causal: no query sees a key that comes after it.
      query_seq_lengths: i32[B], how many of the queries there are; the others give zeros.
      key_value_seq_lengths: i32[B], how many of the keys there are.
      local_window_size: (left, right), or one number for both: so far a query sees.
      implementation: `None` or "xla". ("cudnn" is for NVIDIA's GPUs, and not here.)
      return_residual: return also the scores' `logsumexp`, [B,T,N] or [T,N].

    Returns:
      an array in the shape of the query; with the residual, a pair.

    Raises:
      ValueError: shapes or dtypes that do not fit, or another implementation.

    >>> x = jnp.eye(3).reshape(3, 1, 3)  # three positions, one head
    >>> dot_product_attention(x, x, x, is_causal=True)[:, 0].round(2).tolist()[:2]
    [[1.0, 0.0, 0.0], [0.36..., 0.63..., 0.0]]
    """
    shape = jnp.asarray(query).shape
    query, key, value, bias, mask = map(_as_4d, (query, key, value, bias, mask))
    lengths = [None if n is None else jnp.asarray(n)
               for n in (query_seq_lengths, key_value_seq_lengths)]
    _check_arguments(query, key, value, bias, mask, *lengths)
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation!r}. Use 'xla' or "
                         "None.")
    heads, kv_heads, size = query.shape[2], key.shape[2], key.shape[3]
    grouped = query.reshape(*query.shape[:2], kv_heads, heads // kv_heads, size)
    bias, mask = (_in_groups(x, kv_heads, heads // kv_heads) for x in (bias, mask))
    scale = 1.0 / np.sqrt(size) if scale is None else scale
    if isinstance(local_window_size, int):
        local_window_size = (local_window_size, local_window_size)

    def one_of_each_group(query, bias, mask):
        return _attention(query, key, value, bias, mask, scale, is_causal, *lengths,
                          local_window_size, return_residual)

    out = vmap(one_of_each_group, in_axes=(3, 2, 2), out_axes=3)(grouped, bias, mask)
    if not return_residual:
        return out.reshape(query.shape).reshape(shape)
    out, residual = out[0].reshape(query.shape), out[1].reshape(query.shape[:3])
    return out.reshape(shape), residual.reshape(shape[:-1])


# ----------------------------------------------------------------------------------------------
# Arguments


def _as_4d(x):
    """`x` with a batch of one sequence, if it has none."""
    if x is None:
        return None
    x = jnp.asarray(x)
    return jnp.expand_dims(x, tuple(range(4 - x.ndim))) if x.ndim < 4 else x


def _in_groups(x, kv_heads: int, groups: int):
    """Bias or mask [B,N,T,S], or of one head for all, as [B,K,G,T,S]."""
    if x is None:
        return None
    batch, heads, *rest = x.shape
    if heads == 1:
        return jnp.broadcast_to(x[:, :, None], (batch, 1, groups, *rest))
    assert heads == kv_heads * groups, f"a bias or mask of {heads} heads for {kv_heads * groups}"
    return x.reshape(batch, kv_heads, groups, *rest)


def _check_arguments(query, key, value, bias, mask, query_lengths, key_lengths):
    if key.ndim != 4:
        raise ValueError(f"key ndim should be 4, but got {key.ndim}")
    batch, _, kv_heads, size = key.shape
    anything = [None] * 4
    _check(value, key.shape, key.dtype, "value")
    _check(query, (batch, None, None, size), key.dtype, "query")
    _check(mask, anything, bool, "mask")
    _check(bias, anything, None, "bias")
    _check(query_lengths, (batch,), "int32", "query_seq_lengths")
    _check(key_lengths, (batch,), "int32", "key_value_seq_lengths")
    if query.shape[2] % kv_heads:
        raise ValueError("The number of query heads must be a multiple of key/value heads, but got "
                         f"{query.shape[2]} vs {kv_heads}")


def _check(x, shape: Sequence, dtype, name: str) -> None:
    """Raise unless `x` has this shape and dtype; a `None` in them stands for any."""
    if x is None:
        return
    if dtype is not None and x.dtype != dtype:
        raise ValueError(f"{name} dtype should be {np.dtype(dtype)}, but got {x.dtype}")
    fits = len(shape) == x.ndim and all(n in (None, size) for n, size in zip(shape, x.shape))
    if not fits:
        wanted = ["any" if n is None else n for n in shape]
        raise ValueError(f"{name} shape should be {wanted}, but got {list(x.shape)}")


# ----------------------------------------------------------------------------------------------
# Attention where each head of queries has its own keys and values

# Said of the product itself, so that its derivatives too are computed in this way.
_SUMS_IN_32_BITS = {"bfloat16": DotAlgorithmPreset.BF16_BF16_F32}


def _attention(query, key, value, bias, mask, scale, is_causal, query_lengths, key_lengths, window,
               return_residual):
    """The result, [B,T,N,H]; with the residual, a pair."""
    dtype = jnp.promote_types(query.dtype, np.float32)
    scores = jnp.einsum("BTNH,BSNH->BNTS", query, key, preferred_element_type=dtype,
                        precision=_SUMS_IN_32_BITS.get(query.dtype.name))
    scores = scores * jnp.array(scale, dtype)
    if bias is not None:
        scores = (scores + bias).astype(dtype)
    restrictions = (mask, is_causal or None, window, query_lengths, key_lengths)
    if any(x is not None for x in restrictions):
        scores = _masked(scores, *restrictions)
    scores = scores.astype(np.float32)  # whatever the dtype, as in JAX
    weights = softmax(scores, axis=-1).astype(key.dtype)
    out = jnp.einsum("BNTS,BSNH->BTNH", weights, value)
    if query_lengths is not None:
        present = jnp.arange(0, out.shape[1])[None, :] < query_lengths[:, None]
        out = out * present[:, :, None, None].astype(out.dtype)
    if not return_residual:
        return out
    residual = logsumexp(scores, axis=-1).astype(key.dtype)
    return out, stop_gradient_p.bind(jnp.transpose(residual, (0, 2, 1)))


def _masked(scores, *restrictions):
    """The scores that count; instead of the others so negative a number that its weight is 0.

    (Minus infinity would make NaNs of a row in which nothing counts.)
    """
    counts = jnp.ones_like(scores, dtype=bool)
    for mask in _masks(*scores.shape[2:], *restrictions):
        counts = jnp.logical_and(counts, mask)
    dtype = typeof(scores).dtype
    largest = min(dtypes.finfo(dtype).max, dtypes.finfo(np.float32).max)
    return jnp.where(counts, scores, jnp.asarray(-0.7 * largest, dtype=dtype))


def _masks(queries: int, keys: int, mask, is_causal, window, query_lengths, key_lengths):
    """Yield the masks that apply, each of a shape that can be repeated to [B,N,T,S]."""
    if mask is not None:
        yield mask
    if is_causal:
        yield jnp.tril(jnp.ones((queries, keys), dtype=bool))[None, None, :, :]
    if window is not None:
        yield _window_mask(queries, keys, window)
    if query_lengths is not None or key_lengths is not None:
        yield _padding_mask(queries, keys, query_lengths, key_lengths)


def _window_mask(queries: int, keys: int, window: tuple[int, int]):
    left, right = window
    i, j = jnp.array(range(queries)), jnp.array(range(keys))
    not_too_far_left = i[..., None] <= j[..., None, :] + left
    not_too_far_right = i[..., None] >= j[..., None, :] - right
    return jnp.logical_and(not_too_far_right, not_too_far_left)[None, None, :, :]


def _padding_mask(queries: int, keys: int, query_lengths, key_lengths):
    """Which pairs of query and key there are in sequences of these lengths."""
    has_query = has_key = True
    if query_lengths is not None:
        has_query = jnp.arange(0, queries)[None, :, None] < query_lengths[:, None, None]
    if key_lengths is not None:
        has_key = jnp.arange(0, keys)[None, None, :] < key_lengths[:, None, None]
    return jnp.logical_and(has_query, has_key)[:, None, :, :]
