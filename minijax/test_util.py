"""The public names of `jax.test_util`: derivatives checked against differences."""

# chapter 16
from .debugging.derivative_checks import check_grads, check_jvp, check_vjp
