"""Chapter 12: choice between arrays, element by element."""

from ..core.boundary import public
from ..core.core import typeof
from ..lax.elementwise import ne
from ..lax.selection import select_n_p
from ..lax.shaping import broadcast_shapes, broadcast_to
from ._arguments import constant_like, ensure_arraylikes, promote_dtypes
from ._staged import staged


def broadcast_together(*args) -> list:
    """The arrays repeated to their common shape.

    Raises:
      ValueError: the shapes do not broadcast.
    """
    shapes = [typeof(x).shape for x in args]
    if all(shape == shapes[0] for shape in shapes):
        return list(args)
    shape = broadcast_shapes(*shapes)
    return [broadcast_to(x, shape) for x in args]


@public
def broadcast_arrays(*args) -> list:
    """The arrays repeated to their common shape.

    Raises:
      ValueError: the shapes do not broadcast.

    >>> [x.shape for x in broadcast_arrays(jnp.ones((2, 1)), jnp.ones(3))]
    [(2, 3), (2, 3)]
    """
    return broadcast_together(*ensure_arraylikes("broadcast_arrays", *args))


@staged
def _where(condition, x, y):
    """`where` with three arguments."""
    if typeof(condition).dtype != bool:
        condition = ne(condition, constant_like(condition, 0))
    x, y = promote_dtypes(x, y)
    if typeof(condition).ndim == 0:
        x, y = broadcast_together(x, y)
    else:
        condition, x, y = broadcast_together(condition, x, y)
    return x if 0 in typeof(x).shape else select_n_p.bind(condition, y, x)
