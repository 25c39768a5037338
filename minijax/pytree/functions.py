"""What else is done with whole trees: reduce, transpose, broadcast; ask structures."""

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..checks import sequences, tree as checks
from ..core import tree as trees
from ..core.boundary import public
from ..core.tree import (
    LEAF,
    TUPLE,
    IsLeaf,
    PyTreeDef,
    flatten_up_to,
    make_treedef,
    node_type_of,
    registry,
)
from ..text.key_paths import KeyEntry, flatten_with_keys
from ..text.naming import renamed
from .partials import Partial
from .registration import OwnNodeType

F = TypeVar("F", bound=Callable)


def _public(function: F) -> F:
    """A function of the core, as users get it. `pickle` finds it here."""
    return renamed(function, function.__name__, __name__)


tree_flatten = _public(trees.tree_flatten)
tree_leaves = _public(trees.tree_leaves)
tree_map = _public(trees.tree_map)
tree_structure = _public(trees.tree_structure)

# ----------------------------------------------------------------------------------------------
# Reduce


_UNSPECIFIED: Any = type("Unspecified", (), {"__repr__": lambda self: "<unspecified>"})()


@public
def tree_reduce(function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _UNSPECIFIED,
                is_leaf: IsLeaf = None) -> Any:
    """`functools.reduce` over the leaves, from left to right.

    Raises:
        TypeError: if there is neither a leaf nor an initializer.

    >>> import minijax as jax
    >>> jax.tree.reduce(lambda x, y: x + y, {"a": 1, "b": [2, 3]})
    6
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is _UNSPECIFIED:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


@public
def tree_reduce_associative(operation: Callable[[Any, Any], Any], tree: Any, *,
                            identity: Any = _UNSPECIFIED, is_leaf: IsLeaf = None) -> Any:
    """Combine the leaves pairwise, in a balanced way: depth log n instead of n.

    Args:
        operation: an associative function of two leaves.
        tree: any value.
        identity: the result for a tree without leaves.
        is_leaf: as for `tree_flatten`.

    Raises:
        TypeError: if there is neither a leaf nor an identity.

    >>> import minijax as jax
    >>> jax.tree.reduce_associative(lambda x, y: f"({x}{y})", list("abcd"))
    '((ab)(cd))'
    """
    leaves = tree_leaves(tree, is_leaf)
    if leaves:
        return _combine(operation, leaves)
    if identity is _UNSPECIFIED:
        raise TypeError(
            "tree_reduce_associative of a tree without leaves needs an identity: pass identity=..."
        )
    return identity


def _combine(operation, xs):
    if len(xs) == 1:
        return xs[0]
    middle = len(xs) // 2
    return operation(_combine(operation, xs[:middle]), _combine(operation, xs[middle:]))


@public
def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true.

    >>> import minijax as jax
    >>> jax.tree.all({"a": True, "b": (1, [])})
    True
    """
    return all(tree_leaves(tree, is_leaf))


# ----------------------------------------------------------------------------------------------
# Structures and types as values


@public
def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures one level down.

    >>> import minijax as jax
    >>> jax.tree_util.treedef_children(jax.tree.structure((1, [2])))
    [PyTreeDef(*), PyTreeDef([*])]
    """
    return treedef.children()


@public
def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure has a single node: a leaf, or a container with nothing in it.

    >>> import minijax as jax
    >>> [jax.tree_util.treedef_is_leaf(jax.tree.structure(x)) for x in (1, None, [1])]
    [True, True, False]
    """
    return not treedef.subtrees


def treedef_is_strict_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is that of a leaf."""
    return treedef is LEAF


@public
def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every element is a leaf.

    >>> import minijax as jax
    >>> jax.tree_util.all_leaves([1, 2.0]), jax.tree_util.all_leaves([1, (2.0,)])
    (True, False)
    """
    sequences.iterable("all_leaves: iterable", iterable)
    if is_leaf is None:
        return all(node_type_of(x) is None for x in iterable)
    leaves = tree_leaves(values := [*iterable], is_leaf)
    return len(leaves) == len(values) and all(map(operator.is_, leaves, values))


@public
def is_tree_node(typ: type) -> bool:
    """Whether values of a type are containers: a registered type, or a namedtuple.

    >>> import minijax as jax
    >>> jax.tree_util.is_tree_node(dict), jax.tree_util.is_tree_node(set)
    (True, False)
    """
    return isinstance(typ, type) and (
        typ in registry or (issubclass(typ, tuple) and hasattr(typ, "_fields")))


