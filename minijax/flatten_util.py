"""`jax.flatten_util`: a pytree as one vector."""

# chapter 12
from .numpy._ravel import (
    ravel_pytree)
