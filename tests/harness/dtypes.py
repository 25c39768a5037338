"""Names of `jax._src.dtypes` that JAX's tests use, and that carry no idea of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax.core.dtypes import float0, scalar_types, short_of
from minijax.lax import dtypes

int1 = uint1 = None  # there are no such types here
default_types = {"b": lambda: np.dtype(bool), "i": dtypes.default_int_dtype,
                 "u": dtypes.default_uint_dtype, "f": dtypes.default_float_dtype,
                 "c": dtypes.default_complex_dtype}
python_scalar_types_to_dtypes = {kind: np.dtype(x) for kind, x in zip(
    (bool, int, float, complex), ("bool", "int64", "float64", "complex128"))}
_weak_types = [int, float, complex]
_bool_types = [np.dtype(bool)]
_dtype_to_32bit_dtype = short_of
_kinds = dtypes.dtype_kinds


def _of_bits(kind: str, bits: range) -> list[np.dtype]:
    return [x for x in _kinds[kind] if dtypes.itemsize_bits(x) in bits]


_float4_dtypes = _of_bits("real floating", range(5))
_float8_dtypes = _of_bits("real floating", range(8, 9))
_custom_float_dtypes = [x for x in _kinds["real floating"] if x.isbuiltin != 1]
_float_types = list(_kinds["real floating"])
_complex_types = list(_kinds["complex floating"])
_intn_dtypes = _of_bits("integral", range(8))
_signed_types, _unsigned_types = (
    list(_kinds[kind]) for kind in ("signed integer", "unsigned integer"))
_int_types = _unsigned_types + _signed_types
_jax_types = _bool_types + _int_types + _float_types + _complex_types
_jax_dtype_set = {float0, *_jax_types, *_intn_dtypes}


def is_weakly_typed_scalar(x: Any) -> bool:
    """Whether `x` is a number whose dtype yields to others of its kind."""
    return np.ndim(x) == 0 and dtypes.is_weakly_typed(x)


def _jax_type(dtype: Any, weak_type: bool) -> Any:
    """The element of the lattice for a dtype: a Python type, if it is weak."""
    return scalar_types[np.dtype(dtype)] if weak_type else np.dtype(dtype)


def _dtype_and_weaktype(value: Any) -> tuple[np.dtype, bool]:
    return dtypes.dtype(value), dtypes.is_weakly_typed(value)
