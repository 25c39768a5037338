"""Chapter 11: convolution, with all its rules.

`conv_general_dilated` slides a kernel over an array. With one spatial dimension and none of the
options, and the dimensions in the order of (batch, feature, spatial), (output, input, spatial):

    out[n, o, x] = sum over i, k of lhs[n, i, x + k] * rhs[o, i, k]

(The kernel is not reversed: mathematicians call this a correlation.) Beside the spatial dimensions
it is a product of matrices, (batch, input) by (input, output). So it is bilinear, and each of its
transposes is again a convolution, in which batch, input and output features have changed roles:

    lhs:  [n, o] [o, i] -> [n, i]    over the kernel, reversed
    rhs:  [i, n] [n, o] -> [i, o]    with the cotangent as the kernel

Groups make several convolutions one. `feature_group_count`: the features of `lhs` and the output
features of `rhs` come in so many parts, and each meets its own only. `batch_group_count`: the same
for the batch dimension of `lhs`. Each is what the other's transpose needs, and what batching needs
to put examples that each have a kernel of their own next to one another.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks.primitives import numeric, same_dtypes
from ..compat.optional import may_be_asked
from ..core import dtypes
from ..core.batching import batch_size, primitive_batchers
from ..core.boundary import public
from ..core.core import ShapedArray, typeof
from ..core.forward import Zero
from ..core.lowering import register_lowering, tensor_type
from ..core.primitives import convert, make_primitive
from ..core.transposition import defbilinear
from ..remat import products
from ..runtime.dispatch import apply_primitive
from .complex_numbers import complex, imag, real
from .dtypes import check_and_canonicalize_user_dtype
from .elementwise import add, sub
from .families import lower_fun
from .out_shardings import call_sharded
from .precision import canonical_precision, precision_names
from .shaping import full, reshape, rev
from .sizes import integers
from .sliding import dilated, dilated_shape, pads_of_transpose, padtype_to_pads, places

# ----------------------------------------------------------------------------------------------
# Parameters


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


def _shape_rule(lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
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


def _check_strides(strides, ndim: int) -> None:
    if len(strides) != ndim:
        raise ValueError("conv_general_dilated window and window_strides must have the same number "
                         f"of dimensions, but got {ndim} and {len(strides)}")


def _check_windows(window, strides, lhs_dilation, rhs_dilation):
    _check_strides(strides, len(window))
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


# ----------------------------------------------------------------------------------------------
# The primitive

conv_general_dilated_p = make_primitive("conv_general_dilated", _shape_rule)
may_be_asked(conv_general_dilated_p, "out_sharding")
conv_general_dilated_p.def_impl(functools.partial(apply_primitive, conv_general_dilated_p))


def _per_dimension(name: str, numbers: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """A number for each spatial dimension; by default ones."""
    return (1,) * ndim if numbers is None else integers(f"conv_general_dilated: {name}", numbers)


@public
def conv_general_dilated(
    lhs, rhs, window_strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None, feature_group_count: int = 1,
    batch_group_count: int = 1, precision=None, preferred_element_type=None, out_sharding=None,
):
    """The convolution of an array with a kernel, in any number of dimensions.

    Args:
      lhs: the array, with a batch, a feature and n spatial dimensions.
      rhs: the kernel, with an output feature, an input feature and n spatial dimensions.
      window_strides: n distances between windows.
      padding: "VALID", "SAME" or "SAME_LOWER" (see `padtype_to_pads`), or n pairs `(low, high)`;
        negative ones cut off.
      lhs_dilation, rhs_dilation: n factors by which the elements of array and kernel are drawn
        apart, with zeros between them.
      dimension_numbers: `None`, for the dimensions in the order above; or three strings that name
        those of `lhs`, `rhs` and the result: "N" the batch, "C" the feature, "O" and "I" output
        and input features of the kernel, and any other characters the spatial ones, whose order in
        the kernel is that of strides, padding and dilations; or `ConvDimensionNumbers`.
      feature_group_count, batch_group_count: see the module; one of them must be 1.
      precision: `None`, a `Precision` or its name, or a pair of them.
      preferred_element_type: the dtype of the result; by default that of the operands.
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    Returns:
      an array with a batch, a feature and n spatial dimensions.

    Raises:
      ValueError: shapes, strides, paddings or groups that do not fit.
      TypeError: other dimension numbers, dilations or dtypes than these.
      RuntimeError: an unknown name of padding.

    >>> image, kernel = jnp.ones((1, 28, 28, 3)), jnp.ones((5, 5, 3, 16))
    >>> lax.conv_general_dilated(image, kernel, (2, 2), "SAME",
    ...                          dimension_numbers=("NHWC", "HWIO", "NHWC")).shape
    (1, 14, 14, 16)
    """
    if out_sharding is not None:
        return call_sharded(
            conv_general_dilated, lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
            dimension_numbers, feature_group_count, batch_group_count, precision,
            preferred_element_type, out_sharding=out_sharding)
    lhs_shape, rhs_shape = typeof(lhs).shape, typeof(rhs).shape
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    if isinstance(padding, str) and lhs_dilation is not None and set(lhs_dilation) - {1}:
        raise ValueError("Padding by name says nothing about a dilated lhs: give the padding in "
                         "numbers, or use `conv_transpose`.")
    window_strides = _per_dimension("window_strides", window_strides, len(lhs_shape) - 2)
    lhs_dilation = _per_dimension("lhs_dilation", lhs_dilation, len(lhs_shape) - 2)
    rhs_dilation = _per_dimension("rhs_dilation", rhs_dilation, len(rhs_shape) - 2)
    if isinstance(padding, str):
        _check_strides(window_strides, max(len(rhs_shape) - 2, 0))
        kernel = map(dilated, taken(rhs_shape, numbers.rhs_spec)[2:], rhs_dilation)
        padding = padtype_to_pads(taken(lhs_shape, numbers.lhs_spec)[2:], tuple(kernel),
                                  window_strides, padding)
    if preferred_element_type is not None:
        preferred_element_type = check_and_canonicalize_user_dtype(preferred_element_type)
    return conv_general_dilated_p.bind(
        lhs, rhs, window_strides=window_strides, padding=_pairs(padding),
        lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation, dimension_numbers=numbers,
        feature_group_count=feature_group_count, batch_group_count=batch_group_count,
        precision=canonical_precision(precision), preferred_element_type=preferred_element_type)


def _pairs(padding) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((low.__index__(), high.__index__()) for low, high in padding)
    except (TypeError, ValueError, AttributeError):
        raise ValueError("padding argument to conv_general_dilated must be a name or a sequence of "
                         f"pairs (low, high), got {padding}") from None


# ----------------------------------------------------------------------------------------------
# Derivatives


def _swapped(spec):
    """Batch and feature, or output and input, in each other's place."""
    return (spec[1], spec[0], *spec[2:])


