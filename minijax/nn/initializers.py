"""How the weights of a network begin: functions of a key, a shape and a dtype.

A layer keeps a signal's size if its weights have variance 1 / n, with the number n of inputs to
each output: Glorot (2010), He (2015) and LeCun (1998) differ in what they take for n, and in a
factor. All of them are `variance_scaling`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from .. import numpy as jnp, random
from ..core import dtypes
from ..core.boundary import public
from ..lax.out_shardings import call_sharded
from ..lax.sizes import canonical_shape, size_along
from ..text.naming import named

Axes = int | Sequence[int]
Mode = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]
Distribution = Literal["truncated_normal", "normal", "uniform"]


@runtime_checkable
class Initializer(Protocol):
    """What the functions of this module build: `init(key, shape, dtype=None)`, an array."""

    def __call__(self, key, shape, dtype=None, out_sharding=None) -> Any:
        """An array of this shape; by default of the dtype that the initializer was built with."""
        raise NotImplementedError


def _initializer(fill: Callable, dtype=None) -> Initializer:
    """`fill(key, shape, dtype)` as an initializer, with `dtype` (or the usual float) as default."""

    @public
    def init(key, shape, dtype=dtype, out_sharding=None):
        if out_sharding is not None:
            return call_sharded(init, key, shape, dtype, out_sharding=out_sharding)
        return fill(key, shape, dtypes.canonicalize_dtype(float) if dtype is None else dtype)

    return init


# ----------------------------------------------------------------------------------------------
# One number everywhere


@public
def zeros(key, shape, dtype=None, out_sharding=None):
    """The initializer that gives zeros; it needs no key.

    >>> zeros(None, (2,)).tolist()
    [0.0, 0.0]
    """
    return _zeros(key, shape, dtype, out_sharding)


@public
def ones(key, shape, dtype=None, out_sharding=None):
    """The initializer that gives ones; it needs no key.

    >>> ones(None, (2,)).tolist()
    [1.0, 1.0]
    """
    return _ones(key, shape, dtype, out_sharding)


_zeros = _initializer(lambda key, shape, dtype: jnp.zeros(shape, dtype))
_ones = _initializer(lambda key, shape, dtype: jnp.ones(shape, dtype))


@public
def constant(value, dtype=None) -> Initializer:
    """Builds an initializer that gives `value`, everywhere.

    >>> constant(7)(None, (2,)).tolist()
    [7.0, 7.0]
    """
    return _initializer(lambda key, shape, dtype: jnp.full(shape, value, dtype=dtype), dtype)


# ----------------------------------------------------------------------------------------------
# Random numbers of a given size


@public
def uniform(scale=1e-2, dtype=None) -> Initializer:
    """Builds an initializer that draws evenly from 0 up to `scale`.

    >>> bool((uniform(0.5)(jax.random.key(0), (9,)) < 0.5).all())
    True
    """
    return _initializer(lambda key, shape, dtype:
                        random.uniform(key, shape, dtype) * jnp.array(scale, dtype), dtype)


@public
def normal(stddev=1e-2, dtype=None) -> Initializer:
    """Builds an initializer that draws from the normal distribution with this deviation.

    >>> normal(0.1)(jax.random.key(0), (3, 4)).shape
    (3, 4)
    """
    return _initializer(lambda key, shape, dtype:
                        random.normal(key, shape, dtype) * jnp.array(stddev, dtype), dtype)


@public
def truncated_normal(stddev=1e-2, dtype=None, lower=-2.0, upper=2.0) -> Initializer:
    """Builds an initializer that draws from the normal distribution, cut off at two bounds.

    Args:
      stddev: the deviation, before anything is cut off.
      dtype: the default dtype of what is drawn.
      lower, upper: the bounds, as multiples of `stddev`.

    >>> bool((abs(truncated_normal(0.1)(jax.random.key(0), (9,))) < 0.2).all())
    True
    """
    return _initializer(lambda key, shape, dtype:
                        random.truncated_normal(key, lower, upper, shape, dtype)
                        * jnp.array(stddev, dtype), dtype)


# ----------------------------------------------------------------------------------------------
# Random numbers of a size that suits the shape


@public
def variance_scaling(scale, mode: Mode, distribution: Distribution, in_axis: Axes = -2,
                     out_axis: Axes = -1, batch_axis: Axes = (), dtype=None) -> Initializer:
    """Builds an initializer that draws numbers of mean 0 and variance `scale` / n.

    Args:
      scale: a positive number.
      mode: n is the number of inputs to each output ("fan_in"), of outputs of each input
        ("fan_out"), or their arithmetic ("fan_avg") or geometric mean ("fan_geo_avg").
      distribution: "normal"; "truncated_normal", cut off at two deviations; or "uniform" (for
        complex dtypes, in a disk).
      in_axis, out_axis: the axes of the inputs, and of the outputs, in the weights.
      batch_axis: axes of independent layers. (All others are the window of a convolution.)
      dtype: the default dtype of what is drawn.

    Raises:
      ValueError: another mode or distribution, or a shape without inputs and outputs.

    >>> init = variance_scaling(1.0, "fan_in", "normal")
    >>> round(float(init(jax.random.key(0), (400, 50)).std()), 2)
    0.05
    """
    def fill(key, shape, dtype):
        shape = canonical_shape(shape)
        n = _units(mode, *_fans(shape, in_axis, out_axis, batch_axis))
        return _draw(distribution, key, shape, dtype, jnp.array(scale / n, dtype=dtype))

    return _initializer(fill, dtype)


def _units(mode: str, fan_in: float, fan_out: float) -> float:
    """The number by which `variance_scaling` divides."""
    if mode == "fan_in":
        return fan_in
    if mode == "fan_out":
        return fan_out
    if mode == "fan_avg":
        return (fan_in + fan_out) / 2
    if mode == "fan_geo_avg":
        return (fan_in * fan_out) ** 0.5
    raise ValueError(f"invalid mode for variance scaling initializer: {mode!r}. Use 'fan_in', "
                     "'fan_out', 'fan_avg' or 'fan_geo_avg'.")


def _fans(shape, in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """How many inputs an output has, and how many outputs an input has."""
    if in_axis == -2 and len(shape) <= 1:
        raise ValueError(f"Weights of {len(shape)} dimensions have no inputs and outputs: they need"
                         " 2 dimensions at least, or the argument in_axis.")
    inputs, outputs, batch = (_size(shape, axes) for axes in (in_axis, out_axis, batch_axis))
    window = math.prod(shape) / inputs / outputs / batch
    return inputs * window, outputs * window


def _size(shape, axes: Axes) -> int:
    axes = (axes,) if isinstance(axes, int) else axes
    return math.prod(size_along("initializer", shape, axis) for axis in axes)


def _draw(distribution: str, key, shape, dtype, variance):
    """Random numbers with mean 0 and this variance."""
    is_real = dtypes.issubdtype(dtype, np.floating)
    if distribution == "normal":
        return random.normal(key, shape, dtype) * jnp.sqrt(variance)
    if distribution == "uniform" and is_real:
        return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
    if distribution == "uniform":
        return _complex_uniform(key, shape, dtype) * jnp.sqrt(variance)
    if distribution == "truncated_normal":
        # The constant is the deviation that is left when all beyond two deviations is cut off.
        left = 0.87962566103423978 if is_real else 0.95311164380491208
        stddev = jnp.sqrt(variance) / jnp.array(left, dtype)
        if is_real:
            return random.truncated_normal(key, -2, 2, shape, dtype) * stddev
        return _complex_truncated_normal(key, shape, dtype) * stddev
    raise ValueError("invalid distribution for variance scaling initializer: "
                     f"{distribution!r}. Use 'normal', 'truncated_normal' or 'uniform'.")


def _complex_uniform(key, shape, dtype):
    """Evenly from the disk around 0 in which numbers have variance 1."""
    def radius(u):
        return jnp.sqrt(2 * u).astype(dtype)

    return _complex_draw(key, shape, dtype, radius)


def _complex_truncated_normal(key, shape, dtype):
    """Normal, with variance 1 before all beyond the absolute value 2 is cut off."""
    def radius(u):  # the inverse of its distribution function
        return jnp.sqrt(-jnp.log(1 - (1 - jnp.exp(jnp.array(-4, dtype))) * u.astype(dtype)))

    return _complex_draw(key, shape, dtype, radius)


def _complex_draw(key, shape, dtype, radius: Callable):
    """Complex numbers of evenly spread angle, with `radius` of an even number between 0 and 1."""
    key_radius, key_angle = random.split(key)
    real = dtypes.finfo(dtype).dtype
    r = radius(random.uniform(key_radius, shape, real))
    angle = 2 * np.pi * random.uniform(key_angle, shape, real).astype(dtype)
    return r * jnp.exp(1j * angle)


def _family(name: str, who: str, scale: float, mode: Mode, distribution: Distribution) -> Callable:
    """The function `name`: `variance_scaling` with a scale, a mode and a distribution."""
    @named(name, who=who, row=f"{scale}, {mode!r}, {distribution!r}")
    @public
    def build(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype=None):
        """Builds {who}'s initializer: `variance_scaling({row}, …)`.

        Args:
          in_axis, out_axis, batch_axis, dtype: see `variance_scaling`.

        >>> {name}()(jax.random.key(0), (2, 3)).shape
        (2, 3)
        """
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    return build


glorot_uniform = _family("glorot_uniform", "Glorot", 1.0, "fan_avg", "uniform")
glorot_normal = _family("glorot_normal", "Glorot", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _family("lecun_uniform", "LeCun", 1.0, "fan_in", "uniform")
lecun_normal = _family("lecun_normal", "LeCun", 1.0, "fan_in", "truncated_normal")
he_uniform = _family("he_uniform", "He", 2.0, "fan_in", "uniform")
he_normal = _family("he_normal", "He", 2.0, "fan_in", "truncated_normal")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal  # Glorot's first name
kaiming_uniform, kaiming_normal = he_uniform, he_normal  # He's first name

# ----------------------------------------------------------------------------------------------
# Orthogonal matrices, which keep the length of every vector


@public
def orthogonal(scale=1.0, column_axis: int = -1, dtype=None) -> Initializer:
    """Builds an initializer that gives matrices with orthonormal columns (or rows, if these are
    fewer), each as likely as any other.

    Args:
      scale: a factor.
      column_axis: the axis of the columns; all others together are the rows.
      dtype: the default dtype.

    Raises (when called):
      ValueError: fewer than two dimensions.

    >>> q = orthogonal()(jax.random.key(0), (4, 2))
    >>> bool(jnp.allclose(q.T @ q, jnp.eye(2), atol=1e-6))
    True
    """
    def fill(key, shape, dtype):
        if len(shape) < 2:
            raise ValueError(f"orthogonal initializer: a shape of 2 dimensions at least is needed, "
                             f"got {tuple(shape)}")
        if 0 in shape:
            return jnp.zeros(shape, dtype)
        columns, others = shape[column_axis], np.delete(shape, column_axis)
        q = random.orthogonal(key, math.prod(shape) // columns, (), dtype, columns)
        q = jnp.moveaxis(q.reshape(*others.tolist(), columns), -1, column_axis)
        return jnp.array(scale, dtype) * q

    return _initializer(fill, dtype)


@public
def delta_orthogonal(scale=1.0, column_axis: int = -1, dtype=None) -> Initializer:
    """Builds an initializer for convolutions in 1 to 3 dimensions: an orthogonal matrix in the
    window's middle, and zeros around it (Xiao et al., 2018).

    Args: see `orthogonal`.

    Raises (when called):
      ValueError: a shape of less than 3 or more than 5 dimensions, or with fewer outputs (its last)
        than inputs.

    >>> delta_orthogonal()(jax.random.key(0), (3, 2, 2))[0].tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    def fill(key, shape, dtype):
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"delta orthogonal initializer: a shape of 3, 4 or 5 dimensions is "
                             f"needed, got {tuple(shape)}")
        *window, inputs, outputs = shape
        if outputs < inputs:
            raise ValueError(f"delta orthogonal initializer: {inputs} inputs do not fit into "
                             f"{outputs} outputs")
        matrix = orthogonal(scale, column_axis, dtype)(key, (inputs, outputs))
        middle = tuple((n - 1) // 2 for n in window)
        return jnp.zeros(shape, dtype).at[middle].set(matrix)

    return _initializer(fill, dtype)
