"""Chapter 1: where does NumPy mean something else than XLA?

A program must not change its results when it is compiled, so XLA's answer counts. Most primitives
are one function of NumPy's. Here are the rules of the starters that need more:

* integers are divided towards zero, and by zero; floats that no integer holds are clipped;
* complex numbers have a quotient at infinity (`lax/complex_rules.py`);
* long sums are added in parts, which keeps their digits, and numbers of 16 bits are added in 32;
* products of matrices of any types.

All functions take and return NumPy values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import dtypes

# A function of NumPy -> the function that replaces it for complex numbers (chapter 9).
for_complex: dict[Any, Callable] = {}

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
        return for_complex.get(np.divide, np.divide)(x, y)
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
# Reductions. NumPy adds along a row pairwise. Down the columns it adds row after row to one total,
# whose rounding errors grow with their number. XLA adds the sums of parts.

_PART = 32  # rows that are added to one total, as many as in XLA's parts
_MANY = 256  # rows: up to so many NumPy adds accurately enough, and faster
_SHORT = 16  # elements of a row: for shorter rows NumPy takes no less time than for this length
_NARROW = 48  # elements of a row: for wider rows NumPy's `reduceat` is slow
_LARGE = 2**12  # elements of an array: for smaller arrays NumPy's own way is the fastest


def reduce(ufunc: np.ufunc, x, axes: Sequence[int], **options):
    """`ufunc.reduce`. Adjacent axes are reduced as one, in a way that is fast and accurate for the
    number of rows and their length."""
    if x.size >= _MANY and axes and _adjacent(axes):
        first = axes[0]
        rows = math.prod([x.shape[d] for d in axes])
        before, after = x.shape[:first], x.shape[first + len(axes):]
        if not after and rows <= _SHORT and x.size >= _LARGE:
            columns = x.reshape(*before, rows)
            start = options.get("initial", ufunc.identity)
            return functools.reduce(ufunc, [columns[..., i] for i in range(rows)], start)
        width = math.prod(after)
        exact = ufunc is np.add and x.dtype.kind in "fc"
        if after and rows > _MANY and x.flags.c_contiguous and (exact or width <= _SHORT):
            parts = x.reshape(math.prod(before), rows, width)
            return _reduce_in_parts(ufunc, parts).reshape(before + after)
    return ufunc.reduce(x, axis=axes, **options)


def _adjacent(axes):
    """Whether the axes follow one another."""
    return [*axes] == [*range(axes[0], axes[0] + len(axes))]


def _reduce_in_parts(ufunc, x):
    """The reduction over the middle one of three dimensions."""
    n, rows, width = x.shape
    while rows > 2 * _PART:
        if width < _NARROW:
            x = ufunc.reduceat(x, np.arange(0, rows, _PART), 1, x.dtype)
        else:
            whole = rows - rows % _PART
            parts = ufunc.reduce(x[:, :whole].reshape(n, whole // _PART, _PART, width), 2)
            x = np.concatenate([parts, x[:, whole:]], 1)
        rows = x.shape[1]
    return ufunc.reduce(x, 1)


def accumulate_wide(ufunc: np.ufunc) -> Callable:
    """A sum or product. Numbers of 16 bits are combined in 32, as a sum of thousands of them would
    lose most of its digits."""

    def rule(x, *, axes):
        if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
            return reduce(ufunc, x.astype(np.float32), axes).astype(x.dtype)
        return reduce(ufunc, x, axes, dtype=x.dtype)

    return rule


# ----------------------------------------------------------------------------------------------
# Products of matrices


def dot_general(x, y, *, dimension_numbers, precision, preferred_element_type):
    """The product in the types in which XLA computes. An algorithm (chapter 11) chooses others."""
    (x_contract, y_contract), (x_batch, _) = dimension_numbers
    dtype = preferred_element_type or dtypes.wider(x.dtype, y.dtype)
    if precision is not None and type(precision) is not tuple:
        return precision.multiply(dot_general, x, y, dimension_numbers, dtype)
    if x.dtype == y.dtype == dtype and dtype.itemsize > 2 and y.ndim < 3 and not x_batch \
            and x_contract == (x.ndim - 1,) and y_contract == (0,):
        return np.dot(x, y)
    if x.dtype != y.dtype:  # as XLA's CPU backend, which multiplies like with like
        x, y = convert(x, dtype), convert(y, dtype)
    operand, compute = x.dtype, _compute_dtype(x.dtype, dtype)
    x, y = x.astype(compute, copy=False), y.astype(compute, copy=False)
    out = _multiply_matrices(x, y, dimension_numbers)
    if dtype.kind in "iu" and compute.kind not in "biu":  # XLA rounds to the operands' type first
        return convert(out.astype(operand, copy=False), dtype)
    out = out.real if out.dtype.kind == "c" and dtype.kind != "c" else out
    return out.astype(dtype, copy=False)


def _compute_dtype(operand, result):
    """The type to multiply in: the result's, unless that would lose imaginary parts or fractions
    of the operands; but at least single precision."""
    loses_imaginary_parts = operand.kind == "c" and result.kind != "c"
    loses_fractions = operand.kind not in "biu" and result.kind in "biu"
    dtype = operand if loses_imaginary_parts or loses_fractions else result
    return np.dtype(np.float32) if dtype.itemsize <= 2 and dtype.kind not in "iu" else dtype


def _multiply_matrices(x, y, dimension_numbers):
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
