"""Chapter 3: how are nested containers taken apart and put together?

A pytree is a value seen as nested containers with leaves. Flattening splits it into its leaves and
a `PyTreeDef`, which describes everything else. Unflattening puts the two together again:

    tree_flatten        : tree → [leaf], PyTreeDef
    PyTreeDef.unflatten : [leaf] → tree

The table `registry` decides by exact type what counts as a container. The transformations work on
flat lists, and leave everything about containers to this file and to `api_util.py`.

Counterpart in JAX: `jax/_src/tree_util.py`, with its registry in C++.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any

from ..checks import tree as checks
from .boundary import public
from .extension import Printed

# ----------------------------------------------------------------------------------------------
# Node types: how a container is split into its children, and how it is built from them


@dataclass(frozen=True, eq=False, slots=True)
class NodeType:
    """How values of one type flatten by one level.

    `flatten(x) -> (children, aux)` and `unflatten(aux, children) -> x` are inverse to each other.
    `aux` is everything in `x` except the children; structures compare it with `==`.
    `flatten_with_keys(x)` returns `((key, child), ...), aux`; types that name no keys have None.
    """

    python_type: type
    flatten: Callable[[Any], tuple[Any, Any]]
    unflatten: Callable[[Any, Any], Any]
    flatten_with_keys: Callable[[Any], tuple[Any, Any]] | None = None


def node_type_of(tree: Any) -> NodeType | None:
    """The node type of a container, or None for a leaf.

    Only the exact type counts: an instance of a subclass of `dict` is a leaf, as in JAX.
    """
    node_type = registry.get(type(tree))
    if node_type is None and isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return NAMEDTUPLE
    return node_type


def sorted_keys(mapping: dict) -> tuple:
    """The keys in the order of their leaves: sorted, so that equal dicts flatten alike."""
    try:
        return tuple(sorted(mapping))
    except Exception as error:
        checks.keys_can_be_sorted(mapping, error)
        raise


def _flatten_dict(mapping):
    keys = sorted_keys(mapping)
    return [mapping[key] for key in keys], keys


TUPLE = NodeType(tuple, lambda xs: (xs, None), lambda _, xs: tuple(xs))
LIST = NodeType(list, lambda xs: (xs, None), lambda _, xs: list(xs))
DICT = NodeType(dict, _flatten_dict, lambda keys, xs: dict(zip(keys, xs)))
NONE_TYPE = NodeType(type(None), lambda _: ((), None), lambda *_: None)
# One entry serves all namedtuple classes: the class itself is the aux data.
NAMEDTUPLE = NodeType(tuple, lambda xs: (xs, type(xs)), lambda cls, xs: cls(*xs))

BUILTIN_NODE_TYPES = (TUPLE, LIST, DICT, NONE_TYPE)
registry: dict[type, NodeType] = {node.python_type: node for node in BUILTIN_NODE_TYPES}


# ----------------------------------------------------------------------------------------------
# PyTreeDef: what remains of a tree when the leaves are taken out


class PyTreeDef(Printed):
    """The structure of a pytree: a node type, its aux data, and the structures of its children.

    Immutable. The structure of a leaf is the one object `LEAF`, that of None the one object `NONE`.

    >>> import minijax as jax
    >>> jax.tree.structure({"b": [1, 2], "a": None})
    PyTreeDef({'a': None, 'b': [*, *]})
    """

    __slots__ = ("node_type", "aux", "subtrees", "num_leaves", "_hash", "__weakref__")

    def __init__(self, node_type: NodeType | None, aux: Any, subtrees: tuple[PyTreeDef, ...],
                 num_leaves: int):
        self.node_type, self.aux, self.subtrees = node_type, aux, subtrees
        self.num_leaves = num_leaves
        self._hash: int | None = None

    def children(self) -> list[PyTreeDef]:
        """The structures one level down."""
        return list(self.subtrees)

    def node_data(self) -> tuple[type, Any] | None:
        """The root's type and aux data; None for a leaf."""
        if self.node_type is None:
            return None
        if self.node_type is NAMEDTUPLE:
            return self.aux, None
        return self.node_type.python_type, list(self.aux) if self.node_type is DICT else self.aux

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Build the tree that has this structure and these leaves."""
        if not isinstance(leaves, (list, tuple)):
            # One more than needed shows that there are too many, even of infinitely many.
            checks.iterable("unflatten: leaves", leaves)
            leaves = list(islice(leaves, self.num_leaves + 1))
        checks.number_of_leaves(self, leaves, "unflatten")
        return _unflatten(self, iter(leaves))

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of `tree` at the places where this structure has leaves.

        Raises ValueError if this structure is not a prefix of `tree`'s.
        """
        return flatten_up_to(self, tree, "tree")

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves and Nones included."""
        return 1 + sum(subtree.num_nodes for subtree in self.subtrees)

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """The structure in which every leaf of this one is replaced by `inner`."""
        checks.is_treedef("PyTreeDef.compose", inner)
        if self.node_type is None:
            return inner
        subtrees = tuple(subtree.compose(inner) for subtree in self.subtrees)
        return make_treedef(self.node_type, self.aux, subtrees)

    @staticmethod
    def from_node_data_and_children(node_registry: Any, node_data: tuple[type, Any] | None,
                                    children: Iterable[PyTreeDef]) -> PyTreeDef:
        """The inverse of `node_data` and `children`. JAX's signature has a registry, unused."""
        if node_data is None:
            return LEAF
        cls, aux = node_data
        checks.is_node_class(cls, registry)
        node_type = registry.get(cls)
        if node_type is None:
            return make_treedef(NAMEDTUPLE, cls, tuple(children))
        return make_treedef(node_type, tuple(aux) if node_type is DICT else aux, tuple(children))

    def __reduce__(self):
        return PyTreeDef.from_node_data_and_children, (None, self.node_data(), self.subtrees)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return (self.node_type is other.node_type and self.num_leaves == other.num_leaves
                and self.subtrees == other.subtrees
                and (self.aux is other.aux or self.aux == other.aux))

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((id(self.node_type), _hash_if_possible(self.aux), self.subtrees))
        return self._hash

    def _plain_text(self):
        if self.node_type is None:
            return "*"
        return f"{self.node_type.python_type.__name__}({', '.join(map(str, self.subtrees))})"


