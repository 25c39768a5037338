"""Chapter 13: continuous distributions, each a function of uniform numbers or of normal ones.

They can be differentiated with respect to their parameters: the uniform numbers stay as they are.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.boundary import public
from ..core.primitives import convert, stop_gradient_p
from ..lax import elementwise as lax, rounding
from ..lax.bits import nextafter
from ..lax.out_shardings import shardable
from ..lax.selection import select
from ..lax.shaping import broadcast_shapes
from ..lax.sizes import canonical_shape
from ..lax.special import erf, erf_inv
from ..runtime.jit import jit
from .arguments import check_shape, draw, float_dtype, shape_with, without_parameters
from .key_functions import typed_key
from .uniform import rademacher, split_key, uniform

# ----------------------------------------------------------------------------------------------
# The normal distribution, and those made of it


@shardable
def normal(key, shape: Sequence[int] = (), dtype=None):
    """Floats of the normal distribution, with mean 0 and variance 1.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype; or a complex one, for independent real and imaginary parts.

    Raises:
      ValueError: another dtype.

    >>> jax.random.normal(jax.random.key(0), (2,)).round(3)
    Array([1.623, 2.025], dtype=float32)
    """
    key, dtype = typed_key("normal", key), float_dtype("normal", dtype, np.inexact)
    return _normal(key, canonical_shape(shape), dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _normal(key, shape, dtype):
    if dtype.kind != "c":
        return _normal_real(key, shape, dtype)
    part = np.zeros((), dtype).real.dtype
    real, imag = (convert(_normal_real(k, shape, part), dtype) for k in split_key(key))
    return (real + 1j * imag) / dtype.type(math.sqrt(2))


@functools.partial(jit, static_argnums=(1, 2))
def _normal_real(key, shape, dtype):
    """The inverse of the cumulative distribution, at uniform numbers."""
    one = np.ones((), dtype)
    above_minus_one = np.nextafter(-one, np.zeros((), dtype), dtype=dtype)
    u = uniform(key, shape, dtype, above_minus_one, one[()])
    return lax.mul(np.array(math.sqrt(2), dtype)[()], erf_inv(u))


_ONE = np.float32(1)


@shardable
def lognormal(key, sigma=_ONE, shape: Sequence[int] | None = None, dtype=None):
    """exp(`sigma` · a normal sample).

    Args:
      key: one key.
      sigma: a float array.
      shape: the result's shape; by default that of `sigma`.
      dtype: a float or complex dtype.
    """
    key, dtype = typed_key("lognormal", key), float_dtype("lognormal", dtype, np.inexact)
    return _lognormal(key, sigma, shape_with("lognormal", shape, sigma), dtype)


@functools.partial(jit, static_argnums=(2, 3), inline=True)
def _lognormal(key, sigma, shape, dtype):
    return lax.exp(normal(key, shape, dtype) * convert(sigma, dtype))


@shardable
def truncated_normal(key, lower, upper, shape: Sequence[int] | None = None, dtype=None):
    """Normal samples that lie between two bounds.

    Args:
      key: one key.
      lower, upper: the bounds.
      shape: the result's shape; by default the common one of the bounds.
      dtype: a float dtype.

    Raises:
      ValueError: another dtype, or a shape that does not fit.
    """
    shape = None if shape is None else canonical_shape(shape)
    key, dtype = typed_key("truncated_normal", key), float_dtype("truncated_normal", dtype)
    return _truncated_normal(key, lower, upper, shape, dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _truncated_normal(key, lower, upper, shape, dtype):
    if shape is None:
        shape = broadcast_shapes(np.shape(lower), np.shape(upper))
    check_shape("truncated_normal", shape, np.shape(lower), np.shape(upper))
    sqrt2 = np.array(math.sqrt(2), dtype)[()]
    lower, upper = convert(lower, dtype), convert(upper, dtype)
    u = uniform(key, shape, dtype, erf(lower / sqrt2), erf(upper / sqrt2))
    x = sqrt2 * erf_inv(u)
    inf = np.array(np.inf, dtype)[()]
    least = nextafter(stop_gradient_p.bind(lower), inf)
    return jnp.clip(x, least, nextafter(stop_gradient_p.bind(upper), -inf))


@without_parameters
def _maxwell(key, shape, dtype):
    """The length of a vector of three normal samples: the speed of a molecule."""
    return jnp.linalg.norm(normal(key, (*shape, 3), dtype), axis=-1)


maxwell = _maxwell


@public
def double_sided_maxwell(key, loc, scale, shape: Sequence[int] = (), dtype=None):
    """`loc` + `scale` · a Maxwell sample of either sign.

    Args:
      key: one key.
      loc, scale: float arrays.
      shape: what comes before their common shape in the result's; if empty, that shape again.
      dtype: a float dtype.
    """
    name = "double_sided_maxwell"
    key, dtype = typed_key(name, key), float_dtype(name, dtype)
    return _double_sided_maxwell(key, loc, scale, canonical_shape(shape), dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _double_sided_maxwell(key, loc, scale, shape, dtype):
    of_parameters = broadcast_shapes(np.shape(loc), np.shape(scale))
    shape = (shape or of_parameters) + of_parameters
    speed_key, sign_key = split_key(key)
    return rademacher(sign_key, shape, dtype) * maxwell(speed_key, shape, dtype) * scale + loc


@shardable
def wald(key, mean, shape: Sequence[int] | None = None, dtype=None):
    """The Wald (inverse Gaussian) distribution with this `mean` and scale 1.

    Args:
      key: one key.
      mean: a float array.
      shape: the result's shape; by default that of `mean`.
      dtype: a float dtype.
    """
    return draw(_wald, "wald", key, (mean,), shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _wald(key, mean, shape, dtype):
    normal_key, uniform_key = split_key(key)
    mean = jnp.broadcast_to(mean.astype(dtype), shape)
    x = normal(normal_key, shape, dtype)
    u = uniform(uniform_key, shape, dtype)
    y = lax.integer_pow(x, 2)
    y_sq, mean_sq = lax.integer_pow(y, 2), lax.integer_pow(mean, 2)
    root = lax.sqrt(4 * mean * y + mean_sq * y_sq)
    x = mean + mean_sq * y / 2 - mean / 2 * root
    return select(lax.le(u, mean / (mean + x)), x, mean_sq / x)


# ----------------------------------------------------------------------------------------------
# Those made of uniform numbers, without parameters


@without_parameters
def _exponential(key, shape, dtype):
    """The exponential distribution with mean 1: the density falls as exp(-x)."""
    return lax.neg(lax.log1p(lax.neg(uniform(key, shape, dtype))))


@without_parameters
def _laplace(key, shape, dtype):
    """The Laplace distribution: an exponential sample of either sign."""
    u = uniform(key, shape, dtype, minval=-1.0 + dtypes.finfo(dtype).epsneg, maxval=1.0)
    return lax.mul(rounding.sign(u), lax.log1p(lax.neg(lax.abs_(u))))


@without_parameters
def _logistic(key, shape, dtype):
    """The logistic distribution: the logarithm of the odds of a uniform probability."""
    u = uniform(key, shape, dtype, minval=dtypes.finfo(dtype).tiny, maxval=1.0)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


@without_parameters
def _cauchy(key, shape, dtype):
    """The Cauchy distribution: where a ray in a random direction hits a wall."""
    u = uniform(key, shape, dtype, minval=dtypes.finfo(dtype).eps, maxval=1.0)
    pi, half = np.array([math.pi, 0.5], dtype)
    return lax.tan(lax.mul(pi, lax.sub(u, half)))


exponential, laplace, logistic, cauchy = _exponential, _laplace, _logistic, _cauchy

# ----------------------------------------------------------------------------------------------
# Those made of uniform numbers, with parameters


@shardable
def pareto(key, b, shape: Sequence[int] | None = None, dtype=None):
    """The Pareto distribution with exponent `b`: the density falls as x^-(b + 1), from 1 on.

    Args:
      key: one key.
      b: a float array.
      shape: the result's shape; by default that of `b`.
      dtype: a float dtype.
    """
    return draw(_pareto, "pareto", key, (b,), shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _pareto(key, b, shape, dtype):
    return lax.exp(exponential(key, shape, dtype) / convert(b, dtype))


@shardable
def rayleigh(key, scale, shape: Sequence[int] | None = None, dtype=None):
    """The Rayleigh distribution: the length of a vector of two normal samples times `scale`.

    Args:
      key: one key.
      scale: a float array.
      shape: the result's shape; by default that of `scale`.
      dtype: a float dtype.
    """
    return draw(_rayleigh, "rayleigh", key, (scale,), shape, dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _rayleigh(key, scale, shape, dtype):
    scale = jnp.broadcast_to(scale.astype(dtype), shape)
    minus_two = np.array(-2, dtype)[()]
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(uniform(key, shape, dtype)), minus_two)))


@public
def weibull_min(key, scale, concentration, shape: Sequence[int] = (), dtype=None):
    """The Weibull distribution: `scale` · an exponential sample^(1 / `concentration`).

    Args:
      key: one key.
      scale, concentration: float arrays.
      shape: the shape of what is drawn; the parameters are broadcast against it.
      dtype: a float dtype.
    """
    key, dtype = typed_key("weibull_min", key), float_dtype("weibull_min", dtype)
    return _weibull_min(key, scale, concentration, canonical_shape(shape), dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _weibull_min(key, scale, concentration, shape, dtype):
    u = uniform(key, shape, dtype, minval=0, maxval=1)
    return jnp.power(-jnp.log1p(-u), 1.0 / concentration) * scale


@shardable
def triangular(key, left, mode, right, shape: Sequence[int] | None = None, dtype=None):
    """The triangular distribution: the density rises from `left` to `mode`, and falls to `right`.

    Args:
      key: one key.
      left, mode, right: float arrays.
      shape: the result's shape; by default the common one of the parameters.
      dtype: a float dtype.
    """
    return draw(_triangular, "triangular", key, (left, mode, right), shape, dtype)


@functools.partial(jit, static_argnums=(4, 5), inline=True)
def _triangular(key, left, mode, right, shape, dtype):
    left, mode, right = (jnp.broadcast_to(convert(x, dtype), shape) for x in (left, mode, right))
    u = uniform(key, shape, dtype)
    rising = left + lax.sqrt(u * (right - left) * (mode - left))
    falling = right - lax.sqrt((1 - u) * (right - left) * (right - mode))
    return select(u < (mode - left) / (right - left), rising, falling)
