"""Chapter 11: functions made of `conv_general_dilated`."""

import math
from collections.abc import Sequence

import numpy as np

from ..core.boundary import public
from ..core.core import typeof
from .convolution import conv_general_dilated
from .convolution_shapes import (
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    conv_general_permutations,
    conv_shape_tuple,
    placed,
    taken,
)
from .elementwise import add, convert_element_type, eq
from .precision import Precision, canonical_precision
from .products import dot_general
from .shaping import broadcast_in_dim, broadcasted_iota, reshape, rev, transpose
from .sliding import dilated

Padding = str | Sequence[tuple[int, int]]


@public
def conv(lhs, rhs, window_strides: Sequence[int], padding: str, precision=None,
         preferred_element_type=None):
    """The convolution of an array (batch, feature, spatial …) with a kernel (output feature,
    input feature, spatial …).

    Args and errors are those of `conv_general_dilated`.

    >>> lax.conv(jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3)), (1, 1), "SAME").shape
    (1, 4, 8, 8)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)


@public
def conv_with_general_padding(
    lhs, rhs, window_strides: Sequence[int], padding: Padding,
    lhs_dilation: Sequence[int] | None, rhs_dilation: Sequence[int] | None, precision=None,
    preferred_element_type=None,
):
    """`conv` with padding in numbers, and with dilations: see `conv_general_dilated`.

    >>> x, kernel = jnp.ones((1, 3, 8)), jnp.ones((4, 3, 3))
    >>> lax.conv_with_general_padding(x, kernel, (1,), [(2, 0)], (1,), (1,)).shape
    (1, 4, 8)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                                precision=precision, preferred_element_type=preferred_element_type)


# ----------------------------------------------------------------------------------------------
# The convolution that grows what strides have shrunk

_CHANNELS_LAST = {2: ("NC", "IO", "NC"), 3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"),
                  5: ("NHWDC", "HWDIO", "NHWDC")}


@public
def conv_transpose(
    lhs, rhs, strides: Sequence[int], padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None, transpose_kernel: bool = False,
    precision=None, preferred_element_type=None, use_consistent_padding: bool = False,
):
    """The convolution whose steps are fractions: `lhs` is drawn apart by the strides.

    Args:
      lhs, rhs: an array and a kernel, as for `conv_general_dilated`.
      strides: for each spatial dimension, by what factor it grows.
      padding: "SAME" or "VALID", of the convolution that this one is the transpose of; or a pair
        for each spatial dimension, of this one, or, with `use_consistent_padding`, of that one.
      rhs_dilation, precision, preferred_element_type: as for `conv_general_dilated`.
      dimension_numbers: as for `conv_general_dilated`, but by default channels are last.
      transpose_kernel: reverse the kernel and exchange its features, so that this is the gradient
        of the convolution with that kernel.

    Raises:
      AssertionError: different numbers of dimensions.
      ValueError: more than three spatial dimensions, and no `dimension_numbers`; unknown padding.

    >>> lax.conv_transpose(jnp.ones((1, 7, 7, 8)), jnp.ones((3, 3, 8, 4)), (2, 2), "SAME").shape
    (1, 14, 14, 4)
    """
    lhs_shape, rhs_shape = typeof(lhs).shape, typeof(rhs).shape
    ndim = len(lhs_shape)
    if len(rhs_shape) != ndim or ndim < 2:
        raise AssertionError("conv_transpose requires lhs and rhs to have the same number of "
                             f"dimensions, at least 2; got {lhs_shape} and {rhs_shape}.")
    if dimension_numbers is None and ndim not in _CHANNELS_LAST:
        raise ValueError(f"conv_transpose of {ndim - 2} spatial dimensions needs dimension_numbers")
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape,
                                     dimension_numbers or _CHANNELS_LAST[ndim])
    rhs_dilation = (1,) * (ndim - 2) if rhs_dilation is None else tuple(rhs_dilation)
    if use_consistent_padding or (isinstance(padding, str) and padding in ("SAME", "VALID")):
        kernel = map(dilated, taken(rhs_shape, numbers.rhs_spec)[2:], rhs_dilation)
        each = [padding] * len(strides) if isinstance(padding, str) else padding
        padding = [_transposed_padding(k, s, p) for k, s, p in zip(kernel, strides, each)]
    if transpose_kernel:
        rhs = _transposed_kernel(rhs, numbers.rhs_spec)
    return conv_general_dilated(
        lhs, rhs, (1,) * (ndim - 2), padding, strides, rhs_dilation, numbers, precision=precision,
        preferred_element_type=preferred_element_type)


