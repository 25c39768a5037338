"""Python integers of more than 32 bits: floats hold them, integer types take their lowest bits."""

from __future__ import annotations

import itertools

import pytest

import minijax
from tests.oracle import both

pytestmark = pytest.mark.chapter(12)

FUNCTIONS = {
    "convert": lambda jx, n, dtype: jx.lax.convert_element_type(n, dtype),
    "staged": lambda jx, n, dtype: jx.jit(lambda: jx.lax.convert_element_type(n, dtype))(),
    "lax.full": lambda jx, n, dtype: jx.lax.full((2,), n, dtype),
    "full": lambda jx, n, dtype: jx.numpy.full(2, n, dtype),
    "full_like": lambda jx, n, dtype: jx.numpy.full_like(jx.numpy.ones(2, dtype), n),
    "array": lambda jx, n, dtype: jx.numpy.array([n, 1], dtype),
    "asarray": lambda jx, n, dtype: jx.numpy.asarray(n, dtype),
    "arange": lambda jx, n, dtype: jx.numpy.arange(n, n + 3, dtype=dtype),
    "steps": lambda jx, n, dtype: jx.numpy.arange(0, 3 * n, n, dtype=dtype),
    "add": lambda jx, n, dtype: jx.numpy.ones(2, dtype) + n,
    "max": lambda jx, n, dtype: jx.lax.max(jx.numpy.ones(2, dtype), n),
    "where": lambda jx, n, dtype: jx.numpy.where(True, jx.numpy.ones(2, dtype), n),
    "pad": lambda jx, n, dtype: jx.numpy.pad(jx.numpy.ones(2, dtype), 1, constant_values=n),
    "power": lambda jx, n, dtype: jx.numpy.power(jx.numpy.ones(2, dtype), n),
}


# JAX's ranges of integer types begin at 0 there.
REFUSED_HERE = [*itertools.product(["arange", "steps"], ["int32", "uint8"], [2**100])]
ROWS = [*itertools.product(FUNCTIONS, ["float32", "complex64", "int32", "uint8"],
                           [2**31, 2**40, 2**63, 2**100, -2**31 - 1]),
        *itertools.product(FUNCTIONS, ["bfloat16"], [2**31, 2**40])]


@pytest.mark.parametrize("name, dtype, n", [row for row in ROWS if row not in REFUSED_HERE])
def test_a_large_integer(name, dtype, n):
    both(lambda jx: lambda: FUNCTIONS[name](jx, n, dtype))


@pytest.mark.parametrize("name, dtype, n", REFUSED_HERE)
def test_more_than_64_bits(name, dtype, n):
    with pytest.raises(OverflowError):
        FUNCTIONS[name](minijax, n, dtype)
