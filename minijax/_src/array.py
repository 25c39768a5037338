"""What programs take from `jax._src.array`: the class of arrays."""

# chapter 14
from ..parallel.global_arrays import ArrayImpl