def _moved_into(x, source: int, axis: int):
    """`x` without dimension `source`, which becomes the slower part of dimension `axis` of it."""
    shape = list(typeof(x).shape)
    order = [d for d in range(len(shape)) if d != source]
    order.insert(axis, source)
    size = shape.pop(source)
    shape[axis] *= size
    return reshape(x, shape, order)


def _moved_out_of(x, axis: int, size: int):
    """`x` with dimension `axis` in two, of which the first has this size."""
    shape = list(typeof(x).shape)
    shape[axis:axis + 1] = [size, shape[axis] // size]
    return reshape(x, shape)


def _groups_changed(x, source: int, target: int, groups: int):
    """`x` with its groups in dimension `target` instead of `source`."""
    return x if groups == 1 else _moved_into(_moved_out_of(x, source, groups), source, target)


def _converted(x, dtype):
    """`x` of this dtype, weakly typed if it was."""
    return convert(x, dtype, typeof(x).weak_type)


def _transpose_lhs(ct, lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
                   dimension_numbers, feature_group_count, batch_group_count, **params):
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    lhs_shape, rhs_shape, out_shape = lhs.aval.shape, typeof(rhs).shape, typeof(ct).shape
    groups = max(feature_group_count, batch_group_count)
    rhs = _groups_changed(rhs, rhs_spec[0], rhs_spec[1], groups)
    padding = pads_of_transpose(
        taken(lhs_shape, lhs_spec[2:]), taken(rhs_shape, rhs_spec[2:]), window_strides,
        taken(out_shape, out_spec[2:]), padding, lhs_dilation, rhs_dilation)
    out = conv_general_dilated(
        ct, _converted(rev(rhs, rhs_spec[2:]), typeof(ct).dtype), lhs_dilation, padding,
        window_strides, rhs_dilation, ConvDimensionNumbers(out_spec, _swapped(rhs_spec), lhs_spec),
        groups, **params)
    return _groups_changed(_converted(out, lhs.aval.dtype), lhs_spec[1], lhs_spec[0],
                           batch_group_count)


def _transpose_rhs(ct, lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
                   dimension_numbers, feature_group_count, batch_group_count, **params):
    if 0 in typeof(ct).shape:  # a kernel of size 0 would be no convolution
        return Zero(rhs.aval)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    padding = _pads_of_kernel(
        taken(typeof(lhs).shape, lhs_spec[2:]), taken(rhs.aval.shape, rhs_spec[2:]), window_strides,
        taken(typeof(ct).shape, out_spec[2:]), padding, lhs_dilation, rhs_dilation)
    numbers = ConvDimensionNumbers(*map(_swapped, (lhs_spec, out_spec, rhs_spec)))
    out = conv_general_dilated(
        _converted(lhs, typeof(ct).dtype), ct, rhs_dilation, padding, lhs_dilation, window_strides,
        numbers, batch_group_count, feature_group_count, **params)
    return _converted(out, rhs.aval.dtype)


def _pads_of_kernel(in_shape, window, strides, out_shape, padding, in_dilation, window_dilation):
    """The padding by which the cotangent meets, at each place of the kernel, what that met."""
    sizes = zip(dilated_shape(in_shape, in_dilation), dilated_shape(window, window_dilation),
                dilated_shape(out_shape, strides))
    return [(low, m - n + w - low - 1) for (n, w, m), (low, _) in zip(sizes, padding)]


products.add(conv_general_dilated_p)
defbilinear(conv_general_dilated_p, _transpose_lhs, _transpose_rhs)


# ----------------------------------------------------------------------------------------------
# Batching


def _batching(args, dims, *, feature_group_count, batch_group_count, dimension_numbers, **params):
    """One convolution for all examples: they go into the batch dimension if they share a kernel,
    into the output features if they share the array, else each becomes a group of its own."""
    (lhs, rhs), (lhs_dim, rhs_dim) = args, dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    size = batch_size(args, dims)
    groups = {"feature_group_count": feature_group_count, "batch_group_count": batch_group_count}
    params["dimension_numbers"] = dimension_numbers
    if not size:
        return _no_examples(args, dims, **groups, **params)
    if rhs_dim is None:
        lhs = _moved_behind_groups(lhs, lhs_dim, lhs_spec[0], batch_group_count)
        out = conv_general_dilated_p.bind(lhs, rhs, **groups, **params)
        return _moved_out_of(out, out_spec[0], size), out_spec[0]
    if lhs_dim is None:
        count = max(groups.values())
        rhs = _moved_behind_groups(rhs, rhs_dim, rhs_spec[0], count)
        out = conv_general_dilated_p.bind(lhs, rhs, **groups, **params)
        return _moved_from_behind_groups(out, out_spec[1], size, count), out_spec[1]
    kind, axis = ("batch", lhs_spec[0]) if batch_group_count > 1 else ("feature", lhs_spec[1])
    groups[f"{kind}_group_count"] *= size
    out = conv_general_dilated_p.bind(_moved_into(lhs, lhs_dim, axis),
                                      _moved_into(rhs, rhs_dim, rhs_spec[0]), **groups, **params)
    return _moved_out_of(out, out_spec[1], size), out_spec[1]


def _moved_behind_groups(x, bdim: int, axis: int, groups: int):
    """`x` with its examples between the groups of dimension `axis` and what is in a group."""
    if groups == 1:
        return _moved_into(x, bdim, axis)
    x = _moved_out_of(x, axis + (bdim <= axis), groups)
    x = _moved_into(x, bdim + (axis < bdim), axis + 1)
    return _moved_into(x, axis, axis)


def _moved_from_behind_groups(x, axis: int, size: int, groups: int):
    """The way back: the examples are then in dimension `axis`, groups and the rest in the next."""
    if groups == 1:
        return _moved_out_of(x, axis, size)
    x = _moved_out_of(_moved_out_of(x, axis, groups), axis + 1, size)
    return _moved_into(x, axis, axis + 1)


def _no_examples(args, dims, **params):
    avals = [typeof(x) for x in args]
    shapes = [a.shape if d is None else a.shape[:d] + a.shape[d + 1:] for a, d in zip(avals, dims)]
    out = _shape_rule(*[ShapedArray(shape, a.dtype) for shape, a in zip(shapes, avals)], **params)
    return full((0, *out.shape), 0, out.dtype), 0


primitive_batchers[conv_general_dilated_p] = _batching


# ----------------------------------------------------------------------------------------------
# Lowering


def _lower(ctx, lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
           dimension_numbers, feature_group_count, batch_group_count, precision,
           preferred_element_type):
    (out,) = ctx.avals_out
    if lhs.aval.dtype.kind == "c":
        return _lower_complex(
            ctx, lhs, rhs, window_strides=window_strides, padding=padding,
            lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation,
            dimension_numbers=dimension_numbers, feature_group_count=feature_group_count,
            batch_group_count=batch_group_count, precision=precision,
            preferred_element_type=preferred_element_type and _part(preferred_element_type))
    names = map(_spec_text, dimension_numbers, ("bf", "oi", "bf"))
    pads = str([list(pair) for pair in padding])
    window = (f"stride = {_ints(window_strides)}, pad = {pads}, lhs_dilate = {_ints(lhs_dilation)},"
              f" rhs_dilate = {_ints(rhs_dilation)}")
    precisions = ", ".join(f"#stablehlo<precision {p}>" for p in precision_names(precision))
    text = ("convolution({}, {}) dim_numbers = {}x{}->{}, window = {{{}}} {{batch_group_count = {} "
            ": i64, feature_group_count = {} : i64, precision_config = [{}]}}").format(
                lhs.name, rhs.name, *names, window, batch_group_count, feature_group_count,
                precisions)
    return ctx.op(f"stablehlo.{text} : ({lhs.type}, {rhs.type}) -> {tensor_type(out)}", out)


def _spec_text(spec, pair: str) -> str:
    """`[b, 0, 1, f]`: what each dimension is."""
    names = [*pair, *map(str, range(len(spec) - 2))]
    return f"[{', '.join(names[spec.index(d)] for d in range(len(spec)))}]"


def _ints(values) -> str:
    return str([int(v) for v in values])


def _part(dtype) -> np.dtype:
    """The type of the real and the imaginary part."""
    return np.dtype(f"f{dtype.itemsize // 2}")


def _complex_convolution(x, y, **params: Any):
    """(a + bi)(c + di) with three products in the place of four, which Gauss found."""
    multiply = functools.partial(conv_general_dilated_p.bind, **params)
    a, b, c, d = real(x), imag(x), real(y), imag(y)
    first, second, third = multiply(add(a, b), c), multiply(a, sub(d, c)), multiply(b, add(c, d))
    return complex(sub(first, third), add(first, second))


_lower_complex = lower_fun(_complex_convolution)
register_lowering(conv_general_dilated_p, _lower)
