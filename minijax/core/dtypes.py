"""Chapter 1: which dtypes are there, and what is the dtype of an operation on two of them?

minijax has NumPy's numeric dtypes and `bfloat16`; `lax/dtypes.py` adds the narrow ones, such as
8-bit floats and 4-bit integers. A dtype may be *weak*: `x * 2.0` should not turn a `bfloat16`
array into `float32` because Python's floats happen to be wide. So Python scalars carry a dtype
that yields to any other dtype of their kind.

The result of an operation between several dtypes is their least upper bound in a lattice, which
is written below as data:

    lattice_result_type : (value, ...) → (dtype, weak_type)

Counterpart in JAX: `jax/_src/dtypes.py`. The questions about dtypes that the engine does not ask
are in `lax/dtypes.py`.
"""

from __future__ import annotations

import functools
from collections import ChainMap
from collections.abc import Mapping
from typing import Any

import numpy as np
from ml_dtypes import bfloat16, finfo, iinfo  # noqa: F401

from ..checks import dtypes as checks
from ..settings import enable_x64, numpy_dtype_promotion

# ----------------------------------------------------------------------------------------------
# The dtypes

# The tangent of an integer or a boolean: a type with one value, of zero bytes.
float0: np.dtype = np.dtype([("float0", np.void, 0)])


def _dtypes(*names: Any) -> tuple[np.dtype, ...]:
    return tuple(map(np.dtype, names))


_i8, _i16, _i32, _i64 = _dtypes("int8", "int16", "int32", "int64")
_u8, _u16, _u32, _u64 = _dtypes("uint8", "uint16", "uint32", "uint64")
_bf16, _f16, _f32, _f64 = _dtypes(bfloat16, "float16", "float32", "float64")
_c64, _c128 = _dtypes("complex64", "complex128")

short_of: dict[np.dtype, np.dtype] = {_i64: _i32, _u64: _u32, _f64: _f32, _c128: _c64}

# Python's scalar types count as dtypes. Like NumPy's, they have 64 bits until canonicalised.
python_scalar_dtypes: dict[type, np.dtype] = {
    bool: np.dtype(bool), int: _i64, float: _f64, complex: _c128}
python_scalar_types = frozenset(python_scalar_dtypes)

# For each dtype of numbers, Python's type of such numbers.
scalar_types: dict[np.dtype, type] = {
    np.dtype(bool): bool,
    **dict.fromkeys((_i8, _i16, _i32, _i64, _u8, _u16, _u32, _u64), int),
    **dict.fromkeys((_bf16, _f16, _f32, _f64), float),
    **dict.fromkeys((_c64, _c128), complex),
}

# NumPy takes the dtypes of `ml_dtypes` for opaque bytes. Here are the superclasses that their
# scalar classes should have.
scalar_families: dict[type, tuple[type, ...]] = {bfloat16: np.floating.__mro__}


class extended(np.generic):
    """Scalar class of dtypes that are not numbers; exists for `issubdtype`."""


class ExtendedDType:
    """Base class of dtypes that NumPy does not have; `type` is a subclass of `extended`.

    An element has no operations but those of its own primitives. NumPy and XLA store it as one
    element of the dtype `storage`, so that it can be moved about like any other.
    """

    type: type[extended]
    name: str
    storage: np.dtype
    kind = "V"

    itemsize = property(lambda self: self.storage.itemsize)

    def readable(self, value: np.ndarray) -> np.ndarray:
        """Stored elements in the form in which they are printed."""
        return value

    def full(self, shape: tuple[int, ...], fill_value: Any) -> Any:
        """What `lax.full` makes of a number, or of an element."""
        raise TypeError(f"{fill_value} is not an element of dtype {self.name}")


