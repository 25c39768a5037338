"""Chapter 3: what can be done with pytrees besides flattening them, which `core/tree.py` does.

`registration.py` says how types become containers, `paths.py` gives leaves the paths to them,
`functions.py` reduces, broadcasts and inspects trees, and `flattening.py` has functions of pytrees
as functions of leaves in all forms of `jax.api_util`.
"""

from ..text.differences import Difference
from .differences import equality_errors, equality_errors_pytreedef, prefix_errors
from ..text.key_paths import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey
from ..core.api_util import flatten_axes
from ..core.tree import (
    LEAF, NONE, NodeType, PyTreeDef, prefix_subtrees, registry, tree_unflatten)
from .functions import (
    all_leaves, broadcast_prefix, flatten_one_level, flatten_one_level_with_keys, is_tree_node,
    tree_all, tree_broadcast, tree_flatten, tree_leaves, tree_map, tree_reduce,
    tree_reduce_associative, tree_structure, tree_transpose, treedef_children, treedef_is_leaf,
    treedef_is_strict_leaf, treedef_tuple)
from .partials import Partial
from .paths import (
    generate_key_paths, keystr, tree_flatten_with_path, tree_leaves_with_path, tree_map_with_path)
from .registration import (
    register_dataclass, register_pytree_node, register_pytree_node_class, register_pytree_with_keys,
    register_pytree_with_keys_class, register_static, static)
