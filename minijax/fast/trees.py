"""Fast paths for the public functions of trees: XLA's C++ flattens, matches and rebuilds them.

A copy of the registry of node types is kept in C++. What a user gets as the structure of a tree is
a `PyTreeDef` that has C++'s structure inside. It answers what is asked most, and becomes the core's
description of the tree when anything else is asked. Where C++ refuses a tree, the core is asked: it
finds the words for what is wrong.

Loading XLA takes longer than flattening thousands of trees. So C++ is used once XLA is loaded, or
after as many calls as pay for it.
"""

from __future__ import annotations

import copyreg
import functools
import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..checks.tree import DictKey, GetAttrKey, KeyPath, SequenceKey, flatten_with_keys
from ..core import tree
from ..core.extension import register
from ..core.jit import cache_of, remember, traces
from ..core.tree import (
    BUILTIN_NODE_TYPES,
    DICT,
    LEAF,
    NAMEDTUPLE,
    NONE,
    node_type_of,
    registry,
    sorted_keys,
)
from ..fast_paths import FastFunctions
from ..runtime import xla

new = object.__new__

# ----------------------------------------------------------------------------------------------
# The registry in C++

_registry: Any = None
_copied = {*BUILTIN_NODE_TYPES}  # the node types that the copy has
_lock = threading.Lock()
_CALLS = 10_000  # so many calls cost as much as to load XLA
_calls = itertools.count()


def tree_registry() -> Any:
    """A copy of the registry of pytree nodes in XLA's C++, which flattens several times as fast.

    All threads share one, because structures of two registries do not mix.
    """
    if len(_copied) != len(registry):  # types are added, and never change
        with _lock:
            _copy_registry()
    return _registry


def _copy_registry():
    global _registry
    kinds = ("none", "tuple", "namedtuple", "list", "dict")
    _registry = copy = _registry or (
        xla().PyTreeRegistry(**{f"enable_{kind}": True for kind in kinds}))
    for node_type in {*registry.values()} - _copied:
        if fields := getattr(node_type, "fields", None):
            copy.register_dataclass_node(node_type.python_type, *map(list, fields))
        else:
            copy.register_node(node_type.python_type, node_type.flatten, node_type.unflatten)
        _copied.add(node_type)


def _flattened(tree: Any, is_leaf: Any) -> tuple[list, Any] | None:
    """The leaves, and the structure in C++; `None` if the tree is for the core."""
    copy = _registry
    if copy is None or len(_copied) != len(registry):
        if copy is None and not xla.cache_info().currsize and next(_calls) < _CALLS:
            return None
        copy = tree_registry()
    try:
        return copy.flatten(tree, is_leaf)
    except Exception:
        return None


# ----------------------------------------------------------------------------------------------
# Structures


class PyTreeDef(tree.PyTreeDef):
    """A structure that C++ has made. The core's description of it is made at its first use."""

    __slots__ = ("_in_xla",)

    _in_xla: Any
    num_leaves = property(lambda self: self._in_xla.num_leaves)  # type: ignore[assignment]

    def __getattr__(self, name):
        if name in ("node_type", "aux", "subtrees"):
            known = _in_core(self._in_xla)
            self.node_type, self.aux, self.subtrees = known.node_type, known.aux, known.subtrees
        else:
            raise AttributeError(f"'PyTreeDef' object has no attribute '{name}'")
        return getattr(self, name)

    def children(self):
        """The structures one level down."""
        return [*map(_treedef, self._in_xla.children())]

    def unflatten(self, leaves):
        """Build the tree that has this structure and these leaves."""
        if isinstance(leaves, (list, tuple)):
            try:
                return self._in_xla.unflatten(leaves)
            except ValueError:
                if len(leaves) == self.num_leaves:
                    raise  # by the function of a node
        return super().unflatten(leaves)

    def flatten_up_to(self, tree):
        """The subtrees of `tree` at the places where this structure has leaves."""
        subtrees = _matched(self._in_xla, (tree,))
        return super().flatten_up_to(tree) if subtrees is None else subtrees[0]

    def __eq__(self, other):
        try:
            if type(other) is PyTreeDef and self._in_xla == other._in_xla:
                return True
        except Exception:  # of auxiliary data that is not compared with itself in the core
            pass
        return super().__eq__(other)

    def __reduce__(self):
        return copyreg.dispatch_table[tree.PyTreeDef](self)

    def __hash__(self):
        return _hash_in_core(self._in_xla)


