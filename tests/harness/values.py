"""Random values, tolerances and lists of dtypes: a part of `jax._src.test_util`.

A sampler `rand_…(rng)` returns a function `(shape, dtype) -> values`. Besides tuples, a shape can
be the mark `NUMPY_SCALAR_SHAPE` or `PYTHON_SCALAR_SHAPE`: the value is then a scalar of NumPy's or
of Python's types.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from minijax import settings
from minijax.core import dtypes as core_dtypes
from minijax.core.tree import tree_map
from minijax.debugging.derivative_checks import _GRADIENT_TOLERANCE
from minijax.runtime.devices import default_backend
from tests.harness.closeness import (  # noqa: F401
    _TOLERANCE,
    check_close,
    check_eq,
    tolerance,
)

NUM_GENERATED_CASES = 10  # how many of a product of cases are tried


class ScalarShape:
    """A shape that says whose scalar a value is."""

    def __len__(self) -> int:
        return 0

    def __getitem__(self, i: int) -> int:
        raise IndexError(f"index {i} out of range.")


NUMPY_SCALAR_SHAPE, PYTHON_SCALAR_SHAPE = ScalarShape(), ScalarShape()


def is_valid_shape(shape: Any, dtype: Any) -> bool:
    """Whether there are values of this shape. Python has numbers of three dtypes only."""
    return shape is not PYTHON_SCALAR_SHAPE or dtype == np.dtype(type(np.zeros((), dtype).item()))


def _dims_of_shape(shape: Any) -> Sequence[int]:
    if isinstance(shape, ScalarShape):
        return ()
    return shape if isinstance(shape, tuple | list) else (shape,)


def _cast_to_shape(value: Any, shape: Any, dtype: Any) -> Any:
    if shape is NUMPY_SCALAR_SHAPE:
        return np.dtype(dtype).type(value)
    if shape is PYTHON_SCALAR_SHAPE:
        return np.asarray(value).item()
    assert np.shape(value) == tuple(_dims_of_shape(shape)), (np.shape(value), shape)
    return value


def dtype_str(dtype: Any) -> str:
    """The name of a dtype."""
    return np.dtype(dtype).name


def format_shape_dtype_string(shape: Any, dtype: Any) -> str:
    """A type as the names of tests show it, such as `float32[2,3]`."""
    if isinstance(shape, ScalarShape):
        return ("py" if shape is PYTHON_SCALAR_SHAPE else "") + dtype_str(dtype)
    if isinstance(shape, int):
        return f"{dtype_str(dtype)}[{shape},]"
    return f"{dtype_str(dtype)}[{','.join(map(str, _dims_of_shape(shape)))}]"


# ----------------------------------------------------------------------------------------------
# Samplers


def _is(dtype: Any, kind: Any) -> bool:
    return core_dtypes.issubdtype(dtype, kind)


def _sampler(draw: Callable, scale: float = 1.0, change: Callable = lambda x: x) -> Callable:
    """The sampler of `change(scale * draw(*dims))`, without signs for unsigned integers."""
    def sample(shape, dtype):
        def part():
            drawn = draw(*_dims_of_shape(shape))
            return np.asarray(scale * (abs(drawn) if _is(dtype, np.unsignedinteger) else drawn)
                              ).astype(dtype)

        values = part() + 1j * part() if _is(dtype, np.complexfloating) else part()
        return _cast_to_shape(np.asarray(change(values), dtype), shape, dtype)

    return sample


def rand_default(rng: Any, scale: float = 3) -> Callable:
    """Normally distributed."""
    return _sampler(rng.randn, scale)


def rand_nonzero(rng: Any) -> Callable:
    """No zeros."""
    return _sampler(rng.randn, 3, lambda x: np.where(x == 0, np.ones((), x.dtype), x))


def rand_positive(rng: Any) -> Callable:
    """From 1 to 3."""
    return _sampler(rng.rand, 2, lambda x: x + 1)


def rand_small(rng: Any) -> Callable:
    """Some thousandths."""
    return _sampler(rng.randn, 1e-3)


def rand_not_small(rng: Any, offset: float = 10.0) -> Callable:
    """At least `offset` away from zero."""
    return _sampler(rng.randn, 3.0, lambda x: x + np.where(x > 0, offset, -offset))


def rand_small_positive(rng: Any) -> Callable:
    """From 0 to 2e-5."""
    return _sampler(rng.rand, 2e-5)


def rand_uniform(rng: Any, low: float = 0.0, high: float = 1.0) -> Callable:
    """From `low` to `high`."""
    assert low < high, (low, high)
    return _sampler(rng.rand, 1.0, lambda x: x * (high - low) + low)


def rand_some_equal(rng: Any) -> Callable:
    """About half of the elements equal the first."""
    def change(x):
        return np.where(rng.rand(*x.shape) < 0.5, x.ravel()[0], x) if x.size else x

    return _sampler(rng.randn, 100.0, change)


def _with_some(rng: Any, kinds: Any, **shares: float) -> Callable:
    """The default sampler, with some elements replaced by the values of these names."""
    base = rand_default(rng)

    def sample(shape, dtype):
        if not _is(dtype, kinds):
            return base(shape, dtype)
        if _is(dtype, np.complexfloating):
            real = np.zeros((), dtype).real.dtype
            parts = sample(shape, real) + np.array(1j, dtype) * sample(shape, real)
            return _cast_to_shape(parts, shape, dtype)
        flips = {name: rng.rand(*_dims_of_shape(shape)) < share for name, share in shares.items()}
        values = base(shape, dtype)
        for name, flip in flips.items():
            values = np.where(flip, np.array(_SPECIAL[name], dtype), values)
        return _cast_to_shape(np.asarray(values, dtype), shape, dtype)

    return sample


_SPECIAL = {"above": np.inf, "below": -np.inf, "nan": np.nan, "minus_nan": -np.nan, "zero": 0}


def rand_some_inf(rng: Any) -> Callable:
    """A tenth each is inf and -inf."""
    return _with_some(rng, np.floating, above=0.1, below=0.1)


def rand_some_nan(rng: Any) -> Callable:
    """A tenth is nan, some of it with a sign."""
    return _with_some(rng, np.inexact, nan=0.1, minus_nan=0.05)


def rand_some_inf_and_nan(rng: Any) -> Callable:
    """A tenth each is inf, -inf and nan."""
    return _with_some(rng, np.floating, above=0.1, below=0.1, nan=0.1)


def rand_some_zero(rng: Any) -> Callable:
    """About half is zero."""
    return _with_some(rng, np.generic, zero=0.5)


def rand_int(rng: Any, low: int = 0, high: int | None = None) -> Callable:
    """Whole numbers below `high`; all that are not negative, by default."""
    def sample(shape, dtype):
        whole = _is(dtype, np.integer)
        top = np.iinfo(dtype).max if high is None and whole and low == 0 else high
        if top is None and not whole:
            raise ValueError("rand_int requires an explicit `high` value for non-integer types.")
        return rng.randint(low, high=top, size=shape,
                           dtype=dtype if whole else np.int64).astype(dtype)

    return sample


def rand_unique_int(rng: Any, high: int | None = None) -> Callable:
    """Whole numbers, none of them twice."""
    return lambda shape, dtype: rng.choice(
        np.arange(high or math.prod(shape), dtype=dtype), size=shape, replace=False)


def rand_indices_unique_along_axis(rng: Any) -> Callable:
    """A sampler `(dim, shape, axis, allow_negative=True)` of indices, none twice along the axis."""
    def sample(dim, shape, axis, allow_negative=True):
        others = (*shape[:axis], *shape[axis:][1:])
        rows = [rng.choice(dim, size=shape[axis], replace=False) for _ in range(math.prod(others))]
        indices = np.array(rows, int).reshape(*others, shape[axis])
        indices = np.moveaxis(indices, -1, axis)
        if allow_negative:
            indices = np.where(rng.choice([False, True], indices.shape), indices - dim, indices)
        return indices

    return sample


def rand_bool(rng: Any) -> Callable:
    """True and False, as often."""
    def sample(shape, dtype):
        drawn = np.asarray(rng.rand(*_dims_of_shape(shape)) < 0.5, dtype)
        return _cast_to_shape(drawn, shape, dtype)

    return sample


def rand_fullrange(rng: Any, standardize_nans: bool = False) -> Callable:
    """Any bits. With `standardize_nans`, all nans have the same bits."""
    def sample(shape, dtype, post=lambda x: x):
        dtype, dims = np.dtype(dtype), _dims_of_shape(shape)
        size = dtype.itemsize * math.prod(dims)
        values = post(rng.randint(0, 255, size=size, dtype=np.uint8)).view(dtype).reshape(dims)
        if shape is PYTHON_SCALAR_SHAPE and dtype.kind == "u":  # jit reads such an int as signed
            values = values.view(f"i{dtype.itemsize}")
        if standardize_nans and dtype.kind == "f":
            values = np.where(np.isnan(values), np.array(np.nan, dtype), values)
        return _cast_to_shape(values, shape, dtype)

    return sample


# ----------------------------------------------------------------------------------------------
# Dtypes


def device_under_test() -> str:
    """The platform that computes: "cpu" or "gpu"."""
    return default_backend()


_CUSTOM_FLOATS = ("bfloat16", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
                  "float8_e5m2", "float8_e5m2fnuz", "float8_e3m4", "float8_e4m3",
                  "float8_e8m0fnu", "float4_e2m1fn")


def supported_dtypes() -> set:
    """The dtypes that tests use, as types."""
    words = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 " \
            "float16 float32 float64 complex64 complex128"
    types = {*(getattr(np, word) for word in words.split()), ml_dtypes.bfloat16}
    types |= ({ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2} if device_under_test() == "gpu"
              else {ml_dtypes.int4, ml_dtypes.uint4})
    if not settings.enable_x64.value:
        types -= {np.uint64, np.int64, np.float64, np.complex128}
    return types


class _Dtypes:
    """Lists of dtypes, looked up when they are asked for: x64 may be switched on before."""

    def supported(self, dtypes: Sequence) -> list:
        known = supported_dtypes()
        return [d for d in dtypes if d in known]

    def __getattr__(self, name: str) -> list:
        if name not in _LISTS:
            raise AttributeError(f"there is no list of dtypes {name!r}; "
                                 f"there are {', '.join(_LISTS)}.")
        return self.supported(_LISTS[name])


def _types(names: str) -> list:
    return [getattr(np, name, None) or getattr(ml_dtypes, name) for name in names.split()]


_LISTS = {
    "custom_floats": [getattr(ml_dtypes, name) for name in _CUSTOM_FLOATS],
    "floating": _types("float32 float64"),
    "all_floating": _types("bfloat16 float16 float32 float64"),
    "integer": _types("int32 int64"),
    "all_integer": _types("int8 int16 int32 int64"),
    "unsigned": _types("uint32 uint64"),
    "all_unsigned": _types("uint8 uint16 uint32 uint64"),
    "complex": _types("complex64 complex128"),
    "boolean": [np.bool_],
}
_LISTS["inexact"] = _LISTS["floating"] + _LISTS["complex"]
_LISTS["all_inexact"] = _LISTS["all_floating"] + _LISTS["complex"]
_LISTS["numeric"] = [d for name in ("floating", "integer", "unsigned", "complex")
                     for d in _LISTS[name]]
_LISTS["all"] = [d for name in ("all_floating", "all_integer", "all_unsigned", "complex",
                                "boolean") for d in _LISTS[name]]

dtypes = _Dtypes()


def num_float_bits(dtype: Any) -> int:
    """How many bits an element has."""
    return ml_dtypes.finfo(core_dtypes.canonicalize_dtype(dtype)).bits


def to_default_dtype(arr: Any) -> np.ndarray:
    """An array in the widest dtype of its kind that is in use: 32 bits, or 64 with x64."""
    arr = np.asarray(arr)
    widest = {"f": "float64", "i": "int64", "u": "uint64", "c": "complex128", "b": "bool"}
    dtype = widest.get(arr.dtype.kind)
    return arr.astype(core_dtypes.canonicalize_dtype(dtype)) if dtype else arr


def with_jax_dtype_defaults(func: Callable, use_defaults: Any = True) -> Callable:
    """A function of NumPy whose results have the dtypes that JAX's function of the name has."""
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        result = func(*args, **kwargs)
        if isinstance(use_defaults, bool):
            return tree_map(to_default_dtype, result) if use_defaults else result
        return tree_map(lambda x, use: to_default_dtype(x) if use else x, result, use_defaults)

    return wrapped


