"""The engine, chapters 1 to 8. Here are the public names of `jax.core`."""

# chapter 1
from .core import (
    AbstractValue, ArrayMethods, EvalTrace, Primitive, ShapedArray, Trace, Tracer,
    check_escaped, check_leaks, concrete_or_error, current_trace, ensure_compile_time_eval,
    eval_context, eval_trace, find_top_trace, get_opaque_trace_state, is_concrete, missing_rule,
    new_trace, numpy_rank_promotion_check, set_current_trace, state, typeof,
    unsafe_get_axis_names_DO_NOT_USE, valid_jaxtype,
)

# chapter 5
from .effects import Effects, no_effects
from .jaxpr import Atom, DropVar, Literal, Var, eval_jaxpr, gensym, new_jaxpr_eqn
from ..errors import DebugInfo

ParamDict = dict
max_dim, min_dim = max, min
