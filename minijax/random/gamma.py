"""Chapter 13: the gamma distribution, which has to try until it succeeds, and its relatives."""

import functools
import math
from collections.abc import Sequence

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.api import vmap
from ..core.batching import primitive_batchers
from ..core.core import Primitive, typeof
from ..core.forward import defjvp2
from ..core.lowering import register_lowering
from ..core.primitives import convert
from ..lax import bitwise, elementwise as lax
from ..lax.control_flow.map import map as loop_map
from ..lax.control_flow.while_loop import while_loop
from ..lax.families import all_at_front, lower_fun
from ..lax.incomplete_gamma import random_gamma_grad
from ..lax.out_shardings import shardable
from ..lax.selection import select
from ..lax.shaping import full_like, reshape
from ..lax.sizes import canonical_shape
from ..numpy._softmax import softmax
from ..runtime.dispatch import apply_primitive
from ..runtime.jit import jit
from .arguments import check_shape, draw, float_dtype
from .continuous import exponential, normal
from .key_functions import typed_key
from .keys import impl_of, in_mode, mode, split_keys
from .threefry_keys import THREEFRY
from .uniform import rademacher, split_key, uniform

# ----------------------------------------------------------------------------------------------
# One sample: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000


def _one_sample(key, alpha, log_space: bool):
    """A sample for one `alpha`, or its logarithm. An `alpha` below 1 is raised by 1, and the
    sample multiplied by u^(1 / alpha)."""
    dtype = alpha.dtype.type
    one = dtype(1)
    is_large = lax.ge(alpha, one)
    raised = select(is_large, alpha, lax.add(alpha, one))
    d = lax.sub(raised, dtype(1 / 3))
    c = lax.div(dtype(1 / 3), lax.sqrt(d))
    key, boost_key = split_key(key)
    v = _accepted(key, c, d)
    if log_space:
        log_u = lax.neg(exponential(boost_key, (), alpha.dtype))
        no_boost = bitwise.bitwise_or(is_large, lax.eq(log_u, dtype(0)))
        boost = select(no_boost, full_like(alpha, 0), lax.mul(log_u, lax.div(one, alpha)))
        return lax.add(lax.add(lax.log(d), lax.log(v)), boost)
    u = lax.sub(one, uniform(boost_key, (), alpha.dtype))
    boost = select(is_large, full_like(alpha, 1), lax.pow(u, lax.div(one, alpha)))
    return lax.mul(lax.mul(d, v), boost)


def _accepted(key, c, d):
    """The cube of the first 1 + c · (normal sample) that is accepted; d times it is the sample."""
    dtype = c.dtype.type

    def rejected(state):
        _, x_squared, v, u = state
        quick = lax.ge(u, lax.sub(dtype(1), lax.mul(dtype(0.0331), lax.mul(x_squared, x_squared))))
        bound = lax.add(lax.mul(x_squared, dtype(0.5)),
                        lax.mul(d, lax.add(lax.sub(dtype(1), v), lax.log(v))))
        return bitwise.bitwise_and(quick, lax.ge(lax.log(u), bound))

    def propose(state):
        key, x_key, u_key = split_key(state[0], 3)
        x, v = _positive(x_key, c)
        return key, lax.mul(x, x), lax.mul(lax.mul(v, v), v), uniform(u_key, (), c.dtype)

    return while_loop(rejected, propose, (key, dtype(0), dtype(1), dtype(2)))[2]


def _positive(key, c):
    """A normal sample x for which v = 1 + c · x is positive; and v."""
    dtype = c.dtype.type

    def propose(state):
        key, subkey = split_key(state[0])
        x = normal(subkey, (), c.dtype)
        return key, x, lax.add(dtype(1), lax.mul(x, c))

    start = key, dtype(0), dtype(-1)
    return while_loop(lambda state: lax.le(state[2], dtype(0)), propose, start)[1:]


# ----------------------------------------------------------------------------------------------
# The primitive: all samples of an array, each with a key of its own


