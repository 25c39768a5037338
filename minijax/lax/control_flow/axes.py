"""Chapter 9: how large is the axis that a `vmap` around maps over?

    axis_size : name → int

The counterpart in JAX is `jax.lax.axis_size`, of `jax/_src/lax/parallel.py`.
"""

import math
from collections.abc import Hashable, Sequence

from ...checks import core as checks
from ...core import core
from ...core.boundary import public


@public
def axis_size(axis_name: Hashable | Sequence[Hashable]) -> int:
    """The size of the named axis that is being mapped over; of several, the product.

    Args:
      axis_name: the `axis_name` of a `vmap` around, or a tuple of them.

    Raises:
      NameError: no axis of this name is in scope.

    >>> import minijax as jax
    >>> jax.vmap(lambda x: x * jax.lax.axis_size("i"), axis_name="i")(jax.numpy.ones(2)).tolist()
    [2.0, 2.0]
    """
    if isinstance(axis_name, (tuple, list)):
        return math.prod(map(axis_size, axis_name))
    if axis_name not in core.state.axis_sizes:
        checks.unbound_axis(axis_name, core.state.axis_sizes)
    return core.state.axis_sizes[axis_name]
