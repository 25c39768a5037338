"""The table of node types as one object, which libraries for JAX ask by its methods."""

from .functions import flatten_one_level, flatten_one_level_with_keys, is_tree_node, tree_flatten
from .paths import tree_flatten_with_path
from .registration import register_dataclass, register_pytree_node


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
        """Pairs of a path and a leaf, and the structure. The predicate also takes the path."""
        return tree_flatten_with_path(tree, leaf_predicate, is_leaf_takes_path=True)

    @staticmethod
    def register_dataclass_node(nodetype, data_fields, meta_fields):
        """`register_dataclass`, which returns the class; this one returns nothing."""
        register_dataclass(nodetype, data_fields, meta_fields)


default_registry = _Registry()