def _samples(key, alpha, *, log_space):
    keys_ndim, shape = typeof(key).ndim, typeof(alpha).shape
    keys = split_keys(key, (math.prod(shape[keys_ndim:]),)).flatten()
    one_sample = functools.partial(_one_sample, log_space=log_space)
    if impl_of(keys) is not THREEFRY:  # `vmap` may draw the bits of all samples from one key
        return reshape(loop_map(lambda args: one_sample(*args), (keys, alpha.flatten())), shape)
    return reshape(vmap(one_sample)(keys, alpha.flatten()), shape)


def _tangent(t, sample, key, alpha, *, log_space, **mode):
    """Samples move with `alpha`, at the probability that they have."""
    if not log_space:
        return lax.mul(t, random_gamma_grad(alpha, sample))
    tiny = dtypes.finfo(alpha.dtype).tiny
    sample = lax.exp(sample)
    sample = select(lax.eq(sample, full_like(sample, 0)), full_like(sample, tiny), sample)
    return lax.mul(t, lax.div(random_gamma_grad(alpha, sample), sample))


def _batch(args, dims, **params):
    """Each example has a key, or the key of all is repeated."""
    return random_gamma_p.bind(*all_at_front(args, dims), **params), 0


random_gamma_p = Primitive("random_gamma")
random_gamma_p.def_impl(functools.partial(apply_primitive, random_gamma_p))
random_gamma_p.def_abstract_eval(lambda key, alpha, **params: alpha)
primitive_batchers[random_gamma_p] = _batch
defjvp2(random_gamma_p, None, _tangent)
register_lowering(random_gamma_p, lower_fun(in_mode(_samples)))


@functools.partial(jit, static_argnames=("shape", "dtype", "log_space"))
def _gamma(key, a, shape, dtype, log_space=False):
    if shape is None:
        shape = np.shape(a)
    check_shape("gamma", shape, np.shape(a))
    alpha = jnp.broadcast_to(convert(a, dtype), shape)
    return random_gamma_p.bind(key, alpha, log_space=log_space, **mode())


@shardable
def gamma(key, a, shape: Sequence[int] | None = None, dtype=None):
    """The gamma distribution: the density is proportional to x^(`a` - 1) exp(-x).

    Args:
      key: one key.
      a: a float array.
      shape: the result's shape; by default that of `a`.
      dtype: a float dtype.

    Raises:
      ValueError: another dtype, or a shape that does not fit.
    """
    key, dtype = typed_key("gamma", key), float_dtype("gamma", dtype)
    return _gamma(key, a, shape=_optional(shape), dtype=dtype)


@shardable
def loggamma(key, a, shape: Sequence[int] | None = None, dtype=None):
    """The logarithm of a `gamma` sample, exact also where that would be too small.

    Args:
      key, a, shape, dtype: as for `gamma`.
    """
    key, dtype = typed_key("loggamma", key), float_dtype("gamma", dtype)
    return _gamma(key, a, shape=_optional(shape), dtype=dtype, log_space=True)


def _optional(shape):
    return None if shape is None else canonical_shape(shape)


# ----------------------------------------------------------------------------------------------
# Distributions made of it


