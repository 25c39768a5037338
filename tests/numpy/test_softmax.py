"""`softmax` with a derivative of its own (`jax_softmax_custom_jvp`), and without."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

X = np.arange(6.0, dtype="float32").reshape(2, 3)
MASK = X > 1
USES = {
    "value": lambda jx, f: f(X),
    "jaxpr": lambda jx, f: jx.make_jaxpr(f)(X),
    "jvp": lambda jx, f: jx.jvp(f, (X,), (X + 1,)),
    "jaxpr of jvp": lambda jx, f: jx.make_jaxpr(lambda x: jx.jvp(f, (x,), (x,)))(X),
    "grad": lambda jx, f: jx.grad(lambda x: (x * f(x)).sum())(X),
    "grad of grad": lambda jx, f: jx.grad(
        lambda x: (jx.grad(lambda x: (x * f(x)).sum())(x) ** 2).sum())(X),
    "vmap": lambda jx, f: jx.vmap(f)(np.stack([X, X + X])),
}


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "mask"])
@pytest.mark.parametrize("axis", [-1, 0, None])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("use", USES)
def test_softmax(use, own, axis, mask):
    if use.startswith("jaxpr") and mask is not None:
        pytest.skip("JAX's text has np.int64 in the broadcast of a mask")

    def program(jx):
        def run():
            with jx.softmax_custom_jvp(own):
                return USES[use](jx, lambda x: jx.nn.softmax(x, axis, mask))
        return run

    both(program)


@in_both
def test_the_setting_is_part_of_the_key(jx):
    f = jx.jit(jx.grad(lambda x: jx.nn.softmax(x)[0, 1]))
    texts = []
    for own in (True, False, True):
        with jx.softmax_custom_jvp(own):
            texts.append("stop_gradient" in str(f.trace(X).jaxpr))
    return texts
