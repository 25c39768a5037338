"""`logsumexp` and `softmax`: the two functions that `random`, `scipy` and `nn` share."""

from functools import partial

import numpy as np

from ..core.api_util import ensure_index_tuple
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import canonical_axis, stop_gradient_p
from ..custom_rules import custom_jvp
from ..lax import elementwise as lax, rounding
from ..lax.selection import select
from ..lax.shaping import expand_dims, full_like
from ..settings import add_traced, bool_state
from . import _reductions
from ._arguments import optional_axes, promote_args_inexact
from ._constructors import array
from ._special import where as choose
from ._ufuncs import exp, isfinite

softmax_custom_jvp = bool_state(
    "jax_softmax_custom_jvp",
    "Whether jax.nn.softmax has a derivative of its own, which keeps the result only.")
add_traced(softmax_custom_jvp)


@public
def logsumexp(a, axis=None, b=None, keepdims: bool = False, return_sign: bool = False, where=None):
    """The logarithm of the sum of exp(a) over some axes, without overflow.

    Args:
      a: an array.
      axis: an int, a tuple of ints, or `None` for all axes.
      b: factors of the exponentials.
      keepdims: leave the axes in, with size 1.
      return_sign: return also the sign of the sum (and of the sum its absolute value's logarithm).
      where: booleans, which elements count.

    >>> logsumexp(jnp.array([1000.0, 1000.0])).item()
    1000.6931762695312
    """
    if where is not None:
        a = choose(where, a, 0)
    if b is None:
        (a,) = promote_args_inexact("logsumexp", a)
    else:
        a, b = promote_args_inexact("logsumexp", a, b)
        a = choose(b != 0, a, -np.inf)
    ndim, axis = typeof(a).ndim, optional_axes(axis)
    axes = tuple(range(ndim)) if axis is None else tuple(
        canonical_axis(d, ndim) for d in ensure_index_tuple(axis))
    largest = _reductions.max(a.real, axis=axes, keepdims=keepdims, where=where, initial=-np.inf)
    largest = stop_gradient_p.bind(select(isfinite(largest), largest, full_like(largest, 0)))
    shift = largest if keepdims else expand_dims(largest, axes)
    exps = lax.exp(lax.sub(a, shift.astype(a.dtype)))
    total = (exps if b is None else lax.mul(exps, b)).sum(axis=axes, keepdims=keepdims, where=where)
    sign = rounding.sign(total)
    if return_sign or total.dtype.kind != "c":
        total = abs(total)
    out = lax.add(lax.log(total), largest.astype(total.dtype))
    if return_sign:
        return out, sign
    if b is not None and out.dtype.kind != "c":
        out = choose(sign < 0, array(np.nan, dtype=out.dtype), out)
    return out


@public
def softmax(x, axis=-1, where=None):
    """exp(x), scaled so that it sums to 1.

    Args:
      x: an array.
      axis: the axis, or axes, over which the result sums to 1.
      where: booleans, which elements count; the others give 0.

    >>> softmax(jnp.zeros(2)).tolist()
    [0.5, 0.5]
    """
    if softmax_custom_jvp.value:
        return _softmax(x, axis, where)
    # The result does not depend on what is subtracted, so neither does the derivative.
    return _scaled_exp(x, axis, where, -np.inf, stop_gradient_p.bind)


def _scaled_exp(x, axis, where, initial, shift):
    largest = _reductions.max(x, axis, where=where, initial=initial, keepdims=True)
    safe = x if where is None else choose(where, x, initial)
    unnormalized = exp(safe - shift(largest))
    out = unnormalized / _reductions.sum(unnormalized, axis, where=where, keepdims=True)
    return out if where is None else choose(where, out, 0)


@partial(custom_jvp, nondiff_argnums=(1,))
def _softmax(x, axis, where=None, initial=-np.inf):
    """`softmax` with a derivative that needs the result only."""
    return _scaled_exp(x, axis, where, initial, lambda largest: largest)


@_softmax.defjvp
def _softmax_jvp(axis, primals, tangents):
    (x, where, initial), (x_dot, _, _) = primals, tangents
    y = _softmax(x, axis, where, initial)
    mean = _reductions.sum(y * x_dot, axis, where=where, keepdims=True)
    return y, y * (x_dot - mean)
