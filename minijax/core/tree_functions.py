"""What is done with whole trees: flatten, map, reduce, transpose; and with prefixes of trees."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .tree import (
    LEAF,
    TUPLE,
    Difference,
    KeyEntry,
    KeyPath,
    PyTreeDef,
    difference_text,
    differences,
    flatten_into,
    flatten_up_to,
    flatten_with_path_into,
    make_treedef,
    node_type_of,
    registry,
)

IsLeaf = Callable[[Any], bool] | None  # stops the descent: what it says True to counts as a leaf

# ----------------------------------------------------------------------------------------------
# Flatten and unflatten


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Take a pytree apart into its leaves, left to right, and its structure.

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


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Put leaves into a structure: the inverse of `tree_flatten`.

    Raises:
        ValueError: if there are more or fewer leaves than `treedef` has.

    >>> import minijax as jax
    >>> jax.tree.unflatten(jax.tree.structure([0, (0, 0)]), "xyz")
    ['x', ('y', 'z')]
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a pytree, left to right.

    >>> import minijax as jax
    >>> jax.tree.leaves([1, (2, {"a": 3}), None])
    [1, 2, 3]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a pytree.

    >>> import minijax as jax
    >>> jax.tree.structure([1, (2, {"a": 3}), None])
    PyTreeDef([*, (*, {'a': *}), None])
    """
    return flatten_into(tree, [], is_leaf)


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """`tree_flatten`, with the path to each leaf.

    Args:
        tree: any value.
        is_leaf: as for `tree_flatten`.
        is_leaf_takes_path: call `is_leaf(path, node)` instead of `is_leaf(node)`.

    >>> import minijax as jax
    >>> jax.tree.flatten_with_path({"a": [7]})[0]
    [((DictKey(key='a'), SequenceKey(idx=0)), 7)]
    """
    stop = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        stop = lambda _, node: is_leaf(node)
    leaves: list[tuple[KeyPath, Any]] = []
    treedef = flatten_with_path_into(tree, (), leaves, stop)
    return leaves, treedef


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves of a pytree, each with its path; arguments as for `tree_flatten_with_path`.

    >>> import minijax as jax
    >>> for path, leaf in jax.tree.leaves_with_path({"w": 1.0, "b": [2.0]}):
    ...     print(jax.tree_util.keystr(path), leaf)
    ['b'][0] 2.0
    ['w'] 1.0
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


generate_key_paths = tree_leaves_with_path


# ----------------------------------------------------------------------------------------------
# Map, reduce, transpose


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply `f` to the leaves that stand at the same place of one or several trees.

    Args:
        f: takes one argument a tree.
        tree: gives the structure of the result.
        *rest: trees of which `tree` is a prefix: `f` gets their subtrees where `tree` has leaves.
        is_leaf: as for `tree_flatten`, for `tree`.

    Raises:
        ValueError: if `tree` is not a prefix of one of the rest; it names the place.

    >>> import minijax as jax
    >>> jax.tree.map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    others = [flatten_up_to(treedef, r, f"tree_map rest[{i}]") for i, r in enumerate(rest)]
    return treedef.unflatten(list(map(f, leaves, *others)))


