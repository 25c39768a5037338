"""What `jax._src.core` and `jax._src.util` have besides the names that other modules give them."""

from __future__ import annotations

# chapter 9
import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ..core.batching import BatchTracer
from ..core.core import Tracer
from ..core.forward import JVPTracer
from ..source import fun_name

PACKAGE = __package__.rpartition(".")[0]
UNDER_PUBLIC_NAMES = ("nonempty_axis_env", "unsafe_am_i_under_a_jit", "unsafe_am_i_under_a_vmap",
                      "unsafe_get_axis_names")


def __getattr__(name: str) -> Any:
    """The names that `extend.core` has with a warning in them."""
    if name in UNDER_PUBLIC_NAMES:
        return getattr(import_module(f"{PACKAGE}.extend.core"), f"{name}_DO_NOT_USE")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# chapter 9

from ..lax.sizes import known_sizes

# ----------------------------------------------------------------------------------------------
# Shapes


def canonicalize_shape(shape: Any, context: str = "") -> tuple:
    """A shape as a tuple of sizes.

    Raises:
      TypeError: an entry is traced, or not an integer.
    """
    return known_sizes(shape)

# chapter 5


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


def get_referent(x: Any) -> Any:
    """What a tracer of a derivative or of a batch stands for; any other value is itself."""
    while isinstance(x, JVPTracer | BatchTracer):
        x = x.primal if isinstance(x, JVPTracer) else x.val
    return x


def same_referent(x: Any, y: Any) -> bool:
    """Whether two values stand for the same one."""
    return get_referent(x) is get_referent(y)


# ----------------------------------------------------------------------------------------------
# Lists


def subs_list(subs: Sequence[int | None], src: Sequence, base: Sequence) -> list:
    """Elements of `src`, by the numbers in `subs`, and in place of each `None` the next of `base`.

    >>> subs_list([None, 0], ["new"], ["a"])
    ['a', 'new']
    """
    given = iter(base)
    return [src[i] if i is not None else next(given) for i in subs]


def fun_qual_name(fun: Callable) -> str:
    """The qualified name of a function, or of the function that a `partial` calls."""
    while not hasattr(fun, "__qualname__") and isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__qualname__", None) or fun_name(fun)
