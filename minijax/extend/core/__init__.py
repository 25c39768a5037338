"""The public names of `jax.extend.core`."""

# chapter 1
from ...core import Primitive, typeof, valid_jaxtype

# chapter 4
from ...batching import mapped_aval, unmapped_aval

# chapter 5
from ...jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun, new_jaxpr_eqn
from ...staging import DebugInfo

# chapter 8
from . import primitives
