"""Chapter 10: which values does reverse mode keep between the forward and the backward pass?"""

from __future__ import annotations

from collections.abc import Callable

from ..checks.arguments import arg_names
from ..core.api import make_jaxpr, vjp
from ..core.core import ShapedArray
from ..core.jaxpr import Literal
from ..core.jit import jit_p
from ..core.tree import tree_flatten, tree_leaves
from ..core.util import split_list
from ..lax.fewer_bits import reduce_precision_p
from .names import name_p


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
    return _sources(closed.jaxpr, residuals, arg_names(f, args, kwargs))


def _sources(jaxpr, residuals, names) -> list[tuple[ShapedArray, str]]:
    """For each residual its type, and the argument or the equation that it comes from."""
    found = [(v.aval, "from a literal") for v in residuals if type(v) is Literal]
    exact = {eqn.outvars[0]: eqn.invars[0] for eqn in jaxpr.eqns
             if eqn.primitive is reduce_precision_p}
    kept = {exact.get(v, v) for v in residuals if type(v) is not Literal}
    found += [(v.aval, "from a constant") for v in jaxpr.constvars if v in kept]
    found += [(v.aval, f"from the argument {name}") for v, name in zip(jaxpr.invars, names)
              if v in kept]
    return found + [(v.aval, _maker(eqn)) for eqn in jaxpr.eqns for v in eqn.outvars if v in kept]


def _maker(eqn) -> str:
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {eqn.source_info}"
    if eqn.primitive is jit_p:
        return f"output of jitted function '{eqn.params['name']}' from {eqn.source_info}"
    return f"output of {eqn.primitive.name} from {eqn.source_info}"


def print_saved_residuals(f: Callable, *args, **kwargs) -> None:
    """Print what `saved_residuals` returns, a line for each.

    >>> print_saved_residuals(lambda x: jnp.sin(x), 1.0)  # doctest: +ELLIPSIS
    f32[] output of cos from ...
    """
    for aval, source in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {source}")
