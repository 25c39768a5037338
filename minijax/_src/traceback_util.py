"""What equinox, flax and jaxtyping take from `jax._src.traceback_util`."""

# chapter 1
from ..errors import (
    UnfilteredStackTrace,
    api_boundary,
    exclude_from_user_code as register_exclusion,
    is_user_frame as include_frame,
)