@shardable
def beta(key, a, b, shape: Sequence[int] | None = None, dtype=None):
    """The beta distribution: the density is proportional to x^(`a` - 1) (1 - x)^(`b` - 1).

    Args:
      key: one key.
      a, b: float arrays.
      shape: the result's shape; by default the common one of the parameters.
      dtype: a float dtype.
    """
    return draw(_beta, "beta", key, (a, b), shape, dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _beta(key, a, b, shape, dtype):
    logs = [loggamma(k, jnp.broadcast_to(convert(x, dtype), shape), shape, dtype)
            for k, x in zip(split_key(key), (a, b))]
    largest = lax.max(*logs)
    x, y = (lax.exp(log - largest) for log in logs)
    return x / (x + y)


@shardable
def dirichlet(key, alpha, shape: Sequence[int] | None = None, dtype=None):
    """The Dirichlet distribution: vectors of positive numbers that add up to 1.

    Args:
      key: one key.
      alpha: a float array; the vectors are along its last dimension.
      shape: the result's shape without the last dimension; by default that of `alpha`.
      dtype: a float dtype.

    Raises:
      ValueError: `alpha` is a scalar, or a shape that does not fit.
    """
    key, dtype = typed_key("dirichlet", key), float_dtype("dirichlet", dtype)
    return _dirichlet(key, alpha, _optional(shape), dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _dirichlet(key, alpha, shape, dtype):
    if not np.ndim(alpha):
        raise ValueError("dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0")
    *batch_shape, n = np.shape(alpha)
    if shape is None:
        shape = tuple(batch_shape)
    check_shape("dirichlet", shape, tuple(batch_shape))
    return softmax(loggamma(key, convert(alpha, dtype), (*shape, n), dtype), -1)


@shardable
def chisquare(key, df, shape: Sequence[int] | None = None, dtype=None):
    """The χ² distribution: the sum of the squares of `df` normal samples.

    Args:
      key: one key.
      df: a float array, the degrees of freedom.
      shape: the result's shape; by default that of `df`.
      dtype: a float dtype.
    """
    return draw(_chisquare, "chisquare", key, (df,), shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _chisquare(key, df, shape, dtype):
    two = dtype.type(2)
    return lax.mul(lax.exp(loggamma(key, lax.div(convert(df, dtype), two), shape, dtype)), two)


@shardable
def f(key, dfnum, dfden, shape: Sequence[int] | None = None, dtype=None):
    """The F distribution: the ratio of two χ² samples, each divided by its degrees of freedom.

    Args:
      key: one key.
      dfnum, dfden: float arrays, the degrees of freedom.
      shape: the result's shape; by default their common one.
      dtype: a float dtype.
    """
    return draw(_f, "f", key, (dfnum, dfden), shape, dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _f(key, dfnum, dfden, shape, dtype):
    denominator_key, numerator_key = split_key(key)
    ratios = [chisquare(k, convert(df, dtype), shape, dtype) / convert(df, dtype)
              for k, df in ((numerator_key, dfnum), (denominator_key, dfden))]
    return ratios[0] / ratios[1]


@shardable
def t(key, df, shape: Sequence[int] | None = None, dtype=None):
    """Student's t distribution: a normal sample over the root of a χ² one divided by `df`.

    Args:
      key: one key.
      df: a float array, the degrees of freedom.
      shape: the result's shape; by default that of `df`.
      dtype: a float dtype.
    """
    return draw(_t, "t", key, (df,), shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _t(key, df, shape, dtype):
    normal_key, gamma_key = split_key(key)
    half = lax.div(convert(df, dtype), dtype.type(2))
    x = normal(normal_key, shape, dtype)
    return x * lax.sqrt(half / gamma(gamma_key, half, shape, dtype))


@shardable
def generalized_normal(key, p, shape: Sequence[int] = (), dtype=None):
    """The generalized normal distribution: the density is proportional to exp(-|x|^`p`).

    Args:
      key: one key.
      p: a float.
      shape: the result's shape.
      dtype: a float dtype.
    """
    key, dtype = typed_key("generalized_normal", key), float_dtype("generalized_normal", dtype)
    return _generalized_normal(key, p, canonical_shape(shape), dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _generalized_normal(key, p, shape, dtype):
    gamma_key, sign_key = split_key(key)
    sizes = gamma(gamma_key, 1 / p, shape, dtype)
    return rademacher(sign_key, shape, dtype) * sizes ** (1 / p)


@shardable
def ball(key, d: int, p: float = 2, shape: Sequence[int] = (), dtype=None):
    """Points that are equally likely everywhere in the unit ball of `d` dimensions.

    Args:
      key: one key.
      d: how many dimensions: the last dimension of the result.
      p: which norm's ball.
      shape: the result's shape without the last dimension.
      dtype: a float dtype.
    """
    key, dtype = typed_key("ball", key), float_dtype("ball", dtype)
    return _ball(key, p, *canonical_shape((d,)), canonical_shape(shape), dtype)


@functools.partial(jit, static_argnums=(2, 3, 4))
def _ball(key, p, d, shape, dtype):
    direction_key, radius_key = split_key(key)
    x = generalized_normal(direction_key, p, (*shape, d), dtype)
    e = exponential(radius_key, shape, dtype)
    return x / (((abs(x) ** p).sum(-1) + e) ** (1 / p))[..., None]
