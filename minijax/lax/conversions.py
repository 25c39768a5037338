"""Chapter 9: integers of few bits, and floats that become integers, as XLA has them."""

import numpy as np

from ..core import dtypes
from ..core.evaluation import like_xla


def in_bytes(x):
    """Integers of fewer than eight bits as int8, with which NumPy computes; others as they are."""
    return x.astype(np.int8) if x.dtype.kind == "V" and dtypes.issubdtype(x.dtype, np.integer) \
        else x


def _convert(x, dtype):
    """The values in another type; from floats to integers, towards zero."""
    from_integers = dtypes.issubdtype(x.dtype, np.integer) or x.dtype == bool
    if dtypes.issubdtype(dtype, np.integer) and not from_integers:
        return _saturate(x, dtype)
    return in_bytes(x).astype(dtype)  # NumPy cannot cast int4 to uint4


_BLOCK = 2**18


def _saturate(x, dtype):
    """From floats to integers: out of range to the nearest end, NaN to zero."""
    if x.size > _BLOCK:
        # By blocks, so that what is computed on the way takes no memory to speak of.
        flat, out = x.reshape(-1), np.empty(x.size, dtype)
        for start in range(0, x.size, _BLOCK):
            out[start : start + _BLOCK] = _saturate(flat[start : start + _BLOCK], dtype)
        return out.reshape(x.shape)
    info = dtypes.iinfo(dtype)
    low, high = float(info.min), float(info.max)
    if x.size and low <= x.min() and x.max() < high:  # false if there is a NaN
        return x.astype(dtype)
    if dtype.itemsize < min(x.dtype.itemsize, 3):  # floats of its size hold both ends
        return np.clip(np.where(np.isnan(x), x.dtype.type(0), x), low, high).astype(dtype)
    wide = np.asarray(x, np.float64)
    inside = np.where(wide >= high, 0, np.trunc(np.clip(np.nan_to_num(wide, nan=0.0), low, high)))
    whole = np.int8 if dtype.kind == "V" else dtype
    return np.where(wide >= high, info.max, inside.astype(whole)).astype(dtype)


like_xla[np.ndarray.astype] = _convert
