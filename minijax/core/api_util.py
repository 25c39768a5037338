"""Chapter 3: how does a function of trees become a function of a flat list of arrays?

    flatten_fun : (tree → tree), PyTreeDef → ([leaf] → [leaf]), PyTreeDef of the result

The transformations work on flat lists. Each of them flattens its arguments, calls the flat
function, and puts the results together. They share the functions of this file. Some of these set
aside the arguments that are not transformed.

Counterpart in JAX: `jax/_src/api_util.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import index
from typing import Any

from ..checks import tree as checks
from .core import state
from .forward import JVPTracer
from .primitives import ensure_array
from .tree import PyTreeDef, prefix_subtrees, tree_flatten, tree_structure

# ----------------------------------------------------------------------------------------------
# Functions of pytrees as functions of leaves


class TreeCell:
    """Call it for the structure of a function's result, after the function has been called."""

    __slots__ = ("treedef",)

    treedef: PyTreeDef

    def __call__(self) -> PyTreeDef:
        checks.function_was_called(self)
        return self.treedef


def flatten_fun(f: Callable, in_tree: PyTreeDef) -> tuple[Callable[..., list], TreeCell]:
    """`f` as a function from leaves to a list of leaves, and the structure of its result.

    `in_tree` is the structure of (args, kwargs).
    """
    return flatten_fun_nokwargs(lambda args, kwargs: f(*args, **kwargs), in_tree)


def flatten_fun_nokwargs(f: Callable, in_tree: PyTreeDef) -> tuple[Callable[..., list], TreeCell]:
    """`flatten_fun` where `in_tree` is the structure of args alone."""
    out_tree = TreeCell()

    def flat_fun(*leaves):
        out_leaves, out_tree.treedef = tree_flatten(f(*in_tree.unflatten(leaves)))
        return out_leaves

    return flat_fun, out_tree


# ----------------------------------------------------------------------------------------------
# Functions of some of their arguments


def ensure_index_tuple(x: Any) -> tuple[int, ...]:
    """An int or a sequence of ints as a tuple of ints. TypeError for anything else."""
    i = ensure_index(x)
    return i if isinstance(i, tuple) else (i,)


def ensure_index(x: Any) -> int | tuple[int, ...]:
    """An int as an int, a sequence of ints as a tuple of ints. TypeError for anything else."""
    try:
        return index(x)
    except TypeError:
        checks.argnums(x)
        return tuple(map(index, x))


def positive_argnums(argnums: Iterable[int], num_args: int,
                     drop_too_large: bool = False) -> tuple[int, ...]:
    """`argnums` counted from the front. ValueError for one that is out of bounds.

    With `drop_too_large`, numbers past the end are left out: they name defaults not passed.
    """
    if drop_too_large:
        argnums = [i for i in argnums if i < num_args]
    checks.argnums_in_bounds(argnums, num_args)
    return tuple([i % num_args for i in argnums])


def split_statics(
    args: Sequence[Any], kwargs: dict[str, Any], argnums: Collection[int], argnames: Collection[str]
) -> tuple[tuple[Any, ...], dict[str, Any], dict[int | str, Any]]:
    """The dynamic args and kwargs, and the static arguments by position or name."""
    if not argnums and not argnames:
        return tuple(args), kwargs, {}
    statics: dict[int | str, Any] = {i: args[i] for i in sorted(argnums)}
    statics |= {name: kwargs[name] for name in argnames if name in kwargs}
    dynamic_args = tuple([x for i, x in enumerate(args) if i not in statics])
    return dynamic_args, {k: x for k, x in kwargs.items() if k not in statics}, statics


def with_statics(f: Callable, statics: Mapping[Any, Any]) -> Callable:
    """`f` as a function of its other arguments. `statics` has values by position and by name."""
    if not statics:
        return f
    by_name = {key: x for key, x in statics.items() if isinstance(key, str)}
    by_position = sorted((key, x) for key, x in statics.items() if not isinstance(key, str))

    def dynamic_fun(*args, **kwargs):
        all_args = list(args)
        for position, x in by_position:
            all_args.insert(position, x)
        return f(*all_args, **kwargs, **by_name)

    return dynamic_fun


def argnums_partial(f: Callable, dynamic_argnums: int | Sequence[int], args: Sequence[Any],
                    kwargs: dict[str, Any]) -> tuple[Callable, tuple[Any, ...]]:
    """`f` as a function of the chosen positional arguments only; and their values.

    Negative numbers count from the end; ValueError if one is out of bounds, TypeError if two are
    the same argument.
    """
    argnums = positive_argnums(ensure_index_tuple(dynamic_argnums), len(args))
    checks.argnums_differ(argnums, dynamic_argnums)
    if argnums == tuple(range(len(args))) and not kwargs:
        return f, tuple(args)
    others = [None if i in argnums else x for i, x in enumerate(args)]  # frees the chosen ones

    def partial_fun(*dynamic_args):
        all_args = others.copy()
        for i, x in zip(argnums, dynamic_args):
            all_args[i] = x
        return f(*all_args, **kwargs)

    return partial_fun, tuple([args[i] for i in argnums])


# ----------------------------------------------------------------------------------------------
# Functions that return auxiliary data, which are not differentiated


def without_aux(fun: Callable, has_aux: bool) -> tuple[Callable, Iterator]:
    """`fun` without its auxiliary data, and an iterator of these, for after the call, if any."""
    aux_out: list = []

    def fun_without_aux(*args):
        result = fun(*args)
        checks.aux_pair(result)
        out, aux = result
        leaves, tree = tree_flatten(aux)
        aux_out.append((tree, [_primal_in(state.trace, x) for x in leaves]))
        return out

    # The data are put together where they are asked for: a container may note the current trace.
    return fun_without_aux if has_aux else fun, (tree.unflatten(x) for tree, x in aux_out)


def _primal_in(trace, x):
    """`x` as it is outside of the differentiation `trace`: without its tangent."""
    return ensure_array(x.primal) if isinstance(x, JVPTracer) and x._trace is trace else x


# ----------------------------------------------------------------------------------------------
# Axes: a leaf for each array, or for several


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any, *, kws: bool = False,
                 tupled_args: bool = False) -> list[Any]:
    """One axis for each leaf of `treedef`, from a tree prefix of ints and Nones (leaves here).

    Args:
        name: what errors call `axis_tree`, for example "vmap in_axes".
        treedef: the structure of the values.
        axis_tree: a prefix of it.
        kws: both are pairs (for positional arguments, for keyword arguments). The user wrote only
            the former, so errors show only those.
        tupled_args: `treedef` is that of an argument tuple; errors explain what that means.

    Raises:
        ValueError: if `axis_tree` is not a prefix; it names the places.
    """
    axes, axis_treedef = tree_flatten(axis_tree, is_leaf=lambda x: x is None)
    subtrees = prefix_subtrees(axis_treedef, treedef)
    checks.axes_are_prefix(subtrees is not None, name, treedef, axis_treedef, kws, tupled_args,
                           tree_structure)
    return [axis for axis, sub in zip(axes, subtrees or ()) for _ in range(sub.num_leaves)]
