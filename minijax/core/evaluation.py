"""Chapter 1: where does NumPy mean something else than XLA?

A program must not change its results when it is compiled, so XLA's answer counts. Most primitives
are one function of NumPy's. Here are the rules of the starters that need more:

* integers are divided towards zero, and by zero; floats that no integer holds are clipped;
* complex numbers have a quotient at infinity (`lax/complex_rules.py`);
* numbers of 16 bits are added in 32; long sums are added in parts (`lax/sums.py`);
* products of matrices, which may be of several types (`lax/products.py`).

All functions take and return NumPy values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes

# A function of NumPy -> a function that gives XLA's results for more types and sizes (chapter 9).
like_xla: dict[Any, Callable] = {}

# ----------------------------------------------------------------------------------------------
# Elementwise


def in_bytes(x):
    """Integers of fewer than eight bits as int8, with which NumPy computes; others as they are."""
    return x.astype(np.int8) if x.dtype.kind == "V" and dtypes.issubdtype(x.dtype, np.integer) \
        else x


def divide(x, y):
    """Integers are divided towards zero; the quotient is -1 (all bits set) for a zero divisor."""
    if x.dtype.kind == "f":
        return np.divide(x, y)
    if x.dtype.kind == "c":
        return like_xla.get(np.divide, np.divide)(x, y)
    x, y = in_bytes(x), in_bytes(y)
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    if x.dtype.itemsize < 8:  # floats of 64 bits hold the quotient, and are faster
        whole = np.divide(x, y).astype(np.int64).astype(x.dtype)
    else:
        whole = np.floor_divide(x - np.fmod(x, y), y)
    by_zero = np.equal(y, 0)
    return np.where(by_zero, ~np.zeros_like(x), whole) if by_zero.any() else whole


def integer_power(x, *, y):
    """Repeated squaring: exact for integers, accurate for complex numbers."""
    result, base, n = None, x, abs(y)
    while n:
        if n & 1:
            result = base if result is None else result * base
        n >>= 1
        base = base * base if n else base
    if result is None:
        return np.ones_like(x)
    return divide(np.ones_like(result), result) if y < 0 else result


def convert(x, dtype):
    """The values in another type; from floats to integers, towards zero."""
    if x.dtype.kind in "biuf" and dtype.kind in "fc":  # the usual case, without questions
        return x.astype(dtype)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    from_integers = dtypes.issubdtype(x.dtype, np.integer) or x.dtype == bool
    if dtypes.issubdtype(dtype, np.integer) and not from_integers:
        return _saturate(x, dtype)
    return in_bytes(x).astype(dtype)  # NumPy cannot cast int4 to uint4


def _saturate(x, dtype):
    """From floats to integers: out of range to the nearest end, NaN to zero."""
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


# ----------------------------------------------------------------------------------------------
# Reductions


def accumulate_wide(ufunc: np.ufunc) -> Callable:
    """A sum or product. Numbers of 16 bits are combined in 32, as a sum of thousands of them would
    lose most of its digits."""

    def rule(x, *, axes):
        reduce = like_xla.get(ufunc, ufunc.reduce)
        if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
            return reduce(x.astype(np.float32), axes).astype(x.dtype)
        return reduce(x, axes, dtype=x.dtype)

    return rule


# ----------------------------------------------------------------------------------------------
# Products of matrices


def dot_general(x, y, *, dimension_numbers, precision, preferred_element_type):
    """The product. Numbers of several types, or of few bits, are multiplied in others."""
    (x_contract, y_contract), (x_batch, _) = dimension_numbers
    dtype = preferred_element_type or dtypes.wider(x.dtype, y.dtype)
    plain = x.dtype == y.dtype == dtype and dtype.itemsize > 2 and type(precision) in _PLAIN
    if not plain and (multiply := like_xla.get(np.matmul)):
        return multiply(x, y, dimension_numbers, precision, dtype)
    if y.ndim < 3 and not x_batch and x_contract == (x.ndim - 1,) and y_contract == (0,):
        return np.dot(x, y)
    return multiply_matrices(x, y, dimension_numbers).astype(dtype, copy=False)


_PLAIN = type(None), tuple  # of precisions; an algorithm (chapter 11) is none of these


def multiply_matrices(x, y, dimension_numbers):
    """Bring each operand into the shape (batch, rows, columns) and let `matmul` do it."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_free = [d for d in range(x.ndim) if d not in (*x_contract, *x_batch)]
    y_free = [d for d in range(y.ndim) if d not in (*y_contract, *y_batch)]
    shape = [x.shape[d] for d in (*x_batch, *x_free)] + [y.shape[d] for d in y_free]
    left = _as_matrices(x, x_batch, x_free, x_contract)
    right = _as_matrices(y, y_batch, y_contract, y_free)
    return np.matmul(left, right).reshape(shape)


def _as_matrices(x, batch, rows, columns):
    sizes = [x.shape[d] for d in batch]
    n, m = (math.prod(x.shape[d] for d in dims) for dims in (rows, columns))
    return np.transpose(x, (*batch, *rows, *columns)).reshape(*sizes, n, m)
