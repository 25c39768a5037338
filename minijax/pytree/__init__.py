"""Chapter 3: pytrees. Nested containers of arrays, taken apart into leaves and a structure.

`structure.py` holds the node types, paths and `PyTreeDef`; `functions.py` what is done with whole
trees (`tree_map` and its kin) and with prefixes of trees; `registration.py` how types join.
"""

from ..core.tree import (
    LEAF,
    NONE,
    DictKey,
    Difference,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    NodeType,
    PyTreeDef,
    SequenceKey,
    keystr,
    register_listeners,
    registry,
)
from ..core.tree_registration import (
    Partial,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static,
)
from ..core.tree_functions import (
    all_leaves,
    broadcast_prefix,
    equality_errors,
    equality_errors_pytreedef,
    flatten_axes,
    flatten_one_level,
    flatten_one_level_with_keys,
    generate_key_paths,
    is_tree_node,
    prefix_errors,
    prefix_subtrees,
    structure_errors,
    tree_all,
    tree_broadcast,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_with_path,
    tree_reduce,
    tree_reduce_associative,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_is_strict_leaf,
    treedef_tuple,
)
