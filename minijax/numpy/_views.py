"""Chapter 12: the bits of an array read as elements of another type: `x.view`, `x.byteswap`."""

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..lax import complex_numbers
from ..lax.bits import bitcast_convert_type
from ..lax.dtypes import check_and_canonicalize_user_dtype, itemsize_bits
from ..lax.shaping import expand_dims, reshape, rev
from ._joining import stack


@public
def view(self, dtype=None, type: None = None):
    """The array with its bits read as another element type, along the last dimension.

    Args:
      dtype: an element type; its size must fit into the last dimension a whole number of times.
      type: must be `None`.

    Raises:
      ValueError: a size that does not fit.

    >>> jnp.array([1.0]).view(jnp.int32).tolist()
    [1065353216]
    """
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    if dtype is None:
        return self
    dtype = check_and_canonicalize_user_dtype(dtype, "view")
    old, new = itemsize_bits(self.dtype), itemsize_bits(dtype)
    if not self.ndim:
        if old != new:
            raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
        return reshape(_view(expand_dims(self, (0,)), dtype), ())
    if self.shape[-1] * old % new:
        raise ValueError("When changing to a larger dtype, its size must be a divisor of the total "
                         f"size in bytes of the last axis of the array: {new} does not divide "
                         f"{self.shape[-1] * old}.")
    return _view(self, dtype)


def _view(x, dtype):
    """`view` along the last dimension. A boolean is a byte, a complex number two real ones."""
    if x.dtype == dtype:
        return x
    if x.dtype == bool:
        return _view(x.astype("uint8"), dtype)
    if x.dtype.kind == "c":
        pairs = stack([x.real, x.imag], -1)
        return _view(reshape(pairs, (*x.shape[:-1], 2 * x.shape[-1])), dtype)
    if dtype == bool:
        return _view(x, np.dtype("uint8")).astype(bool)
    if dtype.kind == "c":
        parts = _view(x, dtypes.finfo(dtype).dtype)
        return complex_numbers.complex(parts[..., 0::2], parts[..., 1::2])
    factor = itemsize_bits(dtype) // itemsize_bits(x.dtype)
    if factor > 1:  # the bitcast fuses a dimension of this size
        x = reshape(x, (*x.shape[:-1], x.shape[-1] // factor, factor))
    out = bitcast_convert_type(x, dtype)
    return out if factor else reshape(out, (*x.shape[:-1], out.shape[-1] * out.shape[-2]))


def byteswap(self):
    """The array with the bytes of each element in the other order.

    >>> jnp.array([1, 256], jnp.uint16).byteswap().tolist()
    [256, 1]
    """
    if self.dtype.kind == "c":
        return complex_numbers.complex(byteswap(self.real), byteswap(self.imag))
    if self.dtype.itemsize == 1:
        return self.copy()
    parts = bitcast_convert_type(self, "uint8")
    return bitcast_convert_type(rev(parts, [self.ndim]), self.dtype)
