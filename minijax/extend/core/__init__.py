"""The public names of `jax.extend.core`."""

# chapter 1
from ...core import Primitive, concrete_or_error, set_current_trace, typeof, valid_jaxtype
from ...errors import JaxprTypeError

# chapter 4
from ...batching import mapped_aval, unmapped_aval

# chapter 5
from ...jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    check_jaxpr,
    gensym,
    jaxpr_as_fun,
    jaxprs_in_params,
    new_jaxpr_eqn,
    no_effects,
    subjaxprs,
)
from ...staging import DebugInfo

# chapter 8
from . import primitives
