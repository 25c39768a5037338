"""What equinox, flax and tinygp take from `jax._src.dtypes`."""

# chapter 1
from numpy import dtype as DType

from ..errors import TypePromotionError
from ..core.dtypes import ExtendedDType, extended, finfo

# chapter 11
from ..lax.dtypes import supports_inf, to_complex_dtype
