"""Names of `jax._src.lax` that JAX's tests use, and that carry no idea of their own."""

from __future__ import annotations

# chapter 9
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.core import dtypes
from minijax.core.core import typeof
from minijax.core.primitives import convert, ensure_array
from minijax.lax.dtypes import of_any_size


def _convert_element_type(operand: Any, new_dtype: Any = None, weak_type: bool = False) -> Any:
    """`lax.convert_element_type`, with a result that may be weakly typed.

    Args:
      operand: an array or a number.
      new_dtype: the element type; `None` for that of the operand.
      weak_type: whether the result takes on the type of its partners.
    """
    if new_dtype is None:
        return convert(operand, typeof(operand).dtype, weak_type)
    new_dtype = dtypes.canonicalize_dtype(new_dtype)
    return convert(of_any_size(operand, new_dtype), new_dtype, weak_type)


def _const(example: Any, val: Any) -> Any:
    """A scalar of the type of `example`; a Python number if `example` is one."""
    if type(example) in dtypes.python_scalar_types:
        return type(example)(val)
    return np.array(val, typeof(example).dtype)


def _delta(dtype: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """An array of ones where the indices along `axes` are equal, and of zeros elsewhere."""
    places = np.indices(shape)[list(axes)]
    return convert((places == places[:1]).all(0), dtypes.canonicalize_dtype(dtype))


asarray = ensure_array


def int_dtype_for_dim(d: int, *, signed: bool) -> np.dtype:
    """The integers that number the elements along a dimension of size `d`."""
    return int_dtype_for_shape((d,), signed=signed)


def int_dtype_for_shape(shape: Sequence[int], *, signed: bool) -> np.dtype:
    """The integers that number the elements along each dimension of an array."""
    narrow, wide = (np.int32, np.int64) if signed else (np.uint32, np.uint64)
    return np.dtype(wide if any(d > np.iinfo(narrow).max for d in shape) else narrow)


def remaining(original: Sequence, *removed_lists: Sequence) -> list:
    """The items of a sequence that are in none of the others."""
    removed = {item for items in removed_lists for item in items}
    return [item for item in original if item not in removed]
