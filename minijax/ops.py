"""`jax.ops`: reductions over segments."""

# chapter 12
from .numpy._segments import (
    segment_max, segment_min, segment_prod, segment_sum)