def _transposed_padding(kernel: int, stride: int, padding) -> tuple[int, int]:
    """The padding of a transposed convolution, along one dimension, for that of the forward one."""
    if padding == "SAME":
        total = kernel + stride - 2
        low = kernel - 1 if stride > kernel - 1 else -(-total // 2)
        return low, total - low
    if padding == "VALID":
        return kernel - 1, stride - 1 + max(kernel - stride, 0)
    if isinstance(padding, tuple):
        low, high = padding
        return kernel - low - 1, kernel - high - 1
    raise ValueError(f"Invalid padding mode: {padding}")


def _transposed_kernel(rhs, spec):
    """The kernel reversed in space, with input and output features exchanged."""
    for d in spec[2:]:
        rhs = rev(rhs, (d,))
    order = list(range(len(spec)))
    order[spec[0]], order[spec[1]] = spec[1], spec[0]
    return transpose(rhs, order)


# ----------------------------------------------------------------------------------------------
# Patches


@public
def conv_general_dilated_patches(
    lhs, filter_shape: Sequence[int], window_strides: Sequence[int], padding: Padding,
    lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None, precision=None,
    preferred_element_type=None,
):
    """The windows that a kernel would see, each laid out flat in the feature dimension.

    Args:
      lhs: an array, as for `conv_general_dilated`.
      filter_shape: the sizes of the kernel in the spatial dimensions.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision,
        preferred_element_type: as for `conv_general_dilated`.

    Returns:
      an array like the result of a convolution; its features are those of `lhs` times the places
      in a window, in this order.

    Raises:
      TypeError, ValueError, RuntimeError: as `conv_general_dilated`.

    >>> lax.conv_general_dilated_patches(jnp.ones((1, 3, 8, 8)), (2, 2), (2, 2), "VALID").shape
    (1, 12, 4, 4)
    """
    filter_shape = tuple(filter_shape)
    aval = typeof(lhs)
    numbers = conv_dimension_numbers(aval.shape, (1, 1, *filter_shape), dimension_numbers)
    features, size = aval.shape[numbers.lhs_spec[1]], math.prod(filter_shape)
    rhs = broadcast_in_dim(_identity(size, aval.dtype), (features, size, size), (1, 2))
    rhs = reshape(rhs, (features * size, 1, *filter_shape))
    rhs = _features_moved(rhs, (0, 1), numbers.rhs_spec[:2])
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, numbers, features,
        precision=None if precision is None else (precision, Precision.DEFAULT),
        preferred_element_type=preferred_element_type)


def _identity(n: int, dtype):
    """The identity matrix, in the equations of JAX's, whose diagonal may be another (not 0)."""
    rows = add(broadcasted_iota(np.int32, (n, n), 0), np.int32(0))
    return convert_element_type(eq(rows, broadcasted_iota(np.int32, (n, n), 1)), dtype)


def _features_moved(x, source, destination):
    """`x` with two of its dimensions moved."""
    ndim = typeof(x).ndim
    rest = iter(d for d in range(ndim) if d not in source)
    order = [source[destination.index(d)] if d in destination else next(rest) for d in range(ndim)]
    return x if order == list(range(ndim)) else transpose(x, order)


@public
def conv_general_dilated_local(
    lhs, rhs, window_strides: Sequence[int], padding: Padding, filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None, precision=None,
):
    """A convolution with another kernel at each place (a locally connected layer).

    Args:
      lhs: an array, as for `conv_general_dilated`.
      rhs: the kernels: the spatial dimensions are those of the result, and the input features are
        the places in a window of all features, in the order of `conv_general_dilated_patches`.
      filter_shape: the sizes of the kernels.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision: as for
        `conv_general_dilated`.

    Raises:
      TypeError, ValueError, RuntimeError: as `conv_general_dilated`.

    >>> x, kernels = jnp.ones((1, 3, 8)), jnp.ones((5, 6, 7))  # at 7 places, (3 * 2) -> 5
    >>> lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,)).shape
    (1, 5, 7)
    """
    pair = canonical_precision(precision)
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers,
        precision=pair and pair[0])
    _, rhs_spec, out_spec = conv_dimension_numbers(
        typeof(lhs).shape, (1, 1, *filter_shape), dimension_numbers)
    pairs = sorted(zip(out_spec[2:], rhs_spec[2:]))
    spatial, spatial_of_rhs = tuple(i for i, _ in pairs), tuple(j for _, j in pairs)
    numbers = (((out_spec[1],), (rhs_spec[1],)), (spatial, spatial_of_rhs))
    out = dot_general(patches, rhs, numbers, precision)
    ndim = typeof(out).ndim
    return _features_moved(out, (ndim - 2, ndim - 1), out_spec[:2])


# ----------------------------------------------------------------------------------------------
# Shapes of results


def conv_general_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of a convolution.

    Args:
      lhs_shape, rhs_shape: of the operands.
      window_strides, padding: as for `conv_general_dilated`.
      dimension_numbers: three strings.

    >>> lax.conv_general_shape_tuple((8, 9, 3), (3, 3, 5), (2,), "SAME", ("NWC", "WIO", "NWC"))
    (8, 5, 5)
    """
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(taken(lhs_shape, lhs_spec), taken(rhs_shape, rhs_spec),
                             window_strides, padding)
    return placed(shape, out_spec)


def conv_transpose_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of a transposed convolution of operands of these shapes.

    Args:
      lhs_shape, rhs_shape: of the operands; the kernel's first features are those of the result.
      window_strides, padding: as for `conv_transpose`.
      dimension_numbers: three strings.

    >>> numbers = ("NWC", "WOI", "NWC")
    >>> lax.conv_transpose_shape_tuple((8, 5, 3), (3, 7, 3), (2,), "SAME", numbers)
    (8, 10, 7)
    """
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    lhs_shape, rhs_shape = taken(lhs_shape, lhs_spec), taken(rhs_shape, rhs_spec)
    if isinstance(padding, str):
        padding = [_transposed_padding(k, s, padding)
                   for k, s in zip(rhs_shape[2:], window_strides)]
    spatial = [(n - 1) * stride - k + 2 + sum(pads) for n, k, stride, pads in
               zip(lhs_shape[2:], rhs_shape[2:], window_strides, padding)]
    return placed((lhs_shape[0], rhs_shape[0], *spatial), out_spec)
