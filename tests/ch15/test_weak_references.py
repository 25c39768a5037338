"""A reference to a weakly typed number stays weakly typed, whatever is written into it, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

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
def test_types_of_contents(name, start):
    def program(jx):
        def run():
            r = jx.new_ref(STARTS[start])
            WRITES[name](jx, r)
            return r[...], jx.freeze(r)
        return run

    both(program)


@pytest.mark.parametrize("name", ["sum", "jit", "cond"])
def test_derivatives(name):
    def program(jx):
        def f(x):
            r = jx.new_ref(x)
            WRITES[name](jx, r)
            return r[...]
        return lambda x: (f(x), jx.grad(f)(x), jx.jvp(f, (x,), (x,)), jx.jit(f)(x))

    both(program, 1.5)
