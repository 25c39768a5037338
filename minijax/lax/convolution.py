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

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compat.optional import may_be_asked
from ..core.batching import batch_size, primitive_batchers
from ..core.boundary import public
from ..core.core import ShapedArray, typeof
from ..core.forward import Zero
from ..core.lowering import register_lowering, tensor_type
from ..core.primitives import convert, make_primitive
from ..remat import products
from ..runtime.dispatch import apply_primitive
from .complex_numbers import complex, imag, real
from .convolution_shapes import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    check_strides,
    conv_dimension_numbers,
    convolution_type,
    taken,
)
from .dtypes import check_and_canonicalize_user_dtype
from .elementwise import add, sub
from .families import defbilinear, lower_fun
from .out_shardings import call_sharded
from .precision import canonical_precision, precision_names
from .shaping import full, reshape, rev
from .sizes import integers
from .sliding import dilated, dilated_shape, pads_of_transpose, padtype_to_pads

# ----------------------------------------------------------------------------------------------
# The primitive

conv_general_dilated_p = make_primitive("conv_general_dilated", convolution_type)
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
        check_strides(window_strides, max(len(rhs_shape) - 2, 0))
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
    of_one = [ShapedArray(shape, a.dtype) for shape, a in zip(shapes, avals)]
    out = convolution_type(*of_one, **params)
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
