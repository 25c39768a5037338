"""Chapter 13: how many events happen, how many coins fall on one side: discrete distributions."""

import functools
from collections.abc import Sequence

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.operators import promote_dtypes_inexact
from ..core.primitives import convert
from ..lax import elementwise as lax, rounding
from ..lax.control_flow.scan import scan
from ..lax.control_flow.while_loop import while_loop
from ..lax.cumulative import cumsum
from ..lax.dtypes import check_and_canonicalize_user_dtype
from ..lax.operators import check_arraylike
from ..lax.out_shardings import shardable
from ..lax.selection import select
from ..lax.shaping import broadcast_shapes, full_like
from ..lax.sizes import canonical_shape
from ..lax.special import lgamma
from ..runtime.jit import jit
from .arguments import check_shape, float_dtype
from .key_functions import split, typed_key
from .keys import impl_of
from .threefry_keys import THREEFRY
from .uniform import split_key, uniform

# ----------------------------------------------------------------------------------------------
# Events: the Poisson distribution


@shardable
def poisson(key, lam, shape: Sequence[int] | None = None, dtype=None):
    """The Poisson distribution: how many events happen where `lam` are expected.

    Args:
      key: one key.
      lam: a float array.
      shape: the result's shape; by default that of `lam`.
      dtype: an integer dtype.

    Raises:
      NotImplementedError: keys for another generator than Threefry.
    """
    key = typed_key("poisson", key)
    if impl_of(key) is not THREEFRY:
        raise NotImplementedError("`poisson` is only implemented for the threefry2x32 RNG, not "
                                  f"{impl_of(key).name}: its loops use keys of varying number.")
    dtype = check_and_canonicalize_user_dtype(int if dtype is None else dtype)
    shape = typeof(lam).shape if shape is None else canonical_shape(shape)
    return _poisson(key, convert(jnp.broadcast_to(lam, shape), np.dtype(np.float32)), shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _poisson(key, lam, shape, dtype):
    """Few events are counted one by one; for many the count is guessed, and perhaps rejected."""
    few = (lam != lam) | (lam < 10)
    most = dtype.type(dtypes.iinfo(dtype).max)
    counted = _poisson_counted(key, select(few, lam, full_like(lam, 0)), shape, dtype, most)
    guessed = _poisson_guessed(key, select(few, full_like(lam, 1e5), lam), shape, dtype, most)
    result = select(few, counted, guessed)
    return select(lam == 0, full_like(result, 0), result)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _poisson_counted(key, lam, shape, dtype, most):
    """Knuth's method: exponential waiting times, until they add up to more than `lam`."""

    def step(state):
        i, k, key, log_prod = state
        key, subkey = split_key(key)
        k = select(log_prod > -lam, k + 1, k)
        return i + 1, k, key, log_prod + lax.log(uniform(subkey, shape, np.float32))

    def waiting(state):
        return (state[3] > -lam).any() & (state[0] < most)

    start = 0, full_like(lam, 0, dtype, shape), key, full_like(lam, 0, np.float32, shape)
    return convert(while_loop(waiting, step, start)[1] - 1, dtype)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _poisson_guessed(key, lam, shape, dtype, most):
    """Hörmann's transformed rejection: "The transformed rejection method for generating Poisson
    random variables", 1993."""
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def step(state):
        i, result, done, key = state
        key, u_key, v_key = split_key(key, 3)
        u = uniform(u_key, shape, lam.dtype) - 0.5
        v = uniform(v_key, shape, lam.dtype)
        distance = 0.5 - abs(u)
        k = rounding.floor((2 * a / distance + b) * u + lam + 0.43)
        s = lax.log(v * inv_alpha / (a / (distance * distance) + b))
        log_density = -lam + k * lax.log(lam) - lgamma(k + 1)
        at_once = (distance >= 0.07) & (v <= v_r)
        never = (k < 0) | (distance < 0.013) & (v > distance)
        accept = at_once | ~never & (s <= log_density)
        return i + 1, select(accept, k, result), done | accept, key

    return convert(_first_accepted(step, key, lam, shape, most), dtype)


def _first_accepted(step, key, like, shape, most):
    """The numbers of this shape and the dtype of `like` that `step` accepts, by rejection sampling.
    """
    def trying(state):
        return (~state[2]).any() & (state[0] < most)

    numbers, accepted = full_like(like, -1, like.dtype, shape), full_like(like, False, bool, shape)
    return while_loop(trying, step, (0, numbers, accepted, key))[1]


# ----------------------------------------------------------------------------------------------
# Coins: the binomial distribution


@public
def binomial(key, n, p, shape: Sequence[int] | None = None, dtype=None):
    """The binomial distribution: how many of `n` coins fall on the side of probability `p`.

    Args:
      key: one key.
      n, p: arrays.
      shape: the result's shape; by default the common one of the parameters.
      dtype: a float dtype.

    Returns:
      an array of whole numbers as floats; NaN where the parameters make no sense.

    Raises:
      ValueError: another dtype, or a shape that does not fit.

    >>> jax.random.binomial(jax.random.key(0), 10, 0.5, (4,)).tolist()
    [6.0, 7.0, 5.0, 6.0]
    """
    key = typed_key("binomial", key)
    check_arraylike("binomial", n, p)
    dtype = float_dtype("binomial", dtype)
    return _binomial(key, n, p, None if shape is None else canonical_shape(shape), dtype)


@functools.partial(jit, static_argnums=(3, 4), inline=True)
def _binomial(key, n, p, shape, dtype):
    """The rarer side is counted. Few coins are thrown one by one; for many the count is guessed,
    and perhaps rejected."""
    if shape is None:
        shape = broadcast_shapes(np.shape(n), np.shape(p))
    check_shape("binomial", shape, np.shape(n), np.shape(p))
    (p,) = promote_dtypes_inexact(p)
    n, p = jnp.broadcast_to(convert(n, p.dtype), shape), jnp.broadcast_to(p, shape)
    is_rare = p < 0.5
    q = select(is_rare, p, 1.0 - p)
    no_number, endless = (n != n) | (n < 0.0), jnp.isinf(n)
    q_is_nan, q_is_negative = q != q, q < 0.0
    q = select(q_is_nan | q_is_negative, full_like(q, 0.01), q)
    few = no_number | (n * q <= 10.0)
    n = jnp.floor(n)
    most = dtype.type(dtypes.finfo(dtype).max)
    thrown = select(few, n, full_like(n, 0.0))
    guessed = select(few, full_like(n, 1e4), n), select(few, full_like(q, 0.5), q)
    count = select(few, _thrown(key, thrown, q, shape, dtype, most),
                   _guessed(key, *guessed, shape, dtype, most))
    invalid = q_is_negative | q_is_nan | no_number
    count = select(invalid, full_like(count, np.nan, dtype), count)
    count = select(endless & ~invalid, full_like(count, np.inf, dtype), count)
    return select(is_rare | no_number | q_is_nan | endless, count, convert(n, dtype) - count)


@functools.partial(jit, static_argnums=(3, 4, 5), inline=True)
def _thrown(key, n, q, shape, dtype, most):
    """The waiting times from one success to the next are geometric: how many fit into `n`?"""
    log_of_failure = lax.log1p(-q)

    def step(state):
        i, count, time, key = state
        subkey, key = split_key(key)
        count = select(time <= n, count + 1, count)
        waiting_time = rounding.ceil(lax.log(uniform(subkey, shape, q.dtype)) / log_of_failure)
        return i + 1, count, time + waiting_time, key

    def waiting(state):
        return (state[2] <= n).any() & (state[0] < most)

    zeros = full_like(q, 0, q.dtype, shape)
    return convert(while_loop(waiting, step, (0, zeros, zeros, key))[1] - 1, dtype)


@functools.partial(jit, static_argnums=(3, 4, 5), inline=True)
def _guessed(key, n, q, shape, dtype, most):
    """Hörmann's transformed rejection: "The generation of binomial random variates", 1993."""
    deviation = lax.sqrt(n * q * (1 - q))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * q
    c = n * q + 0.5
    v_r = 0.92 - 4.2 / b
    odds = q / (1 - q)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = rounding.floor((n + 1) * q)

    def step(state):
        i, count, done, key = state
        key, u_key, v_key = split_key(key, 3)
        u = uniform(u_key, shape, q.dtype)
        v = uniform(v_key, shape, q.dtype)
        u = u - 0.5
        distance = 0.5 - abs(u)
        at_once = (distance >= 0.07) & (v <= v_r)
        k = rounding.floor((2 * a / distance + b) * u + c)
        never = (k < 0) | (k > n)
        v = lax.log(v * alpha / (a / (distance * distance) + b))
        accept = at_once | ~never & (v <= _log_ratio(k, mode, n, odds))
        return i + 1, select(accept, k, count), done | accept, key

    return convert(_first_accepted(step, key, q, shape, most), dtype)


def _log_ratio(k, mode, n, odds):
    """log of the probability of `k` divided by that of the mode, by Stirling's formula."""
    return (
        (mode + 0.5) * lax.log((mode + 1) / (odds * (n - mode + 1)))
        + (n + 1) * lax.log((n - mode + 1) / (n - k + 1))
        + (k + 0.5) * lax.log(odds * (n - k + 1) / (k + 1))
        + _stirling_error(mode) + _stirling_error(n - mode)
        - _stirling_error(k) - _stirling_error(n - k))


# log k! - Stirling's approximation of it, for k = 0, 1 ... 9.
_STIRLING_ERRORS = [
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.010411265261972,
    0.00925546218271273, 0.00833056343336287]


def _stirling_error(k):
    """log k! - Stirling's approximation of it: from the table, or by a series."""
    small = k <= 9
    k = lax.clamp(k.dtype.type(0), k, k.dtype.type(9))
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    table = jnp.array(_STIRLING_ERRORS, dtype=k.dtype)
    return select(small, table[rounding.floor(k).astype("int32")], series)


@public
def multinomial(key, n, p, *, shape: Sequence[int] | None = None, dtype=None,
                unroll: int | bool = 1):
    """The multinomial distribution: how many of `n` things fall into each of several boxes.

    Args:
      key: one key.
      n: an array `(…)`: how many things.
      p: an array `(…, k)`: the probabilities of the boxes.
      shape: the result's shape, `k` included; by default that of `p`.
      dtype: the result's dtype.
      unroll: as for `lax.scan`, over the boxes.

    Returns:
      an array `(…, k)` of whole numbers as floats, whose sums are `n`.

    >>> jax.random.multinomial(jax.random.key(0), 10, jnp.array([0.2, 0.3, 0.5])).sum()
    Array(10., dtype=float32)
    """
    key = typed_key("multinomial", key)
    check_arraylike("multinomial", n, p)
    n, p = promote_dtypes_inexact(n, p)
    shape = typeof(p).shape if shape is None else tuple(shape)
    return _multinomial(key, n, p, shape, unroll).astype(dtype)


@functools.partial(jit, static_argnums=(3, 4), inline=True)
def _multinomial(key, n, p, shape, unroll):
    """One box after the other: how many of the things that are left fall into it?"""
    n, p = jnp.broadcast_to(n, shape[:-1]), jnp.broadcast_to(p, shape)

    def fill_box(left, ratio_and_key):
        ratio, key = ratio_and_key
        count = binomial(key, left, ratio.clip(0, 1), dtype=left.dtype)
        return left - count, count

    p = jnp.moveaxis(p, -1, 0)
    p_of_rest = cumsum(p, 0, reverse=True)
    ratios = p / jnp.where(p_of_rest == 0, 1, p_of_rest)
    keys = split(key, ratios.shape[0])
    _, counts = scan(fill_box, n, (ratios, keys), unroll=unroll)
    return jnp.moveaxis(counts, 0, -1)
