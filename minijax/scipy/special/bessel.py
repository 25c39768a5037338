"""Bessel functions."""

import operator

from ... import numpy as jnp
from ...core import dtypes
from ...core.boundary import public
from ...core.core import typeof
from ...lax import bessel as families
from ...lax.compile_time import concrete_or_error
from ...lax.control_flow.scan import scan
from ...lax.shaping import full_like, iota
from ...numpy._arguments import promote_dtypes_inexact, promote_numbers_inexact
from ...runtime.jit import jit


@public
def i0e(x):
    """exp(-|x|) I₀(x), the modified Bessel function of order 0, scaled.

    Args:
      x: a real array.

    >>> i0e(0.0).round(4).item()
    1.0
    """
    return families.bessel_i0e(*promote_numbers_inexact("i0e", x))


@public
def i0(x):
    """I₀(x), the modified Bessel function of order 0.

    Args:
      x: a real array.

    >>> i0(0.0).round(4).item()
    1.0
    """
    (x,) = promote_numbers_inexact("i0", x)
    return families.unscaled(x, families.bessel_i0e(x))


@public
def i1e(x):
    """exp(-|x|) I₁(x), the modified Bessel function of order 1, scaled.

    Args:
      x: a real array.

    >>> i1e(0.0).item()
    0.0
    """
    return families.bessel_i1e(*promote_numbers_inexact("i1e", x))


@public
def i1(x):
    """I₁(x), the modified Bessel function of order 1.

    Args:
      x: a real array.

    >>> i1(0.0).item()
    0.0
    """
    (x,) = promote_numbers_inexact("i1", x)
    return families.unscaled(x, families.bessel_i1e(x))


@jit(static_argnames=("v", "n_iter"))
def bessel_jn(z, *, v: int, n_iter: int = 50):
    """J₀(z) … Jᵥ(z), the Bessel functions of the first kind.

    Miller's algorithm: the recurrence Jₖ₋₁ = 2k/z Jₖ - Jₖ₊₁ is stable downwards, whatever it starts
    from; and J₀ + 2 J₂ + 2 J₄ + … = 1 tells the scale.

    Args:
      z: a real array.
      v: the highest order, an int.
      n_iter: where the recurrence starts, an int well above v and |z|.

    Returns:
      an array of shape (v + 1, *z.shape).

    Raises:
      ValueError: complex numbers.

    >>> bessel_jn(jnp.array([1.0]), v=1, n_iter=20).round(3).tolist()
    [[0.7649999856948853], [0.4399999976158142]]
    """
    (z,) = promote_dtypes_inexact(jnp.asarray(z))
    dtype = typeof(z).dtype
    if dtypes.issubdtype(dtype, complex):
        raise ValueError("bessel_jn does not support complex input.")
    v = concrete_or_error(operator.index, v, "Argument v of bessel_jn.")
    n_iter = concrete_or_error(int, n_iter, "Argument n_iter of bessel_jn.")

    def down(carry, k):
        above, here, total = carry
        below = 2.0 * (k + 1.0) * here / z - above
        total = jnp.where(k % 2 == 0, total + 2.0 * below, total)
        return (here, below, total), below

    start = full_like(z, 0.0), full_like(z, 1e-16), full_like(z, 0.0)
    (_, order_zero, total), values = scan(down, start, iota(dtype, n_iter + 1), reverse=True)
    return values[:v + 1] / (total - order_zero)[None]
