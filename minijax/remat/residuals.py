"""Chapter 10: which values does reverse mode keep between the forward and the backward pass?"""

from collections.abc import Callable

from ..core.api import make_jaxpr, vjp
from ..core.core import ShapedArray
from ..core.tree import tree_flatten, tree_leaves
from ..core.util import split_list
from ..pytree.names import arg_names
from .origins import origins


def saved_residuals(f: Callable, *args, **kwargs) -> list[tuple[ShapedArray, str]]:
    """The residuals that reverse mode keeps for the backward pass of `f`, and their origins.

    Args:
      f: a function of pytrees of arrays that returns one.
      *args, **kwargs: arguments for it.

    >>> saved_residuals(jnp.exp, 1.0)[0][0]
    ShapedArray(float32[], weak_type=True)
    """
    leaves, in_tree = tree_flatten((args, kwargs))

    def of_leaves(*leaves):
        args, kwargs = in_tree.unflatten(leaves)
        return f(*args, **kwargs)

    closed, (_, pullback) = make_jaxpr(lambda *xs: vjp(of_leaves, *xs), return_shape=True)(*leaves)
    _, residuals = split_list(closed.outvars, [len(closed.outvars) - len(tree_leaves(pullback))])
    return origins(closed.jaxpr, residuals, arg_names(f, args, kwargs))


def print_saved_residuals(f: Callable, *args, **kwargs) -> None:
    """Print what `saved_residuals` returns, a line for each.

    >>> print_saved_residuals(lambda x: jnp.sin(x), 1.0)  # doctest: +ELLIPSIS
    f32[] output of cos from ...
    """
    for aval, source in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(True)} {source}")
