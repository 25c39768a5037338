"""Stages. `lower(...).as_text()` is MLIR's print of the module, as JAX's is. The modules differ in their
constants: JAX spreads a scalar by a line of its own, and repeats constants."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both

X = np.ones(3, np.float32)
M = np.ones((3, 3), np.float32)

PROGRAMS = {
    "one operation": lambda jx: (jx.numpy.sin, (X,)),
    "a tree": lambda jx: (
        lambda d: {"a": -d["x"], "b": (d["x"], d["y"] * d["y"])}, ({"x": X, "y": np.float32(2)},)),
    "a tuple of one": lambda jx: (lambda x: (x,), (X,)),
    "a constant array": lambda jx: (lambda x: np.arange(3, dtype=np.float32) * x, (X,)),
    "branches": lambda jx: (
        lambda p, x: jx.lax.cond(p, jx.numpy.sin, jx.numpy.cos, x), (np.True_, X)),
    "a product": lambda jx: (lambda m: m @ m, (M,)),
    "a sum": lambda jx: (lambda m: m.sum(0), (M,)),
    "a maximum": lambda jx: (lambda m: m.max(), (M,)),
    "a call": lambda jx: (lambda x: -jx.jit(jx.numpy.sin)(x), (X,)),
    "two results": lambda jx: (lambda x: (x, x * x), (X,)),
    "an unused argument": lambda jx: (lambda x, y: -x, (X, X)),
    "a loop": lambda jx: (
        lambda x: jx.lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + c[1], c[1]), (x, x)),
        (np.float32(1),)),
    "a comparison": lambda jx: (lambda x, y: x > y, (X, X)),
    "a conversion": lambda jx: (lambda x: x.astype("bfloat16"), (X,)),
    "keywords": lambda jx: (lambda *, a: a * a, (), {"a": X}),
}


@pytest.mark.parametrize("name", PROGRAMS)
@in_both
def test_text_is_that_of_jax(jx, name):
    f, args, *kwargs = PROGRAMS[name](jx)
    return jx.jit(f).lower(*args, **(kwargs[0] if kwargs else {})).as_text()


@in_both
def test_donated_arguments_keep_their_attribute(jx):
    return jx.jit(lambda x: -x, donate_argnums=0).lower(X).as_text()


def test_results_have_their_paths():
    text = minijax.jit(lambda x: {"a": x + 1, "b": [x * 2]}).lower(1.0).as_text()
    assert "jax.result_info = \"result['a']\"" in text
    assert "jax.result_info = \"result['b'][0]\"" in text


WRONG = {
    "a keyword": (lambda *a, **k: (a, k), ((1.0,), {"b": 2}), ((1.0,), {"c": 2})),
    "a tuple": (lambda x, y: x, ((1.0, (1, 2)), {}), ((1.0, (1, 2, 3)), {})),
    "two": (lambda x, y: x, (({"a": 1.0}, [1, 2]), {}), (({"b": 1.0}, (1, 2)), {})),
    "too few": (lambda x, y: x, ((1.0, 2), {}), ((1.0,), {})),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_of_another_structure(name):
    f, (args, kwargs), (others, other_kwargs) = WRONG[name]

    def program(jx):
        def message():
            compiled = jx.jit(f).lower(*args, **kwargs).compile()
            with pytest.raises(TypeError) as caught:
                compiled(*others, **other_kwargs)
            return str(caught.value).partition("\n---")[0]
        return message

    both(program)
