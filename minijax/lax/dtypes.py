"""Questions about dtypes that the engine does not ask: their families, sizes and neighbours.

The dtypes themselves and the promotion lattice are in `core/dtypes.py`.
"""

from typing import Any

import ml_dtypes
import numpy as np

from ..checks import dtypes as checks
from ..core.array import narrow_integers
from ..core.boundary import public
from ..core.dtypes import (
    PROMOTIONS,
    bfloat16,
    canonicalize_dtype,
    dtype,
    dtype_and_weak_type,
    extended,
    finfo,
    iinfo,
    is_valid,
    issubdtype,
    lattice_result_type,
    least_upper_bound,
    python_scalar_dtype,
    python_scalar_types,
    scalar_families,
    scalar_types,
    to_inexact_dtype,
)
from ..core.lowering import element_types
from ..settings import enable_x64, numpy_dtype_promotion
from .conversions import in_bytes

bool_ = np.bool_
int4, uint4 = ml_dtypes.int4, ml_dtypes.uint4
int2, uint2 = ml_dtypes.int2, ml_dtypes.uint2
float8_e3m4, float8_e4m3 = ml_dtypes.float8_e3m4, ml_dtypes.float8_e4m3
float8_e4m3b11fnuz, float8_e4m3fn = ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e4m3fn
float8_e4m3fnuz, float8_e8m0fnu = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e8m0fnu
float8_e5m2, float8_e5m2fnuz = ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz
float4_e2m1fn = ml_dtypes.float4_e2m1fn
can_cast = np.can_cast

# The narrow dtypes promote to nothing: where an int4 meets an int8, a conversion is more likely to
# be a mistake than intended.


def _dtypes(*names: Any) -> tuple[np.dtype, ...]:
    return tuple(map(np.dtype, names))


_NARROW_INTS, _NARROW_UINTS = _dtypes(int2, int4), _dtypes(uint2, uint4)
_NARROW_FLOATS = _dtypes(float4_e2m1fn, float8_e3m4, float8_e4m3, float8_e8m0fnu,
                         float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2,
                         float8_e5m2fnuz)


def _register_narrow_dtypes(scalar_type: type, family: type, *dtypes: np.dtype) -> None:
    """Add dtypes that promote to no other: they hang below the weak type `scalar_type`.

    Args:
      scalar_type: `int` or `float`.
      family: NumPy's abstract class of such numbers.
      *dtypes: dtypes of `ml_dtypes`.
    """
    PROMOTIONS[scalar_type] += dtypes
    for narrow in dtypes:
        PROMOTIONS[narrow] = ()
        scalar_types[narrow] = scalar_type
        scalar_families[narrow.type] = family.__mro__


narrow_integers.update(_NARROW_INTS + _NARROW_UINTS)
_register_narrow_dtypes(int, np.signedinteger, *_NARROW_INTS)
_register_narrow_dtypes(int, np.unsignedinteger, *_NARROW_UINTS)
_register_narrow_dtypes(float, np.floating, *_NARROW_FLOATS)

_SIGNED = _NARROW_INTS + _dtypes("int8", "int16", "int32", "int64")
_UNSIGNED = _NARROW_UINTS + _dtypes("uint8", "uint16", "uint32", "uint64")
_FLOATS = _NARROW_FLOATS + _dtypes(bfloat16, "float16", "float32", "float64")
_COMPLEX = _dtypes("complex64", "complex128")

dtype_kinds: dict[str, tuple[np.dtype, ...]] = {
    "bool": _dtypes(bool),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _FLOATS,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _FLOATS + _COMPLEX,
}

element_types.update({
    "int2": "i2", "uint2": "ui2", "int4": "i4", "uint4": "ui4", "float4_e2m1fn": "f4E2M1FN",
    "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU",
})  # fmt: skip


def bits_as(letter: str, x: np.ndarray) -> np.ndarray:
    """The bits of integers as signed ("i") or unsigned ("u") numbers, with which NumPy computes."""
    if x.dtype.kind != "V":
        return x.astype(f"{letter}{x.dtype.itemsize}")
    name = {"i": "int", "u": "uint"}[letter] + x.dtype.name[-1]
    return in_bytes(in_bytes(x).astype(getattr(ml_dtypes, name))).astype(f"{letter}1")


