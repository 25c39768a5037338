"""The public names of `jax.distributed`: several processes that compute together."""

# chapter 14
from .runtime.distributed import initialize, is_initialized, shutdown
