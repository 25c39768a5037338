"""What policies save inside of branches: as many residuals, and as much done again, as in JAX."""

from __future__ import annotations

import itertools
from importlib import import_module

import numpy as np
import pytest

from tests.oracle import both, subject

X, W = np.linspace(0.1, 0.8, 4, dtype="f").reshape(2, 2), np.ones((2, 2), "f")


def policies(jx):
    known = jx.checkpoint_policies
    return {
        "none": None, "everything": known.everything_saveable, "nothing": known.nothing_saveable,
        "dots": known.dots_saveable, "dots without batch": known.dots_with_no_batch_dims_saveable,
        "name": known.save_only_these_names("a"), "but name": known.save_anything_except_these_names("a"),
        "cos": lambda primitive, *_, **__: str(primitive) == "cos",
        "sin": lambda primitive, *_, **__: str(primitive) == "sin",
    }


def branches(jx):
    """Two branches: what they save is of one type, or of several."""
    jnp, name = jx.numpy, jx.ad_checkpoint.checkpoint_name
    return {
        "products": (lambda x, w: jnp.sin(name(jnp.sin(x @ w), "a")) @ w, lambda x, w: jnp.cos(x) @ w),
        "one saves": (lambda x, w: jnp.sin(jnp.sin(x)), lambda x, w: x),
        "types": (lambda x, w: jnp.sin(jnp.sin(x[0] @ w)) * x, lambda x, w: jnp.cos(jnp.sin(x) @ w)),
        "twice": (lambda x, w: jnp.cos(jnp.cos(x) @ w) @ w, lambda x, w: jnp.cos(jnp.sin(x) @ w)),
        "jit": (lambda x, w: jx.jit(lambda x: jnp.sin(jnp.sin(x) @ w))(x), lambda x, w: x * 2),
        "cond": (lambda x, w: jx.lax.cond(x[0, 0] > 0.5, lambda x: jnp.sin(jnp.cos(x) @ w),
                                          lambda x: x, x), lambda x, w: jnp.cos(x)),
    }


AROUND = {
    "cond": lambda jx, fs: lambda x, w: jx.lax.cond(x[0, 0] > 0, *fs, x, w),
    "switch": lambda jx, fs: lambda x, w: jx.lax.switch(jx.numpy.int32(x[0, 0]), fs, x, w),
    "after": lambda jx, fs: lambda x, w: jx.lax.cond(x[0, 0] > 0, *fs, jx.numpy.sin(x) @ w, w),
    "scan": lambda jx, fs: lambda x, w: jx.lax.scan(
        lambda c, y: (jx.lax.cond(c[0, 0] > 0, *fs, c, w) * y, None), x, np.ones(3, "f"))[0],
}


def counts(jx, text, *outvars):
    words = (" sin ", " cos ", "dot_general[")
    return {word: text.count(word) for word in words} | {"saved": sorted(map(str, outvars))}


CASES = [
    *itertools.product(branches(subject), ["cond"], ["everything", "nothing", "dots", "name", "cos"]),
    *itertools.product(["products"], ["switch", "after", "scan"], ["dots", "cos"]),
]


@pytest.mark.parametrize("name, around, policy", CASES)
def test_residuals(name, around, policy):
    def program(jx):
        import_module(f"{jx.__name__}.ad_checkpoint")
        f = jx.checkpoint(AROUND[around](jx, branches(jx)[name]), policy=policies(jx)[policy])

        def run(x, w):
            made = jx.make_jaxpr(lambda x, w: jx.vjp(f, x, w)[1])(x, w)
            backward = jx.make_jaxpr(jx.linearize(f, x, w)[1])(x, w)
            return (counts(jx, str(made), *(str(v.aval) for v in made.jaxpr.outvars)),
                    counts(jx, str(backward)), jx.grad(lambda *a: f(*a).sum(), (0, 1))(x, w))
        return run

    both(program, X, W)
