"""The public names of `jax.interpreters.xla`."""

# chapter 6
from ..runtime.dispatch import apply_primitive

# chapter 10
from ..compat.core import canonicalize_dtype_handlers
