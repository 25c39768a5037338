"""Python integers of more than 32 bits: floats hold them, integer types take their lowest bits."""

from __future__ import annotations

import importlib
import itertools

import numpy as np
import pytest

import minijax
from tests.oracle import both

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


@pytest.mark.daily(3)
@pytest.mark.parametrize("name, dtype, n", [row for row in ROWS if row not in REFUSED_HERE])
def test_a_large_integer(name, dtype, n):
    both(lambda jx: lambda: FUNCTIONS[name](jx, n, dtype))


@pytest.mark.parametrize("name, dtype, n", REFUSED_HERE)
def test_more_than_64_bits(name, dtype, n):
    with pytest.raises(OverflowError):
        FUNCTIONS[name](minijax, n, dtype)


# NumPy's integers are shortened before they become floats, eagerly as in a jitted function.
LONG = {"array": np.array([2**40 + 3, -2**33 - 5, 7]), "unsigned": np.array([2**40 + 3, 2**63], "u8"),
        "scalar": np.int64(2**40 + 3)}
OF_LONG = {
    "convert": lambda jx, x: jx.lax.convert_element_type(x, "float32"),
    "asarray": lambda jx, x: jx.numpy.asarray(x, "float32"),
    "sin": lambda jx, x: jx.numpy.sin(x),
    "divide": lambda jx, x: jx.numpy.true_divide(x, 2),
    "add": lambda jx, x: [jx.numpy.float32(1.5) + x for _ in range(3)],
    "subtract": lambda jx, x: [x - jx.numpy.ones(1) for _ in range(3)],
    "narrow": lambda jx, x: [jx.numpy.ones(1, "int8") / x for _ in range(3)],
    "bfloat16": lambda jx, x: [jx.numpy.ones(1, "bfloat16") * x for _ in range(3)],
    "arctan2": lambda jx, x: jx.numpy.arctan2(x, 1),
    "where": lambda jx, x: jx.numpy.where(True, x, 1.5),
    "maximum": lambda jx, x: jx.numpy.maximum(x, 1.0),
    "isclose": lambda jx, x: jx.numpy.isclose(x, x.astype("f4")),
}


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("name", OF_LONG)
@pytest.mark.parametrize("x", LONG)
def test_long_integers_of_numpy(name, x, staged):
    both(lambda jx: (jx.jit if staged else lambda f: f)(lambda: OF_LONG[name](jx, LONG[x])))


# JAX wraps around here, so that the first begins at 0 and the third ends in negative numbers.
@pytest.mark.parametrize("arguments", [
    (2**40, 2**40 + 3), (2**40, 2**40 + 3, 1), (2**31 - 1, 2**31 + 2), (-2**33, -2**33 + 2),
    (0, 2**40, 2**38), (5, 2**40, 2**39)])
def test_a_range_beyond_the_type_chosen_for_it(arguments):
    with pytest.raises(OverflowError, match="int32 cannot hold the numbers from"):
        minijax.numpy.arange(*arguments)


@pytest.mark.parametrize("arguments", [
    (2**31 - 1, 2**31), (-2**31, -2**31 + 2), (2**40, 0), (10, 0), (0, 10, -1),
    (np.uint32(2**32 - 3), np.uint32(2**32 - 1)), (np.int8(100), np.int8(127), np.int8(5)),
    (np.int64(3),)])
def test_a_range_up_to_the_end_of_its_type(arguments):
    both(lambda jx: lambda: jx.numpy.arange(*arguments))


LARGE = {
    **{f"{name}_like": lambda jx, n, name=name: getattr(jx.numpy, f"{name}_like")(n)
       for name in ("zeros", "ones", "empty")},
    "full_like": lambda jx, n: jx.numpy.full_like(n, 3),
    "lax.full_like": lambda jx, n: jx.lax.full_like(n, 3),
    "gelu": lambda jx, n: jx.nn.gelu(n),
    **{name: lambda jx, n, name=name: getattr(special(jx), name)(n)
       for name in ("gammaln", "digamma", "entr", "erf", "erfc", "expit", "i0e", "loggamma")},
    **{name: lambda jx, n, name=name: getattr(special(jx), name)(n, 2)
       for name in ("betaln", "boxcox", "comb", "gammainc", "kl_div")},
}


def special(jx):
    return importlib.import_module(f"{jx.__name__}.scipy.special")


@pytest.mark.parametrize("n", [2**31, -2**31 - 1, 2**63])
@pytest.mark.parametrize("name", LARGE)
def test_functions_of_large_integers(name, n):
    """Functions that compute with floats take Python integers of any size, if they are not jitted
    in JAX; and those that want the type only do not look at the value."""
    both(lambda jx: lambda: LARGE[name](jx, n), tol=1e-5)
    both(lambda jx: jx.jit(lambda: LARGE[name](jx, n)), tol=1e-5)
