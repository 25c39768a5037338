"""Chapter 1: where does NumPy mean something else than XLA?

A program must not change its results when it is compiled, so XLA's answer counts. Most primitives
are one function of NumPy's. Here are the rules of the starters that need more:

* integers are divided towards zero, and by zero;
* floats that no integer holds are clipped (`lax/conversions.py`);
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


def divide(x, y):
    """Integers are divided towards zero; the quotient is -1 (all bits set) for a zero divisor."""
    if x.dtype.kind == "f":
        return np.divide(x, y)
    if x.dtype.kind not in "iu":
        return like_xla.get(np.divide, np.divide)(x, y)
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
    astype = like_xla.get(np.ndarray.astype)
    return astype(x, dtype) if astype else x.astype(dtype)


# ----------------------------------------------------------------------------------------------
# Reductions


def accumulate_wide(ufunc: np.ufunc) -> Callable:
    """A sum or product. Numbers of 16 bits are combined in 32, as a sum of thousands of them would
    lose most of its digits."""

    def rule(x, *, axes):
        reduce = like_xla.get(by_numpy, by_numpy)
        if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
            return reduce(ufunc, x.astype(np.float32), axes).astype(x.dtype)
        return reduce(ufunc, x, axes, dtype=x.dtype)

    by_numpy = np.ufunc.reduce
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
