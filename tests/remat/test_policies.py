"""What policies save inside of branches: as many residuals, and as much done again, as in JAX."""

from __future__ import annotations

import itertools
from importlib import import_module

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both, subject

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
@in_both
def test_residuals(jx, name, around, policy):
    import_module(f"{jx.__name__}.ad_checkpoint")
    f = jx.checkpoint(AROUND[around](jx, branches(jx)[name]), policy=policies(jx)[policy])
    x, w = X, W
    made = jx.make_jaxpr(lambda x, w: jx.vjp(f, x, w)[1])(x, w)
    backward = jx.make_jaxpr(jx.linearize(f, x, w)[1])(x, w)
    return (counts(jx, str(made), *(str(v.aval) for v in made.jaxpr.outvars)),
            counts(jx, str(backward)), jx.grad(lambda *a: f(*a).sum(), (0, 1))(x, w))


# ----------------------------------------------------------------------------------------------
# Memories: on a CPU there is one, so an offloaded value is a saved one.

PLACES = {"offload_src": "device", "offload_dst": "pinned_host"}
OFFLOADING = {
    "names": lambda p: p.save_and_offload_only_these_names(
        names_which_can_be_saved=["sine"], names_which_can_be_offloaded=["cosine"], **PLACES),
    "products": lambda p: p.offload_dot_with_no_batch_dims(**PLACES),
}


def named(jx):
    name = jx.ad_checkpoint.checkpoint_name
    return lambda x: (name(jx.numpy.cos(name(jx.numpy.sin(x @ x), "sine")), "cosine") ** 2).sum()


@pytest.mark.parametrize("policy", OFFLOADING)
def test_offloaded_values_are_saved(policy):
    x = np.arange(4.0, dtype="float32").reshape(2, 2)
    both(lambda jx: jx.jit(jx.grad(jx.checkpoint(
        named(jx), policy=OFFLOADING[policy](jx.checkpoint_policies)))), x)
    f = minijax.checkpoint(named(minijax), policy=OFFLOADING[policy](minijax.checkpoint_policies))
    kept = [aval for aval, origin in minijax.ad_checkpoint.saved_residuals(f, x) if "argument" not in origin]
    assert len(kept) == {"names": 2, "products": 1}[policy]
    place = minijax.ad_checkpoint.Offloadable(src="device", dst="pinned_host")
    own = minijax.checkpoint(named(minijax), policy=lambda p, *_, **params: p.name == "sin" and place)
    np.testing.assert_allclose(minijax.grad(own)(x), minijax.grad(f)(x), rtol=1e-6)


def test_a_name_is_saved_or_offloaded():
    both(lambda jx: lambda: jx.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a", "b"], names_which_can_be_offloaded=["b"], **PLACES),
        raises=ValueError)
