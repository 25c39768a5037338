"""Chapter 11: integers of four and of two bits wrap around, eagerly and compiled, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

DTYPES = ["int4", "uint4", "int2", "uint2"]
BINARY = ["add", "sub", "mul", "div", "rem", "max", "min", "shift_left", "shift_right_logical",
          "shift_right_arithmetic", "bitwise_xor", "eq"]
UNARY = ["neg", "sign", "bitwise_not", "clz", "square", "cumsum", "cummax"]
LEFT, RIGHT = np.arange(-8, 8), np.array([0, 1, 7, -8, 3, -1, 2, 5, -3, 4, 6, -7, -2, 1, 0, 7])


def _calls(lax, x, y):
    return [getattr(lax, name)(x, y) for name in BINARY] + [getattr(lax, name)(x) for name in UNARY]


@pytest.mark.parametrize("dtype", DTYPES)
@in_both
def test_eager_and_compiled(jx, dtype):
    x, y = (jx.numpy.asarray(v).astype(dtype) for v in (LEFT, RIGHT))
    return (_calls(jx.lax, x, y),
            jx.jit(lambda x, y: [x + y, -x, x[::2], x.astype("int32")])(x, y))


@pytest.mark.parametrize("new", DTYPES)
@pytest.mark.parametrize("old", ["int32", "bool", "float32", "complex64", *DTYPES])
def test_casts(old, new):
    values = [0.5, 1.7, -1.2, 3, 9, -9, 200, np.nan, np.inf, -np.inf] if old[0] in "fc" else LEFT

    def program(jx):
        x = jx.numpy.asarray(np.array(values)).astype(old)
        return lambda: x.astype(new)

    both(program)


@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_sorting_and_counting(dtype):
    """XLA's programs on the CPU sort two bits wrongly, and count the sign of an int4 many times."""
    x = subject.numpy.asarray(RIGHT).astype(dtype)
    values = np.array(x.tolist())
    lax, jit = subject.lax, subject.jit
    assert jit(lax.sort)(x).tolist() == np.sort(values).tolist() == lax.sort(x).tolist()
    assert jit(lambda x: lax.top_k(x, 4)[0])(x).tolist() == np.sort(values)[:-5:-1].tolist()
    mask = 2 ** int(dtype[-1]) - 1
    counts = [int(v & mask).bit_count() for v in values]
    expected = subject.numpy.asarray(counts).astype(dtype).tolist()
    assert jit(lax.population_count)(x).tolist() == expected == lax.population_count(x).tolist()
