"""Chapter 11: which dimensions of a convolution are what, and the shape of its result."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..checks.primitives import numeric, same_dtypes
from ..core import dtypes
from ..core.boundary import public
from ..core.core import ShapedArray
from .sliding import dilated_shape, padtype_to_pads, places


class ConvDimensionNumbers(NamedTuple):
    """Which dimensions of a convolution's operands and result are what.

    Args:
      lhs_spec: the numbers of the batch, the feature, and then the spatial dimensions of `lhs`.
      rhs_spec: those of the output feature, the input feature and the spatial dimensions of `rhs`.
      out_spec: as `lhs_spec`, of the result.
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None


@public
def conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers) -> ConvDimensionNumbers:
    """Dimension numbers in any form, as `ConvDimensionNumbers`.

    Args:
      lhs_shape, rhs_shape: the shapes of the operands.
      dimension_numbers: `None`, for batch (output), feature (input), spatial dimensions in this
        order; or three strings, as for `conv_general_dilated`; or `ConvDimensionNumbers`.

    Raises:
      TypeError: anything else.

    >>> lax.conv_dimension_numbers((1, 8, 3), (5, 3, 4), ("NWC", "WIO", "NWC"))
    ConvDimensionNumbers(lhs_spec=(0, 2, 1), rhs_spec=(2, 1, 0), out_spec=(0, 2, 1))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*[tuple(map(int, spec)) for spec in dimension_numbers])
    ndim = len(lhs_shape)
    if ndim != len(rhs_shape):
        raise TypeError("convolution requires lhs and rhs to have equally many dimensions, got "
                        f"{ndim} and {len(rhs_shape)}.")
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(ndim))] * 3)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError("convolution dimension_numbers must be tuple/list or None, got "
                        f"{type(dimension_numbers)}.")
    if len(dimension_numbers) != 3:
        raise TypeError("convolution dimension_numbers list/tuple must be length 3, got "
                        f"{len(dimension_numbers)}.")
    if not all(isinstance(spec, str) for spec in dimension_numbers):
        raise TypeError("convolution dimension_numbers elements must be strings, got "
                        f"{tuple(map(type, dimension_numbers))}.")
    for i, spec in enumerate(dimension_numbers):
        if len(spec) != ndim:
            raise TypeError(f"convolution dimension_numbers[{i}] must have a character for each "
                            f"dimension of lhs and rhs, got {spec!r} for shapes {lhs_shape} and "
                            f"{rhs_shape}.")
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers):
    """For three strings like `("NHWC", "HWIO", "NHWC")`, the permutation that each stands for:
    the places of batch and feature, then of the spatial dimensions in the kernel's order.

    Raises:
      TypeError: strings without the characters needed, or with different ones.

    >>> lax.conv_general_permutations(("NHWC", "WHIO", "NCHW"))
    ((0, 3, 2, 1), (3, 2, 0, 1), (0, 1, 3, 2))
    """
    kernel = dimension_numbers[1]
    pairs = ("NC", "OI", "NC")
    for i, (spec, pair) in enumerate(zip(dimension_numbers, pairs)):
        if any(spec.count(c) != 1 for c in pair):
            raise TypeError(f"convolution dimension_numbers[{i}] must contain the characters "
                            f"'{pair[0]}' and '{pair[1]}' exactly once, got {spec}.")
        if len(set(spec)) != len(spec):
            raise TypeError(f"convolution dimension_numbers[{i}] cannot have duplicate characters, "
                            f"got {spec}.")
    if len({frozenset(spec) - set(pair) for spec, pair in zip(dimension_numbers, pairs)}) > 1:
        raise TypeError("convolution dimension_numbers elements must each have the same set of "
                        f"spatial characters, got {dimension_numbers}.")
    spatial = [c for c in kernel if c not in "OI"]
    return tuple(tuple(spec.index(c) for c in (*pair, *spatial))
                 for spec, pair in zip(dimension_numbers, pairs))


# ----------------------------------------------------------------------------------------------
# Shapes


def conv_shape_tuple(lhs_shape, rhs_shape, strides, pads, batch_group_count=1):
    """The shape of a convolution, from those of its operands with dimensions in standard order."""
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError("Wrong number of explicit pads for convolution: expected "
                        f"{len(lhs_shape) - 2}, got {len(pads)}.")
    padded = [n + low + high for n, (low, high) in zip(lhs_shape[2:], pads)]
    if any(n < 0 for n in padded):
        raise ValueError("Negative padding is larger than the size of the corresponding dimension: "
                         f"got padding={pads} for lhs_shape[2:]={tuple(lhs_shape[2:])}")
    spatial = map(places, padded, rhs_shape[2:], strides)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def taken(shape, spec):
    """The sizes of the dimensions of a spec."""
    return tuple(shape[d] for d in spec)


def placed(shape, spec):
    """The sizes in standard order, put where the spec wants them."""
    return tuple(shape[spec.index(d)] for d in range(len(spec)))


def convolution_type(lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
                dimension_numbers, feature_group_count, batch_group_count, precision,
                preferred_element_type):
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    _check_operands(lhs, rhs, dimension_numbers)
    _check_windows(taken(rhs.shape, rhs_spec[2:]), window_strides, lhs_dilation, rhs_dilation)
    _check_groups(taken(lhs.shape, lhs_spec), taken(rhs.shape, rhs_spec), feature_group_count,
                  batch_group_count)
    shape = conv_shape_tuple(dilated_shape(taken(lhs.shape, lhs_spec), lhs_dilation),
                             dilated_shape(taken(rhs.shape, rhs_spec), rhs_dilation),
                             window_strides, padding, batch_group_count)
    same_dtypes("conv_general_dilated", (lhs, rhs))
    numeric("conv_general_dilated", lhs)
    dtype = lhs.dtype
    if preferred_element_type is not None:
        _check_preferred(dtype, preferred_element_type)
        dtype = preferred_element_type
    return ShapedArray(placed(shape, out_spec), dtype, lhs.weak_type and rhs.weak_type)


def _check_preferred(dtype, preferred):
    """The result may be of a wider type of the same kind; that of integers also a floating one."""
    kinds: tuple = (np.signedinteger, np.integer, np.floating, np.complexfloating)
    if dtypes.issubdtype(dtype, np.integer) and dtypes.issubdtype(preferred, np.floating):
        kinds = ()
    if any(dtypes.issubdtype(dtype, k) and not dtypes.issubdtype(preferred, k) for k in kinds):
        raise TypeError(f"preferred_element_type {preferred.name} is of another kind than the "
                        f"operands, which are {dtype.name}.")
    if preferred.itemsize < dtype.itemsize:
        raise TypeError("`preferred_element_type` must not be narrower than the original type, got "
                        f"{preferred.name} for {dtype.name}.")


def _check_operands(lhs, rhs, numbers):
    if lhs.ndim != rhs.ndim:
        raise ValueError("conv_general_dilated lhs and rhs must have the same number of "
                         f"dimensions, but got {lhs.shape} and {rhs.shape}.")
    if lhs.ndim < 2 or any(not 0 <= d < lhs.ndim for spec in numbers for d in spec):
        raise IndexError("conv_general_dilated lhs and rhs have two dimensions and the spatial "
                         f"ones, got shapes {lhs.shape} and {rhs.shape} with {numbers}.")


def check_strides(strides, ndim: int) -> None:
    if len(strides) != ndim:
        raise ValueError("conv_general_dilated window and window_strides must have the same number "
                         f"of dimensions, but got {ndim} and {len(strides)}")


def _check_windows(window, strides, lhs_dilation, rhs_dilation):
    check_strides(strides, len(window))
    if any(int(n) != n for n in strides):
        raise TypeError(f"conv_general_dilated window_strides must be integers, got {strides}.")
    if any(n <= 0 for n in (*strides, *window)):
        raise ValueError("conv_general_dilated window_strides and the spatial dimensions of rhs "
                         f"must be positive, got {strides} and {window}.")
    if max(len(lhs_dilation), len(rhs_dilation)) > len(window):
        raise ValueError("conv_general_dilated lhs_dilation and rhs_dilation have a factor for "
                         f"each spatial dimension, got {lhs_dilation} and {rhs_dilation}.")


def _check_groups(lhs_shape, rhs_shape, feature_groups, batch_groups):
    """The sizes, in standard order, must be multiples of the numbers of groups."""
    for name, groups in (("feature", feature_groups), ("batch", batch_groups)):
        if groups <= 0:
            raise ValueError(f"conv_general_dilated {name}_group_count must be a positive integer, "
                             f"got {groups}.")
        size = lhs_shape[1 if name == "feature" else 0]
        if size % groups:
            raise ValueError(f"conv_general_dilated {name}_group_count must divide the size of the "
                             f"{name} dimension of lhs, but {groups} does not divide {size}.")
        if rhs_shape[0] % groups:
            raise ValueError("conv_general_dilated rhs output feature dimension size must be a "
                             f"multiple of {name}_group_count, but {rhs_shape[0]} is not a "
                             f"multiple of {groups}.")
    if lhs_shape[1] // feature_groups != rhs_shape[1]:
        raise ValueError("conv_general_dilated lhs feature dimension size divided by "
                         "feature_group_count must equal the rhs input feature dimension size, but "
                         f"{lhs_shape[1]} // {feature_groups} != {rhs_shape[1]}.")
    if feature_groups > 1 and batch_groups > 1:
        raise ValueError("At most one of batch_group_count and feature_group_count may be > 1, got "
                         f"{batch_groups} and {feature_groups}.")