_IN_TUPLES = (tuple, dict, type(None), Partial)  # nodes whose children JAX gives as a tuple


@public
def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """The children and the aux data of a node.

    Raises:
        ValueError: if `tree` is a leaf.

    >>> import minijax as jax
    >>> jax.tree_util.flatten_one_level({"a": [1, 2], "b": 3})
    (([1, 2], 3), ('a', 'b'))
    """
    node_type = _node_type_or_error(tree)
    if isinstance(node_type, OwnNodeType):
        return node_type.as_given(tree)
    children, aux = node_type.flatten(tree)
    return (tuple(children) if type(tree) in _IN_TUPLES else [*children]), aux


@public
def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[KeyEntry, Any]], Any]:
    """The (key, child) pairs and the aux data of a node; ValueError for a leaf.

    >>> import minijax as jax
    >>> jax.tree_util.flatten_one_level_with_keys({"a": [1, 2]})
    (((DictKey(key='a'), [1, 2]),), ('a',))
    """
    pairs, aux = flatten_with_keys(tree, _node_type_or_error(tree))
    in_tuple = type(tree) in (tuple, list, dict, type(None))
    return (tuple(pairs) if in_tuple else [*pairs]), aux


def _node_type_or_error(tree):
    node_type = node_type_of(tree)
    if node_type is None:
        raise ValueError(
            f"can't tree-flatten type: {type(tree)}: it is not registered as a pytree node type."
        )
    return node_type


@public
def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose elements have the given structures.

    >>> import minijax as jax
    >>> jax.tree_util.treedef_tuple([jax.tree.structure(1), jax.tree.structure([1])])
    PyTreeDef((*, [*]))
    """
    sequences.iterable("treedef_tuple: treedefs", treedefs)
    treedefs = tuple(treedefs)
    for treedef in treedefs:
        checks.is_treedef("treedef_tuple", treedef)
    return make_treedef(TUPLE, None, treedefs)


# ----------------------------------------------------------------------------------------------
# Transpose


@public
def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None,
                   pytree_to_transpose: Any) -> Any:
    """Turn an outer structure of inner ones into an inner structure of outer ones.

    Args:
        outer_treedef: the structure on the outside.
        inner_treedef: the structure on the inside; None means that of the first subtree.
        pytree_to_transpose: a tree with the structure `outer_treedef.compose(inner_treedef)`.

    Raises:
        TypeError: if the tree does not have as many leaves as that structure.

    >>> import minijax as jax
    >>> outer, inner = jax.tree.structure([0, 0]), jax.tree.structure((0, 0))
    >>> jax.tree.transpose(outer, inner, [(1, 2), (3, 4)])
    ([1, 3], [2, 4])
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    _check_transposed(outer_treedef, inner_treedef, treedef)
    size = inner_treedef.num_leaves
    columns = [leaves[i::size] for i in range(size)]
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


def _check_transposed(outer: PyTreeDef, inner: PyTreeDef, treedef: PyTreeDef) -> None:
    """Raise TypeError for a tree that is not an `outer` of `inner`s. JAX compares numbers only."""
    if treedef.num_leaves != outer.num_leaves * inner.num_leaves:
        raise TypeError(
            f"Mismatch in tree_transpose: expected {outer.num_leaves} x {inner.num_leaves} leaves, "
            f"got {treedef.num_leaves}.\n"
            f"  expected structure: {outer.compose(inner)}\n"
            f"  structure of pytree_to_transpose: {treedef}"
        )


# ----------------------------------------------------------------------------------------------
# Prefixes: one value for a whole subtree


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """For each leaf of `full_tree`, the leaf of `prefix_tree` that stands above it.

    Raises:
        ValueError: if `prefix_tree` is not a prefix of `full_tree`; it names the place.
    """
    values, treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees = flatten_up_to(treedef, full_tree, "prefix_tree")
    sizes = [tree_structure(subtree).num_leaves for subtree in subtrees]
    return [value for value, size in zip(values, sizes) for _ in range(size)]


@public
def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Fill the structure of `full_tree` with the leaves of a prefix of it.

    Args:
        prefix_tree: each of its leaves is repeated over the subtree at its place.
        full_tree: gives the structure.
        is_leaf: as for `tree_flatten`, for `prefix_tree`.

    Raises:
        ValueError: if `prefix_tree` is not a prefix of `full_tree`; it names the place.

    >>> import minijax as jax
    >>> jax.tree.broadcast((1, 2), ([0, 0], {"a": 0}))
    ([1, 1], {'a': 2})
    """
    values = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree).unflatten(values)
