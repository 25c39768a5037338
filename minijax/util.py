"""`jax.util`: `map` and `zip` that raise an error if their arguments differ in length."""

# chapter 1
from .compat.util import safe_map, safe_zip, unzip2
