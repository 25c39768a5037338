"""Exported functions for unknown sizes that cut and pad by sizes that are not known."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import minijax as jx
from tests.oracle import both

S = 2 * np.arange(12, dtype="float32").reshape(4, 3)


def called(jx, fun, x):
    exporting = import_module(f"{jx.__name__}.export")
    (b,) = exporting.symbolic_shape("b", constraints=["b >= 2"])
    one = exporting.export(jx.jit(fun))(jx.ShapeDtypeStruct((b, 3), "float32"))
    return one.call(x), [str(aval) for aval in one.out_avals]


PROGRAMS = {
    "split": lambda jx: lambda x: jx.numpy.split(x, [1]),
    "split at the end": lambda jx: lambda x: jx.numpy.split(x, [1, x.shape[0]]),
    "split before the end": lambda jx: lambda x: jx.numpy.split(x, [x.shape[0] - 1]),
    "split in the middle": lambda jx: lambda x: jx.numpy.array_split(x, [x.shape[0] // 2]),
    "vsplit": lambda jx: lambda x: jx.numpy.vsplit(x, [1, 2]),
    "gradient of split": lambda jx: jx.grad(lambda x: (jx.numpy.split(x, [1])[1] ** 2).sum()),
    "pad": lambda jx: lambda x: jx.numpy.pad(x, ((0, x.shape[0]), (0, 0))),
    "pad by one less": lambda jx: lambda x: jx.numpy.pad(x, x.shape[0] - 1, constant_values=2),
    "pad with several values": lambda jx: lambda x: jx.numpy.pad(
        x, ((x.shape[0] - 1, 2), (0, 1)), constant_values=((1, 2), (3, 4))),
    "pad with edges": lambda jx: lambda x: jx.numpy.pad(x, ((0, x.shape[0]), (0, 0)), "edge"),
    "pad with means": lambda jx: lambda x: jx.numpy.pad(x, ((0, x.shape[0]), (0, 0)), "mean"),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("size", [2, 5])
def test_programs(name, size):
    both(lambda jx: lambda x: called(jx, PROGRAMS[name](jx), x), np.resize(S, (size, 3)))


@pytest.mark.parametrize("size", [2, 3, 5, 9])
@pytest.mark.parametrize("mode", ["reflect", "symmetric", "maximum", "median"])
def test_padding_that_jax_may_refuse(mode, size):
    x = np.sin(np.resize(S, (size, 3)))
    out, _ = called(jx, lambda x: jx.numpy.pad(x, ((x.shape[0] - 1, 1), (0, 0)), mode), x)
    np.testing.assert_allclose(out, np.pad(x, ((size - 1, 1), (0, 0)), mode), rtol=1e-6)


def test_padding_that_minijax_refuses():
    with pytest.raises(NotImplementedError, match="the widths 0 and b"):
        called(jx, lambda x: jx.numpy.pad(x, ((0, x.shape[0]), (0, 0)), "linear_ramp"), S)


@pytest.mark.parametrize("width", [-1, 3])
def test_cuts_of_parts_that_may_be_negative(width):
    both(lambda jx: lambda x: called(jx, lambda x: jx.numpy.split(x, [width]), x), S,
         raises=ValueError if width < 0 else "InconclusiveDimensionOperation")
