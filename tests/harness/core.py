"""What `jax._src.core` has besides the names that other modules give them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from minijax._src._names import get_referent, trace_state_clean
from minijax.core.core import Tracer

UNDER_PUBLIC_NAMES = ("nonempty_axis_env", "unsafe_am_i_under_a_jit", "unsafe_am_i_under_a_vmap",
                      "unsafe_get_axis_names")


def __getattr__(name: str) -> Any:
    """The names that `extend.core` has with a warning in them."""
    if name in UNDER_PUBLIC_NAMES:
        return getattr(import_module("minijax.extend.core"), f"{name}_DO_NOT_USE")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_symbolic_dim(size: Any) -> bool:
    """Whether a size is a symbol, which none is here."""
    return False


def definitely_equal(x: Any, y: Any) -> bool:
    """Whether two sizes are equal, whatever symbols in them stand for."""
    if isinstance(x, Tracer) or isinstance(y, Tracer):
        return same_referent(x, y)
    return x is y or x == y


# ----------------------------------------------------------------------------------------------
# Types and values


def typematch(x: Any, y: Any) -> bool:
    """Whether two types are equal but for being weak."""
    return x == y or x.strip_weak_type() == y.strip_weak_type()


typecompat = typematch


def to_concrete_value(x: Any) -> Any:
    """The value behind `x` if it is known, else `None`."""
    return x.concrete_value() if hasattr(x, "concrete_value") else x


def same_referent(x: Any, y: Any) -> bool:
    """Whether two values stand for the same one."""
    return get_referent(x) is get_referent(y)


def reset_trace_state() -> bool:
    """Whether every transformation has ended."""
    return trace_state_clean()
