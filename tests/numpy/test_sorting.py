"""Chapter 12: `sort`, `argsort`, `lexsort`, against real JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

X = np.random.default_rng(0).integers(-4, 4, (4, 7))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("dtype", ["int8", "float32", "bool", "complex64"])
@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_sorting(name, dtype, axis, descending):
    x = X.astype(dtype)
    both(lambda jx: lambda x: getattr(jx.numpy, name)(x, axis=axis, descending=descending), x)


@pytest.mark.parametrize("axis", [0, -1])
def test_lexsort(axis):
    both(lambda jx: lambda x: jx.numpy.lexsort((x, x[::-1]), axis=axis), X)


@pytest.mark.parametrize("call", [
    lambda jx, x: jx.numpy.asarray(x).sort(),
    lambda jx, x: jx.numpy.asarray(x).argsort(axis=0),
    lambda jx, x: jx.make_jaxpr(jx.numpy.sort)(x),
    lambda jx, x: jx.make_jaxpr(lambda x: jx.numpy.argsort(x, descending=True))(x),
    lambda jx, x: jx.grad(lambda x: (jx.numpy.sort(x)[:, 0] ** 2).sum())(x.astype("float32")),
    lambda jx, x: jx.jit(jx.vmap(jx.numpy.argsort))(x),
    lambda jx, x: jx.numpy.sort([1, 2]),
    lambda jx, x: jx.numpy.sort(x, kind="quicksort"),
    lambda jx, x: jx.numpy.sort(x, axis=2),
    lambda jx, x: jx.numpy.lexsort(()),
    lambda jx, x: jx.numpy.sort(np.float32(1)),
    lambda jx, x: jx.numpy.lexsort((1, 2)),
])
def test_calls(call):
    both(lambda jx: lambda: call(jx, X))
