"""Chapter 16: `jax.experimental.hijax`: values that are no arrays, as flax declares them.

A `HiType` is a type of values that are no arrays, and a `MutableHiType` one of values that change.
A `HiPrimitive` is an operation on such values, with rules that are methods of its class.
`mutable_values.py` says how they are traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

from ..compat.absent import with_absent_names
from ..core.avals import pytype_aval_mappings
from ..core.core import Primitive, ShapedArray as ShapedArray, Tracer, install_methods, typeof
from ..runtime.effect_sets import control_flow_allowed_effects as control_flow_allowed_effects
from ..core.forward import (
    JVPTrace,
    Zero as Zero,
    instantiate_zeros as instantiate_zeros,
    primitive_jvps,
    sums,
)
from ..core.lowering import register_lowering
from ..core.partial_eval import JaxprTrace
from ..core.staging import DynamicJaxprTracer
from ..core.transposition import (
    is_undefined_primal as is_undefined_primal,
    primitive_transposes,
)
from ..lax.families import lower_fun
from ..state.functions import RefView as TransformedRef
from ..state.refs import AbstractRef as AbstractRef
from .hi_programs import register_class
from .mutable_values import Untraced, guarded, is_high, made, resolved, without_derivative

AbstractValue = ShapedArray
__getattr__ = with_absent_names(__name__)


class HiPrimitive(Primitive):
    """A primitive whose rules are methods.

    A subclass defines `abstract_eval(*avals, **params) -> (aval(s), effects)` and
    `to_lojax(*args, **params)`, and may define `jvp(primals, tangents, **params)` and
    `transpose(ct, *args, **params)`.
    """

    is_plain = False  # whether the derivative is that of `to_lojax`

    def __init__(self, name: str):
        super().__init__(name, type(self).multiple_results)
        self.def_effectful_abstract_eval(self.abstract_eval)
        self.def_impl(lambda *args, **params: self.to_lojax(*args, **params))
        register_lowering(self, lower_fun(self.impl, self.multiple_results))
        primitive_jvps[self] = lambda primals, tangents, **params: self.jvp(
            primals, tangents, **params)
        primitive_transposes[self] = lambda ct, *args, **params: self.transpose(
            ct, *args, **params)

    def bind(self, *args, **params):
        high = any(map(is_high, args))
        if high:
            args = [resolved(x) if is_high(x) else without_derivative(x) for x in args]
        # What differentiates sees the operation, and applies its rules. All others see arrays.
        if any(map(is_differentiated, args)) or any(map(_has_type_only, args)):
            return super().bind(*args, **params)
        if high or self._makes_values(args, params):
            out = made(self.to_lojax(*args, **params))
            has_rule = type(self).jvp is not HiPrimitive.jvp and not self.is_plain
            return guarded(out, self.name) if has_rule else out
        return super().bind(*args, **params)

    def _makes_values(self, args, params) -> bool:
        """Whether the results of an operation on arrays are no arrays."""
        if not args:
            return True
        avals, _ = type(self).abstract_eval(self, *map(typeof, args), **params)
        avals = avals if isinstance(avals, (list, tuple)) else [avals]
        return any(getattr(aval, "is_high", False) for aval in avals)

    def is_high(self, *avals: Any, **params: Any) -> bool:
        """Whether the operation is on other values than arrays."""
        return True

    def is_effectful(self, params: dict) -> bool:
        """Whether an application has effects."""
        return False

    def to_lojax(self, *args: Any, **params: Any) -> Any:
        """The result, by other primitives."""
        raise NotImplementedError(f"{type(self).__name__} must define `to_lojax`.")

    def jvp(self, primals: Sequence, tangents: Sequence, **params: Any) -> Any:
        """The result(s), and their tangents."""
        raise NotImplementedError(f"{type(self).__name__} must define `jvp` for derivatives.")

    def transpose(self, *args: Any, **params: Any) -> Any:
        """The cotangents of the operands."""
        raise NotImplementedError(f"{type(self).__name__} must define `transpose`.")


def is_differentiated(x: Any) -> bool:
    """Whether a value has a tangent, or is one."""
    return isinstance(x, Tracer) and isinstance(x._trace, (JVPTrace, JaxprTrace))


def _has_type_only(x: Any) -> bool:
    """Whether `x` is traced for `eval_shape` or `make_jaxpr`, which know no arrays of a value."""
    return isinstance(x, DynamicJaxprTracer) and getattr(x.aval, "is_high", False)


class _NoDType:
    """In place of the dtype of an array. It is equal to that of the same type."""

    name = "hijax"
    kind = "O"

    def __init__(self, type_of_values: HiType):
        self._type = type_of_values

    def __eq__(self, other):
        return isinstance(other, _NoDType) and self._type == other._type

    def __hash__(self):
        return hash((_NoDType, self._type))

    @property
    def dtype(self) -> Any:
        """NumPy asks for it, where a value that is no array is taken for a constant array: one that
        a jitted function returns, for example."""
        raise Untraced


# What types that do not say it answer. (They may be dataclasses, so a class attribute would be
# the default of a field.)
_AS_OF_A_SCALAR: dict[str, Any] = {"shape": (), "ndim": 0}


def _sum(x: Any, y: Any) -> Any:
    """The sum of two tangents, as their type says."""
    hi_type: Any = typeof(x)
    return hi_type.vspace_add(x, y)


class HiType:
    """A type of values that are no arrays. Subclasses say how arrays represent a value:
    `lo_ty()`, `lower_val(value)`, `raise_val(*arrays)`; for derivatives, `to_tangent_aval()` and
    `vspace_add(x, y)`.
    """

    is_high = True
    has_qdd = False
    # What the engine asks of the type of an array.
    dtype: Any = property(_NoDType)
    weak_type = False
    placement: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        sums[cls] = _sum

    def __getattr__(self, name):
        if name in _AS_OF_A_SCALAR:
            return _AS_OF_A_SCALAR[name]
        if name == "update":
            raise NotImplementedError(
                f"A value of type {type(self).__name__}, a type of hijax, cannot be traced in this "
                "way in minijax. Pass arrays, `lower_val` makes them.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def str_short(self, short_dtypes: bool = False, **options: Any) -> str:
        """The type as text."""
        return repr(self)

    def to_ct_aval(self) -> Any:
        """The type of cotangents."""
        return self.to_tangent_aval()

    to_cotangent_aval = to_ct_aval


class MutableHiType(HiType):
    """A type of values that change. Subclasses say how arrays represent a value: `lo_ty_qdd`,
    `new_from_loval`, `read_loval`, `update_from_loval`."""

    has_qdd = True

    def lo_ty(self) -> list:
        """The types of the arrays of a value depend on its state."""
        raise NotImplementedError("The arrays of a value that changes are those of `lo_ty_qdd`.")


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Declare the type of the values of a class.

    Args:
      val_cls: the class.
      typeof_fn: from a value to its type, a `HiType`.
    """
    pytype_aval_mappings[val_cls] = typeof_fn
    register_class(val_cls)


def _of_type(tracer: Tracer, name: str) -> Any:
    """What a type has for its tracers: an `aval_method` or an `aval_property`."""
    if name not in ("aval", "_trace"):
        found = getattr(type(tracer.aval), name, None)
        if isinstance(found, aval_method):
            return MethodType(found.fun, tracer)
        if isinstance(found, aval_property):
            return found.fget(tracer)
    raise AttributeError(f"{type(tracer).__name__!r} object has no attribute {name!r}")


install_methods({"__getattr__": _of_type}, Tracer)


@dataclass(frozen=True)
class AvalQDD:
    """A type of values that change, and what is known of the value now."""

    aval: Any
    qdd: Any
    is_high = True
    has_qdd = True


@dataclass(frozen=True)
class AvalMutableQDD:
    """A type, and what is known of its value, which tracing changes."""

    aval: Any
    mutable_qdd: Any


class aval_method:
    """In the class of a type: a method that tracers of the type have, too."""

    def __init__(self, fun: Callable):
        self.fun = fun


class aval_property:
    """In the class of a type: a property that tracers of the type have, too."""

    def __init__(self, fget: Callable):
        self.fget = fget
