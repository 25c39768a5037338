"""`jax._src.literals`: numbers that carry a dtype. Libraries ask whether a value is one.

JAX's tracing makes such values of Python's numbers. Ours makes arrays of them, so the only
instances here are those that a program makes itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class _Typed:
    """A mixin for a subclass of a Python number: the number with a dtype."""

    dtype: np.dtype

    def __new__(cls, value: Any, dtype: Any):
        number = super().__new__(cls, value)  # type: ignore[call-arg]
        number.dtype = np.dtype(dtype)
        return number

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()}, dtype={self.dtype.name})"


class TypedInt(_Typed, int):
    """An integer with a dtype."""


class TypedFloat(_Typed, float):
    """A floating-point number with a dtype."""


class TypedComplex(_Typed, complex):
    """A complex number with a dtype."""