# ----------------------------------------------------------------------------------------------
# 64 bits or 32


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that a dtype stands for: unless x64 is on, 64-bit dtypes stand for 32-bit ones.

    Args:
      dtype: a dtype, scalar type, name, or object with a `dtype`.
    Raises:
      TypeError: `dtype` is not a dtype.

        >>> from minijax import dtypes
        >>> dtypes.canonicalize_dtype("float64")
        dtype('float32')
    """
    if isinstance(dtype, ExtendedDType):
        checks.extended_dtype(dtype, allow_extended_dtype)
        return dtype
    plain = np.dtype(dtype)  # also takes any object that has a dtype
    return plain if enable_x64.value else short_of.get(plain, plain)


def is_valid(dtype: Any) -> bool:
    """Whether arrays can have this dtype."""
    return isinstance(dtype, ExtendedDType) or dtype in scalar_types or dtype == float0


def python_scalar_dtype(scalar_type: type) -> np.dtype:
    """The dtype of the values of `bool`, `int`, `float` or `complex`."""
    dtype = python_scalar_dtypes[scalar_type]
    return dtype if enable_x64.value else short_of.get(dtype, dtype)


def storage_dtype(dtype: Any) -> np.dtype:
    """The dtype of the NumPy arrays and XLA buffers that hold elements of this dtype."""
    if isinstance(dtype, ExtendedDType):
        return dtype.storage
    return np.dtype(bool) if dtype == float0 else dtype


# ----------------------------------------------------------------------------------------------
# The promotion lattice
#
#              u8 -- u16 -- u32 -- u64                 bf16
#             /   \      \      \      \              /     \
#   bool - int*    \      \      \      -- float* ------ f16 -- f32 -- f64
#             \     \      \      \    /              \            \      \
#              i8 -- i16 -- i32 -- i64                 complex* --- c64 -- c128
#
# int*, float* and complex* are the weak types of Python's scalars, represented here by the Python
# types themselves.  Each entry lists what is directly above one type.

Node = Any  # a strong type is a np.dtype, a weak one is int, float or complex

PROMOTIONS: dict[Node, tuple[Node, ...]] = {
    np.dtype(bool): (int,),
    int: (_u8, _i8),
    _u8: (_i16, _u16), _u16: (_i32, _u32), _u32: (_i64, _u64), _u64: (float,),
    _i8: (_i16,), _i16: (_i32,), _i32: (_i64,), _i64: (float,),
    float: (_f16, _bf16, complex),
    _bf16: (_f32,), _f16: (_f32,), _f32: (_f64, _c64), _f64: (_c128,),
    complex: (_c64,), _c64: (_c128,), _c128: (),
}

# With x64 off no promotion may make 64 bits out of 32. Without this entry, uint32 would.
PROMOTIONS_32_BITS = ChainMap({_u32: (_i32, _u64)}, PROMOTIONS)


def _upper_bounds(lattice: Mapping[Node, tuple[Node, ...]]) -> dict[Node, frozenset[Node]]:
    """For each type, itself and all that can be reached above it."""
    @functools.cache
    def above(node: Node) -> frozenset[Node]:
        return frozenset((node,)).union(*map(above, lattice[node]))
    return {node: above(node) for node in lattice}


@functools.lru_cache(4096)
def least_upper_bound(mode: str, x64: bool, nodes: frozenset[Node]) -> Node:
    """The lowest type that every one of `nodes` can be promoted to."""
    bounds = _upper_bounds(PROMOTIONS if x64 else PROMOTIONS_32_BITS)
    checks.lattice_nodes(nodes, bounds)
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    bound = next((node for node in common if common <= bounds[node]), None)
    checks.promotion(bound, nodes, mode)
    return bound


# ----------------------------------------------------------------------------------------------
# The dtype of a value, and of several

_Typed = tuple[Any, bool]  # (dtype, weak_type)


def dtype(x: Any) -> Any:
    """The dtype of a value, or the dtype that a type, name or dtype stands for.

    Arrays and tracers keep theirs; everything else is canonicalised.

    Raises:
      TypeError: `x` has no dtype, or one that arrays cannot have.
    """
    if hasattr(x, "aval"):
        return x.aval.dtype
    scalar_type = x if isinstance(x, type) else type(x)
    if scalar_type in python_scalar_types:
        return python_scalar_dtype(scalar_type)
    named = isinstance(x, (str, np.dtype)) or isinstance(x, type) and issubclass(x, np.generic)
    found = np.dtype(x) if named else _dtype_of_object(x)  # type: ignore[arg-type]
    checks.valid_dtype(is_valid(found), x, found)
    canonical = canonicalize_dtype(found, allow_extended_dtype=True)
    if named:
        checks.shortened_dtype(found, canonical, "dtype")
    return canonical


def _dtype_of_object(x: Any) -> Any:
    """The dtype of a NumPy value, a scalar type object such as `jnp.float32`, or a look-alike."""
    attribute = getattr(x, "dtype", None)
    if isinstance(attribute, (np.dtype, ExtendedDType)):
        return attribute
    checks.has_dtype(x)
    return np.result_type(x)


def dtype_and_weak_type(x: Any) -> _Typed:
    """The dtype of a value, dtype or type, and whether it is weak; None is the default float."""
    scalar_type = x if isinstance(x, type) else type(x)
    if scalar_type in python_scalar_types:
        return python_scalar_dtype(scalar_type), scalar_type is not bool
    if hasattr(x, "aval"):
        return x.aval.dtype, x.aval.weak_type
    if hasattr(x, "weak_type"):
        return x.dtype, x.weak_type
    subclass = isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)
    return python_scalar_dtype(float) if x is None else dtype(x), subclass


_result_memo: dict[Any, _Typed] = {}


def lattice_result_type(*args: Any) -> _Typed:
    """The dtype that an operation on `args` gives, and whether it is weak.

    Args:
      *args: arrays, tracers, avals, Python or NumPy scalars, dtypes, scalar types.
    Returns:
      `(dtype, weak_type)`.
    Raises:
      TypePromotionError: the dtypes have no common promotion.

        >>> from minijax import dtypes
        >>> dtypes.lattice_result_type("int8", 2.0)
        (dtype('float32'), True)
    """
    if len(args) == 1:
        return dtype_and_weak_type(args[0])
    typed = frozenset(map(dtype_and_weak_type, args))
    key = typed, numpy_dtype_promotion.value, enable_x64.value
    result = _result_memo.get(key)
    if result is None:
        result = _promote(*key)
        if enable_x64.value or not any(dtype in short_of for dtype, _ in typed):
            _result_memo[key] = result  # else a warning is due each time
    return result


def _promote(typed: frozenset[_Typed], mode: str, x64: bool) -> _Typed:
    """`lattice_result_type` of values of these dtypes."""
    dtypes = {dtype for dtype, _ in typed}
    all_weak = all(weak for _, weak in typed)
    if len(dtypes) == 1 and not all_weak:
        return dtypes.pop(), False  # also lets extended dtypes and float0 meet themselves
    if all_weak and mode != "strict":
        # Weak dtypes of uncommon widths (a weak int8) keep their width among themselves.
        result = dtype(least_upper_bound(mode, x64, frozenset(dtypes)))
        return result, result != bool
    bound = least_upper_bound(mode, x64, frozenset(
        scalar_types[dtype] if weak and dtype != bool else dtype for dtype, weak in typed))
    return dtype(bound), isinstance(bound, type)


def wider(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype of two in which XLA multiplies: a complex or floating one, then one of more bytes,
    then a signed one or bfloat16. Unlike `promote_types` it is always `a` or `b`."""
    return a if a == b else max(a, b, key=lambda dtype: (
        issubdtype(dtype, np.complexfloating), issubdtype(dtype, np.inexact), dtype != bool,
        dtype.itemsize, dtype.kind in "iV"))


