"""Chapter 16: `jax.experimental.hijax`: values that are no arrays, as flax declares them.

A `HiPrimitive` is an operation with rules that are methods of its class. A `HiType` is a type of
values that are no arrays. Operations on such values run in Python, and only arrays are traced: JAX
0.11 dropped these classes again, and flax uses such values only if it is asked to.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any, NoReturn

from ..compat.absent import with_absent_names
from ..core.avals import pytype_aval_mappings
from ..core.core import (
    Primitive, ShapedArray as ShapedArray, Tracer, eval_trace, install_methods, state)
from ..runtime.effect_sets import control_flow_allowed_effects as control_flow_allowed_effects
from ..core.forward import (
    Zero as Zero, instantiate_zeros as instantiate_zeros, primitive_jvps)
from ..core.lowering import register_lowering
from ..core.transposition import (
    is_undefined_primal as is_undefined_primal,
    primitive_transposes,
)
from ..lax.families import lower_fun
from ..state.functions import RefView as TransformedRef
from ..state.refs import AbstractRef as AbstractRef

AbstractValue = ShapedArray
__getattr__ = with_absent_names(__name__)


class HiPrimitive(Primitive):
    """A primitive whose rules are methods.

    A subclass defines `abstract_eval(*avals, **params) -> (aval(s), effects)` and
    `to_lojax(*args, **params)`, and may define `jvp(primals, tangents, **params)` and
    `transpose(ct, *args, **params)`.
    """

    def __init__(self, name: str):
        super().__init__(name, type(self).multiple_results)
        self.def_effectful_abstract_eval(self.abstract_eval)
        self.def_impl(lambda *args, **params: self.to_lojax(*args, **params))
        register_lowering(self, lower_fun(self.impl, self.multiple_results))
        primitive_jvps[self] = lambda primals, tangents, **params: self.jvp(
            primals, tangents, **params)
        primitive_transposes[self] = lambda ct, *args, **params: self.transpose(ct, *args, **params)

    def bind(self, *args, **params):
        """Apply the operation: by Python if an operand is no array, as it holds arrays."""
        types = [_types[type(x)](x) for x in args if type(x) in _types]
        if any(ty.has_qdd for ty in types) and state.trace is not eval_trace:
            _refuse("in a traced function, where it may change,")
        return self.to_lojax(*args, **params) if types or not args else super().bind(
            *args, **params)

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


_types: dict[type, Callable] = {}  # class of values that are no arrays -> type of a value


# What the engine asks of the type of an array. Types of values may be dataclasses with such fields.
_OF_ARRAYS = {"dtype", "ndim", "placement", "shape", "to_tangent_aval", "update", "weak_type"}


def _refuse(where: str) -> NoReturn:
    raise NotImplementedError(f"A value of a type of hijax cannot be used {where} in minijax: only "
                              "arrays are traced. Pass its arrays, `lower_val` makes them.")


class HiType:
    """A type of values that are no arrays. Subclasses say how arrays represent a value:
    `lo_ty()`, `lower_val(value)`, `raise_val(*arrays)`.
    """

    is_high = True
    has_qdd = False

    def __getattr__(self, name):
        if name in _OF_ARRAYS:
            _refuse("in a traced function, or as an array,")
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


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Declare the type of the values of a class.

    Args:
      val_cls: the class.
      typeof_fn: from a value to its type, a `HiType`.
    """
    pytype_aval_mappings[val_cls] = _types[val_cls] = typeof_fn


def cur_qdd(x: Any) -> Any:
    """The static part of the state of a value that changes."""
    return x.cur_qdd()


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
