"""Chapter 3: what can be wrong with a pytree, and where two structures differ."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple

from ..core import tree as trees
from .sequences import elements

# ----------------------------------------------------------------------------------------------
# Registration and flattening


def registered_once(node_type: trees.NodeType, registry: dict) -> None:
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


def leaf_answer(answer: Any) -> Any:
    """The answer of the user's `is_leaf`. ValueError unless it is True, False or None."""
    if answer is True or answer is False or answer is None:
        return answer
    raise ValueError(
        f"is_leaf must return True or False, but it returned {answer!r} of type {type(answer)}."
    )


def is_treedef(name: str, value: Any) -> None:
    """Raise TypeError if the argument of the function `name` is not a PyTreeDef."""
    if not isinstance(value, trees.PyTreeDef):
        raise TypeError(f"{name} expects a PyTreeDef, got {value!r} of type {type(value)}.")


def is_node_class(cls: type) -> None:
    """Raise RuntimeError if values of the class are leaves."""
    if cls not in trees.registry and not (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        raise RuntimeError(f"{cls} is not registered as a pytree node type.")


def in_turn(values: Any, name: str) -> Iterable[Any]:
    """Values that can be taken one by one; else a TypeError."""
    return elements(name, values)


def number_of_leaves(treedef: trees.PyTreeDef, leaves: list | tuple, what: str) -> None:
    """Raise ValueError if there are more or fewer leaves than the structure has."""
    n = treedef.num_leaves
    if len(leaves) != n:
        which, got = ("many", "") if len(leaves) > n else ("few", f", got {len(leaves)}")
        raise ValueError(f"Too {which} leaves for PyTreeDef; expected {n}{got}. Cannot {what} "
                         f"{treedef}.")


def function_was_called(cell: Callable) -> None:
    """Raise RuntimeError if the flattened function has not filled its cell yet."""
    if not hasattr(cell, "treedef"):
        raise RuntimeError(
            "The structure of the result is known only after the flattened function was called."
        )


def _described(result: Any) -> str:
    aval = getattr(result, "aval", None)
    return f"{result!r}" if aval is None else f"one array of type {aval.str_short(True)}"


def aux_pair(result: Any) -> Any:
    """The result of a function under `has_aux=True`. TypeError unless it is a pair (out, aux)."""
    if not (isinstance(result, (tuple, list)) and len(result) == 2):
        raise TypeError(
            "With has_aux=True, a function with aux output is expected to return a two-element "
            f"tuple (output, aux), but it returned {_described(result)}."
        )
    return result


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
# Names of places: the keys that lead from a tree to one of its leaves


class _Key:
    """A step of a path. The subclasses name what it holds."""

    __slots__ = ("_value",)
    __match_args__: tuple[str, ...] = ()

    _value: Any

    def __eq__(self, other):
        return type(self) is type(other) and self._value == other._value

    def __repr__(self):
        return f"{type(self).__name__}({self.__match_args__[0]}={self._value!r})"

    def __hash__(self):  # those of the four classes differ, and are JAX's
        return hash(self._value)


class SequenceKey(_Key):
    """The step to element `idx` of a list or tuple."""

    __slots__ = ()
    __match_args__ = ("idx",)

    idx = property(attrgetter("_value"))

    def __init__(self, idx: int):
        self._value = idx

    def __str__(self) -> str:
        return f"[{self._value!r}]"

    def __hash__(self) -> int:
        return hash(self._value + 1)


class DictKey(_Key):
    """The step to the value under `key` of a mapping."""

    __slots__ = ()
    __match_args__ = ("key",)

    key = property(attrgetter("_value"))

    def __init__(self, key: Any):
        self._value = key

    def __str__(self) -> str:
        return f"[{self._value!r}]"


class GetAttrKey(_Key):
    """The step to attribute `name`."""

    __slots__ = ()
    __match_args__ = ("name",)

    name = property(attrgetter("_value"))

    def __init__(self, name: str):
        self._value = name

    def __str__(self) -> str:
        return f".{self._value}"


class FlattenedIndexKey(_Key):
    """The step to child number `key` of a node whose registration names no keys."""

    __slots__ = ()
    __match_args__ = ("key",)

    key = property(attrgetter("_value"))

    def __init__(self, key: int):
        self._value = key

    def __str__(self) -> str:
        return f"[<flat index {self._value}>]"

    def __hash__(self) -> int:
        return hash(self._value + 42)


KeyEntry = Any  # one of the four above, or any object that a registered type uses as its key
KeyPath = tuple[KeyEntry, ...]


def flatten_with_keys(
    tree: Any, node_type: trees.NodeType
) -> tuple[Iterable[tuple[KeyEntry, Any]], Any]:
    """The (key, child) pairs and the aux data of a node."""
    if node_type.flatten_with_keys is not None:
        return node_type.flatten_with_keys(tree)
    children, aux = node_type.flatten(tree)
    return list(zip(_keys(node_type, aux), children)), aux


def _keys(node_type, aux):
    """The keys of a node without its own; there are enough, or infinitely many."""
    if node_type is trees.DICT:
        return map(DictKey, aux)
    if node_type is trees.NAMEDTUPLE:
        return map(GetAttrKey, aux._fields)
    by_index = SequenceKey if node_type in (trees.TUPLE, trees.LIST) else FlattenedIndexKey
    return map(by_index, count())


def keystr(path: KeyPath) -> str:
    """A key path as text, as in `['w'][0]`."""
    return "".join(map(str, path))


def path_text(path: KeyPath) -> str:
    """`keystr`, with `[0]` for `[<flat index 0>]`."""
    return keystr(path).replace("[<flat index ", "[").replace(">]", "]")


def leaf_paths(treedef: trees.PyTreeDef) -> list[KeyPath]:
    """The path to each leaf; empty paths if a registered class refuses to be rebuilt of numbers."""
    try:
        leaves = treedef.unflatten(range(treedef.num_leaves))
    except Exception:
        return [()] * treedef.num_leaves
    return [path for path, _ in leaves_with_path(leaves)]


def leaves_with_path(tree: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """The path to each leaf, and the leaf."""
    node_type = trees.node_type_of(tree)
    if node_type is None:
        yield path, tree
        return
    for key, child in flatten_with_keys(tree, node_type)[0]:
        yield from leaves_with_path(child, (*path, key))


# ----------------------------------------------------------------------------------------------
# Where two structures differ


class Difference(NamedTuple):
    """`expected` and `found`, both in words, disagree at `path`; `why` says in what."""

    path: KeyPath
    expected: str
    found: str
    why: str


def differences(expected: trees.PyTreeDef, tree: Any, strict: bool = False,
                path: KeyPath = (), is_leaf: trees.IsLeaf = None) -> Iterator[Difference]:
    """The topmost places where `tree` does not have the structure `expected`.

    Unless `strict`, `expected` need only be a prefix: anything may stand where it has a leaf.
    """
    found = trees.flatten_into(tree, [], is_leaf)
    if expected is trees.LEAF:
        if strict and found is not trees.LEAF:
            yield Difference(path, *_types(expected, found))
        return
    if (difference := _root_difference(expected, found)) is not None:
        yield Difference(path, *difference)
        return
    assert expected.node_type is not None
    keyed_children, _ = flatten_with_keys(tree, expected.node_type)
    for subtree, (key, child) in zip(expected.subtrees, keyed_children):
        yield from differences(subtree, child, strict, (*path, key), is_leaf)


def _root_difference(expected, found) -> tuple[str, str, str] | None:
    """The roots in words, and how they differ, children aside; None if they agree."""
    if found is trees.LEAF or expected.node_data()[0] is not found.node_data()[0]:
        return _types(expected, found)
    kind, both = _kind(expected), (expected, found)
    if len(expected.subtrees) != len(found.subtrees):
        one, two = (len(node.subtrees) for node in both)
        if expected.node_type in (trees.TUPLE, trees.LIST):
            name = expected.node_type.python_type.__name__
            return (f"a {name} of length {one}", f"a {name} of length {two}",
                    "the lengths do not match")
        first, second = (f"{kind} with {n} child{'ren' * (n != 1)}" for n in (one, two))
        return (first, second,
                "the numbers of children do not match" + _key_difference(*both))
    if expected.aux != found.aux:
        metadata = (tuple(node.aux) if node.node_type is trees.DICT else node.aux for node in both)
        first, second = (f"{kind} with pytree metadata {aux}" for aux in metadata)
        return (first, second,
                "the pytree node metadata does not match" + _key_difference(*both))
    return None


def _types(expected, found) -> tuple[str, str, str]:
    return _kind(expected), _kind(found), "their Python types differ"


def _kind(treedef) -> str:
    """A node in words, children aside."""
    if treedef is trees.LEAF:
        return "a pytree leaf"
    return "None" if treedef is trees.NONE else f"a {treedef.node_data()[0]}"


def _key_difference(expected, found) -> str:
    """Which keys of dicts only one of the two has, with a colon before; empty if they agree."""
    if expected.node_type is not trees.DICT:
        return ""
    missing = [key for key in expected.aux if key not in set(found.aux)]
    extra = [key for key in found.aux if key not in set(expected.aux)]
    parts = [f"{text} {keys}" for text, keys in (("the second lacks keys", missing),
                                                 ("the second has more keys", extra)) if keys]
    if not parts:
        return ""
    keys = "\n    ".join(map(str, missing + extra))
    return f": {' and '.join(parts)}, so the symmetric difference on key sets is\n    {keys}\n"


def difference_text(difference: Difference, name: str) -> str:
    """What differs, the place, as in `in_axes[0]['w']`, and what is there."""
    path, expected, found, why = difference
    if "lengths" in why:
        what = f"lengths of {expected.split()[1]}"
    elif "numbers" in why:
        what = "numbers of pytree children"
    else:
        what = "types" if "types" in why else "pytree metadata"
    return (f"pytree structure error: different {what} at key path\n    {name}{keystr(path)}\n"
            f"Expected {expected}, got {found} ({why}).")


def treedef_differences(
    expected: trees.PyTreeDef, found: trees.PyTreeDef, strict: bool = False
) -> Iterator[Difference]:
    """`differences` between two structures. To get its keys, `found` is filled with leaves."""
    try:
        dummy = found.unflatten([object()] * found.num_leaves)
    except Exception:  # a registered class that refuses these leaves: the difference is at the root
        dummy = found
    return differences(expected, dummy, strict)


def equality_errors(
    tree1: Any, tree2: Any, is_leaf: trees.IsLeaf = None
) -> Iterator[Difference]:
    """Where the structures of two trees differ: (path, first, second, why), the texts in words."""
    return differences(trees.tree_structure(tree1, is_leaf), tree2, strict=True, is_leaf=is_leaf)


def equality_errors_pytreedef(
    tree1: trees.PyTreeDef, tree2: trees.PyTreeDef
) -> Iterator[Difference]:
    """`equality_errors` for two structures."""
    return treedef_differences(tree1, tree2, strict=True)


def structure_errors(expected: trees.PyTreeDef, found: trees.PyTreeDef, name: str) -> str:
    """The places where `found`, called `name`, differs from `expected`, a line each, as text."""
    pairs = treedef_differences(expected, found, strict=True)
    return "\n".join(f"  - {difference_text(difference, name)}" for difference in pairs)


# ----------------------------------------------------------------------------------------------
# Prefixes


def is_prefix(answer: bool, prefix: trees.PyTreeDef, tree: Any, name: str) -> None:
    """Raise ValueError unless the answer is that `prefix` is a prefix of `tree`, called `name`."""
    if answer:
        return
    structure = trees.tree_structure(tree)
    first = next(differences(prefix, tree), None)
    what = (
        difference_text(first, name) if first else f"{name} does not have the expected structure."
    )
    raise ValueError(f"{_mismatch(prefix, tree) or ''}{what}\n  expected structure: {prefix}\n"
                     f"  structure of {name}: {structure}")


def _mismatch(expected: trees.PyTreeDef, tree: Any) -> str | None:
    """The first difference, in one line with the value that is there."""
    found = trees.flatten_into(tree, [], None)
    if expected is trees.LEAF:
        return None
    if _root_difference(expected, found) is not None:
        return _expectation(expected, found, repr(tree)[:200]) + "\n"
    assert expected.node_type is not None
    children = [child for _, child in flatten_with_keys(tree, expected.node_type)[0]]
    return next(filter(None, map(_mismatch, expected.subtrees, children)), None)


def _expectation(expected, found, value: str) -> str:
    if expected is trees.NONE:
        return f"Expected None, got {value}."
    cls = expected.node_data()[0]
    name = cls.__name__
    if found is trees.LEAF or found.node_data()[0] is not cls:
        if cls in (list, tuple, dict):
            return f"Expected {name}, got {value}."
        if not hasattr(cls, "_fields"):
            return f"Custom node type mismatch: expected type: {cls}, value: {value}."
        if found is trees.LEAF or not hasattr(found.node_data()[0], "_fields"):
            return f"Expected named tuple, got {value}."
        return f"Named tuple type mismatch: expected type: {cls}, tuple: {value}."
    if cls is dict:
        return (f"Dict key mismatch; expected keys: {[*expected.aux]}; "
                f"present keys: {[*found.aux]}.")
    if cls in (list, tuple):
        numbers = f"{len(found.subtrees)} != {len(expected.subtrees)}"
        return f"{name.capitalize()} arity mismatch: {numbers}; {name}: {value}."
    return f"Mismatch custom node data: {expected.aux} != {found.aux}; value: {value}."


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: trees.IsLeaf = None
) -> list[Callable[[str], ValueError]]:
    """Why `prefix_tree` is not a prefix of `full_tree`: for each place, name -> error."""
    found = differences(trees.tree_structure(prefix_tree, is_leaf), full_tree)
    return [functools.partial(_difference_error, difference) for difference in found]


def _difference_error(difference, name):
    return ValueError(difference_text(difference, name))


def axes_are_prefix(subtrees: list | None, name: str, treedef: trees.PyTreeDef,
                    axis_treedef: trees.PyTreeDef, kws: bool, tupled_args: bool) -> None:
    """Raise ValueError if the axes called `name` match no subtrees: they are not a prefix."""
    if subtrees is not None:
        return
    if kws:
        treedef, axis_treedef = treedef.subtrees[0], axis_treedef.subtrees[0]
    found = [*treedef_differences(axis_treedef, treedef)]
    lines = [f"{name} specification must be a tree prefix of the corresponding value, but is not.",
             f"  Mismatch details ({len(found)} found):"]
    lines += [f"  {difference_text(difference, name)}" for difference in found]
    if tupled_args:
        lines.append(f"It describes the tuple of arguments: {name} has one entry per argument.")
        if len(treedef.subtrees) == 1 and trees.prefix_subtrees(axis_treedef, treedef.subtrees[0]):
            lines.append("The function has a single argument: write a tuple of one element.")
    lines += [f"  {name}: {axis_treedef}", f"  value: {treedef}"]
    raise ValueError("\n".join(lines))
