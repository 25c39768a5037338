"""Chapter 1: which operations is everything else made of?

    primitive : arrays, parameters → arrays

This chapter gives each starter primitive its *evaluation* on NumPy and its *type rule*, which
computes the abstract values of the results from those of the operands. Each later chapter adds a
column: the JVP, batching, lowering and transpose rules. Names and parameters are JAX's, without
those about sharding. These functions bind. `minijax.lax` has the public ones, which check their
arguments.

The counterpart in JAX is `jax/_src/lax/lax.py`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

import numpy as np

from ..checks import primitives as checks
from . import dtypes, evaluation
from .array import (
    Array,
    as_array,
    def_numpy,
    direct_binary,
    direct_unary,
    handled,
    numpy_rules,
    quiet,
)
from .avals import vary_like
from .core import ArrayMethods, Primitive, ShapedArray, state, typeof

# The kinds of element types that a primitive may accept.
INEXACT = (np.floating, np.complexfloating)
NUMBER = (np.integer, np.floating, np.complexfloating)
ORDERED = (np.integer, np.floating, np.bool_)
ANY = (np.generic,)


def make_primitive(name: str, type_rule: Callable, numpy_rule: Callable | None = None) -> Primitive:
    """A primitive with its type rule and its evaluation."""
    primitive = Primitive(name)
    primitive.def_abstract_eval(type_rule)
    if numpy_rule is not None:
        def_numpy(primitive, numpy_rule)
    return primitive


def all_weak(avals: Sequence[ShapedArray]) -> bool:
    """A result is weakly typed if all its operands are."""
    return all(aval.weak_type for aval in avals)


def canonical_axis(axis: int, ndim: int) -> int:
    """`axis` counted from the front."""
    checks.axis(axis, ndim)
    return operator.index(axis) % ndim


# ----------------------------------------------------------------------------------------------
# Elementwise: one row each, with the accepted types and the NumPy function


def elementwise_type(name: str, accepted: Sequence[tuple], out_dtype: Callable | None = None):
    """The type rule of an elementwise primitive; `accepted` has the kinds for each operand."""

    def rule(*avals, **params):
        checks.elementwise_dtypes(name, avals, accepted, params)
        dtype = out_dtype(avals[0].dtype) if out_dtype else avals[0].dtype
        return ShapedArray(elementwise_shape(name, avals), dtype, all_weak(avals))

    return rule


def elementwise_shape(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The common shape: of one rank (scalars aside), with dimensions equal or 1."""
    shape = avals[0].shape
    if all(aval.shape == shape for aval in avals):
        return shape
    checks.elementwise_shapes(name, avals)
    shapes = [aval.shape for aval in avals if aval.shape]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*shapes))


def unary(name: str, accepted: tuple, numpy_rule: Callable):
    """A primitive of one operand, and the function that binds it."""
    primitive = make_primitive(name, elementwise_type(name, [accepted]), numpy_rule)
    return primitive, direct_unary(primitive)


def binary(name: str, accepted: tuple, numpy_rule: Callable, out_dtype: Callable | None = None):
    """A primitive of two operands, and the function that binds it."""
    kinds = [accepted, accepted]
    primitive = make_primitive(name, elementwise_type(name, kinds, out_dtype), numpy_rule)
    return primitive, direct_binary(primitive)


def bool_dtype(dtype) -> np.dtype:
    """The element type of a comparison's result."""
    return np.dtype(bool)


neg_p, neg = unary("neg", NUMBER, np.negative)
sin_p, sin = unary("sin", INEXACT, np.sin)
cos_p, cos = unary("cos", INEXACT, np.cos)
tanh_p, tanh = unary("tanh", INEXACT, np.tanh)
exp_p, exp = unary("exp", INEXACT, np.exp)
log_p, log = unary("log", INEXACT, np.log)

add_p, add = binary("add", NUMBER, np.add)
sub_p, sub = binary("sub", NUMBER, np.subtract)
mul_p, mul = binary("mul", NUMBER, np.multiply)
div_p, div = binary("div", NUMBER, evaluation.divide)

eq_p, eq = binary("eq", ANY, np.equal, bool_dtype)
ne_p, ne = binary("ne", ANY, np.not_equal, bool_dtype)
lt_p, lt = binary("lt", ORDERED, np.less, bool_dtype)
le_p, le = binary("le", ORDERED, np.less_equal, bool_dtype)
gt_p, gt = binary("gt", ORDERED, np.greater, bool_dtype)
ge_p, ge = binary("ge", ORDERED, np.greater_equal, bool_dtype)

# The sum of two tangents or cotangents, which are of one type.
add_any_p = make_primitive("add_any", lambda x, y: x, np.add)


integer_pow_p = make_primitive("integer_pow", elementwise_type("integer_pow", [NUMBER]),
                               evaluation.integer_power)


