"""Chapter 5: the type of an array as a value that you can make, pass and take apart.

`eval_shape` returns such values, and every function that traces takes them in place of arrays.
The engine needs only their `shape` and `dtype`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..checks import staging as checks
from ..checks.core import sized
from ..core import dtypes
from ..core.array import Array
from ..core.avals import pytype_aval_mappings
from ..core.boundary import public
from ..core.core import ShapedArray, Tracer, typeof
from ..core.extension import Extension, hooks, point, register
from ..core.staging import shaped_abstractify
from .placements import placements
from .settings import check_vma


@point
def reference_type(self, aval: ShapedArray) -> Any:
    """The type of a reference to an array of this type."""
    return aval


class ShapeDtypeStruct:
    """The shape and dtype of an array, without contents. `eval_shape` returns it.

    Args:
      shape: a sequence of ints.
      dtype: an element type.
      sharding: a sharding, a `Format`, or a spec of the mesh in force.
      weak_type: whether the dtype yields in promotions.
      manual_axis_type: a `jax.sharding.ManualAxisType`, for an array inside `shard_map`.
      is_ref: whether it stands for a reference to such an array.

    Raises:
      ValueError: `dtype` is `None`, or `sharding` is not a sharding.
      TypeError: `manual_axis_type` is not a `ManualAxisType`.

    >>> ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    # Not a dataclass: libraries walk through the fields of those, and a struct is a leaf.
    __slots__ = ("shape", "dtype", "weak_type", "sharding", "manual_axis_type", "is_ref",
                 "__weakref__")
    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    sharding: Any
    manual_axis_type: Any  # chapter 14: the axes that `shard_map` splits by hand
    is_ref: Any

    @public
    def __init__(self, shape, dtype, *, sharding=None, weak_type: bool = False,
                 manual_axis_type=None, is_ref: bool = False):
        checks.struct_dtype(dtype)
        if not isinstance(shape, Iterable):
            raise TypeError(f"ShapeDtypeStruct: shape must be a sequence of sizes, got {shape!r}.")
        is_extended = isinstance(dtype, dtypes.ExtendedDType)
        dtype = dtype if is_extended else np.dtype(dtype)
        if sharding is not None or manual_axis_type is not None:
            sharding = placements().struct_sharding(sharding, manual_axis_type, tuple(shape))
        values = tuple(shape), dtype, weak_type, sharding, manual_axis_type, is_ref
        for slot, value in zip(_SLOTS, values):
            slot.__set__(self, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Say that a struct is immutable: it may be the key of a cache."""
        if not hasattr(self, name):  # in a copy that is being made
            object.__setattr__(self, name, value)
        elif getattr(self, name) is not value:
            raise RuntimeError(f"Cannot reassign attributes ({name}) of immutable ShapeDtypeStruct "
                               "objects. `struct.update(shape=...)` makes another one.")

    def __setstate__(self, state: tuple) -> None:
        """Fill a copy, or what was pickled. JAX's pickles have another name for the sharding, and
        a layout."""
        for name, value in state[1].items():
            if name != "_dll":
                object.__setattr__(self, {"_sharding": "sharding"}.get(name, name), value)

    @classmethod
    def like(cls, x) -> ShapeDtypeStruct:
        """The shape and dtype of the array, number or struct `x`, and its sharding if the user
        chose one.

        Raises:
          NotImplementedError: `x` is a reference, or a value of a type of a library.
        """
        aval = typeof(x)
        if not isinstance(aval, ShapedArray):
            raise NotImplementedError("ShapeDtypeStruct.like takes an array, a number or a struct, "
                                      f"got a value of type {aval}. Of a reference, pass the "
                                      "contents, ref[...].")
        axes = stated_axes(aval)
        return cls(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=_chosen_sharding(x),
                   manual_axis_type=None if axes is None or axes.empty else axes)

    @property
    def aval(self) -> Any:
        """The type of the reference that it stands for. One for an array has no such attribute,
        like an array of NumPy."""
        if not self.is_ref:
            raise AttributeError("'ShapeDtypeStruct' object has no attribute 'aval'")
        aval = ShapedArray(self.shape, dtypes.canonicalize_dtype(self.dtype, True),
                           self.weak_type, self.placement)
        for reference_type in hooks.reference_type:
            aval = reference_type(aval)
        return aval

    @property
    def placement(self) -> Any:
        """What the type of such an array says of a mesh."""
        nothing_said = self.sharding is None and self.manual_axis_type is None
        return None if nothing_said else placements().struct_placement(self)

    format = property(lambda self: placements().struct_format(self))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def update(self, **changes) -> ShapeDtypeStruct:
        """The same with some of its arguments replaced."""
        return ShapeDtypeStruct(**{slot.__name__: slot.__get__(self) for slot in _SLOTS} | changes)

    def __eq__(self, other):
        if not isinstance(other, ShapeDtypeStruct):
            return NotImplemented
        return all(slot.__get__(self) == slot.__get__(other) for slot in _SLOTS)

    def __hash__(self):
        return hash(tuple(slot.__get__(self) for slot in _SLOTS))

    def __len__(self):
        sized(self)
        return self.shape[0]

    def __repr__(self):
        weak = ", weak_type=True" if self.weak_type else ""
        place = "" if self.sharding is None else f", sharding={self.sharding}"
        axes = "" if self.manual_axis_type is None else (
            f", manual_axis_type={self.manual_axis_type}")
        axes += f", is_ref={self.is_ref}" if self.is_ref else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{place}{weak}{axes})"


_SLOTS: Any = [vars(ShapeDtypeStruct)[name] for name in ShapeDtypeStruct.__slots__[:-1]]


def struct_of(aval: ShapedArray) -> ShapeDtypeStruct:
    """A type as a `ShapeDtypeStruct`."""
    sharding = placements().sharding_of(aval)
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding,
                            manual_axis_type=stated_axes(aval))


class Structs(Extension):
    """`eval_shape` returns `ShapeDtypeStruct`s."""

    def shape_struct(self, aval: ShapedArray) -> Any:
        return aval if getattr(aval, "is_high", False) else struct_of(aval)


def _chosen_sharding(x: Any) -> Any:
    """The sharding that the user chose for `x`; `None` without a choice."""
    if isinstance(x, Tracer):
        return placements().sharding_of(x.aval)
    if type(x) is Array or not getattr(x, "_committed", True):
        return None
    return getattr(x, "sharding", None)


def stated_axes(aval: ShapedArray) -> Any:
    """What a type says of the axes that `shard_map` splits by hand (chapter 14); `None` where
    types say nothing of them."""
    return getattr(aval, "manual_axis_type") if check_vma.value else None  # noqa: B009 (mypy)


register(Structs())
pytype_aval_mappings[ShapeDtypeStruct] = shaped_abstractify
