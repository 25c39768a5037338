"""Values of hijax types under `jit`, loops and branches: boxes, and types of one's own."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import minijax
from tests.experimental import boxes
from tests.oracle import both

PROGRAMS = {}


def program(run):
    """`run(jx, hj)` gives the same in both libraries. `hj` is JAX's private module of hijax."""
    PROGRAMS[run.__name__] = run
    return run


def hijax(jx):
    """JAX's module; ours, with the boxes of the tests. Functions that are jitted before the first
    such class exists do not take them."""
    if jx is minijax:
        return SimpleNamespace(**{**vars(boxes), **vars(import_module("minijax.experimental.hijax"))})
    return import_module(f"{jx.__name__}._src.hijax")


@program
def argument(jx, hj):
    traces = []

    @jx.jit
    def f(box, x):
        traces.append(x)
        box.set(box.get() + x)

    boxes = [hj.Box(1.0), hj.Box(2.0), hj.Box(3)]
    for box in boxes:
        f(box, 1.0)
    return [box.get() for box in boxes], len(traces)


@program
def argument_in_a_pytree(jx, hj):
    box = hj.Box(1.0)
    f = jx.jit(lambda d: d["box"].set(d["box"].get() + d["x"]))
    f({"box": box, "x": 2.0})
    f({"box": box, "x": np.float32(5)})
    return box.get()


@program
def no_shardings(jx, hj):
    """A prefix of `None`s says nothing of where values are, as when flax passes it."""
    box = hj.Box(1.0)

    def add(box, x):
        box.set(box.get() + x)
        return box.get(), {"twice": 2 * x}

    f = jx.jit(add, in_shardings=(None, None), out_shardings=(None, {"twice": None}))
    g = jx.jit(lambda x: add(box, x), out_shardings=(None, None))
    return f(box, 2.0), f(box, 3.0), g(4.0), box.get()


@program
def closed_over(jx, hj):
    box, traces = hj.Box(1.0), []

    @jx.jit
    def f(x):
        traces.append(x)
        box.set(box.get() * x)
        return box.get() + 1

    first, n = f(2.0), len(traces)
    return first, f(3.0), box.get(), len(traces) == n


@program
def closed_over_by_an_inner_function(jx, hj):
    box = hj.Box(5.0)
    inner = jx.jit(lambda x: box.set(box.get() + x))

    @jx.jit
    def outer(x):
        inner(x)
        inner(2 * x)
        return box.get()

    return outer(1.0), outer(2.0), box.get()


@program
def made_inside(jx, hj):
    @jx.jit
    def f(x):
        box = hj.Box(x)
        inner = jx.jit(lambda x: box.set([box.get(), x]))
        inner(1.0)
        return box.get()

    return f(3.0), f(4)


@program
def of_changing_structure(jx, hj):
    box = hj.Box(None)

    @jx.jit
    def f(x):
        held = box.get()
        box.set(x if held is None else {"old": held, "new": x})

    f(1.0)
    f(2.0)
    return box.get(), jx.experimental.cur_qdd(box).leaf_avals[0].str_short()


@program
def in_a_scan(jx, hj):
    box = hj.Box(1.0)

    def body(c, x):
        box.set(box.get() * x)
        return c + box.get(), box.get()

    out = jx.lax.scan(body, 0.0, np.arange(1.0, 4.0, dtype="float32"))
    jitted = jx.jit(lambda xs: jx.lax.scan(body, 0.0, xs))(np.ones(2, "float32"))
    return out, jitted, box.get()


@program
def in_loops(jx, hj):
    box = hj.Box(np.float32(1.0))

    def body(i):
        box.set(box.get() * 2)
        return i + 1

    n = jx.lax.while_loop(lambda i: i < 4, body, 0)
    jx.lax.fori_loop(0, 3, lambda i, c: box.set(box.get() + i) or c, 0)
    return n, box.get()


@program
def in_branches(jx, hj):
    box = hj.Box(1.0)
    add = lambda x: box.set(box.get() + x)
    jx.lax.cond(True, add, lambda x: None, 2.0)
    jx.jit(lambda p: jx.lax.cond(p, add, lambda x: None, 4.0))(False)
    jx.lax.switch(1, [lambda x: None, add, add], 8.0)
    return box.get()


@program
def as_an_operand_of_a_branch(jx, hj):
    def f(x):
        box = hj.Box(x)
        jx.lax.cond(x > 0, lambda box: box.set(box.get() + 1), lambda box: None, box)
        return box.get()

    return jx.jit(f)(1.0), jx.jit(f)(-1.0), f(2.0)


