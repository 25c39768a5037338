"""Chapter 13: choosing among things: shuffling, drawing, categories."""

import functools
import math
from collections.abc import Sequence

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.operators import promote_dtypes_inexact
from ..core.primitives import canonical_axis, convert
from ..lax import elementwise as lax, rounding
from ..lax.compile_time import concrete_or_error
from ..lax.gathering import gather
from ..lax.operators import check_arraylike
from ..lax.out_shardings import shardable
from ..lax.shaping import expand_dims, reshape
from ..lax.sizes import canonical_shape
from ..lax.sorting import sort_key_val, top_k
from ..lax.windows import GatherDimensionNumbers
from ..runtime.jit import jit
from .arguments import check_shape, float_dtype, int_dtype, shape_with
from .key_functions import typed_key
from .uniform import _uniform, randint, random_bits, split_key, uniform

# ----------------------------------------------------------------------------------------------
# Shuffling


@shardable
def permutation(key, x, axis: int = 0, independent: bool = False):
    """An array in random order along an axis.

    Args:
      key: one key.
      x: an array; or an integer `n`, for the numbers below `n`.
      axis: along which slices change places.
      independent: each line along the axis is shuffled by itself.

    Raises:
      TypeError: a scalar that is not an integer.
      ValueError: no such axis.

    >>> jax.random.permutation(jax.random.key(0), 5).tolist()
    [0, 1, 4, 3, 2]
    """
    key = typed_key("permutation", key)
    check_arraylike("permutation", x)
    aval = typeof(x)
    axis = canonical_axis(axis, aval.ndim or 1)
    if not aval.ndim:
        if not dtypes.issubdtype(aval.dtype, np.integer):
            raise TypeError("permutation: x must be an integer or at least 1-dimensional, got a "
                            f"scalar of type {aval.dtype.name}.")
        n = concrete_or_error(int, x, "argument x of jax.random.permutation()")
        return _shuffle(key, jnp.arange(n), axis)
    if independent or aval.ndim == 1:
        return _shuffle(key, x, axis)
    return _take(x, _shuffle(key, jnp.arange(aval.shape[axis]), 0), axis)


@functools.partial(jit, static_argnums=(2,))
def _shuffle(key, x, axis):
    """Sort by random words; often enough that equal words hardly matter."""
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        key, subkey = split_key(key)
        _, x = sort_key_val(random_bits(subkey, 32, x.shape), x, axis)
    return x


def _take(x, indices, axis: int):
    """The slices of `x` at `indices`, which are known to be in range, along `axis`."""
    shape, n = typeof(x).shape, indices.ndim
    offset = (*range(axis), *range(axis + n, len(shape) + n - 1))
    numbers = GatherDimensionNumbers(offset, (axis,), (axis,))
    sizes = (*shape[:axis], 1, *shape[axis + 1 :])
    return gather(x, expand_dims(indices, (n,)), numbers, sizes)


# ----------------------------------------------------------------------------------------------
# Drawing


@public
def choice(key, a, shape: Sequence[int] = (), replace: bool = True, p=None, axis: int = 0,
           mode: str | None = None):
    """Random slices of an array.

    Args:
      key: one key.
      a: an array; or an integer `n`, for the numbers below `n`.
      shape: how many slices, as the shape that replaces `axis` in the result's.
      replace: whether a slice may be drawn again.
      p: the probability of each slice; by default all are equally likely.
      axis: along which the slices are counted.
      mode: as for `gumbel`, if there is `p` and no replacement.

    Raises:
      TypeError: `shape` is not a sequence.
      ValueError: more slices than there are, without replacement; `p` of another shape.

    >>> jax.random.choice(jax.random.key(0), jnp.array([2, 3, 5, 7]), (3,)).tolist()
    [3, 2, 2]
    """
    key = typed_key("choice", key)
    if not isinstance(shape, Sequence):
        raise TypeError(f"shape argument of jax.random.choice must be a sequence, got {shape}")
    check_arraylike("choice", a)
    array = jnp.asarray(a)
    if array.ndim:
        axis = canonical_axis(axis, array.ndim)
        n = array.shape[axis]
    else:
        n = concrete_or_error(int, a, "The error occurred in jax.random.choice()")
    if math.prod(shape) == 0:
        return jnp.zeros(shape, dtype=array.dtype)
    _check_population(n, math.prod(shape), replace)
    if p is None and not replace:
        drawn = permutation(key, array if array.ndim else n, axis)
        drawn = drawn[(slice(None),) * axis + (slice(math.prod(shape)),)]
    else:
        indices = _indices(key, n, shape, replace, p, mode)
        drawn = _take(array, indices, axis) if array.ndim else indices
    if not array.ndim:
        return drawn.reshape(shape)
    return drawn.reshape(array.shape[:axis] + tuple(shape) + array.shape[axis + 1 :])


def _check_population(n, drawn, replace):
    if n <= 0:
        raise ValueError(f"choice: a must be greater than 0 unless no samples are taken, got {n}.")
    if not replace and drawn > n:
        raise ValueError(f"Cannot take a larger sample (size {drawn}) than population (size {n}) "
                         "when 'replace=False'")


