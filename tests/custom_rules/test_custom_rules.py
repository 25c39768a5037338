"""Functions with derivatives of their own under all transformations, against JAX."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.custom_rules.functions import FORWARD, REVERSE
from tests.oracle import both, in_both
from tests.oracle.composition import compose

X, Y = np.float32(0.7), np.float32(1.3)
XS, YS = np.linspace(0.2, 1.5, 3, dtype=np.float32), np.linspace(0.5, 2, 3, dtype=np.float32)

ANY = ["jit", "vmap", "vjp", "grad"]
DEEP = [names for n in range(3) for names in itertools.product(ANY, repeat=n)]
WITH_JVP = [("jvp",), ("linearize",), ("jvp", "jvp"), ("jit", "jvp", "vmap"), ("vmap", "jvp", "grad"),
            ("jvp", "vjp"), ("vjp", "jvp"), ("grad", "grad", "grad"), ("jvp", "grad", "vjp")]


def check(function, names):
    def program(jx):
        def run(*args):
            f, f_args = compose(jx, names, function(jx), args)
            return f(*f_args)

        return run

    both(program, X, Y)


@pytest.mark.parametrize("names", DEEP + WITH_JVP, ids="-".join)
@pytest.mark.parametrize("name", FORWARD)
def test_forward_rules(name, names):
    check(FORWARD[name], names)


@pytest.mark.parametrize("names", [*DEEP, ("grad", "grad", "grad"), ("jvp", "grad"), ("jvp",)],
                         ids="-".join)
@pytest.mark.parametrize("name", REVERSE)
def test_reverse_rules(name, names):
    check(REVERSE[name], names)


@pytest.mark.parametrize("name", FORWARD | REVERSE)
@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)], ids=str)
@in_both
def test_batched_in_some_arguments(jx, name, axes):
    f = (FORWARD | REVERSE)[name](jx)
    args = [xs if d == 0 else x for xs, x, d in zip((XS, YS), (X, Y), axes, strict=True)]

    def total(x, y):
        return jx.numpy.sum(jx.vmap(f, axes)(x, y))

    def each(*args):
        return (jx.vmap(f, axes)(*args), jx.vmap(jx.grad(f, (0, 1)), axes)(*args),
                jx.grad(total, (0, 1))(*args), jx.jit(jx.grad(jx.jit(total), (0, 1)))(*args))

    return each(*args)


@pytest.mark.parametrize("name", ["product", "product_by_parts", "product_reverse",
                                  "product_in_jit", "product_reverse_in_jit", "product_remat"])
@pytest.mark.parametrize("names", [(), ("grad",), ("vmap",), ("jit", "grad"), ("grad", "vmap"),
                                   ("vmap", "grad")], ids="-".join)
def test_jaxpr_text(name, names):
    if name == "product_remat" and "grad" in names:
        names = ()  # the derivative's variables have other names than JAX's, and nothing else

    def program(jx):
        def run(*args):
            f, f_args = compose(jx, names, (FORWARD | REVERSE)[name](jx), args)
            return jx.make_jaxpr(f)(*f_args)

        return run

    both(program, X, Y)
