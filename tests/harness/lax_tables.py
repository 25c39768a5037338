"""Tables of the elementwise functions and the reductions of `lax`, for tests of all of them.

This is `jax._src.internal_test_util.lax_test_util`, with JAX's names: a row says how many operands
a function has, of which dtypes, how test values are drawn, and how exact results are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minijax import lax
from minijax.core.dtypes import bfloat16
from tests.harness import values
from tests.harness.values import dtypes

float_dtypes = dtypes.all_floating
complex_elem_dtypes = dtypes.floating
complex_dtypes = dtypes.complex
inexact_dtypes = dtypes.all_inexact
int_dtypes = dtypes.all_integer
uint_dtypes = dtypes.all_unsigned
bool_dtypes = dtypes.boolean
default_dtypes = float_dtypes + int_dtypes
number_dtypes = float_dtypes + complex_dtypes + int_dtypes + uint_dtypes
all_dtypes = number_dtypes + bool_dtypes
python_scalar_types = [bool, int, float, complex]

compatible_shapes = [[(3,)], [(3, 4), (3, 1), (1, 4)], [(2, 3, 4), (2, 1, 4)]]


class OpRecord(NamedTuple):
    """An elementwise function: `tol` is a tolerance, or one for each dtype."""

    op: str
    nargs: int
    dtypes: list
    rng_factory: Any
    tol: Any = None


op_record = OpRecord


class ReducerOpRecord(NamedTuple):
    """A function that `lax.reduce` reduces with, NumPy's, its neutral element, and the primitive
    that such a reduction is."""

    op: Any
    reference_op: Any
    init_val: Any
    dtypes: list
    primitive: Any


class NamedReducerOpRecord(NamedTuple):
    """A function that reduces, and NumPy's."""

    op: Any
    reference_op: Any
    dtypes: list


def lax_reduce_ops() -> list[ReducerOpRecord]:
    """The functions that `lax.reduce` knows."""
    bits = int_dtypes + uint_dtypes + bool_dtypes
    rows = [ReducerOpRecord(lax.add, np.add, 0, default_dtypes, lax.reduce_sum_p),
            ReducerOpRecord(lax.mul, np.multiply, 1, default_dtypes, lax.reduce_prod_p),
            ReducerOpRecord(lax.max, np.maximum, 0, uint_dtypes + bool_dtypes, lax.reduce_max_p),
            ReducerOpRecord(lax.max, np.maximum, -np.inf, float_dtypes, lax.reduce_max_p),
            ReducerOpRecord(lax.min, np.minimum, np.inf, float_dtypes, lax.reduce_min_p)]
    rows += [ReducerOpRecord(lax.max, np.maximum, np.iinfo(t).min, [t], lax.reduce_max_p)
             for t in (np.int32, np.int64)]
    rows += [ReducerOpRecord(lax.min, np.minimum, np.iinfo(t).max, [t], lax.reduce_min_p)
             for t in (np.int32, np.int64, np.uint32, np.uint64)]
    return rows + [
        ReducerOpRecord(lax.bitwise_and, np.bitwise_and, -1, bits, lax.reduce_and_p),
        ReducerOpRecord(lax.bitwise_or, np.bitwise_or, 0, bits, lax.reduce_or_p),
        ReducerOpRecord(lax.bitwise_xor, np.bitwise_xor, 0, bits, lax.reduce_xor_p)]


def lax_named_reduce_ops() -> list[NamedReducerOpRecord]:
    """The reductions of `lax`."""
    bits = bool_dtypes + int_dtypes + uint_dtypes
    return [NamedReducerOpRecord(lax.reduce_sum, np.sum, number_dtypes),
            NamedReducerOpRecord(lax.reduce_prod, np.prod, number_dtypes),
            NamedReducerOpRecord(lax.reduce_max, np.max, all_dtypes),
            NamedReducerOpRecord(lax.reduce_min, np.min, all_dtypes),
            NamedReducerOpRecord(lax.reduce_and, np.bitwise_and.reduce, bits),
            NamedReducerOpRecord(lax.reduce_or, np.bitwise_or.reduce, bits),
            NamedReducerOpRecord(lax.reduce_xor, np.bitwise_xor.reduce, bits)]