class prng_key(extended):
    """Scalar class of random-key dtypes; exists for `issubdtype`."""


# ----------------------------------------------------------------------------------------------
# Scalars


def of_any_size(value: Any, dtype: Any) -> Any:
    """A value that is to be converted to `dtype`. An integer becomes a NumPy number that holds it:
    floats take integers of any size, and integer types the lowest bits of 64. A complex number
    is true if any part of it is.

    Raises:
      OverflowError: an integer of more bits, for another type than floats.
    """
    if isinstance(value, complex | np.complexfloating) and dtype == bool:
        return bool(value)
    if type(value) is not int and not isinstance(value, np.integer):
        return value
    if issubdtype(dtype, np.inexact):
        return np.float64(value)
    return np.uint64(value) if value >= 2**63 else np.int64(value)


def check_and_canonicalize_user_dtype(dtype: Any, fun_name: str | None = None) -> Any:
    """Checks a ``dtype`` argument that a user gave to ``fun_name``; its canonical form.

    Raises:
      ValueError: it is None or an array.
      TypeError: it is not a dtype that arrays can have.
    """
    checks.user_dtype(dtype, fun_name, is_valid)
    scalar_type = isinstance(dtype, type) and dtype in python_scalar_types
    canonical = canonicalize_dtype(dtype, allow_extended_dtype=True)
    checks.shortened_dtype(canonical if scalar_type else dtype, canonical, fun_name)
    return canonical


def default_int_dtype() -> np.dtype:
    return python_scalar_dtype(int)


def default_float_dtype() -> np.dtype:
    return python_scalar_dtype(float)


def default_uint_dtype() -> np.dtype:
    return canonicalize_dtype(np.dtype("uint64"))


def default_complex_dtype() -> np.dtype:
    return python_scalar_dtype(complex)


def is_python_scalar(x: Any) -> bool:
    """Whether ``x`` is a plain Python number (NumPy's scalars, though subclasses, are not)."""
    return type(x) in python_scalar_types


python_scalars: tuple[Any, ...] = (int, float, complex)


def plain_number(x: Any) -> int | float | complex:
    """A value of a class that derives from a Python number, as that number."""
    return next(number(x) for number in python_scalars if isinstance(x, number))


def is_weakly_typed(x: Any) -> bool:
    """Whether the dtype of ``x`` yields to others of its kind: Python numbers but for bools."""
    return dtype_and_weak_type(x)[1]


def scalar_type_of(x: Any) -> type:
    """The Python scalar type (bool, int, float, complex) of the elements of ``x``."""
    scalar_type = scalar_types.get(dtype(x))
    if scalar_type is None:
        raise TypeError(f"Invalid scalar value {x}")
    return scalar_type


def scalar_type_to_dtype(scalar_type: type, value: Any = None) -> np.dtype:
    """The dtype of a Python scalar type; checks that an int ``value`` fits.

    Raises:
      OverflowError: ``value`` does not fit in the default integer.
    """
    canonical = python_scalar_dtype(scalar_type)
    if scalar_type is int and value is not None:
        bounds = np.iinfo(canonical)
        if not bounds.min <= value <= bounds.max:
            raise OverflowError(f"Python int {value} too large to convert to {canonical}.")
    return canonical


def coerce_to_array(x: Any, dtype: Any = None) -> np.ndarray:
    """``np.asarray`` with minijax's default dtypes for Python scalars."""
    if dtype is None and type(x) in python_scalar_types:
        dtype = scalar_type_to_dtype(type(x), x)
    return np.asarray(x, dtype)


# ----------------------------------------------------------------------------------------------
# Promotion


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that an operation on ``args`` gives; None stands for the default float.

    Args:
      *args: arrays, scalars, dtypes, types.
      return_weak_type_flag: whether to return ``(dtype, weak_type)``.
    Raises:
      TypePromotionError: the dtypes have no common promotion.

        >>> from minijax import dtypes
        >>> dtypes.result_type("uint8", "int8")
        dtype('int16')
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    result, weak_type = lattice_result_type(*args)
    if weak_type:  # weak dtypes of an uncommon width would be surprising results
        result = _default_dtype_of_kind(result)
    return (result, weak_type) if return_weak_type_flag else result


