"""Python integers of more than 32 bits: floats hold them, integer types take their lowest bits."""

from __future__ import annotations

import itertools

import pytest

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
    "add": lambda jx, n, dtype: jx.numpy.ones(2, dtype) + n,
    "max": lambda jx, n, dtype: jx.lax.max(jx.numpy.ones(2, dtype), n),
    "where": lambda jx, n, dtype: jx.numpy.where(True, jx.numpy.ones(2, dtype), n),
    "pad": lambda jx, n, dtype: jx.numpy.pad(jx.numpy.ones(2, dtype), 1, constant_values=n),
    "power": lambda jx, n, dtype: jx.numpy.power(jx.numpy.ones(2, dtype), n),
}


@pytest.mark.parametrize("name, dtype, n", [*itertools.product(
    FUNCTIONS, ["float32", "complex64", "int32", "uint8"],
    [2**31, 2**40, 2**63, 2**100, -2**31 - 1]),
    *itertools.product(FUNCTIONS, ["bfloat16"], [2**31, 2**40])])
def test_a_large_integer(name, dtype, n):
    both(lambda jx: lambda: FUNCTIONS[name](jx, n, dtype))