def _in_core(structure: Any) -> tree.PyTreeDef:
    """The core's description of a structure of C++."""
    data = structure.node_data()
    if data is None:
        return LEAF
    cls, aux = data
    if cls is type(None):
        return NONE
    node_type = registry.get(cls)
    if node_type is None:
        node_type, aux = NAMEDTUPLE, cls
    elif node_type is DICT:
        aux = tuple(aux)
    subtrees = []
    for child in structure.children():
        subtrees.append(_in_core(child))
    return tree.PyTreeDef(node_type, aux, tuple(subtrees), structure.num_leaves)


def _hash_in_core(structure: Any) -> int:
    """The hash of the core's description."""
    found = _hashes.get(structure)
    return remember(_hashes, structure, hash(_in_core(structure))) if found is None else found


_hashes: dict[Any, int] = cache_of(traces, _hash_in_core, "hashes of structures")


def _matched(structure: Any, trees: Sequence) -> list[list] | None:
    """For each of the trees, its subtrees where a structure of C++ has leaves; `None` if the
    structure does not match some tree."""
    try:
        return [structure.flatten_up_to(tree) for tree in trees]
    except Exception:
        return None


def _treedef(structure: Any) -> tree.PyTreeDef:
    """What users get for a structure of C++."""
    if structure.num_leaves <= 1:
        data = structure.node_data()
        if data is None:
            return LEAF
        if data[0] is type(None):
            return NONE
    return _in_xla(structure)


def _in_xla(structure: Any) -> tree.PyTreeDef:
    treedef: Any = new(PyTreeDef)  # without a call of `__init__`
    treedef._in_xla = structure
    return treedef


def _described(tree: Any, leaves: list, structure: Any) -> Any:
    """What users get for the structure of a tree."""
    if len(leaves) == 1 and leaves[0] is tree:
        return LEAF
    if tree is None:
        return NONE
    return _in_xla(structure)


# ----------------------------------------------------------------------------------------------
# Paths: the keys of C++ are of classes of its own, so paths are made in Python

_key_of_name = functools.lru_cache(maxsize=4096)(DictKey)
_keys_of_indices = tuple(map(SequenceKey, range(256)))


@functools.lru_cache(maxsize=256)
def _keys_of_fields(cls: Any) -> tuple[GetAttrKey, ...]:
    return tuple(map(GetAttrKey, cls._fields))


def _add_paths(tree: Any, path: KeyPath, out: list[tuple[KeyPath, Any]]) -> None:
    """Append the leaves of a tree, with the paths to them."""
    kind = type(tree)
    pairs: Iterable
    if kind is dict:
        # Strings that are equal are the same. Other names, such as 1 and True, need not be.
        pairs = [(_key_of_name(name) if type(name) is str else DictKey(name), tree[name])
                 for name in sorted_keys(tree)]
    elif kind is list or kind is tuple:
        few = len(tree) <= len(_keys_of_indices)
        pairs = zip(_keys_of_indices if few else map(SequenceKey, itertools.count()), tree)
    elif (node_type := node_type_of(tree)) is None:
        out.append((path, tree))
        return
    elif node_type is NAMEDTUPLE:
        pairs = zip(_keys_of_fields(kind), tree)  # type: ignore[arg-type]
    else:
        pairs = flatten_with_keys(tree, node_type)[0]
    for key, child in pairs:
        if type(child) in registry or isinstance(child, tuple):
            _add_paths(child, (*path, key), out)
        else:
            out.append(((*path, key), child))


# The paths to the leaves of structures that say all about them.
_paths: dict[Any, list[KeyPath]] = cache_of(traces, _add_paths, "paths")


def _says_all(structure: Any) -> bool:
    """Whether trees of equal structures have the same paths: each node is a list, a tuple, `None`
    or a dict of strings. Other names can be equal and differ, such as 1 and True."""
    if (data := structure.node_data()) is None:
        return True
    cls, names = data
    if cls is dict and not all(type(name) is str for name in names):
        return False
    if cls not in (dict, list, tuple, type(None)) and cls in registry:
        return False
    return all(map(_says_all, structure.children()))  # of a namedtuple, too


