"""`jax.tree`: the functions on pytrees, under short names (chapter 3)."""

# chapter 3
from .text.naming import renamed as _renamed
from .pytree.registration import static as static
from .pytree.functions import (
    tree_all as _all, tree_broadcast as _broadcast, tree_flatten as _flatten,
    tree_leaves as _leaves, tree_map as _map, tree_reduce as _reduce,
    tree_reduce_associative as _reduce_associative, tree_structure as _structure,
    tree_transpose as _transpose)
from .pytree.paths import (
    tree_flatten_with_path as _flatten_with_path, tree_leaves_with_path as _leaves_with_path,
    tree_map_with_path as _map_with_path)
from .core.tree import tree_unflatten as _unflatten

all = _renamed(_all, "all", __name__)
broadcast = _renamed(_broadcast, "broadcast", __name__)
flatten = _renamed(_flatten, "flatten", __name__)
flatten_with_path = _renamed(_flatten_with_path, "flatten_with_path", __name__)
leaves = _renamed(_leaves, "leaves", __name__)
leaves_with_path = _renamed(_leaves_with_path, "leaves_with_path", __name__)
map = _renamed(_map, "map", __name__)
map_with_path = _renamed(_map_with_path, "map_with_path", __name__)
reduce = _renamed(_reduce, "reduce", __name__)
reduce_associative = _renamed(_reduce_associative, "reduce_associative", __name__)
structure = _renamed(_structure, "structure", __name__)
transpose = _renamed(_transpose, "transpose", __name__)
unflatten = _renamed(_unflatten, "unflatten", __name__)

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map",
    "map_with_path", "reduce", "reduce_associative", "static", "structure", "transpose",
    "unflatten"]