def strict_promotion_if_dtypes_match(dtypes: Sequence) -> contextlib.AbstractContextManager:
    """A context in which operands of one dtype must stay of this dtype; others may mix."""
    same = all(dtype == dtypes[0] for dtype in dtypes)
    return settings.numpy_dtype_promotion("strict" if same else "standard")


# ----------------------------------------------------------------------------------------------
# Tolerances

def _dtype(x: Any) -> np.dtype:
    if hasattr(x, "dtype"):
        return x.dtype
    python = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    return np.dtype(python[type(x)]) if type(x) in python else np.asarray(x).dtype


def _kept(dtype: Any) -> Any:
    """A dtype as an array would have it. Random keys, for example, have their own."""
    known = isinstance(dtype, np.dtype) and dtype != core_dtypes.float0
    return core_dtypes.canonicalize_dtype(dtype) if known else dtype


def default_tolerance() -> dict:
    """For each dtype, how much results may differ."""
    names = {dtype_str(d) for d in _LISTS["all"] + _LISTS["custom_floats"]}
    whole = {np.dtype(d): 0 for d in (core_dtypes.float0, ml_dtypes.int4, ml_dtypes.uint4)}
    return whole | {np.dtype(n): _TOLERANCE.get(n, 1e-1 if n.startswith("float8") else 0)
                    for n in names}


