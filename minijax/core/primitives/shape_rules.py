"""Chapter 1: what shape rules have in common: checks, and the making of standard rules."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import numpy as np

from .. import dtypes
from ..core import Primitive, ShapedArray

# The kinds of element types that a primitive may accept.
INTEGER = (np.integer,)
FLOAT = (np.floating,)
COMPLEX = (np.complexfloating,)
SINGLE_OR_DOUBLE = (np.float32, np.float64)
INEXACT = (np.floating, np.complexfloating)
REAL = (np.integer, np.floating)
NUMBER = (np.integer, np.floating, np.complexfloating)
BOOL_OR_INT = (np.integer, np.bool_)
ORDERED = (np.integer, np.floating, np.bool_)
SIGNED = (np.floating, np.complexfloating, np.signedinteger)
ANY = (np.generic,)


def check_dtype(name: str, aval: ShapedArray, accepted: tuple, position: int | None = None) -> None:
    """Raise `TypeError` unless the element type of `aval` is one of the `accepted` kinds."""
    if accepted is ANY or any(dtypes.issubdtype(aval.dtype, kind) for kind in accepted):
        return
    where = "" if position is None else f" at position {position}"
    kinds = ", ".join("bool" if kind is np.bool_ else kind.__name__ for kind in accepted)
    raise TypeError(
        f"{name} does not accept dtype {aval.dtype.name}{where}. "
        f"Accepted dtypes{where} are subtypes of {kinds}."
    )


def check_numeric(name: str, aval: ShapedArray) -> None:
    """Raise `TypeError` for elements that are neither numbers nor truth values: random keys."""
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        raise TypeError(f"{name} does not accept dtype {aval.dtype.name}: no type of numbers.")


def check_same_dtypes(name: str, avals: Sequence[ShapedArray], tip: str = "") -> None:
    """Raise `TypeError` unless all element types are equal: `lax` promotes nothing."""
    if any(aval.dtype != avals[0].dtype for aval in avals):
        got = ", ".join(aval.dtype.name for aval in avals)
        raise TypeError(f"lax.{name} requires arguments to have the same dtypes, got {got}.{tip}")


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all the `shapes` broadcast to, by NumPy's rules.

    Raises:
      ValueError: they do not fit.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    ndim = max(map(len, shapes), default=0)
    padded = [(1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes]
    sizes_of_dims = [{*sizes} - {1} for sizes in zip(*padded)]
    if any(len(sizes) > 1 for sizes in sizes_of_dims):
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}")
    return tuple(operator.index(sizes.pop()) if sizes else 1 for sizes in sizes_of_dims)


def elementwise_shape(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The common shape: of one rank (scalars aside), with dimensions equal or 1."""
    shape = avals[0].shape
    if all(aval.shape == shape for aval in avals):
        return shape
    shapes = [aval.shape for aval in avals if aval.shape]
    ranks = {len(shape) for shape in shapes}
    if len(ranks) != 1:
        raise TypeError(f"{name}: arrays must have the same number of dimensions, got {ranks}")
    return tuple(_common_size(name, sizes, shapes) for sizes in zip(*shapes))


def _common_size(name, sizes, shapes):
    others = {size for size in sizes if size != 1}
    if len(others) > 1:
        raise TypeError(f"{name} got incompatible shapes for broadcasting: "
                        f"{', '.join(map(str, shapes))}.")
    return others.pop() if others else 1


def all_weak(avals: Sequence[ShapedArray]) -> bool:
    """A result is weakly typed if all its arguments are."""
    return all(aval.weak_type for aval in avals)


def elementwise_rule(name: str, accepted: Sequence[tuple], out_dtype: Callable | None = None):
    """The shape rule of an elementwise primitive; `accepted` has the kinds for each argument."""
    tip = f" (Tip: jnp.{TIPS[name]} is a similar function that does automatic type promotion " \
          "on inputs)." if name in TIPS else ""

    def rule(*avals, **params):
        for position, (aval, kinds) in enumerate(zip(avals, accepted)):
            check_dtype(name, aval, kinds, position if len(avals) > 1 else None)
        if name != "pow":
            check_same_dtypes(name, avals, tip)
        dtype = out_dtype(avals[0].dtype) if out_dtype else avals[0].dtype
        return ShapedArray(elementwise_shape(name, avals), dtype, all_weak(avals))

    return rule


TIPS = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "rem": "remainder",
        "max": "maximum", "min": "minimum", "eq": "equal", "ne": "not_equal", "lt": "less",
        "le": "less_equal", "gt": "greater", "ge": "greater_equal", "and": "bitwise_and",
        "or": "bitwise_or", "xor": "bitwise_xor"}


def canonical_shape(shape, name: str = "shape") -> tuple[int, ...]:
    """`shape` as a tuple of non-negative ints.

    Raises:
      TypeError: it holds something else (a traced value among them).
    """
    sizes = known_sizes(shape)
    if any(size < 0 for size in sizes):
        raise TypeError(f"{name} must have nonnegative sizes, got {sizes}.")
    return sizes


def known_sizes(shape) -> tuple[int, ...]:
    """The entries of a shape as ints, whatever their sign; an int alone is a shape of one entry.

    Raises:
      TypeError: one is traced, or no integer.
    """
    try:
        return tuple(map(operator.index, (shape,) if isinstance(shape, int) else shape))
    except TypeError as error:
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape}. If "
            "using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions."
        ) from error


def canonical_axis(axis: int, ndim: int) -> int:
    """`axis` counted from the front.

    Raises:
      ValueError: there is no such axis.
    """
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def make_primitive(name: str, shape_rule: Callable) -> Primitive:
    """A primitive with its shape rule."""
    primitive = Primitive(name)
    primitive.def_abstract_eval(shape_rule)
    return primitive