def lax_out_dtype_ops() -> list[OpRecord]:
    """The elementwise functions that take an `out_dtype`."""
    return [OpRecord("mul", 2, default_dtypes + complex_dtypes, values.rand_small)]


_DTYPES = {
    "float": float_dtypes, "inexact": float_dtypes + complex_dtypes, "complex": complex_dtypes,
    "elements": complex_elem_dtypes, "conjugates": complex_elem_dtypes + complex_dtypes,
    "default": default_dtypes, "signed": default_dtypes + uint_dtypes,
    "number": default_dtypes + complex_dtypes, "integer": int_dtypes + uint_dtypes,
    "bool": bool_dtypes, "all": all_dtypes,
    "wide": [t for t in float_dtypes if t not in (bfloat16, np.float16)],
    "next": [t for t in float_dtypes if t != bfloat16],
}

# How values are drawn, how many operands there are, and of which dtypes: the functions.
_ROWS = """
small 1 number: neg | small 1 signed: sign | small 1 float: floor ceil is_finite erf erfc erf_inv
default 1 float: round cbrt bessel_i0e bessel_i1e | default 2 next: nextafter
small 1 inexact: exp exp2 expm1 tanh asin acos atan atanh
positive 1 inexact: log log1p reciprocal acosh
default 1 inexact: logistic sin cos square tan asinh sinh cosh
default 2 float: atan2 | positive 1 float: sqrt rsqrt lgamma digamma
default 1 complex: sqrt rsqrt real imag | uniform 3 float: betainc
positive 2 wide: igamma igammac | default 2 elements: complex | default 1 conjugates: conj
default 1 number: abs | positive 2 inexact: pow
small 2 bool: bitwise_and bitwise_or bitwise_xor | small 1 bool: bitwise_not
int 1 integer: population_count clz | small 2 number: add sub mul | fullrange 2 integer: mulhi
nonzero 2 number: div | nonzero 2 default: rem | small 2 all: max min ne
some_equal 2 all: eq | small 2 default: ge gt le lt
"""

_TOLERANCES: dict[str, Any] = {
    "nextafter": 0, "expm1": {np.float64: 1e-8}, "tan": {np.float32: 3e-5},
    "tanh": {np.float64: 1e-9, np.complex128: 1e-7}, "asin": {np.complex128: 5e-12},
    "asinh": {np.complex64: 1e-4, np.complex128: 1e-5}, "atanh": {np.float64: 1e-9},
    "lgamma": {np.float32: 1e-5, np.float64: 1e-14}, "digamma": {np.float64: 1e-14},
    "betainc": {np.float32: 2e-5, np.float64: 1e-12}, "igamma": {np.float64: 1e-14},
    "igammac": {np.float64: 1e-14}, "erf_inv": {np.float64: 1e-9},
}


def lax_ops() -> list[OpRecord]:
    """The elementwise functions of `lax`."""
    records = []
    for row in _ROWS.replace("\n", "|").split("|"):
        if row.strip():
            (drawn, nargs, kinds), names = (part.split() for part in row.split(":"))
            records += [OpRecord(name, int(nargs), _DTYPES[kinds], getattr(values, f"rand_{drawn}"),
                                 _TOLERANCES.get(name)) for name in names]
    return records


def all_bdims(*shapes: tuple) -> Iterator[tuple]:
    """All combinations of batch dimensions for arrays of these shapes; not all are `None`."""
    choices = ([None, *range(len(shape) + 1)] for shape in shapes)
    return (dims for dims in itertools.product(*choices) if any(d is not None for d in dims))


def add_bdim(bdim_size: int, bdim: int | None, shape: tuple) -> tuple:
    """A shape with a batch dimension of this size."""
    return shape if bdim is None else (*shape[:bdim], bdim_size, *shape[bdim:])
