"""Integration of samples, under the names of `jax.scipy.integrate`."""

from .. import numpy as jnp
from ..runtime.jit import jit


@jit(static_argnames=("axis",))
def trapezoid(y, x=None, dx=1.0, axis: int = -1):
    """The integral by the trapezoidal rule (`numpy.trapezoid`).

    Args:
      y: an array of values.
      x: where they are, of shape (n,) or that of `y`; or `None`: at distances `dx`.
      axis: along which axis.

    >>> trapezoid(jnp.array([0.0, 1.0, 2.0])).item()
    2.0
    """
    return jnp.trapezoid(y, x, dx, axis)
