"""A new elementwise primitive, with all rules, is at most 15 lines: those that CONTRIBUTING.md prints."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
SOURCE = next(code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "unary_row(" in code)


@pytest.fixture(scope="module")
def softsign():
    """The function that the page defines."""
    names = {}
    exec(compile(SOURCE, "CONTRIBUTING.md", "exec"), names)
    return names["softsign"]


def reference(x):
    return x / (1 + jnp.abs(x))


X = np.array([-2.0, -0.5, 0.25, 3.0], np.float32)


def test_the_file_is_short():
    assert len([line for line in SOURCE.splitlines() if line.strip()]) <= 15


def test_it_is_in_jaxprs_as_itself(softsign):
    assert str(jax.make_jaxpr(softsign)(X)) == "{ lambda ; a:f32[4]. let b:f32[4] = softsign a in (b,) }"


@pytest.mark.parametrize("transform", [
    lambda f: f,
    jax.jit,
    jax.vmap,
    lambda f: jax.vmap(jax.grad(f)),
    lambda f: jax.vmap(jax.grad(jax.grad(f))),
    lambda f: jax.jit(jax.vmap(jax.jit(jax.grad(f)))),
    lambda f: lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),)),
    lambda f: jax.jacfwd(f),
    lambda f: jax.jacrev(jax.vmap(f, 0, 0)),
    lambda f: lambda x: jax.vmap(f, 1, 1)(jnp.stack([x, 2 * x])),
], ids=["evaluation", "jit", "vmap", "grad", "grad of grad", "jit of all", "jvp", "jacfwd", "jacrev",
        "vmap of columns"])
def test_under_every_transformation(softsign, transform):
    got, want = transform(softsign)(X), transform(reference)(X)
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_what_it_refuses(softsign):
    with pytest.raises(TypeError, match="softsign does not accept dtype int32"):
        softsign(np.arange(3))
