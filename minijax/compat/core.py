"""Names of `jax.core` that carry no idea of their own."""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checks.core import not_a_value
from ..checks.typecheck import check_jaxpr
from ..core import dtypes, later, removed
from ..core.array import Array, as_array, raw_value_handlers
from ..core.avals import pytype_aval_mappings
from ..core.batching import BatchTrace
from ..core.core import ShapedArray, Trace, Tracer, state, typeof
from ..core.jaxpr import Effect, jaxprs_in_params
from ..errors import InconclusiveDimensionOperation, JaxprTypeError
from ..lax.compile_time import ensure_compile_time_eval
from ..pytree.arguments import valid_jaxtype
from . import traces
from .absent import REMOVED


def find_top_trace(args: Sequence = ()) -> Trace:
    """The current trace, whatever the arguments are: JAX's older name for it."""
    return state.trace


def get_opaque_trace_state(convention: str | None = None) -> Any:
    """A value that is equal to an earlier one if, and only if, the same trace is current."""
    return weakref.ref(state.trace)


def unsafe_get_axis_names_DO_NOT_USE() -> list:
    """The names of the axes in scope."""
    return list(state.axis_sizes)


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether there is an axis in scope."""
    return bool(state.axis_sizes)


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a function is being staged."""
    return state.trace.staging


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether a function is being batched."""
    trace: Trace | None = state.trace
    while trace is not None and not isinstance(trace, BatchTrace):
        trace = trace.parent
    return trace is not None


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of a perturbation: `float0` for integers and booleans."""
    return primal_dtype if dtypes.issubdtype(primal_dtype, np.inexact) else dtypes.float0


def is_constant_dim(size: Any) -> bool:
    """Whether a size is a known integer, and not traced."""
    if isinstance(size, Tracer) and size.concrete_value() is None:
        return False
    return hasattr(size, "__index__")


def is_constant_shape(shape: Sequence) -> bool:
    """Whether all sizes are known."""
    return all(map(is_constant_dim, shape))


def _type_of_subclass(number: type) -> Callable[[Any], ShapedArray]:
    """The type of a value whose class derives from Python's `number`: that of the number."""
    return lambda x: typeof(number(x))


def _type_of_array(x: Any) -> ShapedArray:
    """The type of an array, in the form of `pytype_aval_mappings`."""
    if isinstance(x, (np.ndarray, np.generic)) and not dtypes.is_valid(x.dtype):
        not_a_value(x)
    return typeof(x)


def _is_number(scalar_type: type) -> bool:
    return np.dtype(scalar_type).kind not in "OSUMm"


class CanonicalizeDtypeHandlers:
    """`jax.interpreters.xla.canonicalize_dtype_handlers`: how values of a class become arrays.

    A library adds a class here, and its types to `core.pytype_aval_mappings`. Then instances of
    the class are arguments for `jit` and the other transformations.
    """

    def __init__(self) -> None:
        self._handlers: dict[type, Callable[[Any], Any]] = {}

    def __getitem__(self, cls: type) -> Callable[[Any], Any]:
        return self._handlers.get(cls, as_array)

    def __setitem__(self, cls: type, handler: Callable[[Any], Any]) -> None:
        if self._handled not in raw_value_handlers:
            raw_value_handlers.append(self._handled)
        self._handlers[cls] = handler

    def _handled(self, x: Any) -> Any:
        """A value whose class, or a base of it, has a handler, as an array; else `x`."""
        handlers = (self._handlers[cls] for cls in type(x).__mro__ if cls in self._handlers)
        return next(handlers, lambda x: x)(x)


canonicalize_dtype_handlers = CanonicalizeDtypeHandlers()
pytype_aval_mappings.update(
    {number: _type_of_subclass(number) for number in (int, float, complex)}
    | dict.fromkeys([bool, np.ndarray, Array, Tracer, *filter(_is_number, np.sctypeDict.values())],
                    _type_of_array))
removed.update(REMOVED["core"])
later.update(AbstractValue=ShapedArray, Trace=traces.Trace, valid_jaxtype=valid_jaxtype,
             pytype_aval_mappings=pytype_aval_mappings, Value=Any,
             OutputType=tuple[ShapedArray, ...], no_axis_name=None)  # `vmap` without a name
later.update(
    Effect=Effect, InconclusiveDimensionOperation=InconclusiveDimensionOperation,
    JaxprTypeError=JaxprTypeError, check_jaxpr=check_jaxpr, is_constant_dim=is_constant_dim,
    is_constant_shape=is_constant_shape, jaxprs_in_params=jaxprs_in_params,
    nonempty_axis_env_DO_NOT_USE=nonempty_axis_env_DO_NOT_USE,
    primal_dtype_to_tangent_dtype=primal_dtype_to_tangent_dtype, trace_ctx=state,
    unsafe_am_i_under_a_jit_DO_NOT_USE=unsafe_am_i_under_a_jit_DO_NOT_USE,
    unsafe_am_i_under_a_vmap_DO_NOT_USE=unsafe_am_i_under_a_vmap_DO_NOT_USE)
later.update(
    ensure_compile_time_eval=ensure_compile_time_eval, find_top_trace=find_top_trace,
    get_opaque_trace_state=get_opaque_trace_state,
    unsafe_get_axis_names_DO_NOT_USE=unsafe_get_axis_names_DO_NOT_USE)