def to_inexact_dtype(dtype: Any) -> np.dtype:
    """The dtype itself if it is a float or complex, else float32 (float64 for 64-bit integers)."""
    checks.numeric_dtype(dtype)
    plain = np.dtype(dtype)
    if scalar_types.get(plain) not in (bool, int):
        return plain
    return _f64 if plain.itemsize == 8 else _f32


# ----------------------------------------------------------------------------------------------
# Families of dtypes


def issubdtype(a: Any, b: Any) -> bool:
    """Whether the dtype `a` is `b` or belongs to the family `b`, as `numpy.issubdtype`.

    It also accepts `bfloat16`, the other small dtypes, and extended dtypes such as random keys.

        >>> from minijax import dtypes
        >>> import numpy as np
        >>> dtypes.issubdtype(dtypes.bfloat16, np.floating)
        True
    """
    return _issubdtype(a if isinstance(a, (type, np.dtype, ExtendedDType)) else np.dtype(a),
                       b if isinstance(b, (type, np.dtype, ExtendedDType)) else np.dtype(b))


@functools.lru_cache(1024)
def _issubdtype(a: Any, b: Any) -> bool:
    if isinstance(b, ExtendedDType):
        return isinstance(a, ExtendedDType) and a == b
    a_type, b_type = _scalar_class(a), _scalar_class(b)
    return b_type is a_type or b_type in scalar_families.get(a_type, a_type.__mro__)


def _scalar_class(x: Any) -> type:
    """The NumPy scalar class of a dtype, scalar class or Python type."""
    if isinstance(x, ExtendedDType):
        return x.type
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    return np.dtype(x).type
