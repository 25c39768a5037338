"""A `bwd` rule may return something for a cotangent that is zero: quantised layers return the new
state of an operand in place of its gradient. So it runs also if no cotangent reaches its call."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import in_both

X = np.arange(3, dtype=np.float32)
S = np.float32(7)


def functions(library):
    """`noted(x, s)` is x, with s + 100 as the gradient of s; `stop(x)` is 2 x without gradient."""
    noted = library.custom_vjp(lambda x, s: x)
    noted.defvjp(lambda x, s: (x, s), lambda s, ct: (ct, s + 100))
    stop = library.custom_vjp(lambda x: 2 * x)
    stop.defvjp(lambda x: (2 * x, None), lambda _, ct: (None,))
    return noted, stop


PROGRAMS = {
    "stopped": lambda j, q, stop, x, s: (stop(q(x, s)) * x).sum(),
    "nothing else": lambda j, q, stop, x, s: stop(q(x, s)).sum(),
    "dead": lambda j, q, stop, x, s: (q(x, s), (x * x).sum())[1],
    "stop_gradient": lambda j, q, stop, x, s: (j.lax.stop_gradient(q(x, s)) * x).sum(),
    "through a sine": lambda j, q, stop, x, s: (stop(j.numpy.sin(q(x, s))) * x).sum(),
    "twice": lambda j, q, stop, x, s: (stop(q(q(x, s), s * 2)) * x).sum(),
    "rounded": lambda j, q, stop, x, s: (j.numpy.round(q(x, s)) * x).sum(),
    "jit around": lambda j, q, stop, x, s: (j.jit(lambda x, s: stop(q(x, s)))(x, s) * x).sum(),
    "jit inside": lambda j, q, stop, x, s: (stop(j.jit(q)(x, s)) * x).sum(),
    "a result of jit": lambda j, q, stop, x, s: (
        j.jit(lambda x, s: (stop(q(x, s)), x * 2))(x, s)[1] * x).sum(),
    "checkpoint": lambda j, q, stop, x, s: (
        j.checkpoint(lambda x, s: stop(q(x, s)))(x, s) * x).sum(),
    "scan": lambda j, q, stop, x, s: (
        j.lax.scan(lambda c, _: (c * 2, stop(q(c, s))), x, None, 2)[1] * x).sum(),
    "a stopped scan": lambda j, q, stop, x, s: (
        stop(j.lax.scan(lambda c, _: (q(c, s), None), x, None, 2)[0]) * x).sum(),
    "cond": lambda j, q, stop, x, s: (
        j.lax.cond(x[0] < 1, lambda: stop(q(x, s)), lambda: x) * x).sum(),
    "a stopped cond": lambda j, q, stop, x, s: (
        stop(j.lax.cond(x[0] < 1, lambda: q(x, s), lambda: x)) * x).sum(),
    "vmap": lambda j, q, stop, x, s: (j.vmap(lambda y: stop(q(y, s)))(x) * x).sum(),
}
WRAPS = {
    "grad": lambda j, f: j.grad(f, (0, 1))(X, S),
    "jit(grad)": lambda j, f: j.jit(j.grad(f, (0, 1)))(X, S),
    "grad(jit)": lambda j, f: j.grad(j.jit(f), (0, 1))(X, S),
    "of a zero cotangent": lambda j, f: j.vjp(f, X, S)[1](np.float32(0)),
    "vmap(grad)": lambda j, f: j.vmap(j.grad(f, (0, 1)), (0, None))(np.stack([X, X + 1]), S),
}


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("name", PROGRAMS)
@in_both
def test_values(library, name, wrap):
    rules = functions(library)
    return WRAPS[wrap](library, lambda x, s: PROGRAMS[name](library, *rules, x, s))


@in_both
def test_the_program_of_a_stopped_loop(library):
    _, stop = functions(library)
    lax, sin = library.lax, library.numpy.sin

    def f(x):
        return (stop(lax.fori_loop(0, 2, lambda i, c: sin(c), x)) * x).sum()

    return str(library.make_jaxpr(library.grad(f))(X)).split("broadcast_in_dim")[-1]