def _default_dtype_of_kind(dtype: np.dtype) -> np.dtype:
    if dtype in _UNSIGNED:
        return default_uint_dtype()
    return python_scalar_dtype(scalar_types[dtype])


def safe_to_cast(source: Any, target: Any) -> bool:
    """Whether promotion turns values of ``source`` into the dtype of ``target``."""
    source_dtype, target_dtype = dtype(source), dtype(target)
    return source_dtype == target_dtype or result_type(source, target_dtype) == target_dtype


# ----------------------------------------------------------------------------------------------
# Families and sizes


@public
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether ``dtype`` is of a kind: a dtype, a name such as "integral", or a tuple of those.

    Raises:
      ValueError: ``kind`` names neither a dtype nor a kind.
      TypeError: ``kind`` is neither.

        >>> from minijax import dtypes
        >>> dtypes.isdtype("bfloat16", ("bool", "real floating"))
        True
    """
    kinds = [_members(k) for k in (kind if isinstance(kind, tuple) else (kind,))]
    return any(np.dtype(dtype) in members for members in kinds)


def _members(kind: Any) -> tuple[np.dtype, ...]:
    if isinstance(kind, str) and kind in dtype_kinds:
        return dtype_kinds[kind]
    try:
        return (np.dtype(kind),)
    except TypeError:
        error = ValueError if isinstance(kind, str) else TypeError
        raise error(f"Unrecognized kind={kind!r}: expected one of {list(dtype_kinds)}, a dtype, "
                    "or a tuple of those.") from None


def supports_inf(dtype: Any) -> bool:
    """Whether the dtype has infinities."""
    return np.dtype(dtype) in dtype_kinds["real floating"] + dtype_kinds["complex floating"] and (
        np.dtype(dtype).type not in (
            float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2fnuz))


def itemsize_bits(dtype: Any) -> int:
    """The bits of one element; 4 for int4, which NumPy stores in a byte."""
    if dtype is None:
        raise ValueError("dtype cannot be None.")
    checks.numeric_dtype(dtype)
    plain = np.dtype(dtype)
    if plain in dtype_kinds["integral"]:
        return iinfo(plain).bits
    if plain in _FLOATS:
        return finfo(plain).bits
    if not is_valid(plain):
        raise ValueError(f"unexpected input: dtype={dtype!r}")
    return 8 * plain.itemsize


# ----------------------------------------------------------------------------------------------
# Into another family


def to_numeric_dtype(dtype: Any) -> np.dtype:
    """The dtype itself, or int32 for booleans."""
    checks.numeric_dtype(dtype)
    plain = np.dtype(dtype)
    return np.dtype("int32") if plain == bool_ else plain


def to_floating_dtype(dtype: Any) -> np.dtype:
    """As `to_inexact_dtype`, but complex dtypes become the dtype of their parts."""
    return finfo(to_inexact_dtype(dtype)).dtype


def to_complex_dtype(dtype: Any) -> np.dtype:
    """The complex dtype that holds the dtype's values."""
    wide = to_inexact_dtype(dtype).name in ("float64", "complex128")
    return np.dtype("complex128" if wide else "complex64")


def promote_types(a: Any, b: Any) -> np.dtype:
    """The dtype that both `a` and `b` promote to; `int`, `float`, `complex` are weak.

    Raises:
      TypePromotionError: no dtype is above both.

        >>> from minijax import dtypes
        >>> dtypes.promote_types("bfloat16", "float16")
        dtype('float32')
    """
    nodes = frozenset(x if isinstance(x, type) and x in (int, float, complex)
                      else np.dtype(x) for x in (a, b))
    mode, x64 = numpy_dtype_promotion.value, enable_x64.value
    return np.dtype(least_upper_bound(mode, x64, nodes))
