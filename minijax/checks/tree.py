"""Chapter 3: what can be wrong with a pytree, and where two structures differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..text.differences import (
    Structure,
    difference_text,
    differences,
    opened,
    root_difference,
    treedef_differences,
)
from .sequences import argnums as argnums, iterable as iterable

if TYPE_CHECKING:
    from ..core.tree import NodeType, PyTreeDef

# ----------------------------------------------------------------------------------------------
# Registration and flattening


def registered_once(node_type: NodeType, registry: dict) -> None:
    """Raise ValueError if the type has another entry."""
    if registry.get(node_type.python_type, node_type) is not node_type:
        raise ValueError(
            f"Duplicate custom PyTreeDef type registration for {node_type.python_type}. A type can "
            "only be registered once, because structures made earlier rely on its registration."
        )


def keys_can_be_sorted(mapping: dict, error: Exception) -> None:
    """Raise ValueError: comparing the keys of `mapping` raised `error`."""
    types = ", ".join(sorted({type(key).__name__ for key in mapping}))
    raise ValueError(
        "Comparator raised exception while sorting pytree dictionary keys. The keys are "
        f"{list(mapping)!r}, of type {types}, and it is {type(error).__name__}: {error}. "
        "Use keys of one type, or an OrderedDict."
    ) from error


def leaf_answer(answer: Any) -> None:
    """Raise ValueError unless the answer of the user's `is_leaf` is True, False or None."""
    if not (answer is True or answer is False or answer is None):
        raise ValueError(
            f"is_leaf must return True or False, but it returned {answer!r} of type {type(answer)}."
        )


def is_treedef(name: str, value: Any) -> None:
    """Raise TypeError if the argument of the function `name` is not a PyTreeDef."""
    if not hasattr(type(value), "node_data"):
        raise TypeError(f"{name} expects a PyTreeDef, got {value!r} of type {type(value)}.")


