"""The accumulators of cotangents, under their names in `jax._src.interpreters.ad`."""

# chapter 16
from ..experimental.hijax import GradAccum, NullAccum