LEAF = PyTreeDef(None, None, (), 1)
NONE = PyTreeDef(NONE_TYPE, None, (), 0)


def make_treedef(node_type: NodeType, aux: Any, subtrees: tuple[PyTreeDef, ...]) -> PyTreeDef:
    """A node over `subtrees`; keeps `NONE` the only structure of None."""
    if node_type is NONE_TYPE:
        return NONE
    return PyTreeDef(node_type, aux, subtrees, sum(sub.num_leaves for sub in subtrees))


def _hash_if_possible(aux):
    try:
        return hash(aux)
    except TypeError:  # aux data need not be hashable to be compared
        return 0


# ----------------------------------------------------------------------------------------------
# Flatten and unflatten


IsLeaf = Callable[[Any], bool] | None  # a node for which it returns True counts as a leaf


@public
def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Split a pytree into its leaves, left to right, and its structure.

    Args:
        tree: any value.
        is_leaf: called on every node on the way down; True makes that node a leaf.

    Raises:
        ValueError: if a dict has keys that cannot be sorted.

    >>> import minijax as jax
    >>> jax.tree.flatten({"b": (1, 2), "a": [3, None]})
    ([3, 1, 2], PyTreeDef({'a': [*, None], 'b': (*, *)}))
    """
    leaves: list[Any] = []
    treedef = flatten_into(tree, leaves, is_leaf)
    return leaves, treedef


def flatten_into(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> PyTreeDef:
    """Append the leaves of `tree` to `leaves`, left to right, and return its structure."""
    node_type = node_type_of(tree)
    if is_leaf is not None:
        answer = is_leaf(tree)
        checks.leaf_answer(answer)
        node_type = None if answer else node_type
    if node_type is None:
        leaves.append(tree)
        return LEAF
    if tree is None:
        return NONE
    start = len(leaves)
    children, aux = node_type.flatten(tree)
    subtrees = []
    for child in children:
        if is_leaf is None and type(child) not in registry and not isinstance(child, tuple):
            leaves.append(child)  # the usual child, without a call
            subtrees.append(LEAF)
        else:
            subtrees.append(flatten_into(child, leaves, is_leaf))
    return PyTreeDef(node_type, aux, tuple(subtrees), len(leaves) - start)


@public
def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Put leaves into a structure: the inverse of `tree_flatten`.

    Raises:
        ValueError: if there are more or fewer leaves than `treedef` has.

    >>> import minijax as jax
    >>> jax.tree.unflatten(jax.tree.structure([0, (0, 0)]), "xyz")
    ['x', ('y', 'z')]
    """
    return treedef.unflatten(leaves)