def is_node_class(cls: type, registry: dict) -> None:
    """Raise RuntimeError if values of the class are leaves."""
    if cls not in registry and not (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        raise RuntimeError(f"{cls} is not registered as a pytree node type.")


def number_of_leaves(treedef: PyTreeDef, leaves: list | tuple, what: str) -> None:
    """Raise ValueError if there are more or fewer leaves than the structure has."""
    n = treedef.num_leaves
    if len(leaves) != n:
        which, got = ("many", "") if len(leaves) > n else ("few", f", got {len(leaves)}")
        raise ValueError(f"Too {which} leaves for PyTreeDef; expected {n}{got}. Cannot {what} "
                         f"{treedef}.")


def function_was_called(cell: Any) -> None:
    """Raise RuntimeError if the flattened function has not filled its cell yet."""
    if not hasattr(cell, "treedef"):
        raise RuntimeError(
            "The structure of the result is known only after the flattened function was called."
        )


def _described(result: Any) -> str:
    aval = getattr(result, "aval", None)
    return f"{result!r}" if aval is None else f"one array of type {aval.str_short(True)}"


def aux_pair(result: Any) -> None:
    """Raise TypeError unless the result of a function under `has_aux=True` is a pair (out, aux)."""
    if not (isinstance(result, (tuple, list)) and len(result) == 2):
        raise TypeError(
            "With has_aux=True, a function with aux output is expected to return a two-element "
            f"tuple (output, aux), but it returned {_described(result)}."
        )


# ----------------------------------------------------------------------------------------------
# Arguments by number and name


def argnums_in_bounds(argnums, num_args: int) -> None:
    """Raise ValueError for an argument number that the call does not have."""
    for i in argnums:
        if not -num_args <= i < num_args:
            raise ValueError(
                f"Argument number {i} is out of bounds: the call has {num_args} positional "
                f"arguments, so numbers go from {-num_args} to {num_args - 1}."
            )


def argnums_differ(argnums: Sequence[int], given: Any) -> None:
    """Raise TypeError if two of the numbers that a caller has `given` are one argument."""
    for i in argnums:
        if argnums.count(i) > 1:
            raise TypeError(
                f"argnums={given} names argument {i} more than once, so that it would be "
                "differentiated apart from itself. List each argument once; negative numbers "
                "count from the end."
            )


def rebased(static_argnums: Sequence[int], donate_argnums: Sequence[int]) -> None:
    """Raise ValueError for a number in both."""
    if not set(static_argnums).isdisjoint(donate_argnums):
        raise ValueError(
            f"`static_argnums` {static_argnums} and `donate_argnums` {donate_argnums} cannot "
            "intersect: arguments are both static and donated."
        )


def are_strings(names: Sequence[Any]) -> None:
    """Raise TypeError unless all names are strings."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Expected argument names as strings, got {name!r}.")


def check_static_hashable(value: Any, name: str) -> None:
    """Raise ValueError if a static argument, which is part of the cache's key, has no hash."""
    try:
        hash(value)
    except TypeError as e:
        advice = ("An array must not be static: its values reach the program when it runs"
                  if hasattr(value, "aval") else "Pass, for example, a tuple instead of a list")
        raise ValueError(
            f"Non-hashable static arguments are not supported, because compiled programs are "
            f"looked up by them, but argument {name} is {value!r} of {type(value)}: {e}. {advice}."
        ) from None


# ----------------------------------------------------------------------------------------------
# Prefixes


def is_prefix(answer: bool, prefix: PyTreeDef, tree: Any, name: str, structure: Structure) -> None:
    """Raise ValueError unless the answer is that `prefix` is a prefix of `tree`, called `name`."""
    if answer:
        return
    first = next(differences(prefix, tree, structure), None)
    what = (
        difference_text(first, name) if first else f"{name} does not have the expected structure."
    )
    raise ValueError(f"{_mismatch(prefix, tree, structure) or ''}{what}\n"
                     f"  expected structure: {prefix}\n  structure of {name}: {structure(tree)}")


def _mismatch(expected: PyTreeDef, tree: Any, structure: Structure) -> str | None:
    """The first difference, in one line with the value that is there."""
    if expected.node_type is None:
        return None
    found, children = opened(structure, tree)
    if root_difference(expected, found) is not None:
        return _expectation(expected, found, repr(tree)[:200]) + "\n"
    texts = (_mismatch(subtree, child, structure)
             for subtree, (_, child) in zip(expected.subtrees, children))
    return next(filter(None, texts), None)


def _expectation(expected, found, value: str) -> str:
    cls = expected.node_data()[0]
    if cls is type(None):
        return f"Expected None, got {value}."
    name = cls.__name__
    if found.node_type is None or found.node_data()[0] is not cls:
        if cls in (list, tuple, dict):
            return f"Expected {name}, got {value}."
        if not hasattr(cls, "_fields"):
            return f"Custom node type mismatch: expected type: {cls}, value: {value}."
        if found.node_type is None or not hasattr(found.node_data()[0], "_fields"):
            return f"Expected named tuple, got {value}."
        return f"Named tuple type mismatch: expected type: {cls}, tuple: {value}."
    if cls is dict:
        return (f"Dict key mismatch; expected keys: {[*expected.aux]}; "
                f"present keys: {[*found.aux]}.")
    if cls in (list, tuple):
        numbers = f"{len(found.subtrees)} != {len(expected.subtrees)}"
        return f"{name.capitalize()} arity mismatch: {numbers}; {name}: {value}."
    return f"Mismatch custom node data: {expected.aux} != {found.aux}; value: {value}."


def axes_are_prefix(answer: bool, name: str, treedef: PyTreeDef, axis_treedef: PyTreeDef, kws: bool,
                    tupled_args: bool, structure: Structure) -> None:
    """Raise ValueError unless the answer is that the axes called `name` are a prefix."""
    if answer:
        return
    if kws:
        treedef, axis_treedef = treedef.subtrees[0], axis_treedef.subtrees[0]
    found = [*treedef_differences(axis_treedef, treedef, structure)]
    lines = [f"{name} specification must be a tree prefix of the corresponding value, but is not.",
             f"  Mismatch details ({len(found)} found):"]
    lines += [f"  {difference_text(difference, name)}" for difference in found]
    if tupled_args:
        lines.append(f"It describes the tuple of arguments: {name} has one entry per argument.")
        if len(treedef.subtrees) == 1 and not any(
                treedef_differences(axis_treedef, treedef.subtrees[0], structure)):
            lines.append("The function has a single argument: write a tuple of one element.")
    lines += [f"  {name}: {axis_treedef}", f"  value: {treedef}"]
    raise ValueError("\n".join(lines))
