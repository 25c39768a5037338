"""A reference to a weakly typed number stays weakly typed, whatever is written into it, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

WRITES = {
    "number": lambda jx, r: r.__setitem__(..., 2.0),
    "sum": lambda jx, r: r.__setitem__(..., r[...] + 2.0),
    "strong": lambda jx, r: r.__setitem__(..., jx.numpy.float32(2.0)),
    "addupdate": lambda jx, r: jx.ref.addupdate(r, ..., 2.0),
    "jit": lambda jx, r: jx.jit(lambda: r.__setitem__(..., r[...] + 2.0))(),
    "jit, passed": lambda jx, r: jx.jit(lambda r: r.__setitem__(..., r[...] + 2.0))(r),
    "loop": lambda jx, r: jx.lax.fori_loop(0, 3, lambda i, _: r.__setitem__(..., r[...] + i), None),
    "cond": lambda jx, r: jx.lax.cond(True, lambda: r.__setitem__(..., r[...] + 1.0), lambda: None),
}
STARTS = {"weak": 1.0, "weak integer": 1, "strong": np.float32(1.0), "vector": np.ones(2, "float32")}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", WRITES)
@in_both
def test_types_of_contents(jx, name, start):
    r = jx.new_ref(STARTS[start])
    WRITES[name](jx, r)
    return r[...], jx.freeze(r)


@pytest.mark.parametrize("name", ["sum", "jit", "cond"])
def test_derivatives(name):
    def program(jx):
        def f(x):
            r = jx.new_ref(x)
            WRITES[name](jx, r)
            return r[...]
        return lambda x: (f(x), jx.grad(f)(x), jx.jvp(f, (x,), (x,)), jx.jit(f)(x))

    both(program, 1.5)


DTYPES = ("bool", "int8", "int32", "uint8", "int4", "float16", "bfloat16", "float32", "complex64")
UPDATES = {
    "set": lambda jx, r, x: r.__setitem__(0, x),
    "swap": lambda jx, r, x: jx.ref.swap(r, 0, x),
    "addupdate": lambda jx, r, x: jx.ref.addupdate(r, 0, x),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UPDATES)
@in_both
def test_dtypes_that_are_converted(jx, name, dtype):
    """An integer becomes an integer of another width, and a weak float one of another."""
    def result(value):
        ref = jx.new_ref(jx.numpy.zeros(2, dtype))
        try:
            UPDATES[name](jx, ref, value)
        except ValueError:
            return None
        return ref[...].astype("complex64")

    values = [True, 1, 1.5, 1j, *(jx.numpy.full((), 3, other) for other in DTYPES)]
    return [*map(result, values)]
