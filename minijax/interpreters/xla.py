"""The public names of `jax.interpreters.xla`."""

# chapter 6
from ..xla.jit import apply_primitive
