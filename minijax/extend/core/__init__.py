"""The public names of `jax.extend.core`."""

# chapter 1
from ...core.core import Primitive, set_current_trace, typeof
from ...checks.primitives import valid_jaxtype
from ...errors import InconclusiveDimensionOperation, JaxprTypeError
from ...core.core import Trace as _Trace, eval_trace as _eval_trace, state as _state
from ...core.array import Array as _Array
from ...core.dtypes import float0 as _float0, issubdtype as _issubdtype

import contextlib as _contextlib
import numpy as _np

array_types = {_np.ndarray, _Array, *_np.sctypeDict.values()} - {_np.str_, _np.bytes_, _np.object_}


class TraceTag:
    """An identity for traces that belong together."""


@_contextlib.contextmanager
def take_current_trace():
    """A context in which everything is evaluated, and which knows the trace that was current."""
    trace = _state.trace
    with set_current_trace(_eval_trace):
        yield trace


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether there is an axis in scope."""
    return bool(_state.axis_sizes)


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a function is being staged."""
    return _state.trace.staging


def primal_dtype_to_tangent_dtype(primal_dtype):
    """The dtype of a perturbation: `float0` for integers and booleans."""
    return primal_dtype if _issubdtype(primal_dtype, _np.inexact) else _float0

# chapter 4
from ...core.batching import BatchTrace as _BatchTrace, mapped_aval, unmapped_aval


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether a function is being batched."""
    trace: _Trace | None = _state.trace
    while trace is not None and not isinstance(trace, _BatchTrace):
        trace = trace.parent
    return trace is not None


# chapter 5
from ...checks.staging import check_jaxpr
from ...checks.jaxpr import Effect, Effects
from ...core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxpr_as_fun,
    jaxprs_in_params,
    no_effects,
)
from ...errors import DebugInfo

# chapter 8
from . import primitives

# chapter 11
from ...lax.order_tokens import AbstractToken, Token

# chapter 10
from ...custom_rules import CallPrimitive
from ._bind_params import get_bind_params as _get_bind_params  # installs the method

# chapter 9
from ...lax.compile_time import concrete_or_error
from ...compat.jaxpr import gensym, new_jaxpr_eqn, subjaxprs
from ...compat.core import (
    find_top_trace, get_opaque_trace_state, unsafe_get_axis_names_DO_NOT_USE,
)