def _unflatten(treedef, leaves):
    """Take this structure's leaves from the iterator, and build its tree."""
    if treedef is LEAF:
        return next(leaves)
    children = []
    for subtree in treedef.subtrees:
        children.append(next(leaves) if subtree is LEAF else _unflatten(subtree, leaves))
    return treedef.node_type.unflatten(treedef.aux, tuple(children))


@public
def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a pytree, left to right.

    >>> import minijax as jax
    >>> jax.tree.leaves([1, (2, {"a": 3}), None])
    [1, 2, 3]
    """
    return tree_flatten(tree, is_leaf)[0]


@public
def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a pytree.

    >>> import minijax as jax
    >>> jax.tree.structure([1, (2, {"a": 3}), None])
    PyTreeDef([*, (*, {'a': *}), None])
    """
    return flatten_into(tree, [], is_leaf)


# ----------------------------------------------------------------------------------------------
# Map


@public
def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply `f` to the leaves that stand at the same place of one or several trees.

    Args:
        f: takes one argument per tree.
        tree: gives the structure of the result.
        *rest: trees of which `tree` is a prefix: `f` gets their subtrees where `tree` has leaves.
        is_leaf: as for `tree_flatten`, for `tree`.

    Raises:
        ValueError: if `tree` is not a prefix of one of the rest; the message names the place.

    >>> import minijax as jax
    >>> jax.tree.map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    others = [flatten_up_to(treedef, r, f"tree_map rest[{i}]") for i, r in enumerate(rest)]
    return treedef.unflatten(list(map(f, leaves, *others)))


# ----------------------------------------------------------------------------------------------
# Prefixes: a leaf of one tree stands for a whole subtree of another


def flatten_up_to(treedef: PyTreeDef, tree: Any, name: str) -> list[Any]:
    """`treedef.flatten_up_to(tree)`; errors call the tree `name`."""
    subtrees: list[Any] = []
    matches = _match(treedef, tree, _one_level, subtrees)
    checks.is_prefix(matches, treedef, tree, name, tree_structure)
    return subtrees


def prefix_subtrees(prefix: PyTreeDef, full: PyTreeDef) -> list[PyTreeDef] | None:
    """The parts of `full` that stand where `prefix` has leaves; None if it is not a prefix."""
    subtrees: list[PyTreeDef] = []
    return subtrees if _match(prefix, full, _ONE_LEVEL_OF_TREEDEF, subtrees) else None


def _match(prefix, full, one_level, out):
    """Append to `out` what stands in `full` at each leaf of `prefix`; False if they do not match.

    `one_level(full) -> (node type, children, aux)` makes it work on trees and on structures.
    """
    if prefix is LEAF:
        out.append(full)
        return True
    node_type, children, aux = one_level(full)
    if node_type is not prefix.node_type or aux != prefix.aux:
        return False
    if len(children) != len(prefix.subtrees):
        return False
    return all(_match(sub, child, one_level, out) for sub, child in zip(prefix.subtrees, children))


def _one_level(tree):
    node_type = node_type_of(tree)
    return (node_type, *node_type.flatten(tree)) if node_type else (None, (), None)


_ONE_LEVEL_OF_TREEDEF = attrgetter("node_type", "subtrees", "aux")