def integer_pow(x, y: int):
    """`x` to the power of the static integer `y`."""
    return integer_pow_p.bind(x, y=operator.index(y))


stop_gradient_p = make_primitive("stop_gradient", lambda x: x)
stop_gradient_p.def_impl(as_array)


# ----------------------------------------------------------------------------------------------
# Conversions


def _converted_type(x, *, new_dtype, weak_type):
    checks.convertible(x, new_dtype)
    return ShapedArray(x.shape, new_dtype, weak_type)


convert_element_type_p = make_primitive(
    "convert_element_type", _converted_type,
    lambda x, *, new_dtype, weak_type: evaluation.convert(x, np.dtype(new_dtype)))


def convert(x, dtype: np.dtype, weak_type: bool = False):
    """`x` with this canonical element type; `x` itself if it has this type already.

    A Python number or a NumPy value is converted now, and not traced.
    """
    if not isinstance(x, ArrayMethods):
        if hasattr(type(x), "__jax_array__"):
            return convert(x.__jax_array__(), dtype, weak_type)
        return constant(short_integers(x, dtype), dtype, weak_type)
    aval = x.aval
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    checks.conversion(aval.dtype, dtype)
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=bool(weak_type))


def short_integers(x, dtype: np.dtype):
    """`x`, ready to be converted to `dtype`.

    Unless x64 is on, 64-bit integers that become floats are shortened to 32 bits first. A jitted
    function does this to its arguments, and both must give the same result.
    """
    if dtype.kind not in "iub" and isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "iu":
        return x.astype(dtypes.canonicalize_dtype(x.dtype), copy=False)
    return x


def constant(x, dtype: np.dtype, weak_type: bool = False) -> Array:
    """A known value as an array of this type, or under staging as a constant of the program."""
    x = handled(x)
    checks.constant(x, dtype)
    shape = () if type(x) in dtypes.python_scalar_types else np.shape(x)
    aval = ShapedArray(shape, dtype, weak_type)
    if not state.trace.staging:
        return _evaluated_constant(x, aval)
    return _staged_array(x, aval) if aval.ndim else _staged_scalar(x, aval)


def _evaluated_constant(x, aval: ShapedArray) -> Array:
    return Array(_converted_now(x, aval), aval)


def _staged_array(x, aval: ShapedArray):
    """A NumPy array of the right type is a constant of the program, the same one for each use."""
    if isinstance(x, np.ndarray) and typeof(x) is aval:
        return state.trace.literal(x, aval)
    return _evaluated_constant(x, aval)


def _staged_scalar(x, aval: ShapedArray):
    """A scalar is written into the equation. A Python number of the right type stays itself."""
    as_it_is = type(x) in dtypes.python_scalar_types and typeof(x) is aval
    return state.trace.literal(x if as_it_is else _converted_now(x, aval), aval)


def _converted_now(x, aval: ShapedArray) -> np.ndarray:
    """A copy of a known value, converted to this type by NumPy."""
    x = np.asarray(x, dtypes.python_scalar_dtype(int) if type(x) is int else None)
    return quiet.run(numpy_rules[convert_element_type_p], x,
                     new_dtype=aval.dtype, weak_type=aval.weak_type)


def ensure_array(x):
    """`x` as an `Array` or a tracer.

    Values of other classes with a type stay as they are. So do zeros of dtype `float0`, which are
    NumPy's.
    """
    if isinstance(x, ArrayMethods):
        return x
    if hasattr(type(x), "__jax_array__"):
        return ensure_array(x.__jax_array__())
    x = handled(x)
    aval = typeof(x)
    numeric = isinstance(x, (np.ndarray, np.generic, bool, int, float, complex))
    if not numeric or aval.dtype == dtypes.float0:
        return x
    return constant(x, aval.dtype, aval.weak_type)


# ----------------------------------------------------------------------------------------------
# Shapes


def shape_primitive(name: str, shape: Callable, numpy_rule: Callable | None,
                    typed: Callable = lambda rule: rule) -> Primitive:
    """A primitive that moves elements. The shape of its result is `shape(x, **params)`.

    `typed` may replace the type rule by another one.
    """

    def type_rule(x, **params):
        checks.parameters(name, x, params)
        return ShapedArray(shape(x, **params), x.dtype, x.weak_type)

    return make_primitive(name, typed(type_rule), numpy_rule)


def _broadcast_in_dim(x, *, shape, broadcast_dimensions):
    if x.size == math.prod(shape):
        return x.reshape(shape)
    sizes = [1] * len(shape)
    for d, n in zip(broadcast_dimensions, x.shape):
        sizes[d] = n
    out = np.empty(shape, x.dtype)  # faster than `np.broadcast_to`
    out[...] = x.reshape(sizes)
    return out


broadcast_in_dim_p = shape_primitive(
    "broadcast_in_dim", lambda x, *, shape, **params: shape, _broadcast_in_dim)


