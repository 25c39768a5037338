"""Trees with the paths to their leaves: `tree_flatten_with_path`, `tree_map_with_path`."""

from collections.abc import Callable
from typing import Any

from ..checks import tree as checks
from ..checks.sequences import iterable
from ..core.boundary import public
from ..core.tree import (
    LEAF,
    PyTreeDef,
    flatten_up_to,
    make_treedef,
    node_type_of,
)
from ..text.key_paths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    flatten_with_keys,
)


@public
def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Write a key path as text.

    Args:
        keys: a tuple of keys, as `tree_flatten_with_path` gives.
        simple: leave out brackets, quotes and dots.
        separator: what to put between the keys.

    >>> import minijax as jax
    >>> [(path, _)] = jax.tree_util.tree_leaves_with_path({"layers": [1.0]})
    >>> jax.tree_util.keystr(path), jax.tree_util.keystr(path, simple=True, separator="/")
    ("['layers'][0]", 'layers/0')
    """
    iterable("keystr: keys", keys)
    return separator.join(map(_simple_key if simple else str, keys))


def _simple_key(key: KeyEntry) -> str:
    match key:
        case SequenceKey(inner) | DictKey(inner) | GetAttrKey(inner) | FlattenedIndexKey(inner):
            return str(inner)
    return str(key)


@public
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


def flatten_with_path_into(tree: Any, path: KeyPath, out: list[tuple[KeyPath, Any]],
                           is_leaf: Callable[[KeyPath, Any], bool] | None) -> PyTreeDef:
    """`flatten_into`, but it appends (path, leaf) pairs and calls `is_leaf(path, node)`."""
    stops = is_leaf is not None and is_leaf(path, tree)
    checks.leaf_answer(stops)
    node_type = node_type_of(tree)
    if stops or node_type is None:
        out.append((path, tree))
        return LEAF
    pairs, aux = flatten_with_keys(tree, node_type)
    subtrees = [flatten_with_path_into(child, (*path, key), out, is_leaf) for key, child in pairs]
    return make_treedef(node_type, aux, tuple(subtrees))


@public
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


def leaf_paths(treedef: PyTreeDef) -> list[KeyPath]:
    """The path to each leaf; empty paths if a registered class cannot hold numbers as leaves."""
    try:
        tree = treedef.unflatten(range(treedef.num_leaves))
    except Exception:
        return [()] * treedef.num_leaves
    return [path for path, _ in tree_leaves_with_path(tree)]


@public
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
