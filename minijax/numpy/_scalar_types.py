"""Chapter 12: `jnp.float32` and the others, which are dtypes and make arrays."""

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..lax import dtypes as lax_dtypes
from ._constructors import asarray


class ScalarType(type):
    """The class of `jnp.float32`: NumPy takes it for a dtype, a call makes an array of it.

    >>> jnp.float32(1)
    Array(1., dtype=float32)
    >>> np.zeros(2, jnp.float32).dtype == jnp.float32
    True
    """

    dtype: np.dtype

    @property
    def __numpy_dtype__(cls) -> np.dtype:
        return cls.dtype

    @public
    def __call__(cls, x) -> Any:
        return asarray(x, dtype=cls.dtype)

    def __eq__(cls, other):
        return cls is other or cls.dtype.type == other

    def __ne__(cls, other):
        return not cls == other

    def __hash__(cls):
        return hash(cls.dtype.type)

    def __instancecheck__(cls, x):
        return isinstance(x, cls.dtype.type)


def _scalar_type(numpy_type) -> ScalarType:
    doc = f"The element type {numpy_type.__name__}; called, it makes an array of it."
    body = {"dtype": np.dtype(numpy_type), "__doc__": doc, "__module__": "minijax.numpy"}
    return ScalarType(numpy_type.__name__, (object,), body)


bool_ = _scalar_type(np.bool_)
int2, int4 = _scalar_type(lax_dtypes.int2), _scalar_type(lax_dtypes.int4)
int8, int16 = _scalar_type(np.int8), _scalar_type(np.int16)
int32, int64 = _scalar_type(np.int32), _scalar_type(np.int64)
uint2, uint4 = _scalar_type(lax_dtypes.uint2), _scalar_type(lax_dtypes.uint4)
uint8, uint16 = _scalar_type(np.uint8), _scalar_type(np.uint16)
uint32, uint64 = _scalar_type(np.uint32), _scalar_type(np.uint64)
float4_e2m1fn = _scalar_type(lax_dtypes.float4_e2m1fn)
float8_e3m4 = _scalar_type(lax_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type(lax_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type(lax_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type(lax_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type(lax_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type(lax_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type(lax_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type(lax_dtypes.float8_e8m0fnu)
bfloat16, float16 = _scalar_type(dtypes.bfloat16), _scalar_type(np.float16)
float32, float64 = _scalar_type(np.float32), _scalar_type(np.float64)
complex64, complex128 = _scalar_type(np.complex64), _scalar_type(np.complex128)
single, double, csingle, cdouble = float32, float64, complex64, complex128
int_, uint, float_, complex_ = int64, uint64, float64, complex128