def _with_paths(tree: Any) -> tuple[list[KeyPath], list, Any] | None:
    """The paths, the leaves, and the structure in C++; `None` if the tree is for the core."""
    if (found := _flattened(tree, None)) is None:
        return None
    leaves, structure = found
    try:
        if (paths := _paths.get(structure)) is not None:
            return paths, leaves, structure
    except Exception:  # of auxiliary data without a hash
        pass
    pairs: list = []
    _add_paths(tree, (), pairs)
    paths = [path for path, _ in pairs]
    if _says_all(structure):
        remember(_paths, structure, paths)
    return paths, [leaf for _, leaf in pairs], structure


# ----------------------------------------------------------------------------------------------
# The public functions


def fast_flatten(function: Callable) -> Callable:
    def tree_flatten(tree, is_leaf=None):
        if (found := _flattened(tree, is_leaf)) is None:
            return function(tree, is_leaf)
        leaves, structure = found
        if len(leaves) > 1:  # as `_described`, without the call
            treedef: Any = new(PyTreeDef)
            treedef._in_xla = structure
            return leaves, treedef
        return leaves, _described(tree, leaves, structure)

    return tree_flatten


def fast_leaves(function: Callable) -> Callable:
    def tree_leaves(tree, is_leaf=None):
        found = _flattened(tree, is_leaf)
        return function(tree, is_leaf) if found is None else found[0]

    return tree_leaves


def fast_structure(function: Callable) -> Callable:
    def tree_structure(tree, is_leaf=None):
        if (found := _flattened(tree, is_leaf)) is None:
            return function(tree, is_leaf)
        leaves, structure = found
        if len(leaves) > 1:  # as `_described`, without the call
            treedef: Any = new(PyTreeDef)
            treedef._in_xla = structure
            return treedef
        return _described(tree, leaves, structure)

    return tree_structure


def fast_map(function: Callable) -> Callable:
    def tree_map(f, tree, *rest, is_leaf=None):
        if found := _flattened(tree, is_leaf):
            leaves, structure = found
            others = _matched(structure, rest)
            if others is not None:
                return structure.unflatten([*map(f, leaves, *others)])
        return function(f, tree, *rest, is_leaf=is_leaf)

    return tree_map


def fast_flatten_with_path(function: Callable) -> Callable:
    def tree_flatten_with_path(tree, is_leaf=None, is_leaf_takes_path=False):
        if is_leaf is None and (found := _with_paths(tree)) is not None:
            paths, leaves, structure = found
            return [*zip(paths, leaves)], _described(tree, leaves, structure)
        return function(tree, is_leaf, is_leaf_takes_path)

    return tree_flatten_with_path


def fast_leaves_with_path(function: Callable) -> Callable:
    def tree_leaves_with_path(tree, is_leaf=None, is_leaf_takes_path=False):
        if is_leaf is not None:
            return function(tree, is_leaf, is_leaf_takes_path)
        if (found := _with_paths(tree)) is not None:
            return [*zip(*found[:2])]
        pairs: list = []
        _add_paths(tree, (), pairs)
        return pairs

    return tree_leaves_with_path


def fast_map_with_path(function: Callable) -> Callable:
    def tree_map_with_path(f, tree, *rest, is_leaf=None, is_leaf_takes_path=False):
        if is_leaf is None and (found := _with_paths(tree)) is not None:
            paths, leaves, structure = found
            others = _matched(structure, rest)
            if others is not None:
                return structure.unflatten([*map(f, paths, leaves, *others)])
        return function(f, tree, *rest, is_leaf=is_leaf, is_leaf_takes_path=is_leaf_takes_path)

    return tree_map_with_path


FAST = {"tree_flatten": fast_flatten, "tree_leaves": fast_leaves, "tree_structure": fast_structure,
        "tree_map": fast_map, "tree_flatten_with_path": fast_flatten_with_path,
        "tree_leaves_with_path": fast_leaves_with_path,
        "tree_map_with_path": fast_map_with_path}
register(FastFunctions(FAST))
