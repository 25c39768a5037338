"""`jax.dtypes`: element types, their promotion, and the questions to ask about them."""

# chapter 1
from .errors import TypePromotionError
from .core.dtypes import (
    ExtendedDType, Node, PROMOTIONS, PROMOTIONS_32_BITS, bfloat16, canonicalize_dtype, dtype,
    dtype_and_weak_type, extended, finfo, float0, iinfo, issubdtype, lattice_result_type,
    python_scalar_dtype, python_scalar_dtypes, python_scalar_types, short_of, storage_dtype,
    to_inexact_dtype)

# chapter 5
from .text.reprs import short_name

# chapter 11
from .lax.dtypes import (
    bool_, can_cast, check_and_canonicalize_user_dtype, coerce_to_array, default_complex_dtype,
    default_float_dtype, default_int_dtype, default_uint_dtype, dtype_kinds, float4_e2m1fn,
    float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2,
    float8_e5m2fnuz, float8_e8m0fnu, int2, int4, is_python_scalar, is_weakly_typed, isdtype,
    itemsize_bits, prng_key, promote_types, result_type, safe_to_cast, scalar_type_of,
    scalar_type_to_dtype, supports_inf, to_complex_dtype, to_floating_dtype, to_numeric_dtype,
    uint2, uint4)
