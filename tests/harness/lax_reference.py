"""The functions of `lax`, by NumPy and SciPy alone: what tests compare `lax` with.

This is `jax._src.lax_reference`. The functions are short rather than fast.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
from typing import Any

import numpy as np
from scipy import special

neg, sign, floor, ceil, nextafter = np.negative, np.sign, np.floor, np.ceil, np.nextafter
is_finite, exp, exp2, expm1, log, log1p = (
    np.isfinite, np.exp, np.exp2, np.expm1, np.log, np.log1p)
sin, cos, tan, asin, acos, atan = np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan
sinh, cosh, tanh, asinh, acosh, atanh = (
    np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh)
atan2, sqrt, cbrt, square, reciprocal = np.arctan2, np.sqrt, np.cbrt, np.square, np.reciprocal
real, imag, abs, pow = np.real, np.imag, np.absolute, np.power
bitwise_not, bitwise_and, bitwise_or, bitwise_xor = (
    np.bitwise_not, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
add, sub, max, min = np.add, np.subtract, np.maximum, np.minimum
shift_left, shift_right_arithmetic = np.left_shift, np.right_shift
eq, ne, ge, gt, le, lt = (
    np.equal, np.not_equal, np.greater_equal, np.greater, np.less_equal, np.less)
igamma, igammac = special.gammainc, special.gammaincc
dot, sum, squeeze, select, transpose, sort = (
    np.dot, np.sum, np.squeeze, np.where, np.transpose, np.sort)


def _in_own_dtype(function: Any) -> Any:
    """SciPy computes in other dtypes than the operand's."""
    @functools.wraps(function)
    def of_array(*args):
        return function(*args).astype(args[-1].dtype)

    return of_array


lgamma, digamma, erf, erfc, erf_inv, bessel_i0e, bessel_i1e, betainc = map(_in_own_dtype, (
    special.gammaln, special.digamma, special.erf, special.erfc, special.erfinv, special.i0e,
    special.i1e, special.betainc))
logistic = _in_own_dtype(lambda x: 1 / (1 + np.exp(-x)))


def round(x):
    """To the nearest integer, halves away from zero."""
    return np.trunc(x + np.copysign(np.nextafter(np.array(0.5, x.dtype), np.array(0, x.dtype)), x))


def rsqrt(x):
    """1 / √x"""
    return np.ones_like(x) / np.sqrt(x)


def conj(x):
    """The conjugate, as a complex number."""
    return np.conj(x) + np.complex64(0)


def complex(x, y):
    """x + iy"""
    return x + np.complex64(1j) * y


def mul(x, y, /, *, out_dtype=None):
    """The product, computed in `out_dtype`."""
    return np.multiply(x, y) if out_dtype is None else np.multiply(
        np.asarray(x, out_dtype), np.asarray(y, out_dtype))


def mulhi(x, y):
    """The upper half of the digits of a product."""
    bits = 8 * np.asarray(x).dtype.itemsize
    product = np.asarray(x).astype(object) * np.asarray(y).astype(object)
    return np.asarray(product >> bits).astype(np.asarray(x).dtype)


def div(lhs, rhs):
    """The quotient; of integers, rounded towards zero."""
    if not np.issubdtype(np.result_type(lhs), np.integer):
        return np.divide(lhs, rhs)
    quotient = np.floor_divide(lhs, rhs)
    inexact = np.remainder(lhs, rhs) != 0
    return np.where(inexact & (np.sign(lhs) != np.sign(rhs)), quotient + 1, quotient).astype(
        np.result_type(lhs, rhs))


def rem(lhs, rhs):
    """The remainder, with the sign of the dividend."""
    return np.sign(lhs) * np.remainder(np.abs(lhs), np.abs(rhs))


def population_count(x):
    """How many bits are set."""
    return np.bitwise_count(_unsigned(x)).astype(x.dtype)


def _unsigned(x):
    return x.view(f"u{x.dtype.itemsize}")


def clz(x):
    """How many leading bits are not set."""
    bits = 8 * x.dtype.itemsize
    return np.vectorize(lambda n: bits - int(n).bit_length(), otypes=[x.dtype])(_unsigned(x))


def convert_element_type(operand, dtype):
    """Another dtype."""
    return np.asarray(operand, dtype=dtype)


