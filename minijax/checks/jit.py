"""Chapter 6: what `jit` refuses, and the names by which its messages call arguments."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .. import settings
from ..core.jaxpr import ClosedJaxpr
from ..core.lowering import LoweredModule
from ..core.tree import PyTreeDef
from ..errors import DebugInfo, fun_sourceinfo, user_stacklevel
from .api import arg_names
from .tree import check_static_hashable


def static_arguments(statics: Sequence[tuple]) -> None:
    """Raise ValueError if a static argument has no hash."""
    for place, value, _ in statics:
        check_static_hashable(value, repr(place))


def may_trace(fun: Callable) -> None:
    """Raise RuntimeError if the setting `no_tracing` forbids to trace a function."""
    if settings.no_tracing.value:
        raise RuntimeError(
            f"re-tracing function {fun_sourceinfo(fun)} for `jit`, but 'no_tracing' is set")


def not_static_and_donated(static: Sequence[int], donated: Sequence[int]) -> None:
    """Raise ValueError if an argument of a call is both static and donated."""
    if not set(static).isdisjoint(donated):
        raise ValueError(
            f"Arguments are both static ({sorted(static)}) and donated ({sorted(donated)}).")


def donations(jaxpr: ClosedJaxpr, module: LoweredModule) -> None:
    """Warn of donated arguments whose memory no result can take."""
    if module.not_donated:
        types = ", ".join(
            jaxpr.in_avals[i].str_short(short_dtypes=False) for i in module.not_donated
        )
        warnings.warn(
            f"Some donated buffers were not usable: {types}.\nNo result has the same shape and "
            "dtype, so their memory cannot be used again (chapter 6 of the book).",
            stacklevel=user_stacklevel(),
        )


def debug_info(*, fun: Callable, in_tree: PyTreeDef, statics: Sequence[tuple]) -> DebugInfo:
    """The names of a jitted function and its arguments. It keeps neither of them alive."""
    takes_weak_references = type(fun).__weakrefoffset__ != 0
    weak_fun = weakref.ref(fun) if takes_weak_references else lambda: None
    return DebugInfo("jit", fun_sourceinfo(fun),
                     lambda: argument_names(weak_fun(), in_tree, statics))


def argument_names(fun: Any, in_tree: PyTreeDef,
                   statics: Sequence[tuple]) -> tuple[str, ...]:
    """A name like `x['w'][0]` for each traced leaf."""
    try:
        args, kwargs = in_tree.unflatten([0] * in_tree.num_leaves)
        args = list(args)
        for place, value, _ in statics:
            if isinstance(place, int):
                args.insert(place, value)
            else:
                kwargs[place] = value
        numbers = [place for place, *_ in statics if isinstance(place, int)]
        names = [place for place, *_ in statics if isinstance(place, str)]
        return arg_names(fun, args, kwargs, numbers, names)
    except Exception:  # a registered class that does not take numbers for arrays; or `fun` is gone
        return tuple(f"argument {i}" for i in range(in_tree.num_leaves))
