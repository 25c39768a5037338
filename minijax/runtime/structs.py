"""Chapter 5: the type of an array as a value that you can make, pass and take apart.

`eval_shape` returns such values, and every function that traces takes them in place of arrays.
The engine needs only their `shape` and `dtype`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..checks import staging as checks
from ..checks.core import pytype_aval_mappings, sized
from ..core import dtypes
from ..core.core import ShapedArray, typeof
from ..core.extension import Extension, hooks, point, register
from ..core.staging import shaped_abstractify


@point
def struct_sharding(self, sharding: Any, shape: tuple) -> Any:
    """The sharding of a `ShapeDtypeStruct` of this shape, checked."""
    return sharding


@point
def struct_placement(self, struct: Any) -> Any:
    """The placement in the type of an array like a `ShapeDtypeStruct` that has a sharding."""
    return None


_IGNORED = {"manual_axis_type", "is_ref", "vma"}  # arguments of JAX that say nothing here


@dataclass(init=False, repr=False, unsafe_hash=True, slots=True, weakref_slot=True)
class ShapeDtypeStruct:
    """The shape and dtype of an array, without contents. `eval_shape` returns it.

    Args:
      shape: a sequence of ints.
      dtype: an element type.
      weak_type: whether the dtype yields in promotions.

    Raises:
      ValueError: `dtype` is `None`.

    >>> ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    sharding: Any
    _layout: Any = field(init=False)  # chapter 14: the order of the elements in memory

    def __init__(self, shape, dtype, *, sharding=None, weak_type: bool = False, **_ignored):
        checks.struct_dtype(dtype)
        if not isinstance(shape, Iterable):
            raise TypeError(f"ShapeDtypeStruct: shape must be a sequence of sizes, got {shape!r}.")
        if unknown := _ignored.keys() - _IGNORED:
            raise TypeError("ShapeDtypeStruct got an unexpected keyword argument: "
                            f"{', '.join(unknown)}.")
        is_extended = isinstance(dtype, dtypes.ExtendedDType)
        self.shape, self.dtype = tuple(shape), dtype if is_extended else np.dtype(dtype)
        self.weak_type, self._layout = weak_type, getattr(sharding, "layout", None)
        if sharding is not None:
            for struct_sharding in hooks.struct_sharding:
                sharding = struct_sharding(sharding, self.shape)
        self.sharding = sharding

    @classmethod
    def like(cls, x) -> ShapeDtypeStruct:
        """The shape and dtype of the array, number or struct `x`."""
        aval = typeof(x)
        return cls(aval.shape, aval.dtype, weak_type=aval.weak_type)

    @property
    def placement(self) -> Any:
        """What the type of such an array says of a mesh."""
        if self.sharding is None or not hooks.struct_placement:
            return None
        (placement,) = hooks.struct_placement
        return placement(self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def update(self, **changes) -> ShapeDtypeStruct:
        """The same with some of `shape`, `dtype`, `weak_type`, `sharding` replaced.

        Raises:
          ValueError: it has a layout, and the new sharding says none.
        """
        if self._layout is not None and hasattr(changes.get("sharding"), "device_set"):
            raise ValueError("You are updating ShapeDtypeStruct with a "
                             f"{type(changes['sharding'])}, which says no layout, but it has "
                             f"{self._layout}. Give a Format.")
        changed = replace(self, **changes)
        if "sharding" not in changes:
            changed._layout = self._layout
        return changed

    def __len__(self):
        sized(self)
        return self.shape[0]

    def __repr__(self):
        weak = ", weak_type=True" if self.weak_type else ""
        place = "" if self.sharding is None else f", sharding={self.sharding}"
        place += "" if self._layout is None else f", format={self._layout}"
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{place}{weak})"


class Structs(Extension):
    """`eval_shape` returns `ShapeDtypeStruct`s."""

    def shape_struct(self, aval: ShapedArray) -> ShapeDtypeStruct:
        return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type,
                                sharding=stated_sharding(aval))


def stated_sharding(aval: ShapedArray) -> Any:
    """The sharding that a type states (chapter 14); `None` if it states none."""
    return None if aval.placement is None else aval.placement.stated_sharding(aval.ndim)


register(Structs())
pytype_aval_mappings[ShapeDtypeStruct] = shaped_abstractify
