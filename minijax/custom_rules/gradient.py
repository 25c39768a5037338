"""Chapter 10: `custom_gradient`, a function that returns its value and its pullback."""

from collections.abc import Callable

from ..core.api_util import flatten_fun_nokwargs
from ..core.core import typeof
from ..core.jaxpr import eval_jaxpr
from ..core.staging import jaxpr_of
from ..core.tree import tree_flatten, tree_leaves
from ..pytree.functions import treedef_is_leaf
from ..pytree.registration import register_pytree_node_class
from ..source import fun_name, wraps
from .vjp import custom_vjp


def custom_gradient(fun: Callable) -> custom_vjp:
    """A function with a reverse-mode rule, from one that returns its value and its pullback.

    Args:
      fun: a function that returns a pair: the result, and a function from a cotangent of it to a
        tuple of cotangents of the arguments (or to the one, for one argument). The latter may
        close over intermediate values.

    Returns:
      a `custom_vjp` function that returns the first of the pair.

    >>> @custom_gradient
    ... def square(x):
    ...     return x ** 2, lambda ct: (ct * x,)
    >>> jax.grad(square)(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    @custom_vjp
    def wrapped_fun(*args, **kwargs):
        return _value_and_rule(fun, fun(*args, **kwargs))[0]

    def fwd(*args, **kwargs):
        out, rule = _value_and_rule(fun, fun(*args, **kwargs))
        leaves, tree = tree_flatten((out,))
        flat_rule, in_tree = flatten_fun_nokwargs(rule, tree)
        jaxpr = jaxpr_of(flat_rule, [typeof(x).to_cotangent_aval() for x in leaves])
        return out, Pullback(jaxpr.consts, (jaxpr.jaxpr, in_tree()))

    def bwd(pullback, ct):
        jaxpr, in_tree = pullback.program
        cts = in_tree.unflatten(eval_jaxpr(jaxpr, pullback.consts, *tree_leaves(ct)))
        return (cts,) if treedef_is_leaf(in_tree) else cts

    wraps(fun)(wrapped_fun)
    wrapped_fun.defvjp(fwd, bwd)
    return wrapped_fun


def _value_and_rule(fun, returned):
    """What the user's function of `custom_gradient` returned."""
    if not (isinstance(returned, (tuple, list)) and len(returned) == 2 and callable(returned[1])):
        raise TypeError(f"custom_gradient: {fun_name(fun)} must return a pair (value, function of "
                        f"its cotangent), got {returned!r}.")
    return returned


@register_pytree_node_class
class Pullback:
    """A staged function, whose leaves are the values it closed over."""

    def __init__(self, consts, program):
        self.consts, self.program = consts, program

    def tree_flatten(self):
        return tuple(self.consts), self.program

    @classmethod
    def tree_unflatten(cls, program, consts):
        return cls(consts, program)
