"""`jax.tree_util`: pytrees, key paths, and how types become nodes of trees (chapter 3)."""

# chapter 3
from .text.key_paths import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey
from .pytree.partials import Partial
from .core.tree import (
    PyTreeDef, tree_unflatten)
from .pytree.registry import default_registry
from .pytree.registration import (
    register_dataclass, register_pytree_node, register_pytree_node_class, register_pytree_with_keys,
    register_pytree_with_keys_class, register_static)
from .pytree.functions import (
    all_leaves, flatten_one_level, flatten_one_level_with_keys, is_tree_node, tree_all,
    tree_broadcast, tree_flatten, tree_leaves, tree_map, tree_reduce, tree_reduce_associative,
    tree_structure, tree_transpose, treedef_children, treedef_is_leaf, treedef_tuple)
from .pytree.paths import (
    keystr, tree_flatten_with_path, tree_leaves_with_path, tree_map_with_path)

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "all_leaves", "default_registry", "flatten_one_level",
    "flatten_one_level_with_keys", "is_tree_node", "keystr", "register_dataclass",
    "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "tree_all", "tree_broadcast",
    "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_with_path", "tree_reduce", "tree_reduce_associative", "tree_structure",
    "tree_transpose", "tree_unflatten", "treedef_children", "treedef_is_leaf", "treedef_tuple"]
