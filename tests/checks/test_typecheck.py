"""`check_jaxpr` finds control flow whose parameters do not fit its jaxprs."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from tests.oracle import ask, jax, subject

X, XS = np.float32(0.5), np.ones(3, "float32")


def switch(jx):
    return lambda x: jx.lax.switch(jx.numpy.int32(x), [jx.numpy.sin, jx.numpy.cos], x)


def scan(jx):
    return lambda xs: jx.lax.scan(lambda c, x: (c * x, c), xs[0], xs)


def loop(jx):
    return lambda x: jx.lax.while_loop(lambda x: x < 3, lambda x: x + 1, x)


def jaxpr(jx, f, *args):
    return jx.make_jaxpr(f)(*args)


def sine(jx):
    return jaxpr(jx, jx.numpy.sin, X)


# The primitive, the program, its argument, and the parameters that are wrong.
WRONG = {
    "branches: inputs": ("cond", switch, X, lambda jx: {
        "branches": (sine(jx), jaxpr(jx, lambda x, y: x, X, X))}),
    "branches: input types": ("cond", switch, X, lambda jx: {
        "branches": (sine(jx), jaxpr(jx, lambda x: 1.0 * x, np.int32(1)))}),
    "branches: outputs": ("cond", switch, X, lambda jx: {
        "branches": (sine(jx), jaxpr(jx, lambda x: (x, x), X))}),
    "branches: output types": ("cond", switch, X, lambda jx: {
        "branches": (sine(jx), jaxpr(jx, lambda x: x > 0, X))}),
    "branches: operands": ("cond", switch, X, lambda jx: {
        "branches": (jaxpr(jx, lambda x, y: x, X, X),) * 2}),
    "branches: operand types": ("cond", switch, X, lambda jx: {
        "branches": (jaxpr(jx, lambda x: 1.0 * x, np.int32(1)),) * 2}),
    "jaxpr: carry": ("scan", scan, XS, lambda jx: {
        "jaxpr": jaxpr(jx, lambda c, x: (c > x, c), X, X)}),
    "jaxpr: initial carry": ("scan", scan, XS, lambda jx: {
        "jaxpr": jaxpr(jx, lambda c, x: (c, x), np.int32(1), X)}),
    "jaxpr: sequence": ("scan", scan, XS, lambda jx: {
        "jaxpr": jaxpr(jx, lambda c, x: (c, c), X, np.int32(1))}),
}
# Where JAX fails in its inner parts, or finds nothing.
OURS = {
    "length: other": ("scan", scan, XS, lambda jx: {"length": 4}, "length 4 is called with"),
    "cond_nconsts": ("while", loop, X, lambda jx: {"cond_nconsts": 1}, "the body takes float32"),
    "body_jaxpr": ("while", loop, X, lambda jx: {"body_jaxpr": jaxpr(jx, lambda x: x > 0, X)},
                   "the body returns bool"),
}


def complaint(jx, primitive, program, x, change):
    """What is said of the equation with the changed parameters, up to the equation's text."""
    made = jaxpr(jx, program(jx), x).jaxpr
    wrong = change(jx)
    eqns = [e.replace(params=e.params | wrong) if e.primitive.name == primitive else e
            for e in made.eqns]
    core = import_module(f"{jx.__name__}.extend.core")
    with pytest.raises(core.JaxprTypeError) as caught:
        core.check_jaxpr(made.replace(eqns=eqns))
    return str(caught.value).partition("in equation")[0].strip()


@pytest.mark.parametrize("name", WRONG)
def test_as_jax(name):
    """Both find it; the words are our own."""
    assert complaint(subject, *WRONG[name]) and ask(lambda: complaint(jax, *WRONG[name]))


@pytest.mark.parametrize("name", OURS)
def test_more_than_jax(name):
    *case, words = OURS[name]
    assert words in complaint(subject, *case)
