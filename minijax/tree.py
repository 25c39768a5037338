"""`jax.tree`: the functions on pytrees, under short names (chapter 3)."""

# chapter 3
from minijax.pytree import static as static
from minijax.pytree import tree_all as all
from minijax.pytree import tree_broadcast as broadcast
from minijax.pytree import tree_flatten as flatten
from minijax.pytree import tree_flatten_with_path as flatten_with_path
from minijax.pytree import tree_leaves as leaves
from minijax.pytree import tree_leaves_with_path as leaves_with_path
from minijax.pytree import tree_map as map
from minijax.pytree import tree_map_with_path as map_with_path
from minijax.pytree import tree_reduce as reduce
from minijax.pytree import tree_reduce_associative as reduce_associative
from minijax.pytree import tree_structure as structure
from minijax.pytree import tree_transpose as transpose
from minijax.pytree import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