def broadcast_in_dim(x, shape: Sequence[int], broadcast_dimensions: Sequence[int]):
    """`x` repeated to `shape`; its dimension `i` becomes `broadcast_dimensions[i]`."""
    shape, dims = tuple(shape), tuple(broadcast_dimensions)
    if isinstance(x, ArrayMethods) and x.aval.shape == shape and dims == tuple(range(len(shape))):
        return x
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=dims)


def expand_dims(x, dimensions: Sequence[int]):
    """`x` with new dimensions of size 1 at these positions of the result."""
    ndim_out = typeof(x).ndim + len(dimensions)
    kept = [d for d in range(ndim_out) if d not in dimensions]
    sizes = dict(zip(kept, typeof(x).shape))
    return broadcast_in_dim(x, [sizes.get(d, 1) for d in range(ndim_out)], kept)


def full(shape: Sequence[int], value):
    """An array of `shape` with the scalar `value` everywhere."""
    aval = typeof(value)
    return broadcast_in_dim(convert(value, aval.dtype, aval.weak_type), shape, ())


def filled(aval: ShapedArray, value):
    """An array of this type with the scalar `value` everywhere."""
    x = full(aval.shape, convert(value, aval.dtype, aval.weak_type))
    return vary_like(x, aval) if aval.placement is not None else x


def full_like(x, value):
    """An array like `x` with the scalar `value` everywhere."""
    return filled(typeof(x), value)


def _reshape(x, *, new_sizes, dimensions):
    # Methods: NumPy's functions of these names call them, and take ten times as long.
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


reshape_p = shape_primitive("reshape", lambda x, *, new_sizes, **params: new_sizes, _reshape)


def reshape(x, new_sizes: Sequence[int], dimensions: tuple[int, ...] | None = None):
    """The elements of `x` in another shape, read in row-major order, or that of `dimensions`."""
    new_sizes = tuple(new_sizes)
    if dimensions is None and isinstance(x, ArrayMethods) and x.aval.shape == new_sizes != ():
        return x
    return reshape_p.bind(x, new_sizes=new_sizes, dimensions=dimensions)


def _kept_sizes(x, dimensions):
    return [n for d, n in enumerate(x.shape) if d not in dimensions]


squeeze_p = shape_primitive("squeeze", lambda x, *, dimensions: _kept_sizes(x, dimensions),
                            lambda x, *, dimensions: x.squeeze(axis=dimensions))


def squeeze(x, dimensions: Sequence[int]):
    """`x` without these dimensions, which must be of size 1."""
    return squeeze_p.bind(x, dimensions=tuple(dimensions)) if dimensions else x


transpose_p = shape_primitive("transpose",
                              lambda x, *, permutation: [x.shape[d] for d in permutation],
                              lambda x, *, permutation: x.transpose(permutation))


def transpose(x, permutation: Sequence[int]):
    """`x` with its dimension `permutation[i]` as dimension `i`."""
    permutation = tuple(permutation)
    if isinstance(x, ArrayMethods) and permutation == tuple(range(x.aval.ndim)):
        return x
    return transpose_p.bind(x, permutation=permutation)


# ----------------------------------------------------------------------------------------------
# Sums and products of matrices


def reduction(name: str, accepted: tuple, numpy_rule: Callable | None,
              typed: Callable = lambda rule: rule) -> Primitive:
    """A primitive that reduces the dimensions `axes`. `typed` may replace its type rule."""

    def shape(x, *, axes):
        checks.reduction(name, x, axes, accepted)
        return _kept_sizes(x, axes)

    return shape_primitive(name, shape, numpy_rule, typed)


reduce_sum_p = reduction("reduce_sum", NUMBER, evaluation.accumulate_wide(np.add))


def reduce_sum(x, axes: Sequence[int]):
    """The sum over the dimensions `axes`."""
    return reduce_sum_p.bind(x, axes=tuple(axes))


def _dot_general_type(x, y, *, dimension_numbers, precision, preferred_element_type):
    checks.dot_general(x, y, dimension_numbers, precision, preferred_element_type)
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    batch = [x.shape[d] for d in x_batch]
    x_free = _kept_sizes(x, (*x_contract, *x_batch))
    y_free = _kept_sizes(y, (*y_contract, *y_batch))
    dtype = preferred_element_type or dtypes.wider(x.dtype, y.dtype)
    return ShapedArray([*batch, *x_free, *y_free], dtype, all_weak((x, y)))


dot_general_p = make_primitive("dot_general", _dot_general_type, evaluation.dot_general)


def dot_general(x, y, dimension_numbers: tuple, precision=None,
                preferred_element_type: np.dtype | None = None):
    """The sum of products over pairs of dimensions, batched over others: the batch dimensions come
    first, then the others of `x`, then those of `y`.
    """
    return dot_general_p.bind(x, y, dimension_numbers=dimension_numbers, precision=precision,
                              preferred_element_type=preferred_element_type)
