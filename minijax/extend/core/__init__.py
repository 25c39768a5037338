"""The public names of `jax.extend.core`."""

# chapter 1
from ...core.core import Primitive, set_current_trace, typeof
from ...errors import InconclusiveDimensionOperation, JaxprTypeError
from ...core.core import eval_trace as _eval_trace, state as _state
from ...core.array import Array as _Array

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

# chapter 3
from ...pytree.arguments import valid_jaxtype

# chapter 4
from ...core.batching import mapped_aval, unmapped_aval

# chapter 5
from ...checks.typecheck import check_jaxpr
from ...core.jaxpr import (
    Effect, Effects, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun,
    jaxprs_in_params, no_effects)
from ...text.debug_info import DebugInfo

# chapter 8
from . import primitives

# chapter 10
from ...compat.absent import with_absent_names as _with_absent_names

__getattr__ = _with_absent_names(__name__)

# chapter 10
from ...custom_rules import CallPrimitive

# chapter 9
from ...lax.compile_time import concrete_or_error

# chapter 10
from ...compat.jaxpr import gensym, new_jaxpr_eqn, subjaxprs
from ...compat.core import (
    find_top_trace, get_opaque_trace_state, nonempty_axis_env_DO_NOT_USE,
    primal_dtype_to_tangent_dtype, unsafe_am_i_under_a_jit_DO_NOT_USE,
    unsafe_am_i_under_a_vmap_DO_NOT_USE, unsafe_get_axis_names_DO_NOT_USE)
