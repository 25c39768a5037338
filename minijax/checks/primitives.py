"""What the types of the starter primitives refuse, and in which words (`core/primitives.py`).

Each function returns nothing, and raises JAX's error class if operands do not fit.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import dtypes
from ..errors import JAXTypeError
from ..text.locations import user_stacklevel
from .core import not_a_value
from .dtypes import FLOAT0

if TYPE_CHECKING:
    from ..core.core import ShapedArray

# ----------------------------------------------------------------------------------------------
# Element types


def places_fit(name: str, size: int, dtype: np.dtype) -> None:
    """Raise `OverflowError` if an integer type has no numbers for the places along a dimension of
    more than 2**31 elements."""
    if size > 2**31 and size - 1 > dtypes.iinfo(dtype).max:
        raise OverflowError(f"Python integer {size} out of bounds for {dtype.name}: {name} needs "
                            "64-bit types along a dimension of this size, see `jax_enable_x64`.")


def dtype_kind(name: str, aval: ShapedArray, accepted: tuple, position: int | None = None) -> None:
    """Raise `TypeError` unless the element type of `aval` is one of the `accepted` kinds."""
    if np.generic in accepted or any(dtypes.issubdtype(aval.dtype, kind) for kind in accepted):
        return
    if aval.dtype == dtypes.float0:
        raise TypeError(f"Called {name} with a float0 array. {FLOAT0}")
    where = "" if position is None else f" at position {position}"
    kinds = ", ".join("bool" if kind is np.bool_ else kind.__name__ for kind in accepted)
    raise TypeError(
        f"{name} does not accept dtype {aval.dtype.name}{where}. "
        f"Accepted dtypes{where} are subtypes of {kinds}."
    )


def numeric(name: str, aval: ShapedArray) -> None:
    """Raise `TypeError` for elements that are neither numbers nor truth values: random keys."""
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        raise TypeError(f"{name} does not accept dtype {aval.dtype.name}: it is not a type of "
                        "numbers.")


def same_dtypes(name: str, avals: Sequence[ShapedArray], tip: str = "") -> None:
    """Raise `TypeError` unless all element types are equal: `lax` promotes nothing."""
    if any(aval.dtype != avals[0].dtype for aval in avals):
        got = ", ".join(aval.dtype.name for aval in avals)
        raise TypeError(f"lax.{name} requires arguments to have the same dtypes, got {got}.{tip}")


_PROMOTING = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide",
              "rem": "remainder", "max": "maximum", "min": "minimum", "eq": "equal",
              "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
              "ge": "greater_equal", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}


def elementwise_dtypes(name: str, avals: Sequence[ShapedArray], accepted: Sequence[tuple],
                       params: dict) -> None:
    """Raise `TypeError` unless the operands have accepted element types, and equal ones, and the
    parameters fit them."""
    if name == "integer_pow":
        _integer_pow(avals[0], **params)
    for position, (aval, kinds) in enumerate(zip(avals, accepted)):
        dtype_kind(name, aval, kinds, position if len(avals) > 1 else None)
    if name == "pow":
        _powers(*avals)
    else:
        tip = f" (Tip: jnp.{_PROMOTING[name]} is a similar function that does automatic type " \
              "promotion on inputs)." if name in _PROMOTING else ""
        same_dtypes(_PROMOTING[name] if name in ("and", "or", "xor") else name, avals, tip)


def _powers(base: ShapedArray, exponent: ShapedArray) -> None:
    if base.dtype != exponent.dtype and not dtypes.issubdtype(exponent.dtype, np.integer):
        raise TypeError("lax.pow requires an integer exponent, or one of the base's dtype, got "
                        f"{base.dtype.name} and {exponent.dtype.name}. (Tip: jnp.power does "
                        "automatic type promotion on inputs).")


def elementwise_shapes(name: str, avals: Sequence[ShapedArray]) -> None:
    """Raise `TypeError` unless the shapes have one rank, and sizes that are equal or 1."""
    shapes = [aval.shape for aval in avals if aval.shape]
    ranks = {len(shape) for shape in shapes}
    if len(ranks) != 1:
        raise TypeError(f"{name}: arrays must have the same number of dimensions, got the shapes "
                        f"{', '.join(map(str, shapes))}. (jax.numpy broadcasts them.)")
    if any(len({*sizes} - {1}) > 1 for sizes in zip(*shapes)):
        raise TypeError(f"{name} got incompatible shapes for broadcasting: "
                        f"{', '.join(map(str, shapes))}.")


def _integer_pow(x: ShapedArray, y: int) -> None:
    """Raise `TypeError` for a negative power of integers."""
    if y < 0 and dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError("Integers cannot be raised to negative powers, got integer_pow"
                        f"({x.str_short(short_dtypes=False)}, {y})")


def convertible(x: ShapedArray, new_dtype) -> None:
    """Raise `ValueError` for a conversion from or to an extended element type."""
    extended = any(isinstance(dtype, dtypes.ExtendedDType) for dtype in (x.dtype, new_dtype))
    if extended and x.dtype != new_dtype:
        raise ValueError(f"Cannot convert_element_type from {x.dtype.name} to {new_dtype.name}")


def conversion(old: np.dtype, new: np.dtype) -> None:
    """Warn if a conversion drops imaginary parts."""
    if old.kind == "c" and new.kind != "c":
        warnings.warn("Casting complex values to real discards the imaginary part",
                      np.exceptions.ComplexWarning, stacklevel=user_stacklevel())


_NOT_NUMBERS = (str, bytes, list, tuple, dict, type(None))


def constant(x, dtype: np.dtype) -> None:
    """Raise `TypeError` for what is no number, and if a complex number is to become real."""
    if isinstance(x, _NOT_NUMBERS):
        not_a_value(x)
    if type(x) is complex and dtype.kind not in "cb":
        raise TypeError(f"a complex number cannot become a {dtype.name}: got {x}")


def select_n(which: ShapedArray, cases: Sequence[ShapedArray]) -> None:
    """Raise `TypeError` unless the cases are of one type that fits `which`."""
    if not cases:
        raise TypeError("select must have at least one case")
    if any(case.shape != cases[0].shape for case in cases):
        raise TypeError("select cases must have the same shapes, got "
                        f"[{', '.join(str(case.shape) for case in cases)}].")
    if any(case.dtype != cases[0].dtype for case in cases):
        raise TypeError("select cases must have the same dtypes, got "
                        f"[{', '.join(case.dtype.name for case in cases)}].")
    if which.dtype != bool and not dtypes.issubdtype(which.dtype, np.integer):
        raise TypeError("select `which` must be boolean or integer type, got "
                        f"{which.dtype.name}.")
    if which.dtype == bool and len(cases) > 2:
        raise TypeError(f"select with boolean `which` cannot have > 2 cases, got {len(cases)}.")
    if which.shape not in ((), cases[0].shape):
        raise TypeError("select `which` must be scalar or have the same shape as cases, got "
                        f"`which` shape {which.shape} but case shape {cases[0].shape}.")


# ----------------------------------------------------------------------------------------------
# Shapes


def integer_axis(axis: Any) -> None:
    """Raise `TypeError` for an axis that is no integer."""
    try:
        operator.index(axis)
    except JAXTypeError:
        raise
    except TypeError as error:
        hint = " (Several arrays are passed as one list: f([a, b]), not f(a, b).)"
        raise TypeError(f"{str(error).rstrip('.')}: an axis must be an integer, got {axis!r}."
                        f"{hint if hasattr(axis, 'shape') else ''}") from None


def axis(axis: int, ndim: int) -> None:
    """Raise `TypeError` for an axis that is no integer, and `ValueError` unless an array of `ndim`
    dimensions has it."""
    integer_axis(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")


def broadcast_in_dim(x: ShapedArray, *, shape, broadcast_dimensions) -> None:
    """Raise `TypeError` unless the operand can be repeated to `shape`."""
    dims = broadcast_dimensions
    if any(n < 0 for n in shape):
        raise TypeError(f"shape must have nonnegative sizes, got {shape}.")
    if len(dims) != x.ndim:
        raise TypeError("broadcast_in_dim broadcast_dimensions must have length equal to operand "
                        f"ndim; got broadcast_dimensions {dims} for operand ndim {x.ndim}.")
    if len(shape) < x.ndim:
        raise TypeError("broadcast_in_dim target broadcast shape must have equal or higher rank to "
                        f"the operand shape; got operand ndim {x.ndim} and target broadcast ndim "
                        f"{len(shape)}.")
    if any(not 0 <= d < len(shape) for d in dims):
        raise TypeError("broadcast_in_dim broadcast_dimensions must be a subset of output "
                        f"dimensions, got {dims} for operand ndim {x.ndim} and shape {shape}.")
    if any(n != 1 and n != shape[d] for n, d in zip(x.shape, dims)):
        raise TypeError("broadcast_in_dim operand dimension sizes must either be 1, or be equal "
                        "to their corresponding dimensions in the target broadcast shape; got "
                        f"operand of shape {x.shape}, target broadcast shape {shape}, "
                        f"broadcast_dimensions {dims}.")
    if any(a >= b for a, b in zip(dims, dims[1:])):
        raise TypeError("broadcast_in_dim broadcast_dimensions must be strictly increasing; "
                        f"got broadcast_dimensions {dims}.")


def reshape(x: ShapedArray, *, new_sizes, dimensions) -> None:
    """Raise `TypeError` unless the new shape has as many elements."""
    if any(size < 0 for size in new_sizes):
        raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}.")
    if math.prod(new_sizes) != x.size:
        raise TypeError(f"reshape total size must be unchanged, got new_sizes {new_sizes} "
                        f"for shape {x.shape}.")


def squeeze(x: ShapedArray, *, dimensions) -> None:
    """Raise `ValueError` unless the dimensions are of size 1."""
    if any(x.shape[d] != 1 for d in dimensions):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one, "
                         f"got shape={x.shape} and dimensions={dimensions}")


def transpose(x: ShapedArray, *, permutation) -> None:
    """Raise `TypeError` unless `permutation` lists each dimension once."""
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError("transpose permutation isn't a permutation of operand dimensions, got "
                        f"permutation {permutation} for operand shape {x.shape}.")


_OF_PARAMETERS = {f.__name__: f for f in (broadcast_in_dim, reshape, squeeze, transpose)}


def parameters(name: str, x: ShapedArray, params: dict) -> None:
    """Raise unless the parameters of the primitive `name` fit the operand."""
    if name in _OF_PARAMETERS:
        _OF_PARAMETERS[name](x, **params)


# ----------------------------------------------------------------------------------------------
# Reductions and products


def reduction(name: str, x: ShapedArray, axes, accepted: tuple) -> None:
    """Raise unless the operand has an accepted element type, and these dimensions."""
    dtype_kind(name, x, accepted)
    numeric(name, x)
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axes' of reduction: {axes}")
    if any(not 0 <= axis < x.ndim for axis in axes):
        raise ValueError(f"reduction axes {axes} contains out-of-bounds indices for "
                         f"{x.str_short(short_dtypes=False)}.")


def dot_general(x: ShapedArray, y: ShapedArray, dimension_numbers, precision,
                preferred_element_type) -> None:
    """Raise `TypeError` unless the dimensions of a product fit."""
    numeric("dot_general", x)
    numeric("dot_general", y)
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    _paired_dims("contracting", x, y, x_contract, y_contract)
    _paired_dims("batch", x, y, x_batch, y_batch)
    for contract, batch in ((x_contract, x_batch), (y_contract, y_batch)):
        if set(contract) & set(batch):
            raise TypeError("dot_general requires batch dimensions and contracting dimensions to "
                            f"be disjoint, got {batch} and {contract}.")
    if preferred_element_type is not None and not hasattr(precision, "compute_types"):
        _preferred([x.dtype, y.dtype], preferred_element_type)


def _preferred(operands, preferred):
    """The preferred type may narrow floats only. Complex operands decide before floats, and those
    before integers."""
    def bits(d):
        is_integer = dtypes.issubdtype(d, np.integer)
        return 1 if d == bool else (dtypes.iinfo if is_integer else dtypes.finfo)(d).bits

    kinds = (np.complexfloating, np.floating, np.integer, np.bool_)
    kind = next(k for k in kinds if any(dtypes.issubdtype(d, k) for d in operands))
    dtype = max((d for d in operands if dtypes.issubdtype(d, kind)), key=bits)
    if kind is not np.floating and bits(preferred) < bits(dtype):
        raise TypeError("`preferred_element_type` must not be narrower than the original type, got "
                        f"preferred_element_type of {preferred.name} for an operand of "
                        f"{dtype.name}.")


def _paired_dims(kind, x, y, x_dims, y_dims):
    name = f"dot_general requires {kind} dimensions"
    if len(x_dims) != len(y_dims):
        raise TypeError(f"{name} to be equally many, got {x_dims} and {y_dims}.")
    for aval, dims in ((x, x_dims), (y, y_dims)):
        if len(set(dims)) != len(dims):
            raise TypeError(f"{name} to be distinct, got {dims}.")
        if any(not 0 <= d < aval.ndim for d in dims):
            raise TypeError(f"{name} to be nonnegative and less than the number of axes of the "
                            f"operand, got {dims} for shape {aval.shape}.")
    x_sizes = tuple(x.shape[d] for d in x_dims)
    y_sizes = tuple(y.shape[d] for d in y_dims)
    if x_sizes != y_sizes:
        raise TypeError(f"{name} to have the same shape, got {x_sizes} and {y_sizes}.")
