"""An argument that is no array: JAX's class of error, and a message that says where it is."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import jax

X = {"w": [1.0, 2.0, "a"]}

TRANSFORMATIONS = {
    "x['w'][2]": {
        "jit": lambda m: m.jit(lambda x: x)(X),
        "jit by keyword": lambda m: m.jit(lambda *, x: x)(x=X),
        "make_jaxpr": lambda m: m.make_jaxpr(lambda x: x)(X),
        "eval_shape": lambda m: m.eval_shape(lambda x: x, X),
        "grad": lambda m: m.grad(lambda x: x["w"][0])(X),
        "grad of the second": lambda m: m.grad(lambda y, x: y, argnums=1)(1.0, X),
        "value_and_grad": lambda m: m.value_and_grad(lambda x: x["w"][0])(X),
        "linearize": lambda m: m.linearize(lambda x: x["w"][0], X),
        "checkpoint": lambda m: m.checkpoint(lambda x: x["w"][0])(X),
        "device_put": lambda m: m.device_put(X),
        "vmap": lambda m: m.vmap(lambda x: x)({"w": [np.ones(2), np.ones(2), "a"]}),
    },
    "primals[0]['w'][2]": {"jvp": lambda m: m.jvp(lambda x: x["w"][0], (X,), (X,))},
    "init['w'][2]": {"scan": lambda m: m.lax.scan(lambda c, x: (c, x), X, np.ones(2))},
    "xs['w'][2]": {"scan": lambda m: m.lax.scan(lambda c, x: (c, x), 1.0, {"w": [np.ones(2), np.ones(2), "a"]})},
    "init_val['w'][2]": {"while_loop": lambda m: m.lax.while_loop(lambda x: True, lambda x: x, X)},
    "operands[0]['w'][2]": {"cond": lambda m: m.lax.cond(True, lambda x: x, lambda x: x, X),
                            "switch": lambda m: m.lax.switch(1, [lambda x: x] * 2, X)},
}
CASES = [(path, name) for path, programs in TRANSFORMATIONS.items() for name in programs]


@pytest.mark.parametrize("path, name", CASES)
def test_path(path, name):
    program = TRANSFORMATIONS[path][name]
    with pytest.raises(Exception) as expected:
        program(jax)
    with pytest.raises(type(expected.value)) as actual:
        program(minijax)
    assert path in str(actual.value)


def test_vjp():
    """JAX's own class here is one it has no name for; a `TypeError` as everywhere else."""
    with pytest.raises(TypeError, match=r"x\['w'\]\[2\]"):
        minijax.vjp(lambda x: x["w"][0], X)


@pytest.mark.parametrize("value", [np.datetime64("2020"), np.array(["a"]), np.str_("a"), object(), int])
def test_other_things(value):
    for m in (jax, minijax):
        with pytest.raises(TypeError):
            m.jit(lambda x: x)(value)