default_gradient_tolerance = {np.dtype(n): v for n, v in _GRADIENT_TOLERANCE.items()}


def join_tolerance(tol1: Any, tol2: Any) -> dict:
    """For each dtype, the larger of two tolerances."""
    first, second = ({np.dtype(k): v for k, v in tol.items()} if isinstance(tol, dict)
                     else dict.fromkeys(default_tolerance(), tol or 0) for tol in (tol1, tol2))
    return {key: max(first.get(key, 0), second.get(key, 0)) for key in {**first, **second}}


def rand_like(rng: Any, x: Any) -> Any:
    """Normally distributed numbers of the type of `x`."""
    drawn = rand_default(rng, scale=1)(np.shape(x), _dtype(x))
    return drawn.item() if type(x) in (bool, int, float, complex) else drawn


def complex_plane_sample(dtype: Any, size_re: int = 10, size_im: int | None = None) -> np.ndarray:
    """A grid on the complex plane: infinities, the largest and smallest numbers, some between."""
    info = np.finfo(dtype)

    def points(size):
        decades = np.log10(2.0)
        line = np.logspace(info.minexp * decades, info.maxexp * decades, size,
                           dtype=np.longdouble)
        line = np.minimum(line, np.longdouble(info.max)).astype(info.dtype)
        if size:
            line[0] = info.tiny
        if size > 1:
            line[-1] = info.max
        return np.concatenate([[-np.inf], -line[::-1], [0], line, [np.inf]]).astype(info.dtype)

    re, im = points(size_re), points(size_re if size_im is None else size_im)
    grid = np.empty((len(im), len(re)), dtype)
    grid.real, grid.imag = re[None, :], im[:, None]
    return grid


_VERSION = re.compile(r"([0-9]+(?:\.[0-9]+)*)(?:(rc|dev).*)?")


def parse_version(v: str) -> tuple[int, ...]:
    """The numbers of a version."""
    found = _VERSION.match(v)
    if found is None:
        raise ValueError(f"Unable to parse version '{v}'")
    return tuple(map(int, found[1].split(".")))


def numpy_version() -> tuple[int, ...]:
    """NumPy's version."""
    return parse_version(np.__version__)
