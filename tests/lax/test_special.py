"""Chapter 11: special functions and operations on bits, against real JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

FLOATS = ["float16", "bfloat16", "float32"]
SPECIAL = ["erf", "erfc", "erf_inv", "lgamma", "digamma"]
BETWEEN = np.linspace(-0.95, 0.9, 8, dtype=np.float32)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", SPECIAL)
@in_both
def test_special(jx, name, dtype):
    f, x = getattr(jx.lax, name), jx.numpy.asarray(BETWEEN).astype(dtype)
    return (jx.jvp(f, (x,), (x,)), jx.jit(f)(x), jx.vmap(f)(x))


@pytest.mark.parametrize("old, new, last", [
    ("float32", "int32", 2), ("float32", "uint8", 2), ("float32", "int16", 2), ("int8", "float32", 4),
    ("int16", "bfloat16", 2), ("int8", "uint16", 2), ("int8", "uint16", 4),
])
def test_bitcast(old, new, last):
    x = np.arange(-12, 12).astype(old).reshape(3, -1, last)

    def program(jx):
        def f(x):
            return jx.lax.bitcast_convert_type(x, new)

        return lambda x: (f(x), jx.jit(f)(x), jx.vmap(f, in_axes=1)(x))

    both(program, x)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
@pytest.mark.parametrize("name", ["clz", "population_count"])
def test_counts(name, dtype):
    x = np.array([0, 1, 2, 77, 127, -1, -128]).astype(dtype)
    both(lambda jx: lambda x: (getattr(jx.lax, name)(x), jx.jit(getattr(jx.lax, name))(x)), x)