def bitcast_convert_type(operand, dtype):
    """The same bits."""
    operand, dtype = np.asarray(operand), np.dtype(dtype)
    if dtype.itemsize > operand.dtype.itemsize:
        return np.ascontiguousarray(operand).view(dtype)[..., 0]
    out = np.ascontiguousarray(operand)[..., None].view(dtype)
    return out[..., 0] if dtype.itemsize == operand.dtype.itemsize else out


def clamp(min, operand, max):
    """Between two bounds."""
    return np.clip(operand, np.clip(min, None, max), max).astype(operand.dtype)


def concatenate(operands, dimension):
    """One after another."""
    return np.concatenate(operands, axis=dimension)


# ----------------------------------------------------------------------------------------------
# Shapes


def broadcast(operand, sizes):
    """New leading dimensions."""
    return np.broadcast_to(operand, (*sizes, *np.shape(operand)))


def broadcast_in_dim(operand, shape, broadcast_dimensions):
    """A shape that has these dimensions for those of the operand."""
    sizes = [1] * len(shape)
    for i, d in enumerate(broadcast_dimensions):
        sizes[d] = np.shape(operand)[i]
    return np.broadcast_to(np.reshape(operand, sizes), shape)


def reshape(operand, new_sizes, dimensions=None):
    """Another shape, after a transposition."""
    return np.reshape(operand if dimensions is None else np.transpose(operand, dimensions),
                      new_sizes)


def rev(operand, dimensions):
    """In the opposite order."""
    return np.flip(operand, dimensions)


def slice(operand, start_indices, limit_indices, strides=None):
    """A part."""
    return operand[tuple(map(builtins.slice, start_indices, limit_indices,
                             strides or [1] * operand.ndim))]


def dynamic_slice(operand, start_indices, slice_sizes):
    """A part of these sizes, moved inside if it is not."""
    starts = [builtins.max(0, builtins.min(int(i), n - k))
              for i, n, k in zip(start_indices, operand.shape, slice_sizes)]
    return operand[tuple(builtins.slice(i, i + k) for i, k in zip(starts, slice_sizes))]


def dynamic_update_slice(operand, update, start_indices):
    """The same, with a part replaced."""
    out = np.copy(operand)
    dynamic_slice(out, start_indices, np.shape(update))[...] = update
    return out


def pad(operand, padding_value, padding_config):
    """With elements before, behind and between; negative numbers take elements away."""
    operand = np.asarray(operand)
    lows, highs, interiors = zip(*padding_config) if padding_config else ((), (), ())
    out = _dilated(operand, [n + 1 for n in interiors], padding_value)
    widths = [(builtins.max(0, low), builtins.max(0, high)) for low, high in zip(lows, highs)]
    out = np.pad(out, widths, constant_values=padding_value)
    return out[tuple(builtins.slice(builtins.max(0, -low), n - builtins.max(0, -high))
                     for low, high, n in zip(lows, highs, out.shape))]


def _dilated(operand, factors, value=0):
    """With `factor - 1` elements between."""
    shape = [builtins.max(0, (n - 1) * factor + 1) if n else 0
             for n, factor in zip(operand.shape, factors)]
    out = np.full(shape, value, operand.dtype)
    out[tuple(builtins.slice(None, None, factor) for factor in factors)] = operand
    return out


# ----------------------------------------------------------------------------------------------
# Products


def dot_general(lhs, rhs, dimension_numbers):
    """A product that sums over some dimensions and runs along others."""
    (lhs_sum, rhs_sum), (lhs_batch, rhs_batch) = dimension_numbers
    left = [*range(np.ndim(lhs))]
    right = [*range(np.ndim(lhs), np.ndim(lhs) + np.ndim(rhs))]
    for i, j in (*zip(lhs_sum, rhs_sum), *zip(lhs_batch, rhs_batch)):
        right[j] = left[i]
    out = [left[i] for i in lhs_batch]
    out += [k for i, k in enumerate(left) if i not in (*lhs_sum, *lhs_batch)]
    out += [k for j, k in enumerate(right) if j not in (*rhs_sum, *rhs_batch)]
    return np.einsum(lhs, left, rhs, right, out)


def padtype_to_pads(in_shape, filter_shape, window_strides, padding):
    """The padding of each dimension for "SAME", "SAME_LOWER" and "VALID"."""
    if not isinstance(padding, str):
        return padding
    if padding.upper() == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    for n, k, stride in zip(in_shape, filter_shape, window_strides):
        total = builtins.max(0, (math.ceil(n / stride) - 1) * stride + k - n)
        pair = total // 2, total - total // 2
        pads.append(pair if padding.upper() == "SAME" else pair[::-1])
    return pads


