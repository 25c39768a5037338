"""`jax.util`: `map` and `zip` that notice when their arguments differ in length."""

# chapter 1
from .core.util import (
    safe_map, safe_zip, unzip2,
)
