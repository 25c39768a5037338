"""The public names of `jax.dlpack`: arrays shared with other libraries, without copying."""

# chapter 12
from .compat.dlpack import from_dlpack, is_supported_dtype