def conv(lhs, rhs, window_strides, padding):
    """A convolution of arrays (N, C, …) and (O, I, …)."""
    pads = padtype_to_pads(lhs.shape[2:], rhs.shape[2:], window_strides, padding)
    return _conv(lhs, rhs, window_strides, pads)


def conv_with_general_padding(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation):
    """A convolution of dilated arrays."""
    return _conv(_spaced(lhs, lhs_dilation), _spaced(rhs, rhs_dilation), window_strides, padding)


def conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                         dimension_numbers):
    """A convolution of dilated arrays, whose dimensions stand in any order."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    spatial = [c for c in lhs_spec if c not in "NC"]
    lhs = np.transpose(lhs, [lhs_spec.index(c) for c in ("N", "C", *spatial)])
    rhs = np.transpose(rhs, [rhs_spec.index(c) for c in ("O", "I", *spatial)])
    lhs, rhs = _spaced(lhs, lhs_dilation), _spaced(rhs, rhs_dilation)
    pads = padtype_to_pads(lhs.shape[2:], rhs.shape[2:], window_strides, padding)
    out = _conv(lhs, rhs, window_strides, pads)
    return np.transpose(out, [("N", "C", *spatial).index(c) for c in out_spec])


def _spaced(operand, dilation):
    return _dilated(operand, (1, 1, *(dilation or [1] * (operand.ndim - 2))))


def _conv(lhs, rhs, strides, pads):
    lhs = pad(lhs, lhs.dtype.type(0), [(0, 0, 0), (0, 0, 0), *[(*p, 0) for p in pads]])
    n = lhs.ndim - 2
    windows = np.lib.stride_tricks.sliding_window_view(lhs, rhs.shape[2:], tuple(range(2, n + 2)))
    windows = windows[(..., *[builtins.slice(None, None, s) for s in strides],
                       *[builtins.slice(None)] * n)]
    batch, channels, features, places, offsets = 0, 1, 2, range(3, 3 + n), range(3 + n, 3 + 2 * n)
    return np.einsum(windows, [batch, channels, *places, *offsets],
                     rhs, [features, channels, *offsets], [batch, features, *places])


# ----------------------------------------------------------------------------------------------
# Reductions


def reduce(operand, init_value, computation, dimensions):
    """All elements along some dimensions joined by a function."""
    operand = np.asarray(operand)
    kept = [d for d in range(operand.ndim) if d not in dimensions]
    rows = np.transpose(operand, [*dimensions, *kept])
    rows = rows.reshape(-1, *[operand.shape[d] for d in kept])
    out = np.full(rows.shape[1:], init_value, operand.dtype)
    for row in rows:
        out = np.asarray(computation(out, row), operand.dtype)
    return out


def reduce_window(operand, init_value, computation, window_dimensions, window_strides, padding,
                  base_dilation):
    """The elements of each window joined by a function."""
    operand = np.asarray(operand)
    if base_dilation is not None:
        operand = _dilated(operand, base_dilation, init_value)
    pads = padtype_to_pads(operand.shape, window_dimensions, window_strides, padding)
    operand = pad(operand, init_value, [(*p, 0) for p in pads])
    ends = [n - k + 1 for n, k in zip(operand.shape, window_dimensions)]
    out = None
    for offset in itertools.product(*map(range, window_dimensions)):
        part = operand[tuple(builtins.slice(i, i + end, stride) for i, end, stride in zip(
            offset, ends, window_strides))]
        start = np.full(part.shape, init_value, operand.dtype) if out is None else out
        out = np.asarray(computation(start, part), operand.dtype)
    return out


def sort_key_val(keys, values, dimension=-1):
    """Both in the order of the keys."""
    order = np.argsort(keys, axis=dimension, kind="stable")
    return tuple(np.take_along_axis(x, order, dimension) for x in (keys, values))


def top_k(operand, k, axis=-1):
    """The greatest elements, and their indices."""
    order = np.argsort(-operand if operand.dtype.kind in "if" else ~operand, axis=axis,
                       kind="stable")
    order = np.take(order, range(k), axis)
    return np.take_along_axis(operand, order, axis), order.astype(np.int32)
