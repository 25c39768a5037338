"""Types for annotations: what the functions take for an array, and for a dtype.

`ArrayLike` is what may stand for an array: arrays, tracers, NumPy's arrays and scalars, and
Python's numbers. It does not mean lists: those must be made arrays by `jnp.asarray`.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..core.array import Array

__all__ = ["ArrayLike", "DTypeLike"]


@runtime_checkable
class SupportsDType(Protocol):
    """Something that has a dtype: `jnp.float32`, for one."""

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""


ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = str | type[Any] | np.dtype | SupportsDType