def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any,
                       is_leaf: Callable[..., bool] | None = None,
                       is_leaf_takes_path: bool = False) -> Any:
    """`tree_map`, with the path to the leaf as the first argument of `f`.

    >>> import minijax as jax
    >>> jax.tree.map_with_path(lambda path, x: jax.tree_util.keystr(path), {"a": (1, 2)})
    {'a': ("['a'][0]", "['a'][1]")}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    name = "tree_map_with_path rest"
    others = [flatten_up_to(treedef, r, f"{name}[{i}]") for i, r in enumerate(rest)]
    return treedef.unflatten(list(map(f, paths, leaves, *others)))


_UNSPECIFIED: Any = type("Unspecified", (), {"__repr__": lambda self: "<unspecified>"})()


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


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true.

    >>> import minijax as jax
    >>> jax.tree.all({"a": True, "b": (1, [])})
    True
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
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
    outer_size, inner_size = outer_treedef.num_leaves, inner_treedef.num_leaves
    if len(leaves) != outer_size * inner_size:  # JAX compares the numbers of leaves only
        raise TypeError(
            f"tree_transpose: expected {outer_size} x {inner_size} leaves, got {len(leaves)}.\n"
            f"  expected structure: {outer_treedef.compose(inner_treedef)}\n"
            f"  structure of pytree_to_transpose: {treedef}"
        )
    columns = [leaves[i::inner_size] for i in range(inner_size)]
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


# ----------------------------------------------------------------------------------------------
# Structures as values


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose elements have the given structures.

    >>> import minijax as jax
    >>> jax.tree_util.treedef_tuple([jax.tree.structure(1), jax.tree.structure([1])])
    PyTreeDef((*, [*]))
    """
    treedefs = tuple(treedefs)
    for treedef in treedefs:
        if not isinstance(treedef, PyTreeDef):
            raise TypeError(f"treedef_tuple expects PyTreeDefs, got {treedef!r}.")
    return make_treedef(TUPLE, None, treedefs)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures one level down.

    >>> import minijax as jax
    >>> jax.tree_util.treedef_children(jax.tree.structure((1, [2])))
    [PyTreeDef(*), PyTreeDef([*])]
    """
    return treedef.children()


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


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every element is a leaf.

    >>> import minijax as jax
    >>> jax.tree_util.all_leaves([1, 2.0]), jax.tree_util.all_leaves([1, (2.0,)])
    (True, False)
    """
    return all(tree_structure(x, is_leaf) is LEAF for x in iterable)


def is_tree_node(typ: type) -> bool:
    """Whether values of a type are containers: a registered type, or a namedtuple.

    >>> import minijax as jax
    >>> jax.tree_util.is_tree_node(dict), jax.tree_util.is_tree_node(set)
    (True, False)
    """
    return typ in registry or (issubclass(typ, tuple) and hasattr(typ, "_fields"))


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """The children and the aux data of a node.

    Raises:
        ValueError: if `tree` is a leaf.

    >>> import minijax as jax
    >>> jax.tree_util.flatten_one_level({"a": [1, 2], "b": 3})
    ([[1, 2], 3], ('a', 'b'))
    """
    return _node_type_or_error(tree).flatten(tree)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[KeyEntry, Any]], Any]:
    """The (key, child) pairs and the aux data of a node; ValueError for a leaf.

    >>> import minijax as jax
    >>> jax.tree_util.flatten_one_level_with_keys({"a": [1, 2]})
    ([(DictKey(key='a'), [1, 2])], ('a',))
    """
    return _node_type_or_error(tree).flatten_with_keys(tree)


def _node_type_or_error(tree):
    node_type = node_type_of(tree)
    if node_type is None:
        raise ValueError(
            f"Cannot flatten a value of {type(tree)}: it is not registered as a pytree node type."
        )
    return node_type


# ----------------------------------------------------------------------------------------------
# Prefixes: one value for a whole subtree


def prefix_subtrees(prefix: PyTreeDef, full: PyTreeDef) -> list[PyTreeDef] | None:
    """The parts of `full` that stand where `prefix` has leaves; None if it is not a prefix."""
    subtrees: list[PyTreeDef] = []
    return subtrees if _prefix_subtrees_into(prefix, full, subtrees) else None


def _prefix_subtrees_into(prefix, full, out):
    if prefix is LEAF:
        out.append(full)
        return True
    same_root = prefix.node_type is full.node_type and prefix.aux == full.aux
    if not same_root or len(prefix.subtrees) != len(full.subtrees):
        return False
    pairs = zip(prefix.subtrees, full.subtrees)
    return all(_prefix_subtrees_into(sub, full_sub, out) for sub, full_sub in pairs)


