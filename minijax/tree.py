"""`jax.tree`: the functions on pytrees, under short names (chapter 3)."""

# chapter 3
from .errors import renamed as _renamed
from .pytree.registration import static as static
from .pytree.functions import tree_all as _all
from .pytree.functions import tree_broadcast as _broadcast
from .pytree.functions import tree_flatten as _flatten
from .pytree.paths import tree_flatten_with_path as _flatten_with_path
from .pytree.functions import tree_leaves as _leaves
from .pytree.paths import tree_leaves_with_path as _leaves_with_path
from .pytree.functions import tree_map as _map
from .pytree.paths import tree_map_with_path as _map_with_path
from .pytree.functions import tree_reduce as _reduce
from .pytree.functions import tree_reduce_associative as _reduce_associative
from .pytree.functions import tree_structure as _structure
from .pytree.functions import tree_transpose as _transpose
from .core.tree import tree_unflatten as _unflatten

all = _renamed(_all, "all")
broadcast = _renamed(_broadcast, "broadcast")
flatten = _renamed(_flatten, "flatten")
flatten_with_path = _renamed(_flatten_with_path, "flatten_with_path")
leaves = _renamed(_leaves, "leaves")
leaves_with_path = _renamed(_leaves_with_path, "leaves_with_path")
map = _renamed(_map, "map")
map_with_path = _renamed(_map_with_path, "map_with_path")
reduce = _renamed(_reduce, "reduce")
reduce_associative = _renamed(_reduce_associative, "reduce_associative")
structure = _renamed(_structure, "structure")
transpose = _renamed(_transpose, "transpose")
unflatten = _renamed(_unflatten, "unflatten")

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