@program
def beside_a_derivative(jx, hj):
    box = hj.Box(0.0)

    def f(x):
        y = x * x
        box.set(box.get() + jx.lax.stop_gradient(y))
        return y + 0 * box.get()

    return (jx.grad(f)(3.0), jx.grad(jx.jit(f))(3.0), jx.jit(jx.grad(f))(3.0),
            jx.jvp(f, (2.0,), (1.0,)), jx.jvp(jx.jit(f), (2.0,), (1.0,)), box.get())


@program
def as_an_argument_beside_a_derivative(jx, hj):
    box = hj.Box(np.float32(2.0))

    def f(x, box):
        box.set(jx.lax.stop_gradient(2 * x))
        return x ** 2 + box.get()

    return jx.grad(f)(np.float32(3.0), box), box.get()


@program
def in_a_backward_pass(jx, hj):
    box = hj.Box(0.0)
    f = jx.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (box.set(ct) or ct,))
    return jx.grad(lambda x: 2 * f(3 * x))(1.0), box.get()


@program
def stages(jx, hj):
    box = hj.Box(1.0)
    f = jx.jit(lambda box, x: box.set(box.get() + x) or 2 * box.get())
    compiled = f.lower(box, 1.0).compile()
    outs = compiled(box, 1.0), compiled(box, 2.0)
    return outs, box.get(), jx.eval_shape(f, box, 1.0).shape, box.get()


@program
def rules_of_ones_own(jx, hj):
    """The tangent is stored, by a rule that says so."""
    class Keep(hj.HiPrimitive):
        def abstract_eval(self, box, x):
            return x, {hj.box_effect}

        def to_lojax(self, box, x):
            return x

        def jvp(self, primals, tangents):
            box, x = primals
            hj.box_set(box, tangents[1])
            return x, 10 * tangents[1]

    keep, box = Keep("keep"), hj.Box(0.0)
    f = jx.jit(lambda box, x: keep.bind(box, x))
    return jx.jvp(lambda x: f(box, x), (3.0,), (5.0,)), box.get()


@program
def boxes_of_tangents(jx, hj):
    def written(box, x):
        box.set(x * 2)
        return x + 1

    def read(box, x):
        return box.get() * x

    ones = np.float32(1)
    box, tangents = hj.Box(ones), hj.Box(np.float32(0))
    results = [jx.jvp(written, (box, 3.0), (tangents, 1.0)), box.get(), tangents.get()]
    box, tangents = hj.Box(np.float32(5)), hj.Box(np.float32(2))
    return results, jx.jvp(read, (box, 3.0), (tangents, 1.0))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    both(lambda jx: lambda: PROGRAMS[name](jx, hijax(jx)))


REFUSED = {
    "another type after a round": lambda jx, box: jx.lax.while_loop(
        lambda i: i < 2, lambda i: box.set([box.get()] * 2) or i + 1, 0),
    "a derivative that is stored": lambda jx, box: jx.grad(lambda x: box.set(x) or x)(1.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    errors = {"another type after a round": TypeError, "a derivative that is stored": Exception}
    both(lambda jx: lambda: REFUSED[name](jx, hijax(jx).Box(1.0)), raises=errors[name])


def test_a_rule_that_a_jaxpr_does_not_have_is_not_left_out():
    """JAX keeps the operation in the jaxpr. Here only arrays remain of it."""
    hj = hijax(minijax)

    class Pair:
        def __init__(self, x):
            self.x = x

    class PairType(hj.HiType):
        def __hash__(self):
            return 1

        def __eq__(self, other):
            return isinstance(other, PairType)

        def lo_ty(self):
            return [minijax.typeof(1.0)]

        def lower_val(self, pair):
            return [pair.x]

        def raise_val(self, x):
            return Pair(x)

    class Make(hj.HiPrimitive):
        def abstract_eval(self, x):
            return PairType(), set()

        def to_lojax(self, x):
            return Pair(x)

        def jvp(self, primals, tangents):
            raise AssertionError

    hj.register_hitype(Pair, lambda pair: PairType())
    make = Make("make")
    f = minijax.jit(lambda x: make.bind(x).x)
    assert f(2.0) == 2.0
    with pytest.raises(NotImplementedError, match="make has a rule for its derivative"):
        minijax.lax.scan(lambda c, _: (make.bind(c).x, None), 1.0, None, 2) and minijax.grad(
            lambda x: minijax.lax.scan(lambda c, _: (make.bind(c).x, None), x, None, 2)[0])(2.0)


def test_a_box_keeps_no_tracer_of_a_mapped_function():
    box = hijax(minijax).Box(None)
    with pytest.raises(NotImplementedError, match="Batching rule for 'box_set'"):
        minijax.vmap(box.set)(np.arange(3.0))
    assert box.get() is None
