"""The public names of `jax.typing`: types for annotations."""

# chapter 1
from .compat.typing import ArrayLike, DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
