"""The public names of `jax.interpreters.xla`."""

# chapter 6
from ..core.jit import apply_primitive
