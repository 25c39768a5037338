"""Chapter 16: `shard_map` of values that are no arrays.

A `HiPspec` says how the arrays of such a value are cut. The mapped function takes and returns these
arrays, with their `PartitionSpec`s; its body puts a value together from the parts that a device
has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.api_util import flatten_axes
from ..core.tree import tree_flatten, tree_map
from ..parallel.shard_map import value_specs
from .mutable_values import hi_type, is_high


class HiPspec:
    """How a value of a `HiType` is cut for `shard_map`. A subclass defines `to_lo()`: the
    `PartitionSpec`s of the arrays that represent the value."""

    def to_lo(self) -> Any:
        """The specs of the arrays, in the order of `HiType.lower_val`."""
        raise NotImplementedError(f"{type(self).__name__} must define `to_lo`.")


class _Mapped:
    """A function mapped over shards of arrays and of other values."""

    def __init__(self, shard_map: Callable, f: Callable, in_specs: Any, out_specs: Any):
        functools.update_wrapper(self, f)
        self._shard_map, self._f = shard_map, f
        self._in_specs, self._out_specs = in_specs, out_specs
        self._by_arrays: dict = {}

    def __call__(self, *args: Any) -> Any:
        leaves, tree = tree_flatten(args)
        in_specs = self._in_specs if isinstance(self._in_specs, tuple) else (self._in_specs,)
        if len(in_specs) == 1 and len(args) != 1:
            in_specs *= len(args)  # one spec for all arguments
        _check(leaves, flatten_axes("shard_map in_specs", tree, in_specs))
        types = tuple(map(_type_of, leaves))
        if (tree, types) not in self._by_arrays:
            self._by_arrays[tree, types] = _ByArrays(self._f, tree, types)
        by_arrays = self._by_arrays[tree, types]
        mapped = self._shard_map(by_arrays, tree_map(_to_lo, in_specs),
                                 tree_map(_to_lo, self._out_specs))
        return by_arrays.whole(mapped(*tree.unflatten(map(_lowered, types, leaves))))


def _check(leaves, specs):
    for x, spec in zip(leaves, specs):
        if isinstance(spec, HiPspec) and not is_high(x):
            raise NotImplementedError(
                f"shard_map: an argument with the spec {spec} must be a value of a type of hijax, "
                f"got {x!r}. Of a value that is being differentiated, pass the elements.")


class _ByArrays:
    """A function of values as one of their arrays."""

    def __init__(self, f: Callable, tree: Any, types: tuple):
        functools.update_wrapper(self, f)
        self._f, self._tree, self._types = f, tree, types
        self._result: Any = None  # the structure of the result, and the types of its leaves

    def __call__(self, *args: Any) -> Any:
        leaves, tree = tree_flatten(self._f(*_raised(self._tree, self._types, args)))
        types = [*map(_type_of, leaves)]
        self._result = tree, types
        return tree.unflatten(map(_lowered, types, leaves))

    def whole(self, lowered: Any) -> Any:
        """The result, of whole arrays."""
        tree, types = self._result
        return _raised(tree, types, lowered)


def _to_lo(spec: Any) -> Any:
    return tuple(spec.to_lo()) if isinstance(spec, HiPspec) else spec


def _type_of(x: Any) -> Any:
    """The `HiType` of a leaf; `None` for an array."""
    return hi_type(x) if is_high(x) else None


def _lowered(ty: Any, x: Any) -> Any:
    return x if ty is None else tuple(ty.lower_val(x))


def _raised(tree: Any, types: Any, lowered: Any) -> Any:
    """The tree with this structure, whose leaves are made from their arrays."""
    return tree.unflatten([x if ty is None else ty.raise_val(*x)
                           for ty, x in zip(types, tree.flatten_up_to(lowered))])


value_specs[HiPspec] = _Mapped
