"""Names of `jax.core` that carry no idea of their own."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..checks.core import pytype_aval_mappings
from ..checks.primitives import valid_jaxtype
from ..core import later
from ..core.core import Primitive, ShapedArray, Trace, install_methods, state
from ..lax.compile_time import ensure_compile_time_eval


def find_top_trace(args: Sequence = ()) -> Trace:
    """The current trace, whatever the arguments are: JAX's older name for it."""
    return state.trace


def get_opaque_trace_state(convention: str | None = None) -> Any:
    """A value that is equal to an earlier one if, and only if, the same trace is current."""
    return weakref.ref(state.trace)


def unsafe_get_axis_names_DO_NOT_USE() -> list:
    """The names of the axes in scope."""
    return list(state.axis_sizes)


def get_bind_params(self: Primitive, params: dict) -> dict:
    """The parameters of an equation that `bind` takes: here, and mostly in JAX, all of them."""
    return params


install_methods({"main": property(lambda self: getattr(self, "tag", None))}, Trace)
install_methods({"get_bind_params": get_bind_params, "call_primitive": False,
                 "map_primitive": False}, Primitive)
later.update(AbstractValue=ShapedArray, valid_jaxtype=valid_jaxtype,
             pytype_aval_mappings=pytype_aval_mappings)
later.update(
    ensure_compile_time_eval=ensure_compile_time_eval, find_top_trace=find_top_trace,
    get_opaque_trace_state=get_opaque_trace_state,
    unsafe_get_axis_names_DO_NOT_USE=unsafe_get_axis_names_DO_NOT_USE)
