"""What blackjax takes from `jax._src.flatten_util`."""

# chapter 12
from ..numpy._ravel import ravel_pytree
