"""Where the structures of two trees differ, in words."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .key_paths import flatten_with_keys

Structure = Callable[[Any], Any]  # a tree -> its structure


def opened(structure: Structure, tree: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """The structure of a tree, and the (key, child) pairs of its root."""
    treedef = structure(tree)
    node_type = treedef.node_type
    return treedef, [] if node_type is None else [*flatten_with_keys(tree, node_type)[0]]


class Difference(NamedTuple):
    """`expected` and `found`, both in words, disagree at `path`; `why` says in what."""

    path: tuple
    expected: str
    found: str
    why: str


def differences(expected: Any, tree: Any, structure: Structure, strict: bool = False,
                path: tuple = ()) -> Iterator[Difference]:
    """The topmost places where `tree` does not have the structure `expected`.

    Unless `strict`, `expected` need only be a prefix: anything may stand where it has a leaf.
    `structure(tree)` is its structure.
    """
    found, keyed_children = opened(structure, tree)
    if _is_leaf(expected):
        if strict and not _is_leaf(found):
            yield Difference(path, *_types(expected, found))
        return
    if (difference := root_difference(expected, found)) is not None:
        yield Difference(path, *difference)
        return
    for subtree, (key, child) in zip(expected.subtrees, keyed_children):
        yield from differences(subtree, child, structure, strict, (*path, key))


def _is_leaf(treedef) -> bool:
    return treedef.node_type is None


def _class(treedef) -> type | None:
    return None if _is_leaf(treedef) else treedef.node_data()[0]


def root_difference(expected, found) -> tuple[str, str, str] | None:
    """The roots in words, and how they differ, children aside; None if they agree."""
    if _is_leaf(found) or expected.node_data()[0] is not found.node_data()[0]:
        return _types(expected, found)
    kind, both = _kind(expected), (expected, found)
    if len(expected.subtrees) != len(found.subtrees):
        one, two = (len(node.subtrees) for node in both)
        cls = expected.node_data()[0]
        if cls in (tuple, list):
            name = cls.__name__
            return (f"a {name} of length {one}", f"a {name} of length {two}",
                    "the lengths do not match")
        first, second = (f"{kind} with {n} child{'ren' * (n != 1)}" for n in (one, two))
        return (first, second, "the numbers of children do not match" + _key_difference(*both))
    if expected.aux != found.aux:
        metadata = (tuple(node.aux) if _class(node) is dict else node.aux for node in both)
        first, second = (f"{kind} with pytree metadata {aux}" for aux in metadata)
        return (first, second, "the pytree node metadata does not match" + _key_difference(*both))
    return None


def _types(expected, found) -> tuple[str, str, str]:
    return _kind(expected), _kind(found), "their Python types differ"


def _kind(treedef) -> str:
    """A node in words, children aside."""
    if _is_leaf(treedef):
        return "a pytree leaf"
    return "None" if _class(treedef) is type(None) else f"a {treedef.node_data()[0]}"


def _key_difference(expected, found) -> str:
    """Which keys of dicts only one of the two has, with a colon before; empty if they agree."""
    if _class(expected) is not dict:
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
    """The place, as in `in_axes[0]['w']`, what is expected at it, and what it has."""
    path, expected, found, why = difference
    if "lengths" in why:
        what = f"lengths of {expected.split()[1]}"
    elif "numbers" in why:
        what = "numbers of pytree children"
    else:
        what = "types" if "types" in why else "pytree metadata"
    place = "".join(map(str, path))
    return (f"pytree structure error: different {what} at key path\n    {name}{place}\n"
            f"Expected {expected}, got {found} ({why}).")


def treedef_differences(
    expected: Any, found: Any, structure: Structure, strict: bool = False
) -> Iterator[Difference]:
    """`differences` between two structures. To get its keys, `found` is filled with leaves."""
    try:
        dummy = found.unflatten([object()] * found.num_leaves)
    except Exception:  # a registered class that refuses these leaves: the difference is at the root
        dummy = found
    return differences(expected, dummy, structure, strict)
