"""What there is in `jax.dlpack`: arrays shared with other libraries, without copying."""

from ..core.boundary import public
from ..core.dtypes import dtype as _dtype
from ..numpy import from_dlpack as _from_dlpack

_NAMES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 bfloat16 float16 float32
    float64 complex64 complex128""".split()


def is_supported_dtype(dtype) -> bool:
    """Whether other libraries can read arrays of this dtype.

    Raises:
      TypeError: `dtype` is `None`.

    >>> jax.dlpack.is_supported_dtype("float32")
    True
    """
    if dtype is None:
        raise TypeError("Expected a string or dtype-like object; got dtype=None")
    return _dtype(dtype).name in _NAMES


@public
def from_dlpack(external_array, device=None, copy=None):
    """`jnp.from_dlpack`: an array of another library, through the DLPack protocol.

    >>> jax.dlpack.from_dlpack(np.arange(3, dtype=np.int32))
    Array([0, 1, 2], dtype=int32)
    """
    return _from_dlpack(external_array, device=device, copy=copy)
