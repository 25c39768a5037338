"""`lax.platform_dependent`: jaxprs show all branches, and a program has those for its platforms."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import minijax
from minijax.runtime.platforms import lowered_for
from tests.oracle import both, in_both

X = np.float32(1.5)
VECTOR = np.arange(3, dtype=np.float32)


def three(m):
    return lambda x: m.lax.platform_dependent(
        x, cpu=lambda x: x + 1, cuda=lambda x: x * 2, default=lambda x: x - 1)


def two(m):
    return lambda x: m.lax.platform_dependent(x, cpu=m.numpy.square, tpu=lambda x: x * 2)


def elsewhere(m):
    return lambda x: m.lax.platform_dependent(x, tpu=lambda x: x * 2)


PROGRAMS = {
    "three": three,
    "two": two,
    "default only": lambda m: lambda x: m.lax.platform_dependent(x, default=lambda x: x - 1),
    "elsewhere": elsewhere,
    "none": lambda m: lambda x: m.lax.platform_dependent(x),
    "handed on": lambda m: lambda x: m.lax.platform_dependent(x, tpu=lambda x: x, cpu=lambda x: x),
    "closures": lambda m: lambda x: m.lax.platform_dependent(tpu=lambda: x * 3, cpu=lambda: x),
    "constants": lambda m: lambda x: m.lax.platform_dependent(tpu=lambda: 3.0, cpu=lambda: 4.0) * x,
    "two trees": lambda m: lambda x: m.lax.platform_dependent(
        x, tpu=lambda x: (x,), default=lambda x: x),
    "two dtypes": lambda m: lambda x: m.lax.platform_dependent(x, tpu=lambda x: 3, cpu=lambda x: x),
    "a bad branch": lambda m: lambda x: m.lax.platform_dependent(
        x, cpu=lambda x: x, default=lambda x: 1 / 0),
    "a dict": lambda m: lambda x: m.lax.platform_dependent(
        {"a": x, "b": 2 * x}, cpu=lambda d: d, default=lambda d: {"a": d["b"], "b": d["a"]})["a"],
    "scan": lambda m: lambda x: m.lax.scan(lambda c, _: (two(m)(c), c), x, None, 3)[1].sum(),
    "remat": lambda m: m.checkpoint(lambda x: m.numpy.sin(two(m)(x))),
    "nested": lambda m: lambda x: m.lax.platform_dependent(x, cpu=two(m), default=three(m)),
    "in a cond": lambda m: lambda x: m.lax.cond(x > 0, two(m), three(m), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name):
    both(lambda m: lambda: repr(PROGRAMS[name](m)(1.5)))
    for transformed in (lambda m, f: f, lambda m, f: m.jit(f), lambda m, f: m.grad(f),
                        lambda m, f: m.jit(m.grad(f))):
        both(lambda m: transformed(m, PROGRAMS[name](m)), X)
    both(lambda m: m.vmap(PROGRAMS[name](m)), VECTOR)


@pytest.mark.parametrize("name", ["three", "default only", "elsewhere", "handed on", "constants",
                                  "a dict", "nested"])
def test_jaxprs_show_all_branches(name):
    both(lambda m: lambda: str(m.make_jaxpr(PROGRAMS[name](m))(X)))
    both(lambda m: lambda: str(m.make_jaxpr(m.jit(PROGRAMS[name](m)))(X)))
    both(lambda m: lambda: str(m.make_jaxpr(m.vmap(PROGRAMS[name](m)))(VECTOR)))


@pytest.mark.parametrize("name", ["three", "default only", "elsewhere", "constants"])
def test_jaxprs_of_derivatives(name):
    both(lambda m: lambda: str(m.make_jaxpr(m.grad(PROGRAMS[name](m)))(X)))
    both(lambda m: lambda: str(m.make_jaxpr(m.checkpoint(m.grad(PROGRAMS[name](m))))(X)))


@in_both
def test_other_transformations(m):
    checkify = importlib.import_module(f"{m.__name__}.experimental.checkify")
    f = lambda x: m.lax.platform_dependent(x, cpu=m.numpy.log, default=m.numpy.sin)
    errors = checkify.checkify(m.jit(f), errors=checkify.float_checks)
    jaxpr = str(m.make_jaxpr(lambda x: errors(x)[1])(X))
    return (errors(-X)[0].get() is not None, m.linearize(m.jit(f), X)[1](X),
            "branches_platforms=(('cpu',), None)" in jaxpr)


def test_the_branch_is_that_of_the_platform():
    texts = []
    for name in ("cpu", "cuda", "tpu"):
        with lowered_for(name):
            texts.append(minijax.jit(three(minijax)).trace(X).lower().as_text())
    assert [name in text for name, text in zip(["add", "multiply", "subtract"], texts)] == [True] * 3
    assert not any("case" in text for text in texts)


def test_other_platforms_are_refused():
    traced = minijax.jit(three(minijax)).trace(X)
    with pytest.raises(NotImplementedError, match="lowers for 'cpu'"):
        traced.lower(lowering_platforms=("cuda",))
