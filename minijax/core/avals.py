"""Chapter 1: what is known of an array before it has contents?

An *abstract value*, or aval, is the type of an array: its shape and its dtype, and whether it is
weakly typed. Every value has one, and a tracer shows nothing else of the value in it.

Counterpart in JAX: `ShapedArray` in `jax/_src/core.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import core as checks
from . import dtypes
from .extension import Printed, text
from .placements import placements


class ShapedArray(Printed):
    """The type of an array: `shape`, `dtype`, `weak_type`.

    Equal abstract values are one object, so that they compare and hash by identity: a tuple of
    them is a cheap cache key.

    Args:
      shape: a sequence of ints.
      dtype: anything that NumPy understands as an element type, or an `ml_dtypes` one.
      weak_type: whether the type came from a Python scalar and yields in promotions.
      placement: a slot that extensions fill and interpret (chapter 14: the axes of a mesh that
        split the array, or along which it differs). `None` where there is nothing to say.
      sharding: in place of `placement`, a sharding that the type states (chapter 14).

    >>> ShapedArray((2, 3), "float32")
    ShapedArray(float32[2,3])
    """

    __slots__ = ("shape", "dtype", "weak_type", "placement", "ndim", "size", "__weakref__")
    _interned: dict[tuple, ShapedArray] = {}

    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool
    placement: Any
    ndim: int
    size: int

    def __new__(cls, shape, dtype, weak_type=False, placement=None, *, sharding=None):
        stated = sharding or placement
        try:
            return cls._interned[shape, dtype, weak_type, stated]
        except (KeyError, TypeError):
            if not isinstance(dtype, dtypes.ExtendedDType):
                dtype = np.dtype(dtype)
            return cls._intern((*[d.__index__() for d in shape],), dtype, bool(weak_type), stated)

    @classmethod
    def _intern(cls, shape, dtype, weak_type, placement):
        """Make the one object for this type; `setdefault` settles races between threads."""
        self = object.__new__(cls)
        self.shape, self.dtype, self.weak_type = shape, dtype, weak_type
        if placement is not None:
            placement = placements().stated(placement, shape)
        self.placement = placement
        self.ndim, self.size = len(shape), np.prod(shape, dtype=object)
        return cls._interned.setdefault((shape, dtype, weak_type, placement), self)

    def update(self, **changes) -> ShapedArray:
        """The same type with some of `shape`, `dtype`, `weak_type`, `placement` replaced."""
        kept = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type,
                "placement": self.placement}
        return ShapedArray(**(kept | changes))

    def str_short(self, short_dtypes: bool = False) -> str:
        """`f32[2,3]`, as jaxprs print it (`float32[2,3]` unless `short_dtypes`)."""
        return text(self, "str_short", short_dtypes)

    def strip_weak_type(self) -> ShapedArray:
        """The same type, not weak."""
        return ShapedArray(self.shape, self.dtype, False, self.placement)

    normalize = strip_weak_type  # the other name in JAX

    def to_tangent_aval(self) -> ShapedArray:
        """The type of a perturbation: its own for inexact types, `float0` for all others."""
        if dtypes.issubdtype(self.dtype, np.inexact):
            return self
        return ShapedArray(self.shape, dtypes.float0, False, self.placement)

    # The type of a cotangent is that of a tangent. JAX has several names for it.
    to_cotangent_aval = to_ct_aval = at_least_vspace = to_tangent_aval

    def dec_rank(self, size: int, axis: int | None) -> ShapedArray:
        """The same type without a dimension of this size."""
        if axis is None:
            return self
        assert self.shape[axis] == size, (size, axis, self)
        return self.update(shape=(*self.shape[:axis], *self.shape[axis + 1:]),
                           placement=self.placement and self.placement.without(axis))

    def inc_rank(self, size: int, axis: int | None, new: Any = None) -> ShapedArray:
        """The same type with a dimension more, of this size and of the placement `new`."""
        if axis is None:
            return self
        placement = self.placement and self.placement.with_new(axis)
        return self.update(shape=(*self.shape[:axis], size, *self.shape[axis:]),
                           placement=placement if new is None else new.with_others(self, axis))

    # Chapter 14: what the type says of meshes and memories.
    sharding = property(lambda self: placements().type_sharding(self))
    manual_axis_type = mat = property(lambda self: placements().manual_axes(self))
    memory_space = property(lambda self: placements().memory_space(self))

    # With these, types of a library's own values say which arrays represent a value (chapter 16). A
    # value of such a library may hold arrays, each of which represents itself.
    is_high = has_qdd = False

    def lo_ty(self) -> list[ShapedArray]:
        return [self]

    def lower_val(self, x) -> list:
        return [x]

    def raise_val(self, x):
        return x

    def __bool__(self):
        return True  # even if it has the length 0

    def __len__(self):
        checks.sized(self)
        return self.shape[0]

    def __reduce__(self):
        return ShapedArray, (self.shape, self.dtype, self.weak_type, self.placement)

    def _plain_text(self):
        return f"{self.dtype.name}{[*self.shape]}"


def typeof(x: Any) -> ShapedArray:
    """The abstract value of an array, a tracer, a NumPy value or a Python scalar.

    Raises:
      TypeError: `x` is neither an array nor a number.
      OverflowError: a Python integer too large for the default integer type.

    >>> typeof(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    aval = getattr(x, "aval", None)  # an exception would cost more
    return _abstractify(x) if aval is None else aval


def _abstractify(x) -> ShapedArray:
    """`typeof` for values that carry no aval."""
    kind = type(x)
    if kind in dtypes.python_scalar_types:
        dtype = dtypes.python_scalar_dtype(kind)
        if kind is int:
            checks.python_int(x, dtype)
        return ShapedArray((), dtype, kind is not bool)
    if isinstance(x, (np.ndarray, np.generic)):
        valid = dtypes.is_valid(x.dtype)
        checks.numpy_value(valid, x)
        if valid:
            return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))
    if hasattr(kind, "__jax_array__"):
        return typeof(x.__jax_array__())
    return registered_type(x)


# By a class: a function from its instances to their types, for values that only tracing takes.
pytype_aval_mappings: dict[type, Callable[[Any], ShapedArray]] = {}


def registered_type(x: Any) -> ShapedArray:
    """The type of a value whose class, or a base of it, is in `pytype_aval_mappings`."""
    registered = next((cls for cls in type(x).__mro__ if cls in pytype_aval_mappings), type(x))
    checks.is_value(x, registered, pytype_aval_mappings)
    return pytype_aval_mappings[registered](x)


def vary_like(x, aval: ShapedArray):
    """`x` with the placement of the type `aval`, whose values it will be combined with."""
    return x if typeof(x).placement is aval.placement else placements().like(x, aval)
