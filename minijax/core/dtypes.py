"""Element types, and what happens when two of them meet.

minijax has NumPy's numeric dtypes and the small ones of `ml_dtypes` (``bfloat16``, 8-bit floats,
4-bit integers).  A dtype may be *weak*: ``x * 2.0`` should not turn a ``bfloat16`` array into
``float32`` because Python's floats happen to be wide, so Python scalars carry a dtype that
yields to any other dtype of their kind.

The result of an operation between several dtypes is their least upper bound in a lattice, which
is written below as data: `PROMOTIONS`.  Functions that compute a bound are memoised; in the end
`lattice_result_type` is a dictionary lookup.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import ml_dtypes
import numpy as np

from .. import errors
from ..settings import enable_x64, numpy_dtype_promotion

# ----------------------------------------------------------------------------------------------
# The dtypes

bool_ = np.bool_
bfloat16 = ml_dtypes.bfloat16
int4, uint4 = ml_dtypes.int4, ml_dtypes.uint4
int2, uint2 = ml_dtypes.int2, ml_dtypes.uint2
float8_e3m4, float8_e4m3 = ml_dtypes.float8_e3m4, ml_dtypes.float8_e4m3
float8_e4m3b11fnuz, float8_e4m3fn = ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e4m3fn
float8_e4m3fnuz, float8_e8m0fnu = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e8m0fnu
float8_e5m2, float8_e5m2fnuz = ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz
float4_e2m1fn = ml_dtypes.float4_e2m1fn

# The tangent of an integer or a boolean: a type with one value, of zero bytes.
float0: np.dtype = np.dtype([("float0", np.void, 0)])

finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo
can_cast = np.can_cast


def _dtypes(*names: Any) -> tuple[np.dtype, ...]:
    return tuple(map(np.dtype, names))


_NARROW_INTS = _dtypes(int2, int4)
_NARROW_UINTS = _dtypes(uint2, uint4)
_FLOAT8S = _dtypes(float8_e3m4, float8_e4m3, float8_e8m0fnu, float8_e4m3b11fnuz,
                   float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz)
_FLOAT4S = _dtypes(float4_e2m1fn)
_NARROW_FLOATS = _FLOAT4S + _FLOAT8S
_CUSTOM_FLOATS = _NARROW_FLOATS + _dtypes(bfloat16)

_SIGNED = _NARROW_INTS + _dtypes("int8", "int16", "int32", "int64")
_UNSIGNED = _NARROW_UINTS + _dtypes("uint8", "uint16", "uint32", "uint64")
_FLOATS = _CUSTOM_FLOATS + _dtypes("float16", "float32", "float64")
_COMPLEX = _dtypes("complex64", "complex128")

dtype_kinds: dict[str, tuple[np.dtype, ...]] = {
    "bool": _dtypes(bool),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _FLOATS,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _FLOATS + _COMPLEX,
}
_VALID = frozenset((*dtype_kinds["bool"], *dtype_kinds["numeric"], float0))

short_of: dict[np.dtype, np.dtype] = dict(zip(
    _dtypes("int64", "uint64", "float64", "complex128"),
    _dtypes("int32", "uint32", "float32", "complex64")))

# Python's scalar types are dtypes too; like NumPy's they are 64 bits wide until canonicalised.
python_scalar_dtypes: dict[type, np.dtype] = {
    bool: np.dtype("bool"), int: np.dtype("int64"),
    float: np.dtype("float64"), complex: np.dtype("complex128")}
_SCALAR_TYPES: dict[np.dtype, type] = {
    dtype: scalar_type
    for scalar_type, kind in ((bool, "bool"), (int, "integral"), (float, "real floating"),
                              (complex, "complex floating"))
    for dtype in dtype_kinds[kind]}
python_scalar_types = frozenset(python_scalar_dtypes)


class extended(np.generic):
    """Scalar class of dtypes that are not numbers; exists for `issubdtype`."""


class prng_key(extended):
    """Scalar class of random-key dtypes; exists for `issubdtype`."""


class ExtendedDType:
    """Base class of dtypes NumPy knows nothing of; ``type`` is a subclass of `extended`.

    An element has no operations but those of its own primitives. To be moved about like any other,
    it is kept, by NumPy and by XLA, as one element of the dtype ``storage``.
    """

    type: type[extended]
    name: str
    storage: np.dtype
    kind = "V"

    @property
    def itemsize(self) -> int:
        return self.storage.itemsize

    def readable(self, value: np.ndarray) -> np.ndarray:
        """Stored elements as people want to see them."""
        return value

    def full(self, shape: tuple[int, ...], fill_value: Any) -> Any:
        """What `lax.full` makes of a number, or of an element."""
        raise TypeError(f"{fill_value} is no element of dtype {self.name}")


class TypePromotionError(ValueError):
    """Raised when there is no implicit promotion between dtypes."""


# ----------------------------------------------------------------------------------------------
# 64 bits or 32


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """Reads a dtype as the dtype it stands for: 64-bit ones lose half when x64 is off.

    Args:
      dtype: a dtype, scalar type, name, or object with a ``dtype``.
    Raises:
      TypeError: ``dtype`` is not a dtype.

        >>> from minijax import dtypes
        >>> dtypes.canonicalize_dtype("float64")
        dtype('float32')
    """
    if isinstance(dtype, ExtendedDType):
        if allow_extended_dtype:
            return dtype
        raise ValueError(f"the extended dtype {dtype} has no canonical NumPy dtype.")
    plain = np.dtype(dtype)  # also takes any object that has a dtype
    return plain if enable_x64.value else short_of.get(plain, plain)


def _canonicalize_explicit(dtype: np.dtype, fun_name: str) -> np.dtype:
    """As `canonicalize_dtype`, for a dtype that the user asked for: says so when it is cut."""
    canonical = canonicalize_dtype(dtype)
    if canonical is not dtype and canonical != dtype:
        where = f" requested in {fun_name}" if fun_name else ""
        warnings.warn(
            f"Explicitly requested dtype {dtype}{where} is not available, and will be truncated to "
            f"dtype {canonical.name}. To enable more dtypes, set the jax_enable_x64 configuration "
            "option or the JAX_ENABLE_X64 shell environment variable.",
            stacklevel=errors.user_stacklevel())
    return canonical


def check_and_canonicalize_user_dtype(dtype: Any, fun_name: str | None = None) -> Any:
    """Checks a ``dtype`` argument that a user gave to ``fun_name``; its canonical form.

    Raises:
      ValueError: it is None or an array.
      TypeError: it is not a dtype that arrays can have.
    """
    if dtype is None:
        raise ValueError("dtype must be specified.")
    if hasattr(dtype, "aval"):
        raise ValueError("Passing an array as a dtype argument is not supported; "
                         "instead of dtype=arr use dtype=arr.dtype.")
    if isinstance(dtype, ExtendedDType):
        return dtype
    if isinstance(dtype, type) and dtype in python_scalar_dtypes:
        return python_scalar_dtype(dtype)
    plain = np.dtype(dtype)
    if plain not in _VALID:
        where = f" in {fun_name}" if fun_name else ""
        raise TypeError(f"JAX only supports number and bool dtypes, got dtype {dtype}{where}.")
    return _canonicalize_explicit(plain, fun_name or "")


def python_scalar_dtype(scalar_type: type) -> np.dtype:
    """The dtype of the values of ``bool``, ``int``, ``float`` or ``complex``."""
    dtype = python_scalar_dtypes[scalar_type]
    return dtype if enable_x64.value else short_of.get(dtype, dtype)


def default_int_dtype() -> np.dtype:
    return python_scalar_dtype(int)


def default_uint_dtype() -> np.dtype:
    return canonicalize_dtype(np.dtype("uint64"))


def default_float_dtype() -> np.dtype:
    return python_scalar_dtype(float)


def default_complex_dtype() -> np.dtype:
    return python_scalar_dtype(complex)


# ----------------------------------------------------------------------------------------------
# The dtype of a value


def dtype(x: Any) -> Any:
    """The dtype of a value, or the dtype that a type, name or dtype stands for.

    Arrays and tracers keep theirs; everything else is canonicalised.

    Raises:
      TypeError: ``x`` has no dtype, or one that arrays cannot have.
    """
    if hasattr(x, "aval"):
        return x.aval.dtype
    if x is None:
        raise ValueError(f"Invalid argument to dtype: {x}.")
    scalar_type = x if isinstance(x, type) else type(x)
    if scalar_type in python_scalar_dtypes:
        return python_scalar_dtype(scalar_type)
    if isinstance(x, (str, np.dtype)) or isinstance(x, type) and issubclass(x, np.generic):
        return _canonicalize_explicit(_check_valid(np.dtype(x), x), "dtype")
    return canonicalize_dtype(_check_valid(_dtype_of_object(x), x), allow_extended_dtype=True)


def _dtype_of_object(x: Any) -> Any:
    """The dtype of a NumPy value, a scalar type object such as ``jnp.float32``, or a look-alike."""
    attribute = getattr(x, "dtype", None)
    if isinstance(attribute, (np.dtype, ExtendedDType)):
        return attribute
    try:
        return np.result_type(x)
    except TypeError as error:
        raise TypeError(f"Cannot determine dtype of {x}") from error


def _check_valid(dtype: Any, x: Any) -> Any:
    if dtype in _VALID or isinstance(dtype, ExtendedDType):
        return dtype
    raise TypeError(f"Value '{x}' with dtype {dtype} is not a valid JAX array type. "
                    "Only arrays of numeric types are supported by JAX.")


def storage_dtype(dtype: Any) -> np.dtype:
    """The dtype of the NumPy arrays and XLA buffers that hold elements of this dtype."""
    if isinstance(dtype, ExtendedDType):
        return dtype.storage
    return np.dtype(bool) if dtype == float0 else dtype


def is_python_scalar(x: Any) -> bool:
    """Whether ``x`` is a plain Python number (NumPy's scalars, though subclasses, are not)."""
    return type(x) in python_scalar_dtypes


def is_weakly_typed(x: Any) -> bool:
    """Whether the dtype of ``x`` yields to others of its kind: Python numbers but for bools."""
    return dtype_and_weak_type(x)[1]


def scalar_type_of(x: Any) -> type:
    """The Python scalar type (bool, int, float, complex) of the elements of ``x``."""
    scalar_type = _SCALAR_TYPES.get(dtype(x))
    if scalar_type is None:
        raise TypeError(f"Invalid scalar value {x}")
    return scalar_type


def scalar_type_to_dtype(scalar_type: type, value: Any = None) -> np.dtype:
    """The dtype of a Python scalar type; checks that an int ``value`` fits.

    Raises:
      OverflowError: ``value`` does not fit in the default integer.
    """
    canonical = python_scalar_dtype(scalar_type)
    if scalar_type is int and value is not None:
        bounds = np.iinfo(canonical)
        if not bounds.min <= value <= bounds.max:
            raise OverflowError(f"Python int {value} too large to convert to {canonical}.")
    return canonical


def coerce_to_array(x: Any, dtype: Any = None) -> np.ndarray:
    """``np.asarray`` with minijax's default dtypes for Python scalars."""
    if dtype is None and type(x) in python_scalar_dtypes:
        dtype = scalar_type_to_dtype(type(x), x)
    return np.asarray(x, dtype)


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
# types themselves.  Each entry lists what is directly above one type.  The narrow types hang below
# int* and float* with nothing above them: where an int4 meets an int8, a conversion is more likely
# to be a mistake than a wish.

Node = Any  # a strong type is a np.dtype, a weak one is int, float or complex

_u8, _u16, _u32, _u64 = _dtypes("uint8", "uint16", "uint32", "uint64")
_i8, _i16, _i32, _i64 = _dtypes("int8", "int16", "int32", "int64")
_f16, _bf16, _f32, _f64 = _dtypes("float16", bfloat16, "float32", "float64")
_c64, _c128 = _COMPLEX

PROMOTIONS: dict[Node, tuple[Node, ...]] = {
    np.dtype(bool): (int,),
    int: (_u8, _i8, *_NARROW_UINTS, *_NARROW_INTS),
    _u8: (_i16, _u16), _u16: (_i32, _u32), _u32: (_i64, _u64), _u64: (float,),
    _i8: (_i16,), _i16: (_i32,), _i32: (_i64,), _i64: (float,),
    float: (_f16, _bf16, *_NARROW_FLOATS, complex),
    _bf16: (_f32,), _f16: (_f32,), _f32: (_f64, _c64), _f64: (_c128,),
    complex: (_c64,), _c64: (_c128,), _c128: (),
    **dict.fromkeys(_NARROW_UINTS + _NARROW_INTS + _NARROW_FLOATS, ()),
}

# With x64 off no promotion may make 64 bits out of 32, and only this one would.
PROMOTIONS_32_BITS = PROMOTIONS | {_u32: (_i32, _u64)}

# jax_numpy_dtype_promotion="strict": only weak types give way.
STRICT_PROMOTIONS: dict[Node, tuple[Node, ...]] = {
    int: (float, *_SIGNED, *_UNSIGNED), float: (complex, *_FLOATS), complex: _COMPLEX,
    **{strong: () for kind in ("bool", "numeric") for strong in dtype_kinds[kind]},
}


def _upper_bounds(lattice: dict[Node, tuple[Node, ...]]) -> dict[Node, frozenset[Node]]:
    """For each type, itself and all that can be reached above it."""
    @functools.cache
    def above(node: Node) -> frozenset[Node]:
        return frozenset((node,)).union(*map(above, lattice[node]))
    return {node: above(node) for node in lattice}


_BOUNDS = {
    ("standard", True): _upper_bounds(PROMOTIONS),
    ("standard", False): _upper_bounds(PROMOTIONS_32_BITS),
    ("strict", True): (_strict := _upper_bounds(STRICT_PROMOTIONS)),
    ("strict", False): _strict,
}


@functools.lru_cache(4096)
def _least_upper_bound(mode: str, x64: bool, nodes: frozenset[Node]) -> Node:
    """The lowest type that every one of ``nodes`` can be promoted to."""
    bounds = _BOUNDS[mode, x64]
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    for candidate in common:
        if common <= bounds[candidate]:
            return candidate
    raise TypePromotionError(_no_promotion_message(mode, nodes))


def _no_promotion_message(mode: str, nodes: frozenset[Node]) -> str:
    names = tuple(sorted(_node_name(node) for node in nodes))
    message = f"Input dtypes {names} have no available implicit dtype promotion path"
    if mode == "strict":
        return (f"{message} when jax_numpy_dtype_promotion=strict. Cast the inputs to the type you "
                "want with x.astype(...), or set jax_numpy_dtype_promotion=standard.")
    for family, members in (("8-bit floats", _FLOAT8S), ("4-bit floats", _FLOAT4S),
                            ("2-bit and 4-bit integers", _NARROW_INTS + _NARROW_UINTS)):
        if not nodes.isdisjoint(members):
            return (f"{message}. {family} are so narrow that they are never promoted implicitly; "
                    "cast first, e.g. with x.astype('float32').")
    return f"{message}. Cast the inputs to the type you want with x.astype(...)."


def _node_name(node: Node) -> str:
    return f"Python {node.__name__}" if isinstance(node, type) else node.name


# ----------------------------------------------------------------------------------------------
# Promotion of values

_Typed = tuple[Any, bool]  # (dtype, weak_type)

# The types whose values all have one dtype: Python's numbers, NumPy's scalars, and also dtypes,
# as NumPy has a class for each (one for x64 off, one for on).
_typed_memo: dict[bool, dict[type, _Typed]] = {False: {}, True: {}}
# The results, by the types of the two arguments, or by the set of the types of more.
_result_memo: dict[str, dict[bool, dict[Any, _Typed]]] = {
    mode: {False: {}, True: {}} for mode in ("standard", "strict")}


def dtype_and_weak_type(x: Any) -> _Typed:
    """The dtype of a value, dtype or type, and whether it is weak; None is the default float."""
    typed = _typed_memo[enable_x64.value].get(type(x))
    if typed is not None:
        return typed
    if hasattr(x, "aval"):
        return x.aval.dtype, x.aval.weak_type
    if hasattr(x, "weak_type"):
        return x.dtype, x.weak_type
    return _find_dtype_and_weak_type(x)


def _find_dtype_and_weak_type(x: Any) -> _Typed:
    """`dtype_and_weak_type` of what is not an array; memoised if the type of ``x`` settles it."""
    scalar_type = x if isinstance(x, type) else type(x)
    typed = default_float_dtype() if x is None else dtype(x), scalar_type in (int, float, complex)
    is_scalar = scalar_type is not x and (
        scalar_type in python_scalar_dtypes or isinstance(x, np.generic))
    is_canonical_dtype = isinstance(x, np.dtype) and x == typed[0] and x != float0
    if is_scalar or is_canonical_dtype:  # else a warning is due each time
        _typed_memo[enable_x64.value][type(x)] = typed
    return typed


def lattice_result_type(*args: Any) -> _Typed:
    """The dtype that an operation on ``args`` gives, and whether it is weak.

    Args:
      *args: arrays, tracers, avals, Python or NumPy scalars, dtypes, scalar types.
    Returns:
      ``(dtype, weak_type)``.
    Raises:
      TypePromotionError: the dtypes have no common promotion.

        >>> from minijax import dtypes
        >>> dtypes.lattice_result_type("int8", 2.0)
        (dtype('float32'), True)
    """
    if len(args) == 1:
        return dtype_and_weak_type(args[0])
    key: Any = tuple(map(dtype_and_weak_type, args))
    if len(args) > 2:
        key = frozenset(key)
    mode, x64 = numpy_dtype_promotion.value, enable_x64.value
    result = _result_memo[mode][x64].get(key)
    if result is None:
        result = _promote(frozenset(key), mode, x64)
        if x64 or not any(dtype in short_of for dtype, _ in key):  # else it warns each time
            _result_memo[mode][x64][key] = result
    return result


def _promote(typed: frozenset[_Typed], mode: str, x64: bool) -> _Typed:
    """`lattice_result_type` of at least two values, not memoised."""
    dtypes = {dtype for dtype, _ in typed}
    all_weak = all(weak for _, weak in typed)
    if len(dtypes) == 1 and not all_weak:
        return dtypes.pop(), False  # also lets extended dtypes and float0 meet themselves
    if all_weak and mode != "strict":
        # Weak dtypes of uncommon widths (a weak int8) keep their width among themselves.
        result = dtype(_least_upper_bound(mode, x64, frozenset(dtypes)))
        return result, result != bool_
    bound = _least_upper_bound(mode, x64, frozenset(_node(*pair) for pair in typed))
    return dtype(bound), isinstance(bound, type)


def _node(dtype: Any, weak_type: bool) -> Node:
    """The place of a dtype in the lattice."""
    return _SCALAR_TYPES[dtype] if weak_type and dtype != bool_ else dtype


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that an operation on ``args`` gives; None stands for the default float.

    Args:
      *args: arrays, scalars, dtypes, types.
      return_weak_type_flag: whether to return ``(dtype, weak_type)``.
    Raises:
      TypePromotionError: the dtypes have no common promotion.

        >>> from minijax import dtypes
        >>> dtypes.result_type("uint8", "int8")
        dtype('int16')
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    result, weak_type = lattice_result_type(*args)
    if weak_type:  # weak dtypes of an uncommon width are not results anyone expects
        result = _default_dtype_of_kind(result)
    return (result, weak_type) if return_weak_type_flag else result


def _default_dtype_of_kind(dtype: np.dtype) -> np.dtype:
    if dtype in _UNSIGNED:
        return default_uint_dtype()
    return python_scalar_dtype(_SCALAR_TYPES[dtype])


def promote_types(a: Any, b: Any) -> np.dtype:
    """The dtype that both ``a`` and ``b`` promote to; ``int``, ``float``, ``complex`` are weak.

    Raises:
      TypePromotionError: there is none.

        >>> from minijax import dtypes
        >>> dtypes.promote_types("bfloat16", "float16")
        dtype('float32')
    """
    nodes = frozenset(x if isinstance(x, type) and x in (int, float, complex)
                      else np.dtype(x) for x in (a, b))
    mode, x64 = numpy_dtype_promotion.value, enable_x64.value
    return np.dtype(_least_upper_bound(mode, x64, nodes))


def safe_to_cast(source: Any, target: Any) -> bool:
    """Whether promotion turns values of ``source`` into the dtype of ``target``."""
    source_dtype, target_dtype = dtype(source), dtype(target)
    return source_dtype == target_dtype or result_type(source, target_dtype) == target_dtype


# ----------------------------------------------------------------------------------------------
# Families of dtypes

_CUSTOM_FAMILIES: dict[Any, tuple[Any, ...]] = {
    **{dtype.type: (np.floating, np.inexact, np.number, np.generic) for dtype in _CUSTOM_FLOATS},
    **{dtype.type: (np.signedinteger, np.integer, np.number, np.generic)
       for dtype in _NARROW_INTS},
    **{dtype.type: (np.unsignedinteger, np.integer, np.number, np.generic)
       for dtype in _NARROW_UINTS},
}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether the dtype ``a`` is ``b`` or belongs to the family ``b``, as `numpy.issubdtype`.

    Also knows ``bfloat16`` and the other small dtypes, which NumPy takes for opaque bytes, and
    extended dtypes such as random keys.

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
    if a_type in _CUSTOM_FAMILIES:
        return b_type is a_type or b_type in _CUSTOM_FAMILIES[a_type]
    return issubclass(a_type, b_type)


def _scalar_class(x: Any) -> type:
    """The NumPy scalar class of a dtype, scalar class or Python type."""
    if isinstance(x, ExtendedDType):
        return x.type
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    return np.dtype(x).type


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether ``dtype`` is of a kind: a dtype, a name such as "integral", or a tuple of those.

    Raises:
      ValueError: ``kind`` names neither a dtype nor a kind.
      TypeError: ``kind`` is neither.

        >>> from minijax import dtypes
        >>> dtypes.isdtype("bfloat16", ("bool", "real floating"))
        True
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(np.dtype(dtype) in _members(kind) for kind in kinds)


def _members(kind: Any) -> tuple[np.dtype, ...]:
    if isinstance(kind, str) and kind in dtype_kinds:
        return dtype_kinds[kind]
    try:
        return (np.dtype(kind),)
    except TypeError:
        error = ValueError if isinstance(kind, str) else TypeError
        raise error(f"Unrecognized kind={kind!r}: expected one of {list(dtype_kinds)}, a dtype, "
                    "or a tuple of those.") from None


def supports_inf(dtype: Any) -> bool:
    """Whether the dtype has infinities."""
    return issubdtype(dtype, np.inexact) and np.dtype(dtype).type not in (
        float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2fnuz)


def itemsize_bits(dtype: Any) -> int:
    """The bits of one element; 4 for int4, which NumPy stores in a byte."""
    if dtype is None:
        raise ValueError("dtype cannot be None.")
    plain = np.dtype(dtype)
    if plain in dtype_kinds["integral"]:
        return iinfo(plain).bits
    if plain in _FLOATS:
        return finfo(plain).bits
    if plain not in _VALID:
        raise ValueError(f"unexpected input: dtype={dtype!r}")
    return 8 * plain.itemsize


# ----------------------------------------------------------------------------------------------
# Into another family


def to_numeric_dtype(dtype: Any) -> np.dtype:
    """The dtype itself, or int32 for booleans."""
    plain = np.dtype(dtype)
    return _i32 if plain == bool_ else plain


def to_inexact_dtype(dtype: Any) -> np.dtype:
    """The dtype itself if it is a float or complex, else float32 (float64 for 64-bit integers)."""
    plain = np.dtype(dtype)
    if plain in (_i64, _u64):
        return _f64
    return _f32 if plain == bool_ or plain in dtype_kinds["integral"] else plain


def to_floating_dtype(dtype: Any) -> np.dtype:
    """As `to_inexact_dtype`, but complex dtypes become the dtype of their parts."""
    return finfo(to_inexact_dtype(dtype)).dtype


def to_complex_dtype(dtype: Any) -> np.dtype:
    """The complex dtype that holds the dtype's values."""
    return _c128 if to_inexact_dtype(dtype) in (_f64, _c128) else _c64


@functools.cache
def short_name(dtype: Any) -> str:
    """The name in jaxprs: ``f32``, ``bf16``, ``i8``, ``u8``, ``c64``, ``bool``, ``float0``.

        >>> from minijax import dtypes
        >>> dtypes.short_name(dtypes.canonicalize_dtype("int64"))
        'i32'
    """
    if isinstance(dtype, ExtendedDType):
        return str(dtype)
    if dtype == float0:
        return "float0"
    name = np.dtype(dtype).name
    for long, short in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short)
    return name
