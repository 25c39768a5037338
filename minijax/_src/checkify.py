"""What flax takes from `jax._src.checkify`: the whole public module."""

# chapter 16
from ..experimental.checkify import *  # noqa: F403
