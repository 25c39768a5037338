"""Chapter 12: special functions."""

from __future__ import annotations

import numpy as np

from .. import numpy as jnp
from ..api_util import ensure_index_tuple
from ..core import typeof
from ..numpy._arguments import promote_args_inexact
from ..primitives import elementwise as lax
from ..primitives.elementwise import stop_gradient_p
from ..primitives.shape_rules import canonical_axis
from ..primitives.shaping import expand_dims, full_like


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
        a = jnp.where(where, a, 0)
    if b is None:
        (a,) = promote_args_inexact("logsumexp", a)
    else:
        a, b = promote_args_inexact("logsumexp", a, b)
        a = jnp.where(b != 0, a, -np.inf)
    ndim = typeof(a).ndim
    axes = tuple(range(ndim)) if axis is None else tuple(
        canonical_axis(d, ndim) for d in ensure_index_tuple(axis))
    largest = jnp.max(a.real, axis=axes, keepdims=keepdims, where=where, initial=-np.inf)
    largest = stop_gradient_p.bind(
        lax.select(jnp.isfinite(largest), largest, full_like(largest, 0)))
    shift = largest if keepdims else expand_dims(largest, axes)
    exps = lax.exp(lax.sub(a, shift.astype(a.dtype)))
    total = (exps if b is None else lax.mul(exps, b)).sum(axis=axes, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    if return_sign or total.dtype.kind != "c":
        total = abs(total)
    out = lax.add(lax.log(total), largest.astype(total.dtype))
    if return_sign:
        return out, sign
    if b is not None and out.dtype.kind != "c":
        out = jnp.where(sign < 0, jnp.array(np.nan, dtype=out.dtype), out)
    return out
