"""Activation functions, softmax, and other small parts of neural networks.

Some have derivatives of their own (`custom_jvp`): where differentiating the code would give NaN,
the wrong one of two one-sided derivatives, or needless work.
"""

import functools
import math
import warnings

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.api_util import ensure_index_tuple
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import canonical_axis, stop_gradient_p
from ..custom_rules import custom_jvp
from ..lax import elementwise as lax
from ..lax.compile_time import dimension_or_error
from ..lax.dtypes import check_and_canonicalize_user_dtype
from ..lax.selection import select
from ..lax.shaping import broadcasted_iota, expand_dims, full_like
from ..lax.sizes import size_along
from ..lax.special import erfc
from ..numpy._arguments import ensure_arraylike, optional_axes, promote_numbers_inexact
from ..numpy._softmax import logsumexp
from ..numpy._staged import staged
from ..text.locations import user_stacklevel

# ----------------------------------------------------------------------------------------------
# Activation functions


@staged
def identity(x):
    """`x`, an array, as it is.

    >>> identity(jnp.ones(2)).tolist()
    [1.0, 1.0]
    """
    return ensure_arraylike("identity", x)


@custom_jvp
@staged
def relu(x):
    """max(x, 0), elementwise; its derivative at 0 is 0.

    >>> jax.grad(relu)(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return jnp.maximum(x, 0)


relu.defjvps(lambda t, ans, x: select(x > 0, t, full_like(t, 0)))


@custom_jvp
@staged
def relu6(x):
    """`x` brought into the interval from 0 to 6; its derivative at both ends is 0.

    >>> relu6(jnp.array([-1.0, 3.0, 9.0])).tolist()
    [0.0, 3.0, 6.0]
    """
    return jnp.minimum(jnp.maximum(x, 0), 6.)


relu6.defjvps(lambda t, ans, x: select((x > 0) & (x < 6), t, full_like(t, 0)))


@staged(eager=False)
def hard_sigmoid(x):
    """relu6(x + 3) / 6.

    >>> hard_sigmoid(0.0).item()
    0.5
    """
    return relu6(ensure_arraylike("hard_sigmoid", x) + 3.) / 6.


@staged(eager=False)
def hard_silu(x):
    """x · hard_sigmoid(x); also called `hard_swish`.

    >>> hard_silu(3.0).item()
    3.0
    """
    x = ensure_arraylike("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@staged(eager=False)
def squareplus(x, b=4):
    """(x + √(x² + b)) / 2, a smooth `relu` without exponentials.

    >>> squareplus(0.0).item()
    1.0
    """
    x, b = ensure_arraylike("squareplus", x), ensure_arraylike("squareplus", b)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


@staged(eager=False)
def softplus(x):
    """log(1 + eˣ), without overflow.

    >>> softplus(1000.0).item()
    1000.0
    """
    return jnp.logaddexp(x, 0)


@staged(eager=False)
def sparse_plus(x):
    """0 below -1, `x` above 1, and between them the parabola (x + 1)² / 4.

    >>> sparse_plus(1.0).item()
    1.0
    """
    x = ensure_arraylike("sparse_plus", x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@staged
def soft_sign(x):
    """x / (|x| + 1).

    >>> soft_sign(1.0).item()
    0.5
    """
    x = ensure_arraylike("soft_sign", x)
    return x / (jnp.abs(x) + 1)


@public
def sigmoid(x):
    """1 / (1 + e⁻ˣ).

    >>> sigmoid(0.0).item()
    0.5
    """
    return lax.logistic(x)


@staged
def sparse_sigmoid(x):
    """0 below -1, 1 above 1, and a straight line between them.

    >>> sparse_sigmoid(0.0).item()
    0.5
    """
    return 0.5 * jnp.clip(ensure_arraylike("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


@staged
def silu(x):
    """x · sigmoid(x); also called `swish`.

    >>> silu(0.0).item()
    0.0
    """
    x = ensure_arraylike("silu", x)
    return x * sigmoid(x)


swish = silu


@staged(eager=False)
def mish(x):
    """x · tanh(softplus(x)).

    >>> mish(0.0).item()
    0.0
    """
    x = ensure_arraylike("mish", x)
    return x * jnp.tanh(softplus(x))


@staged(eager=False)
def log_sigmoid(x):
    """log(sigmoid(x)), without overflow.

    >>> log_sigmoid(-1000.0).item()
    -1000.0
    """
    return -softplus(-ensure_arraylike("log_sigmoid", x))


@staged(eager=False)
def elu(x, alpha=1.0):
    """`x` where it is positive, else alpha · (eˣ - 1).

    >>> elu(2.0).item()
    2.0
    """
    x = ensure_arraylike("elu", x)
    # Under the exponential, `x` is 0 where it is not needed: else its overflow would make the
    # derivative NaN there.
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0., x)))


@staged
def leaky_relu(x, negative_slope=1e-2):
    """`x` where it is positive, else negative_slope · x.

    >>> leaky_relu(-2.0, 0.5).item()
    -1.0
    """
    x = ensure_arraylike("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@staged(eager=False)
def hard_tanh(x):
    """`x` brought into the interval from -1 to 1.

    >>> hard_tanh(3.0).item()
    1.0
    """
    x = ensure_arraylike("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@staged(eager=False)
def celu(x, alpha=1.0):
    """max(x, 0) + alpha · (e^(min(x, 0) / alpha) - 1): an `elu` with a continuous derivative.

    >>> celu(2.0).item()
    2.0
    """
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@staged(eager=False)
def selu(x):
    """An `elu` scaled so that layers keep mean 0 and variance 1 (Klambauer et al., 2017).

    >>> selu(0.0).item()
    0.0
    """
    alpha = 1.6732632423543772848170429916717
    scale = 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


@public
def gelu(x, approximate: bool = True):
    """x · Φ(x), with the distribution function Φ of the normal distribution.

    Args:
      x: an array.
      approximate: compute Φ by a formula with tanh (Hendrycks and Gimpel, 2016), else by `erfc`.

    >>> gelu(0.0).item()
    0.0
    """
    (x,) = promote_numbers_inexact("gelu", x)
    dtype = typeof(x).dtype
    if not approximate:
        return jnp.array(0.5 * x * erfc(-x * np.sqrt(0.5).astype(dtype)), dtype=dtype)
    # Where x² overflows, 0 times its derivative would be NaN. Far before that, tanh is 1.
    square = jnp.minimum(x * x, 1e4)
    factor = math.sqrt(2 / math.pi)
    linear, cubic = (dtype.type(c) for c in (factor, 0.044715 * factor))  # of no weak type
    cdf = 0.5 * (1.0 + jnp.tanh(x * (linear + cubic * square)))
    return x * cdf


@functools.partial(staged, static_argnames=("axis",))
def glu(x, axis: int = -1):
    """The first half of `x` along an axis, times the sigmoid of the second.

    Raises:
      AssertionError: the axis has an odd size.

    >>> glu(jnp.array([4.0, 0.0])).tolist()
    [2.0]
    """
    x = ensure_arraylike("glu", x)
    size = size_along("glu", x.shape, axis)
    assert size % 2 == 0, f"glu: the size along axis {axis} must be divisible by 2, got {size}."
    first, second = jnp.split(x, 2, axis)
    return first * sigmoid(second)


# ----------------------------------------------------------------------------------------------
# Logarithms without cancellation


@custom_jvp
@staged
def log1mexp(x):
    """log(1 - e⁻ˣ), exact both for small and for large `x` (Mächler, 2012).

    >>> log1mexp(1e-10).item()
    -23.025850296020508
    """
    x = ensure_arraylike("log1mexp", x)
    return jnp.where(x < jnp.log(2.0), jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


log1mexp.defjvps(lambda t, ans, x: t * jnp.exp(-x) / -jnp.expm1(-x))  # eˣ may overflow

# ----------------------------------------------------------------------------------------------
# Softmax and its kin


@functools.partial(staged, static_argnames=("axis", "keepdims"))
def logmeanexp(x, axis=None, where=None, keepdims: bool = False):
    """The logarithm of the mean of exp(x) over some axes.

    Args:
      x: an array.
      axis: an int, a tuple of ints, or `None` for all axes.
      where: booleans, which elements count.
      keepdims: leave the axes in, with size 1.

    >>> logmeanexp(jnp.zeros(3)).item()
    0.0
    """
    out = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    if where is None:
        axes = range(jnp.ndim(x)) if axis is None else ensure_index_tuple(axis)
        count = np.prod([jnp.shape(x)[d] for d in axes], dtype=typeof(out).dtype)
    else:
        count = jnp.sum(jnp.broadcast_to(where, jnp.shape(x)), axis, dtype=typeof(out).dtype,
                        keepdims=keepdims)
    return out - jnp.log(count)


@functools.partial(staged, static_argnames=("axis",))
def log_softmax(x, axis=-1, where=None):
    """log(softmax(x)), without overflow.

    Args:
      x: an array.
      axis: the axis, or axes, over which exp(result) sums to 1.
      where: booleans, which elements count; the others give -inf.

    >>> log_softmax(jnp.array([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    """
    x = ensure_arraylike("log_softmax", x)
    largest = jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    safe = x if where is None else jnp.where(where, x, -np.inf)
    shifted = safe - stop_gradient_p.bind(largest)
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    out = shifted - jnp.log(total)
    return out if where is None else jnp.where(where, out, -np.inf)


@functools.partial(staged, static_argnames=("axis", "algorithm"))
def standardize(x, axis=-1, mean=None, variance=None, epsilon=1e-5, where=None, *,
                algorithm: str = "fast"):
    """`x`, shifted and scaled to mean 0 and variance 1 along an axis.

    Args:
      x: an array.
      axis: the axis or axes of which mean and variance are taken.
      mean, variance: if they are known already.
      epsilon: added to the variance.
      where: booleans, which elements count for mean and variance.
      algorithm: for the variance: "fast", by the mean of squares, or "stable".

    Raises:
      ValueError: another algorithm.

    >>> standardize(jnp.array([-1.0, 1.0]), epsilon=0.0).tolist()
    [-1.0, 1.0]
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"Unknown algorithm '{algorithm}'. Expected 'fast' or 'stable'.")
    mean = jnp.mean(x, axis, keepdims=True, where=where) if mean is None else mean
    if variance is None and algorithm == "stable":
        squares = jnp.square(jnp.subtract(x, mean))
        variance = jnp.mean(squares, axis, keepdims=True, where=where)
    elif variance is None:
        squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
        variance = jnp.clip(squares - jnp.square(mean), 0)  # rounding may make it negative
    return jnp.subtract(x, mean) * lax.rsqrt(variance + epsilon)


@public
def one_hot(x, num_classes: int, *, dtype=None, axis: int = -1):
    """For each integer in `x` a vector that is 1 at this place and 0 elsewhere.

    Args:
      x: an array of integers; those that are no class give zeros.
      num_classes: the length of the vectors.
      dtype: of the result; by default the default float type.
      axis: where the new axis stands in the result.

    >>> one_hot(jnp.array([0, 2]), 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    num_classes = dimension_or_error(
        num_classes, "The error arose in jax.nn.one_hot argument `num_classes`.")
    x = jnp.asarray(x)
    if not dtypes.issubdtype(x.dtype, np.integer):
        warnings.warn(f"jax.nn.one_hot input should be integer-typed; got dtype={x.dtype}",
                      DeprecationWarning, stacklevel=user_stacklevel())
    dtype = check_and_canonicalize_user_dtype(float if dtype is None else dtype, "one_hot")
    return _one_hot(x, num_classes, dtype=dtype, axis=axis)


@functools.partial(staged, static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x, num_classes, *, dtype, axis):
    axis = optional_axes(axis)
    place = canonical_axis(axis, x.ndim + 1)
    shape = [1] * x.ndim
    shape.insert(place, num_classes)
    x = expand_dims(x, (axis,))
    return (x == broadcasted_iota(x.dtype, shape, place)).astype(dtype)
