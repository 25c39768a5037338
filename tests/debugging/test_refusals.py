"""The settings `no_execution` and `allow_f16_reductions`."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import minijax
from minijax.core.extension import hooks
from tests.oracle import both


def within(setting, jx, value, run):
    with getattr(jx, setting)(value):
        return run()


def prepared(jx):
    """What a program may use that was made before."""
    double = jx.jit(lambda x: x * 2)
    x = jx.numpy.ones(2)
    return SimpleNamespace(x=x, double=double, out=double(x), compiled=double.lower(x).compile())


EXECUTED = {
    "operator": lambda jx, p: p.x + 1, "function": lambda jx, p: jx.numpy.sin(p.x),
    "lax": lambda jx, p: jx.lax.sin(p.x), "jit": lambda jx, p: p.double(p.x),
    "jit again": lambda jx, p: p.double(p.out), "new jit": lambda jx, p: jx.jit(jx.lax.sin)(p.x),
    "ones": lambda jx, p: jx.numpy.ones(2), "arange": lambda jx, p: jx.numpy.arange(3),
    "grad": lambda jx, p: jx.grad(lambda x: x * x)(1.0), "index": lambda jx, p: p.x[0],
    "vmap": lambda jx, p: jx.vmap(jx.lax.sin)(p.x), "key": lambda jx, p: jx.random.key(0),
    "scan": lambda jx, p: jx.lax.scan(lambda c, x: (c + x, x), 0.0, p.x),
    "compiled": lambda jx, p: p.compiled(p.x), "reshape": lambda jx, p: p.x.reshape(1, 2),
}
ALLOWED = {
    "make_jaxpr": lambda jx, p: jx.make_jaxpr(jx.numpy.sin)(1.0),
    "device_put": lambda jx, p: jx.device_put(1.0),
    "eval_shape": lambda jx, p: jx.eval_shape(jx.numpy.sin, p.x).shape,
    "NumPy": lambda jx, p: np.asarray(p.x),
    "compile": lambda jx, p: jx.jit(lambda x: x + 1).lower(1.0).compile() is None,
}


@pytest.mark.parametrize("name", EXECUTED)
def test_no_execution(name):
    def program(jx):
        p = prepared(jx)
        return lambda: within("no_execution", jx, True, lambda: EXECUTED[name](jx, p))

    both(program, raises=RuntimeError)


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_no_execution(name):
    both(lambda jx: lambda: within("no_execution", jx, True,
                                   lambda: ALLOWED[name](jx, prepared_outside(jx))))


def prepared_outside(jx):
    with jx.no_execution(False):
        return prepared(jx)


SUMS = {
    "sum": lambda jx, x: jx.numpy.sum(x), "mean": lambda jx, x: jx.numpy.mean(x),
    "max": lambda jx, x: jx.lax.reduce_max(x, (0,)),
    "one element": lambda jx, x: jx.lax.reduce_sum(x[:1], (0,)),
    "no axes": lambda jx, x: jx.lax.reduce_sum(x, ()),
    "float32": lambda jx, x: jx.lax.reduce_sum(x.astype("float32"), (0,)),
}
REFUSED_SUMS = {
    "reduce_sum": lambda jx, x: jx.lax.reduce_sum(x, (0,)),
    "staged": lambda jx, x: jx.make_jaxpr(lambda x: jx.lax.reduce_sum(x, (0,)))(x),
    "jit": lambda jx, x: jx.jit(lambda x: jx.lax.reduce_sum(x, (0,)))(x),
    "transposed": lambda jx, x: jx.grad(lambda y: jx.numpy.sum(x * y))(x[0]),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [*SUMS, *REFUSED_SUMS])
def test_f16_reductions(name, dtype):
    run = (SUMS | REFUSED_SUMS)[name]

    def program(jx, allowed):
        x = jx.numpy.ones(3, dtype)
        return lambda: within("allow_f16_reductions", jx, allowed, lambda: run(jx, x))

    both(lambda jx: program(jx, True))
    both(lambda jx: program(jx, False), raises=ValueError if name in REFUSED_SUMS else None)


def test_a_jitted_function_is_traced_again():
    total = lambda jx: jx.jit(lambda x: jx.lax.reduce_sum(x, (0,)))

    def program(jx):
        f, x = total(jx), jx.numpy.ones(3, "bfloat16")
        f(x)
        return lambda: within("allow_f16_reductions", jx, False, lambda: f(x))

    both(program, raises=ValueError)


def test_nothing_is_left_of_the_settings():
    before = hooks.evaluate, hooks.after_evaluation, hooks.stage_operands
    for setting, value in ((minijax.no_execution, True), (minijax.allow_f16_reductions, False)):
        with setting(value):
            assert hooks.evaluate != before[0]
    assert (hooks.evaluate, hooks.after_evaluation, hooks.stage_operands) == before
