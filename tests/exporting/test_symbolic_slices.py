"""Exported functions for unknown sizes that slice: starts, stops and steps of any sign."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from tests.oracle import both

X = np.arange(48, dtype="float32").reshape(16, 3)

SLICES = ["::-1", "b-1:0:-2", ":c:-1", "2:c:-2", "-2::-2", ":-4:-3", "c::-c", "-c:-4:-c", "2:c:2", "c:4:c", "2*c+2:c:2",
          "::c", "-2:2*c+2:2", "-4:b:2", "1:1:-1", "b:-b-1:-1", "-1:0:-2", "2*c+2:c:-2"]


def called(jx, fun, x):
    exporting = import_module(f"{jx.__name__}.export")
    one = exporting.export(jx.jit(fun))(jx.ShapeDtypeStruct(exporting.symbolic_shape("b, c"), "float32"))
    return one.call(x)


def sliced(text):
    return lambda x: eval(f"x[{text}]", {"x": x, "b": x.shape[0], "c": x.shape[1]})


@pytest.mark.parametrize("text", SLICES)
@pytest.mark.parametrize("size", [16, 2])
def test_slices(text, size):
    both(lambda jx: lambda x: called(jx, sliced(text), x), X[:size])


@pytest.mark.parametrize("text", ["b-1:0:-2", "2:c:2"])
def test_gradients(text):
    both(lambda jx: lambda x: called(jx, jx.grad(lambda x: (sliced(text)(x) ** 2).sum()), x), X)


def test_updates():
    both(lambda jx: lambda x: called(jx, lambda x: x.at[b(x) - 1:0:-2].multiply(3.0), x), X)
    both(lambda jx: lambda x: called(jx, lambda x: x.at[::-1].set(x), x), X)


@pytest.mark.parametrize("place", [-1, -2, 0])
def test_updates_at_one_place(place):
    both(lambda jx: lambda x: called(jx, lambda x: x.at[place].add(1.0), x), X)
    both(lambda jx: lambda x: called(jx, lambda x: x.at[:, -1].set(x[:, 0] * x[place, 0]), x), X)
    both(lambda jx: lambda x: called(jx, jx.grad(lambda x: (x.at[place].multiply(2.0) ** 2).sum()), x), X)
    both(lambda jx: lambda x: called(jx, lambda x: x[[-1, 1, place], -1], x), X)


def b(x):
    return x.shape[0]


@pytest.mark.parametrize("text", ["b-c:", ":c-2:-1", "::c-b", "::0"])
def test_slices_that_depend_on_the_sizes(text):
    both(lambda jx: lambda x: called(jx, sliced(text), x), X,
         raises=ValueError if text == "::0" else "InconclusiveDimensionOperation")


TEXTS = ["min(c, 2*b + 2) - min(c, b)", "max(0, c - 4) - min(c, 2)", "a*b + c^3 + mod(a, 3) + floordiv(a*b, 2)",
         "max(-1, c - 4) + max(0, b)", "floordiv(a, 2)*b + a*b*c + b^2*a", "min(c, b) - max(0, c - b) + min(c, 4)"]


@pytest.mark.parametrize("text", TEXTS)
def test_order_of_terms(text):
    both(lambda jx: lambda: str(import_module(f"{jx.__name__}.export").symbolic_shape(text)))
