"""`softmax` and `log_softmax`, over all axes if none is given."""

from ... import nn
from ...core.boundary import public


@public
def softmax(x, /, *, axis=None):
    """exp(x), scaled so that it sums to 1 (`nn.softmax`, but over all axes if none is given).

    Args:
      x: an array.
      axis: an int, a tuple of ints, or `None` for all axes.

    >>> softmax(jnp.zeros(2)).tolist()
    [0.5, 0.5]
    """
    return nn.softmax(x, axis=axis)


@public
def log_softmax(x, /, *, axis=None):
    """The logarithm of `softmax`.

    Args:
      x: an array.
      axis: an int, a tuple of ints, or `None` for all axes.

    >>> log_softmax(jnp.zeros(1)).tolist()
    [0.0]
    """
    return nn.log_softmax(x, axis=axis)
