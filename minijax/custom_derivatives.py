"""The public names of `jax.custom_derivatives`."""

# chapter 10
from .compat.absent import with_absent_names as _with_absent_names
from .custom_rules import (
    CustomVJPPrimal, SymbolicZero, closure_convert, custom_gradient, custom_jvp, custom_jvp_call_p,
    custom_vjp, custom_vjp_call_p, custom_vjp_primal_tree_values, zero_from_primal)

__getattr__ = _with_absent_names(__name__)
