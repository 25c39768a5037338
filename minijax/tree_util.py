"""`jax.tree_util`: pytrees, key paths, and how types become nodes of trees (chapter 3)."""

# chapter 3
from .text.key_paths import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey
from .core.tree import (
    Partial,
    PyTreeDef,
    tree_unflatten,
)
from .pytree.registration import (
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from .pytree.functions import (
    all_leaves,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    tree_all,
    tree_broadcast,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_reduce,
    tree_reduce_associative,
    tree_structure,
    tree_transpose,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from .pytree.paths import (
    keystr,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)


class _Registry:
    """`default_registry`: the one table of node types, by the methods of JAX's object."""

    register_node = staticmethod(register_pytree_node)
    is_node = staticmethod(is_tree_node)

    @staticmethod
    def flatten(tree, leaf_predicate=None):
        """The leaves, and the structure."""
        return tree_flatten(tree, leaf_predicate)

    @staticmethod
    def flatten_one_level(tree):
        """The children and the auxiliary data of a node; `None` for a leaf."""
        return flatten_one_level(tree) if is_tree_node(type(tree)) else None

    @staticmethod
    def flatten_one_level_with_keys(tree):
        """Pairs of a key and a child, and the auxiliary data; `None` for a leaf."""
        return flatten_one_level_with_keys(tree) if is_tree_node(type(tree)) else None

    @staticmethod
    def flatten_with_path(tree, leaf_predicate=None):
        """Pairs of a path and a leaf, and the structure. The predicate takes the path, too."""
        return tree_flatten_with_path(tree, leaf_predicate, is_leaf_takes_path=True)

    @staticmethod
    def register_dataclass_node(nodetype, data_fields, meta_fields):
        """`register_dataclass`, which returns the class; this one returns nothing."""
        register_dataclass(nodetype, data_fields, meta_fields)


default_registry = _Registry()

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
