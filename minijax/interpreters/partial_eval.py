"""The public names of `jax.interpreters.partial_eval`."""

# chapter 5
from ..staging import DynamicJaxprTrace, DynamicJaxprTracer

# chapter 7
from ..partial_eval import (
    JaxprTrace,
    JaxprTracer,
    convert_constvars as convert_constvars_jaxpr,
    dce_jaxpr,
    dce_rules,
    partial_eval_rules,
)
