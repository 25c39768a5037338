"""Chapter 12: what the functions of `minijax.numpy` do with their arguments first."""

import operator
from typing import Any

import numpy as np

from ..checks.core import unbound_axis
from ..core import dtypes
from ..core.core import ArrayMethods, state, typeof
from ..core.operators import (
    operands,
    promote_args,
    promote_args_inexact,
    promote_dtypes,
    promote_dtypes_inexact,
    promote_shapes,
)
from ..core.primitives import canonical_axis, constant, convert, ensure_array
from ..lax.compile_time import concrete_or_error
from ..lax.dtypes import check_and_canonicalize_user_dtype, scalar_type_of, to_numeric_dtype
from ..lax.elementwise import convert_element_type, ne
from ..lax.operators import check_arraylike
from ..lax.shaping import full_like
from ..lax.sizes import canonical_shape, integers, known_sizes
from ..settings import enable_x64

__all__ = [  # what the other files of the room import from here
    "canonical_axis", "canonical_shape", "check_arraylike", "check_mask", "check_no_out",
    "complex_input", "constant_like", "convert", "convert_element_type", "ensure_array",
    "ensure_arraylike", "ensure_arraylikes", "index_tuple", "is_inexact", "is_integer",
    "known_sizes", "optional_axes", "promote_args", "promote_args_inexact", "promote_args_numeric",
    "promote_dtypes", "promote_dtypes_inexact", "promote_dtypes_numeric", "promote_numbers_inexact",
    "promote_shapes",
    "static_index", "strong_constant", "to_bool", "user_dtype", "zeros_like",
]


def ensure_arraylike(name: str, x) -> Any:
    """`x` as an array (tracers stay themselves), or a `TypeError` of the function `name`."""
    if isinstance(x, ArrayMethods):
        return x
    check_arraylike(name, x)
    return ensure_array(x)


def ensure_arraylikes(name: str, *args) -> tuple:
    """`ensure_arraylike` of each argument. The error names the argument that is not an array."""
    check_arraylike(name, *args)
    return tuple(ensure_arraylike(name, x) for x in args)


def promote_dtypes_numeric(*args) -> list:
    """`promote_dtypes`, and booleans to integers."""
    dtype, weak_type = dtypes.lattice_result_type(*args)
    numeric = to_numeric_dtype(dtype)
    return [convert(x, numeric, weak_type) for x in args]


def promote_args_numeric(name: str, *args):
    """`promote_args`, and booleans to integers."""
    return promote_shapes(name, *promote_dtypes_numeric(*operands(name, args)))


def promote_numbers_inexact(name: str, *args):
    """`promote_args_inexact`, which takes Python integers of any size: they become floats."""
    return promote_args_inexact(name, *(
        float(x) if type(x) is int and not -2**31 <= x < 2**31 else x for x in args))


def constant_like(x, value) -> Any:
    """The number `value` as a scalar of the dtype of `x`; weakly typed if `x` is a weak scalar."""
    aval = typeof(x)
    if aval.weak_type and not aval.shape:
        scalar_type = scalar_type_of(aval.dtype)
        if dtypes.python_scalar_dtype(scalar_type) == aval.dtype:
            return scalar_type(value)
    return _scalar(value, aval.dtype)


def strong_constant(x, value) -> Any:
    """The number `value` as a scalar of the dtype of `x`, whatever the weakness of `x`."""
    return _scalar(value, typeof(x).dtype)


def _scalar(value, dtype):
    """A number as a scalar of this dtype. NumPy's lose half of their 64 bits when x64 is off, but
    an array that was made under x64 keeps them."""
    if dtype in dtypes.short_of and not enable_x64.value:
        return constant(value, dtype)
    return dtype.type(value)


def zeros_like(x):
    """Zeros of the type of `x`."""
    return full_like(x, 0)


def to_bool(x):
    """Elementwise: is `x` other than zero?"""
    return x if typeof(x).dtype == bool else ne(x, constant_like(x, 0))


def complex_input(x) -> bool:
    """Whether `x` has complex elements."""
    return typeof(x).dtype.kind == "c"


def is_inexact(x) -> bool:
    """Whether `x` has floating-point or complex elements. Random keys, for example, have not."""
    return dtypes.issubdtype(typeof(x).dtype, np.inexact)


def is_integer(x) -> bool:
    """Whether `x` has integer or boolean elements: those that floating point functions convert."""
    dtype = typeof(x).dtype
    return not (dtypes.issubdtype(dtype, np.inexact) or dtypes.issubdtype(dtype, dtypes.extended))


def check_no_out(name: str, out) -> None:
    """Arrays are immutable: there is nothing to write a result to."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")


def check_mask(name: str, where):
    """The `where` argument of a reduction: `None`, or a boolean array.

    Raises:
      ValueError: an array of another dtype.
    """
    if where is None:
        return None
    where = ensure_arraylike(name, where)
    if where.dtype != bool:
        raise ValueError(f"jnp.{name}: where must be None or a boolean array; "
                         f"got where.dtype={where.dtype!r}.")
    return where


def user_dtype(dtype, name: str) -> Any:
    """The `dtype` argument of the function `name`, checked. `None` stays `None`."""
    return None if dtype is None else check_and_canonicalize_user_dtype(dtype, name)


def static_index(value, what: str = "") -> int:
    """An argument that must be a known integer.

    Raises:
      ConcretizationTypeError: it is traced.
      TypeError: it is no integer.
    """
    return concrete_or_error(operator.index, value, what)


def index_tuple(value) -> tuple[int, ...]:
    """A known int or sequence of ints, as a tuple.

    Raises:
      ConcretizationTypeError: it is traced.
      TypeError: it holds something else.
    """
    value = concrete_or_error(None, value, "expected a static index or sequence of indices.")
    try:
        return (operator.index(value),)
    except TypeError:
        return integers("an axis or a size, if it is not an integer,", value)


def optional_axes(axis) -> int | tuple[int, ...] | None:
    """The `axis` argument of a reduction: `None`, an int or a sequence of ints; all known."""
    if axis is None or type(axis) is int:
        return axis
    return concrete_or_error(_axes, axis, "The axis argument must be known statically.")


def _axes(axis):
    if isinstance(axis, str):
        _refuse_named_axis(axis)
    try:
        return operator.index(axis)
    except TypeError:
        return integers("axis, if it is not an integer,", axis)


def _refuse_named_axis(name):
    """Raise the error for an axis that is given by name."""
    if name not in state.axis_sizes:
        unbound_axis(name, state.axis_sizes)
    raise TypeError(f"axis={name!r} is the name of a mapped axis, but functions of jax.numpy "
                    "reduce an array's own dimensions. Use lax.psum, lax.pmax or lax.pmin.")
