"""Chapter 15: the box, its abstract value, and its effects.

    typeof(new_ref(x)) = Ref{typeof(x)}

The counterpart in JAX is `jax/_src/state/types.py`, and `Ref` in `jax/_src/core.py`.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from ..core.array import Array
from ..core.core import ShapedArray, Tracer
from ..core.extension import Extension, register
from ..core.jaxpr import Effect
from ..lax.indexing import indexing_of
from ..runtime.effect_sets import (
    control_flow_allowed_effects,
    lowerable_effects,
    remat_allowed_effects,
)
from . import checks
from .effects import JaxprInputEffect

# ----------------------------------------------------------------------------------------------
# Effects


class RefEffect(JaxprInputEffect):
    """An equation reads or changes a reference, its `input`."""

    __slots__ = ()
    is_discharged = True

    @property
    def name(self) -> str:
        return type(self).__name__.removesuffix("Effect")

    def pretty_print(self, context: Any) -> str:
        """`Write<a>`, where `a` is the name of the reference."""
        named = hasattr(self.input, "pretty_print")
        return f"{self.name}<{self.input.pretty_print(context) if named else self.input}>"

    def __str__(self):
        return f"{self.name}<{self.input}>"


class InternalMutableArrayEffect(Effect):
    """A reference is made, or its life ends."""

    __slots__ = ()
    is_discharged = True


class ReadEffect(RefEffect):
    """A reference is read."""


class WriteEffect(RefEffect):
    """A reference is written to."""


class AccumEffect(RefEffect):
    """A value is added to the contents of a reference."""


internal_mutable_array_effect = InternalMutableArrayEffect()
MADE, END = {internal_mutable_array_effect}, {InternalMutableArrayEffect()}
READ, WRITE, ACCUM = ({effect(0)} for effect in (ReadEffect, WriteEffect, AccumEffect))

for allowed in (lowerable_effects, control_flow_allowed_effects, remat_allowed_effects):
    allowed.add_type(RefEffect)
    allowed.add_type(InternalMutableArrayEffect)


def uses_refs(jaxpr: Any) -> bool:
    """Whether a jaxpr makes, reads or changes a reference."""
    kinds = RefEffect, InternalMutableArrayEffect
    return any(isinstance(effect, kinds) for effect in jaxpr.effects)


def is_write(effect: Any) -> TypeGuard[WriteEffect | AccumEffect]:
    """Whether an effect changes a reference."""
    return isinstance(effect, WriteEffect | AccumEffect)


# ----------------------------------------------------------------------------------------------
# The abstract value


class AbstractRef:
    """The abstract value of a reference to an array of type `inner_aval`.

    Equal ones are one object, as with `ShapedArray`.

    Args:
      inner_aval: the `ShapedArray` of the contents.
      memory_space: the kind of memory that holds them; `None` for the device's own.
      kind: "no_grad_no_remat" for a reference that differentiation ignores, or `None`.

    >>> jax.typeof(jax.new_ref(jnp.zeros(3)))
    Ref{float32[3]}
    """

    __slots__ = ("inner_aval", "memory_space", "kind", "__weakref__")
    _interned: dict[tuple, AbstractRef] = {}

    inner_aval: ShapedArray
    memory_space: Any
    kind: str | None

    def __new__(cls, inner_aval, memory_space=None, kind=None):
        key = inner_aval, memory_space, kind
        if key not in cls._interned:
            self = object.__new__(cls)
            self.inner_aval, self.memory_space, self.kind = key
            cls._interned.setdefault(key, self)
        return cls._interned[key]

    shape = property(lambda self: self.inner_aval.shape)
    dtype = property(lambda self: self.inner_aval.dtype)
    weak_type = property(lambda self: self.inner_aval.weak_type)
    ndim = property(lambda self: self.inner_aval.ndim)
    size = property(lambda self: self.inner_aval.size)
    placement = property(lambda self: self.inner_aval.placement)
    aval = property(lambda self: self)  # a type may stand for an argument of `make_jaxpr`

    def update(self, inner_aval=None, memory_space=None, kind=None, **changes) -> AbstractRef:
        """The same type with some parts, or attributes of its contents' type, replaced."""
        inner = self.inner_aval if inner_aval is None else inner_aval
        inner = inner.update(**changes)
        return AbstractRef(inner, memory_space or self.memory_space, kind or self.kind)

    def strip_weak_type(self) -> AbstractRef:
        """The type of a reference to an array that is not weakly typed."""
        return self.update(weak_type=False)

    def to_tangent_aval(self) -> AbstractRef:
        """The type of a reference to the tangent of the contents."""
        return self.update(self.inner_aval.to_tangent_aval())

    to_cotangent_aval = to_ct_aval = to_tangent_aval

    def dec_rank(self, size: int, axis: int | None) -> AbstractRef:
        """The type of a reference to contents without a dimension of this size."""
        return self.update(self.inner_aval.dec_rank(size, axis))

    def inc_rank(self, size: int, axis: int | None, new: Any = None) -> AbstractRef:
        """The type of a reference to contents with a dimension more."""
        return self.update(self.inner_aval.inc_rank(size, axis, new))

    def str_short(self, short_dtypes: bool = False) -> str:
        """`Ref{f32[3]}`"""
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __len__(self):
        return len(self.inner_aval)

    def __reduce__(self):
        return AbstractRef, (self.inner_aval, self.memory_space, self.kind)

    def __repr__(self):
        return self.str_short(short_dtypes=False)


def is_ref(x: Any) -> bool:
    """Whether a value is a reference, or a tracer of one."""
    return type(getattr(x, "aval", None)) is AbstractRef


# ----------------------------------------------------------------------------------------------
# The box


class _RefType(type):
    """Tracers of references count as instances of `Ref`."""

    def __instancecheck__(cls, x):
        return super().__instancecheck__(x) or isinstance(x, Tracer) and is_ref(x)


class Ref(metaclass=_RefType):
    """A reference to a mutable array, made by `new_ref`.

    `ref[i]` reads, `ref[i] = x` writes. Two references are never equal, so they can be keys.

    >>> ref = jax.new_ref(jnp.zeros(3))
    >>> ref[1] = 2.0
    >>> ref[...]
    Array([0., 2., 0.], dtype=float32)
    """

    __slots__ = ("aval", "value", "is_shared", "__weakref__")

    def __init__(self, aval: AbstractRef, value: Array):
        self.aval = aval
        self.value = value
        self.is_shared = True  # whether another object may hold the array `value`

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)

    def __getattr__(self, name):
        """How and where the contents are stored: the array's own answer."""
        if name in ("sharding", "format", "committed", "unsafe_buffer_pointer"):
            return getattr(self.value, name)
        raise AttributeError(f"'Ref' object has no attribute {name!r}")

    def __getitem__(self, index):
        return indexing_of[AbstractRef].get(self, index)

    def __setitem__(self, index, value):
        indexing_of[AbstractRef].set(self, index, value)

    at = property(lambda self: indexing_of[AbstractRef].at(self))

    def addupdate(self, x, idx=()):
        """Add `x` to the part in place."""
        self.at[idx].addupdate(x)

    def __len__(self):
        return len(self.aval)

    def __bool__(self):
        return len(self) != 0

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return "Ref" + repr(self.value).removeprefix("Array")

    __array__ = checks.not_an_array


class References(Extension):
    """A struct may stand for a reference."""

    def reference_type(self, aval):
        return AbstractRef(aval)


register(References())
