"""`flatten_fun` and its kin as `jax.api_util` has them.

They differ from the engine's in three ways. They also take a `WrappedFun` (`extend.linear_util`),
two of them take functions that return auxiliary data, and `argnums_partial` asks for hashes.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..checks import tree as checks
from ..core import api_util
from ..core.api_util import TreeCell
from ..core.tree import PyTreeDef, tree_flatten


def flatten_fun(f: Callable, in_tree: PyTreeDef) -> tuple[Callable[..., list], TreeCell]:
    """`f` as a function from leaves to a list of leaves, and the structure of its result.

    `in_tree` is the structure of (args, kwargs).
    """
    flat_fun, out_tree = api_util.flatten_fun(f, in_tree)
    return _wrapped_like(f, flatten_fun, in_tree, flat_fun), out_tree


def flatten_fun_nokwargs(f: Callable, in_tree: PyTreeDef) -> tuple[Callable[..., list], TreeCell]:
    """`flatten_fun` where `in_tree` is the structure of args alone."""
    flat_fun, out_tree = api_util.flatten_fun_nokwargs(f, in_tree)
    return _wrapped_like(f, flatten_fun_nokwargs, in_tree, flat_fun), out_tree


def _wrapped_like(f, transformation, in_tree, flat_fun):
    """`flat_fun`; if `f` is a `WrappedFun`, `flat_fun` as one."""
    return f.wrap((transformation, (in_tree,)), flat_fun) if hasattr(f, "wrap") else flat_fun


def argnums_partial(
    f: Callable, dyn_argnums: int | Sequence[int], args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[Callable, tuple[Any, ...]]:
    """`f` as a function of the chosen positional arguments only; and their values.

    Args:
      f: the function, or a `WrappedFun`.
      dyn_argnums: which arguments to choose. Negative numbers count from the end.
      args: all arguments. Those that are not chosen keep their values.
      require_static_args_hashable: raise ValueError if an argument that is not chosen has no hash.
    """
    partial_fun, dyn_args = api_util.argnums_partial(f, dyn_argnums, args, {})
    chosen = api_util.positive_argnums(api_util.ensure_index_tuple(dyn_argnums), len(args))
    static = tuple([(i, x) for i, x in enumerate(args) if i not in chosen])
    if require_static_args_hashable:
        for i, x in static:
            checks.check_static_hashable(x, str(i))
    if hasattr(f, "wrap") and partial_fun is not f:
        partial_fun = f.wrap((argnums_partial, (chosen, static)), partial_fun)
    return partial_fun, dyn_args


def flatten_fun_has_aux(
    f: Callable, in_tree: PyTreeDef
) -> tuple[Callable[..., tuple[list, list]], TreeCell, TreeCell]:
    """`flatten_fun` for an `f` that returns (out, aux).

    The flat function returns two lists. The two cells hold their structures.
    """

    def f_of_pair(args_and_kwargs):
        args, kwargs = args_and_kwargs
        return f(*args, **kwargs)

    return _flatten_fun_has_aux(f_of_pair, in_tree)


def flatten_fun_nokwargs_has_aux(
    f: Callable, in_tree: PyTreeDef
) -> tuple[Callable[..., tuple[list, list]], TreeCell, TreeCell]:
    """`flatten_fun_has_aux` where `in_tree` is the structure of args alone."""
    return _flatten_fun_has_aux(lambda args: f(*args), in_tree)


def _flatten_fun_has_aux(f_of_tree, in_tree):
    out_tree, aux_tree = TreeCell(), TreeCell()

    def flat_fun(*leaves):
        out, aux = check_aux_pair(f_of_tree(in_tree.unflatten(leaves)))
        out_leaves, out_tree.treedef = tree_flatten(out)
        aux_leaves, aux_tree.treedef = tree_flatten(aux)
        return out_leaves, aux_leaves

    return flat_fun, out_tree, aux_tree


def check_aux_pair(result):
    """What a function under `has_aux=True` returned, as a pair (out, aux). TypeError if it is not.

    >>> check_aux_pair([1, 2])
    (1, 2)
    """
    checks.aux_pair(result)
    out, aux = result
    return out, aux