def _repeat(values, subtrees):
    """Each value once for every leaf of its subtree."""
    return [value for value, sub in zip(values, subtrees) for _ in range(sub.num_leaves)]


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """For each leaf of `full_tree`, the leaf of `prefix_tree` that stands above it.

    Raises:
        ValueError: if `prefix_tree` is not a prefix of `full_tree`; it names the place.
    """
    values, treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees = flatten_up_to(treedef, full_tree, "prefix_tree")
    return _repeat(values, map(tree_structure, subtrees))


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


def flatten_axes(
    name: str, treedef: PyTreeDef, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False
) -> list[Any]:
    """One axis for each leaf of `treedef`, from a tree prefix of ints and Nones (leaves here).

    Args:
        name: what errors call `axis_tree`, for example "vmap in_axes".
        treedef: the structure of the values.
        axis_tree: a prefix of it.
        kws: both are pairs (for positional arguments, for keyword arguments); the user knows only
            the former, so errors speak of those.
        tupled_args: `treedef` is that of an argument tuple; errors explain what that means.

    Raises:
        ValueError: if `axis_tree` is not a prefix; it names the places.
    """
    axes, axis_treedef = tree_flatten(axis_tree, is_leaf=lambda x: x is None)
    subtrees = prefix_subtrees(axis_treedef, treedef)
    if subtrees is not None:
        return _repeat(axes, subtrees)
    if kws:
        treedef, axis_treedef = treedef.subtrees[0], axis_treedef.subtrees[0]
    raise _axes_error(name, treedef, axis_treedef, tupled_args)


def _axes_error(name, treedef, axis_treedef, tupled_args):
    found = list(treedef_differences(axis_treedef, treedef))
    lines = [f"{name} must be a tree prefix of the value that it describes, but is not:"]
    lines += [f"  - {difference_text(difference, name)}" for difference in found]
    if tupled_args:
        lines.append(f"It describes the tuple of arguments: {name} has one entry an argument.")
        if len(treedef.subtrees) == 1 and prefix_subtrees(axis_treedef, treedef.subtrees[0]):
            lines.append("There is a single argument: put a tuple of one element around it.")
    lines += [f"  {name}: {axis_treedef}", f"  value: {treedef}"]
    return ValueError("\n".join(lines))


# ----------------------------------------------------------------------------------------------
# Errors


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None
) -> list[Callable[[str], ValueError]]:
    """Why `prefix_tree` is not a prefix of `full_tree`: for each place, name -> error."""
    found = differences(tree_structure(prefix_tree, is_leaf), full_tree)
    return [functools.partial(_difference_error, difference) for difference in found]


def _difference_error(difference, name):
    return ValueError(difference_text(difference, name))


def equality_errors(tree1: Any, tree2: Any, is_leaf: IsLeaf = None) -> Iterator[Difference]:
    """Where the structures of two trees differ: (path, first, second, why), the texts in words."""
    return differences(tree_structure(tree1, is_leaf), tree2, strict=True, is_leaf=is_leaf)


def equality_errors_pytreedef(tree1: PyTreeDef, tree2: PyTreeDef) -> Iterator[Difference]:
    """`equality_errors` for two structures."""
    return treedef_differences(tree1, tree2, strict=True)


def treedef_differences(
    expected: PyTreeDef, found: PyTreeDef, strict: bool = False
) -> Iterator[Difference]:
    """`differences` between two structures. For the keys' sake, `found` is filled with leaves."""
    try:
        dummy = found.unflatten([object()] * found.num_leaves)
    except Exception:  # a registered class that refuses them: then say as much as can be said
        dummy = found
    return differences(expected, dummy, strict)


def structure_errors(expected: PyTreeDef, found: PyTreeDef, name: str) -> str:
    """The places where `found`, called `name`, differs from `expected`, a line each, as text."""
    pairs = treedef_differences(expected, found, strict=True)
    return "\n".join(f"  - {difference_text(difference, name)}" for difference in pairs)