def _indices(key, n, shape, replace, p, mode):
    """Which of `n` things are drawn."""
    if p is None:
        return randint(key, shape, 0, n)
    check_arraylike("choice", p)
    (p,) = promote_dtypes_inexact(p)
    if p.shape != (n,):
        raise ValueError("p must be None or a 1D vector with the same size as a.shape[axis]. p "
                         f"has shape {p.shape} and a.shape[axis] is {n}.")
    if replace:
        sums = jnp.cumsum(p)
        levels = sums[-1] * (1 - uniform(key, shape, sums.dtype))
        return jnp.searchsorted(sums, levels).astype(int)
    perturbed = gumbel(key, (n,), p.dtype, mode) + jnp.log(p)
    return top_k(perturbed, math.prod(shape))[1].astype(int)


# ----------------------------------------------------------------------------------------------
# Categories


@shardable
def gumbel(key, shape: Sequence[int] = (), dtype=None, mode: str | None = None):
    """The Gumbel distribution: -log of an exponential sample.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype.
      mode: "low"; or "high" for more bits, which matter far out on the right.

    Raises:
      ValueError: another dtype or mode.
    """
    key, dtype = typed_key("gumbel", key), float_dtype("gumbel", dtype)
    mode = "low" if mode is None else mode
    if mode not in ("high", "low"):
        raise ValueError(f"gumbel: unknown mode {mode!r}. Use 'low' or 'high'.")
    return _gumbel(key, canonical_shape(shape), dtype, mode)


@functools.partial(jit, static_argnums=(1, 2, 3))
def _gumbel(key, shape, dtype, mode):
    info = dtypes.finfo(dtype)
    if mode == "low":
        u = _uniform(key, minval=info.tiny, maxval=1.0, shape=shape, dtype=dtype)
        return -jnp.log(-jnp.log(u))
    high, low = _uniform(key, minval=0.0, maxval=1.0, shape=(2, *shape), dtype=dtype)
    x = jnp.where(high >= 0.5, high, high + 2.0 ** -info.nmant * low + info.tiny)
    return -jnp.log(-jnp.log1p(-x))


@shardable
def categorical(key, logits, axis: int = -1, shape: Sequence[int] | None = None,
                replace: bool = True, mode: str | None = None):
    """Indices of categories, whose log-probabilities are known up to a constant.

    Args:
      key: one key.
      logits: an array of them.
      axis: along which the categories lie.
      shape: the result's shape, which ends in that of `logits` without `axis`: by default that.
      replace: whether a category may be drawn again, along the dimensions before.
      mode: as for `gumbel`.

    Raises:
      ValueError: a shape that does not fit; more categories than there are, without replacement.

    >>> jax.random.categorical(jax.random.key(0), jnp.zeros((3, 4))).tolist()
    [1, 3, 2]
    """
    key = typed_key("categorical", key)
    check_arraylike("categorical", logits)
    logits = jnp.asarray(logits)
    batch_shape = tuple(np.delete(logits.shape, axis).tolist())
    shape = batch_shape if shape is None else canonical_shape(shape)
    check_shape("categorical", shape, batch_shape)
    prefix = shape[: len(shape) - len(batch_shape)]
    if not replace:
        return _categories(key, logits, axis, shape, math.prod(prefix), mode)
    axis = axis - logits.ndim if axis >= 0 else axis
    drawn_shape = list(shape[len(prefix) :])
    drawn_shape.insert(axis % logits.ndim, logits.shape[axis])
    noise = gumbel(key, (*prefix, *drawn_shape), logits.dtype, mode)
    return jnp.argmax(noise + expand_dims(logits, range(len(prefix))), axis=axis)


def _categories(key, logits, axis, shape, k, mode):
    """`k` different categories for each line along `axis`."""
    if k > logits.shape[axis]:
        raise ValueError(f"Number of samples without replacement ({k}) cannot exceed number of "
                         f"categories ({logits.shape[axis]}).")
    perturbed = logits + gumbel(key, logits.shape, logits.dtype, mode)
    indices = top_k(jnp.moveaxis(perturbed, axis, -1), k)[1]
    return reshape(indices, shape, (indices.ndim - 1, *range(indices.ndim - 1)))


# ----------------------------------------------------------------------------------------------
# Waiting


@shardable
def geometric(key, p, shape: Sequence[int] | None = None, dtype=None):
    """How many coins have to be thrown until one shows its side of probability `p`.

    Args:
      key: one key.
      p: a float array.
      shape: the result's shape; by default that of `p`.
      dtype: an integer dtype.

    Raises:
      ValueError: another dtype, or a shape that does not fit.
    """
    key, dtype = typed_key("geometric", key), int_dtype("geometric", dtype)
    return _geometric(key, p, shape_with("geometric", shape, p), dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _geometric(key, p, shape, dtype):
    (p,) = promote_dtypes_inexact(p)
    u = uniform(key, shape, p.dtype)
    u = jnp.where(u == 0, 1, u)
    log_u = lax.log(u)
    log_of_failure = jnp.broadcast_to(lax.log1p(-p), shape)
    return convert(rounding.floor(lax.div(log_u, log_of_failure)) + 1, dtype)
