"""What equinox takes from `jax._src.dispatch`."""

# chapter 15
from ..runtime.effects import effects_barrier as wait_for_tokens
