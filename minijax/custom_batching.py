"""The public names of `jax.custom_batching`."""

# chapter 10
from .custom_rules import custom_vmap, sequential_vmap
