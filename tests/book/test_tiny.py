"""tiny agrees with JAX: cut after each chapter, and as a whole."""

from __future__ import annotations

import ast
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import markdown
import numpy as np
import pytest
from weaver import notebooks, tiny as site
from weaver.live import not_in_micropython

from chapters.toy_models import digits
from tests.book.tiny_programs import (
    CHAPTERS,
    FOLDER,
    LOOPS,
    TINY,
    assert_same,
    flat,
    from_module,
    random_program,
    source_until,
    tiny,
)
from tools import reading
from tools.codelines import code_lines

pytestmark = pytest.mark.live_jax
VECTOR = np.array([0.5, -1.2, 2.0])
MATRIX = np.array([[0.3, -0.7, 1.5], [2.0, 0.1, -0.4]])

# ----------------------------------------------------------------------------------------------
# Each chapter, on its own words

OF_CHAPTER = {
    1: [
        lambda t: lambda x, v, m: [t.add(x, v), t.mul(m, v), t.neg(m), t.sin(v), t.cos(m), t.exp(v)],
        lambda t: lambda x, v, m: [t.log(t.exp(m)), t.greater(m, x), t.greater(v, 0.0)],
        lambda t: lambda x, v, m: [t.reduce_sum(m), t.reduce_sum(m, (0,)), t.reduce_sum(m, (-1,))],
        lambda t: lambda x, v, m: [t.transpose(m), t.transpose(m, (0, 1)), t.dot(m, v), t.dot(v, v)],
        lambda t: lambda x, v, m: [t.dot(m, t.transpose(m)), t.dot(v, t.transpose(m))],
        lambda t: lambda x, v, m: [t.broadcast(x, (2, 3)), t.broadcast(v, (3, 2), (0,))],
    ],
    2: [
        lambda t: lambda x, v, m: t.jvp(lambda x: x * t.sin(x), (x,), (1.0,)),
        lambda t: lambda x, v, m: t.jvp(lambda v: t.exp(t.dot(m, v)) - v @ v, (v,), (t.cos(v),)),
        lambda t: lambda x, v, m: t.jvp(lambda v, m: t.log(t.reduce_sum(t.exp(m @ v))), (v, m), (v, m)),
        lambda t: lambda x, v, m: t.jvp(lambda v: v * (v > 0.0) + 3.0 - (v < 1.0), (v,), (v,)),
        lambda t: lambda x, v, m: t.jvp(lambda x: 3.0, (x,), (1.0,)),
        lambda t: lambda x, v, m: t.jvp(
            lambda x: t.jvp(lambda y: t.sin(x * y) * y, (x,), (1.0,))[1], (x,), (1.0,)),
        # perturbation confusion: d/dx x · (d/dy (x + y)) is 1, and not 2
        lambda t: lambda x, v, m: t.jvp(
            lambda x: x * t.jvp(lambda y: x + y, (1.0,), (1.0,))[1], (1.0,), (1.0,)),
    ],
    3: [
        lambda t: lambda x, v, m: t.tree_map(lambda a, b: a + b, {"b": [x, (v,)], "a": m}, {"b": [x, (v,)], "a": m}),
        lambda t: lambda x, v, m: t.jvp(
            lambda p, m: {"y": t.dot(m, p["w"]) + p["b"], "z": (p["b"], 1.0)},
            ({"w": v, "b": x}, m), ({"w": v, "b": 1.0}, m)),
    ],
    4: [
        lambda t: lambda x, v, m: t.vmap(lambda v: t.sin(v) * v + x)(m),
        lambda t: lambda x, v, m: t.vmap(lambda a, p: t.dot(p[0], a) + p[1], (0, None))(m, (v, x)),
        lambda t: lambda x, v, m: t.vmap(lambda a: (t.reduce_sum(a), 1.0, t.broadcast(a, (2, 3))))(m),
        lambda t: lambda x, v, m: t.vmap(lambda a: t.vmap(lambda b: t.dot(a, b) * x)(m))(m),
        lambda t: lambda x, v, m: t.vmap(lambda a: t.transpose(t.dot(t.broadcast(a, (3, 3)), t.transpose(m))))(m),
        lambda t: lambda x, v, m: t.vmap(lambda a: t.jvp(lambda b: t.exp(b) * a, (v,), (a,)))(m),
        lambda t: lambda x, v, m: t.jvp(t.vmap(lambda a: a * (a > x)), (m,), (m,)),
        lambda t: lambda x, v, m: t.jvp(lambda x: t.vmap(lambda a: t.cos(a * x))(v), (x,), (1.0,)),
        lambda t: lambda x, v, m: t.vmap(lambda p: p["a"] * p["b"])({"a": v, "b": v}),
    ],
    6: [
        lambda t: lambda x, v, m: t.jit(lambda x, v, m: (t.dot(m, v) * x, {"a": t.transpose(m)}))(x, v, m),
        lambda t: lambda x, v, m: t.jit(t.vmap(lambda a: t.dot(m, a)))(m),
        lambda t: lambda x, v, m: t.jit(lambda x: t.jvp(lambda x: t.log(x) * 1e-5 * x, (x,), (1.0,)))(2.0),
        lambda t: lambda x, v, m: t.jit(lambda v: (t.greater(v, 0.0), t.reduce_sum(m) + v, 1.0, v))(v),
        lambda t: lambda x, v, m: t.vmap(t.jit(lambda a: t.exp(t.reduce_sum(a) * 1e-3)))(m),
        lambda t: lambda x, v, m: t.jit(lambda v: v * np.inf)(v),
        lambda t: lambda x, v, m: t.jit(t.vmap(t.vmap(lambda a, b: t.dot(a, b), (None, 0)), (0, None)))(m, m),
    ],
    7: [
        lambda t: lambda x, v, m: _applied(t.linearize(lambda v: t.sin(v) * v, v), v),
        lambda t: lambda x, v, m: _applied(t.linearize(lambda v, m: {"y": t.dot(m, v), "c": 2.0}, v, m), v, m),
        lambda t: lambda x, v, m: t.vmap(t.linearize(lambda v: t.exp(t.dot(m, v)), v)[1])(m),
        lambda t: lambda x, v, m: t.vmap(lambda a: _applied(t.linearize(t.cos, a), a))(m),
    ],
    8: [
        lambda t: lambda x, v, m: t.grad(lambda x: x * t.sin(x))(x),
        lambda t: lambda x, v, m: t.grad(lambda p, m: t.reduce_sum(t.exp(t.dot(m, p["w"]) + p["b"])))({"w": v, "b": x}, m),
        lambda t: lambda x, v, m: _applied(t.vjp(lambda v, m: (t.dot(m, v), t.sin(v)), v, m), (np.ones(2), v)),
        lambda t: lambda x, v, m: t.grad(lambda m: t.reduce_sum(t.dot(t.transpose(m), m) * t.dot(v, v)))(m),
        lambda t: lambda x, v, m: t.grad(lambda x, y: y * 2.0)(x, x),
        lambda t: lambda x, v, m: t.grad(t.grad(t.grad(lambda x: t.exp(x) * x * x)))(x),
        lambda t: lambda x, v, m: t.grad(lambda x: x * t.grad(lambda y: x + y)(1.0))(1.0),
        lambda t: lambda x, v, m: t.vmap(t.grad(lambda a, b: t.reduce_sum(t.sin(a) * b)), (0, None))(m, v),
        lambda t: lambda x, v, m: t.jit(t.vmap(t.grad(lambda a: t.log(t.reduce_sum(t.exp(a))))))(m),
        lambda t: lambda x, v, m: t.grad(t.jit(lambda v: t.reduce_sum(t.jit(t.sin)(v) * v)))(v),
        lambda t: lambda x, v, m: t.grad(lambda v: t.reduce_sum(t.vmap(lambda a: t.sin(t.dot(a, v)))(m)))(v),
        lambda t: lambda x, v, m: _hessian_forward(t, lambda v: t.reduce_sum(t.exp(t.dot(m, v)) * x), v),
        lambda t: lambda x, v, m: _hessian_reverse(t, lambda v: t.reduce_sum(t.exp(t.dot(m, v)) * x), v),
        lambda t: lambda x, v, m: t.jit(lambda v: _hessian_forward(t, lambda v: t.reduce_sum(t.sin(v) * v * v), v))(v),
    ],
}
OF_CHAPTER[5] = []


def _applied(value_and_fun, *args):
    value, fun = value_and_fun
    return value, fun(*args)


def _hessian_forward(t, f, v):
    return t.vmap(lambda e: t.jvp(t.grad(f), (v,), (e,))[1])(np.eye(3))


def _hessian_reverse(t, f, v):
    return t.vmap(lambda e: t.grad(lambda v: t.reduce_sum(t.grad(f)(v) * e))(v))(np.eye(3))


@pytest.mark.parametrize("chapter, number", [(c, i) for c in CHAPTERS for i in range(len(OF_CHAPTER[c]))])
def test_cut_after_a_chapter(chapter, number):
    """The chapter's words, in tiny as it stands then."""
    assert_same(OF_CHAPTER[chapter][number], 0.8, VECTOR, MATRIX, using=tiny(chapter))


@pytest.mark.parametrize("chapter, number", [(c, i) for c in CHAPTERS for i in range(len(OF_CHAPTER[c]))])
def test_later_chapters_change_nothing(chapter, number):
    cut, whole = (flat(OF_CHAPTER[chapter][number](t)(0.8, VECTOR, MATRIX)) for t in (tiny(chapter), tiny()))
    for x, y in zip(cut, whole, strict=True):
        np.testing.assert_equal(x, y)


def test_jaxprs():
    """Chapter 5: what is written down computes the same, and is written as is said."""
    t = tiny(5)
    jaxpr = t.make_jaxpr(lambda x: x * t.sin(x))(3.0)
    assert repr(jaxpr) == "{ lambda a:f64[]. let\n    b:f64[] = sin a\n    c:f64[] = mul a b\n  in (c) }"
    assert t.eval_jaxpr(jaxpr, 3.0) == [3.0 * np.sin(3.0)]
    jaxpr = t.make_jaxpr(lambda v: t.reduce_sum(v * MATRIX + 2.0, (0,)))(VECTOR)
    assert "reduce_sum[axes=(0,)]" in repr(jaxpr) and repr(jaxpr).startswith("{ lambda a:f64[2,3] b:f64[3].")
    np.testing.assert_allclose(t.eval_jaxpr(jaxpr, MATRIX, VECTOR)[0], (VECTOR * MATRIX + 2).sum(0))


# ----------------------------------------------------------------------------------------------
# The whole, on random programs and on models

WAYS = {
    "value": lambda t, f: f,
    "jvp": lambda t, f: lambda *args: t.jvp(f, args, args),
    "grad": lambda t, f: t.grad(lambda args: f(*args)),
    "jit": lambda t, f: lambda *args: t.grad(lambda args: f(*args))(args),
    "vjp of jvp": lambda t, f: t.grad(lambda args: t.jvp(f, args, args)[1]),
    "jvp of grad": lambda t, f: lambda args: t.jvp(t.grad(lambda args: f(*args)), (args,), (args,)),
    "grad of grad": lambda t, f: t.grad(lambda args: _total(t, t.grad(lambda args: f(*args))(args))),
    "vmap of grad": lambda t, f: lambda x, v, m: t.vmap(
        lambda s: t.grad(lambda args: f(*args))((x * s, v * s, m)))(VECTOR),
    "grad of vmap": lambda t, f: t.grad(lambda args: t.reduce_sum(t.vmap(lambda s: f(args[0] * s, args[1], args[2] * s))(VECTOR))),
    "linearize": lambda t, f: lambda *args: _applied(t.linearize(f, *args), *args),
}  # fmt: skip
TAKE_A_TUPLE = {"grad", "vjp of jvp", "jvp of grad", "grad of grad", "grad of vmap"}


def _total(t, tree):
    return sum(t.reduce_sum(x * x) for x in tree)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_random_programs(way, seed):
    args = [(0.8, VECTOR, MATRIX)] if way in TAKE_A_TUPLE else [0.8, VECTOR, MATRIX]
    jitted = random.Random(seed).random() < 0.5

    def program(t):
        f = WAYS[way](t, random_program(seed * 7 + len(way))(t))
        return t.jit(f) if jitted or way == "jit" else f

    assert_same(program, *args, rtol=1e-7, atol=1e-8)


def test_a_line_is_fitted():
    """Gradient descent on a slope and an offset, compiled, for two hundred steps."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    y = 2.0 * x - 1.0 + 0.01 * rng.normal(size=50)

    def fit(t):
        def loss(p, x, y):
            error = p["slope"] * x + p["offset"] - y
            return t.dot(error, error) * (1 / 50)

        step = t.jit(lambda p, x, y: t.tree_map(lambda p, g: p - 0.1 * g, p, t.grad(loss)(p, x, y)))

        def run(p):
            for _ in range(200):
                p = step(p, x, y)
            return p

        return run

    assert_same(fit, {"slope": 0.0, "offset": 0.0})
    line = fit(tiny())({"slope": 0.0, "offset": 0.0})
    assert abs(line["slope"] - 2) < 0.01 and abs(line["offset"] + 1) < 0.01


def network_loss(t):
    """Two layers, written for one image; `vmap` makes it a batch."""
    def scores(p, image):
        hidden = t.dot(p["w1"], image) + p["b1"]
        return t.dot(p["w2"], hidden * t.greater(hidden, 0.0)) + p["b2"]

    def loss_of_one(p, image, label):
        s = scores(p, image)
        return t.log(t.reduce_sum(t.exp(s))) - t.dot(s, label)

    def loss(p, images, labels):
        return t.reduce_sum(t.vmap(loss_of_one, (None, 0, 0))(p, images, labels)) * (1 / labels.shape[0])

    return scores, loss


def test_digits_are_learned():
    """The first step is JAX's; after some epochs, nine of ten digits that it has not seen are right."""
    images, labels, test_images, test_labels = digits.load()
    rng = np.random.default_rng(0)
    p = {"w1": rng.normal(size=(32, 64)) * 0.18, "b1": np.zeros(32),
         "w2": rng.normal(size=(10, 32)) * 0.25, "b2": np.zeros(10)}  # fmt: skip
    assert_same(lambda t: t.jit(t.grad(network_loss(t)[1])), p, images[:20], np.eye(10)[labels[:20]])

    t = tiny()
    scores, loss = network_loss(t)
    step = t.jit(lambda p, x, y: t.tree_map(lambda p, g: p - 0.5 * g, p, t.grad(loss)(p, x, y)))
    for _ in range(6):
        for x, y in digits.batches(rng, images, np.eye(10)[labels], 100):
            p = step(p, x, y)
    found = np.argmax(t.jit(t.vmap(scores, (None, 0)))(p, test_images), axis=1)
    assert np.mean(found == test_labels) > 0.9


# ----------------------------------------------------------------------------------------------
# Loops, under every transformation


def _loops():
    return from_module(LOOPS, tiny=tiny())


def _power(t):
    """A carry beside a constant, a result at each step, and an array from outside."""
    def f(args):
        x, v, m = args
        (y, w), zs = t.scan(lambda c, s: ((t.sin(c[0] * s) + x, c[1] * x), c[0] * t.reduce_sum(c[1] * VECTOR)), (x, v), m)
        return y * x + t.reduce_sum(w) + t.reduce_sum(t.cos(zs))

    return lambda x, v, m: f((x, v, t.reduce_sum(m, (1,))))


def _rows(t):
    """Slices that are vectors; backwards; two results; one carry without a derivative."""
    def f(x, v, m):
        def body(c, row):
            return {"c": c["c"] * t.dot(row, v), "n": c["n"] + 1.0}, (c["c"] + row, c["n"])

        last, (rows, count) = t.scan(body, {"c": x, "n": 0.0}, m, reverse=True)
        return last["c"] + t.reduce_sum(t.sin(rows) * v) + t.dot(count, count) * x

    return f


def _choice(t):
    """Branches that use different values from outside; a choice in a choice."""
    def f(x, v, m):
        inner = lambda u: t.cond(t.greater(t.reduce_sum(u), 2.0), lambda u: u * x, lambda u: t.exp(u) * v, u)
        y = t.cond(t.greater(x, 0.5), lambda u, x: inner(u) + VECTOR, lambda u, x: t.sin(u) * x, v, x)
        return t.reduce_sum(y * v)

    return f


def _choice_in_a_loop(t):
    """Each step of a loop chooses, and a branch holds a loop."""
    def f(x, v, m):
        def body(c, s):
            total = lambda c: t.scan(lambda a, b: (a * x + b, a), c, v)[0]
            return t.cond(t.greater(s, 0.0), total, lambda c: t.sin(c) * s, c), c * s

        last, ys = t.scan(body, x, t.reduce_sum(m, (1,)))
        return last + t.dot(ys, ys)

    return f


def _loop_in_a_loop(t):
    def f(x, v, m):
        def body(c, row):
            inner, ys = t.scan(lambda a, b: (t.sin(a * c) + b, a * b), x, row)
            return inner + c * x, ys

        last, ys = t.scan(body, x, m)
        return last * t.reduce_sum(ys * v)

    return f


def _without_derivative(t):
    """The loop needs nothing that is differentiated, or not all of it."""
    def f(x, v, m):
        last, ys = t.scan(lambda c, s: (c + s, c), 0.0, VECTOR)
        other, _ = t.scan(lambda c, s: (c * 0.5 + last, s), x, ys)
        return other * x + t.reduce_sum(v * ys)

    return f


LOOP_PROGRAMS = [_power, _rows, _choice, _choice_in_a_loop, _loop_in_a_loop, _without_derivative]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", range(len(LOOP_PROGRAMS)))
def test_loops_under_each_transformation(way, number):
    """`vmap of grad` maps over a predicate, too, and takes either branch."""
    args = [(0.8, VECTOR, MATRIX)] if way in TAKE_A_TUPLE else [0.8, VECTOR, MATRIX]

    def program(t):
        f = WAYS[way](t, LOOP_PROGRAMS[number](t))
        return t.jit(f) if way == "jit" else f

    assert_same(program, *args, using=_loops(), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("program", [
    lambda t: lambda v: t.scan(lambda c, x: (c * x, {"y": c}), 1.0, v),
    lambda t: lambda v: t.scan(lambda c, x: ((c[1], x), x * c[0]), (v, v), t.broadcast(v, (4, 3))),
    lambda t: lambda v: t.scan(lambda c, x: (c, 2.0), 1.0, v[:0]),
    lambda t: lambda v: t.scan(lambda c, x: ((c[0] + x[0], 1.0), x[1]), (0.0, 0.0), (v, t.broadcast(v, (3, 3)))),
    lambda t: lambda v: t.vmap(lambda a: t.scan(lambda c, x: (c + a, x * a), a, v))(v),
    lambda t: lambda v: t.vmap(lambda a: t.cond(a, lambda x: x * a, lambda x: x, v))(t.greater(v, 0.0)),
    lambda t: lambda v: t.cond(1.0, lambda: v, lambda: v * 2.0),
    lambda t: lambda v: t.cond(0.0, lambda p: (p["a"], 1.0), lambda p: (p["b"], 2.0), {"a": v, "b": v * v}),
])  # fmt: skip
def test_loops(program):
    assert_same(program, VECTOR, using=_loops())


def test_an_example_that_does_not_choose_a_branch_does_not_feel_its_infinity():
    def f(t):
        return lambda x: t.cond(t.greater(x, 0.0), lambda x: t.log(x), lambda x: x * x, x)

    points = np.array([0.5, 0.0, 2.0])
    with np.errstate(all="ignore"):
        assert_same(lambda t: t.vmap(t.grad(f(t))), points, using=_loops())
        assert_same(lambda t: t.grad(lambda x: t.reduce_sum(t.vmap(f(t))(x))), points, using=_loops())
        assert_same(lambda t: lambda x: t.jvp(t.vmap(f(t)), (x,), (x,)), points, using=_loops())


LOOPS_REFUSED = [
    lambda t: t.scan(lambda c, x: (c * VECTOR, x), 1.0, VECTOR),
    lambda t: t.scan(lambda c, x: ((c, c), x), 1.0, VECTOR),
    lambda t: t.scan(lambda c, x: (c, x), 1.0, (VECTOR, np.ones(2))),
    lambda t: t.cond(1.0, lambda: 1.0, lambda: (1.0,)),
    lambda t: t.cond(1.0, lambda: 1.0, lambda: VECTOR),
]


@pytest.mark.parametrize("number", range(len(LOOPS_REFUSED)))
def test_loops_refused(number):
    with pytest.raises((TypeError, ValueError, IndexError)):
        LOOPS_REFUSED[number](_loops())


def test_a_loop_is_one_equation_and_its_split_is_two():
    """However long it is. The second loop runs backwards, on the residuals of the first."""
    t = _loops()
    f = lambda x: t.scan(lambda c, s: (t.sin(c) * s, c), x, np.ones(1000))[0]
    assert len(t.make_jaxpr(f)(1.0).eqns) == 1
    loops = [eqn for eqn in t.make_jaxpr(t.grad(f))(1.0).eqns if eqn.primitive is t.scan_p]
    assert [loop.params["reverse"] for loop in loops] == [False, True]


# ----------------------------------------------------------------------------------------------
# What does not fit is refused

REFUSED = [
    lambda t: t.add(VECTOR, np.ones(2)),
    lambda t: t.dot(MATRIX, MATRIX),
    lambda t: t.dot(MATRIX, np.ones((3, 3, 2))),
    lambda t: t.broadcast(VECTOR, (4,)),
    lambda t: t.broadcast(VECTOR, (3, 3), (-1,)),
    lambda t: t.broadcast(np.ones((3, 3)), (3, 3), (1, 0)),
    lambda t: t.transpose(MATRIX, (0, 0)),
    lambda t: t.reduce_sum(MATRIX, (2,)),
    lambda t: t.sin("3"[:0]),
    lambda t: t.jvp(t.sin, (VECTOR,), (1.0,)),
    lambda t: t.jvp(t.sin, (VECTOR,), ([VECTOR],)),
    lambda t: t.vmap(t.add)(VECTOR, np.ones(2)),
    lambda t: t.vmap(t.sin, 1)(MATRIX),
    lambda t: t.vmap(t.add, (0,))(VECTOR, VECTOR),
    lambda t: t.vmap(lambda x: x if x > 0.0 else -x)(VECTOR),
    lambda t: t.vmap(lambda x: x == 1.0)(VECTOR),
    lambda t: t.jit(lambda x: x if x > 0.0 else -x)(1.0),
    lambda t: t.grad(t.sin)(VECTOR),
    lambda t: t.grad(lambda x: None)(1.0),  # a forgotten `return`
    lambda t: t.add(None, 1.0),
    lambda t: t.linearize(t.sin, VECTOR)[1](1.0),
    lambda t: t.vjp(t.sin, VECTOR)[1](1.0),
    lambda t: t.vjp(t.sin, VECTOR)[1]((VECTOR,)),
    lambda t: t.tree_map(t.add, [1.0], (1.0,)),
    lambda t: t.eval_jaxpr(t.make_jaxpr(t.sin)(1.0), VECTOR),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    with pytest.raises((TypeError, ValueError, IndexError)):
        REFUSED[number](tiny())


def test_a_tracer_that_outlives_its_trace_is_refused():
    t, kept = tiny(), []
    t.vmap(lambda x: kept.append(x) or x)(VECTOR)
    with pytest.raises(TypeError):
        t.sin(kept[0])


def test_an_error_leaves_the_current_trace_as_it_was():
    t = tiny()
    with pytest.raises(ZeroDivisionError):
        t.vmap(lambda x: x * (1 // 0))(VECTOR)
    assert isinstance(t.state.trace, t.EvalTrace)


# ----------------------------------------------------------------------------------------------
# Its size, and the Python that it is written in


def steps(path: Path) -> list[str]:
    """The parts that the book shows one after the other."""
    return re.split(r"(?m)^(?=# (?:====|----) )", path.read_text())[1:]


FILES = {"tiny.py": 400, "tiny_loops.py": 150}


@pytest.mark.parametrize("name", FILES)
def test_it_is_small(name, tmp_path):
    assert code_lines(FOLDER / name) <= FILES[name]
    for step in steps(FOLDER / name):
        (tmp_path / "step.py").write_text(step)
        assert code_lines(tmp_path / "step.py") <= 20, step.splitlines()[0]


def test_the_chapters_are_in_order():
    heads = re.findall(r"(?m)^# ==== chapter (\d)", TINY.read_text())
    assert heads == [str(chapter) for chapter in CHAPTERS]
    for earlier, later in zip(CHAPTERS, CHAPTERS[1:]):
        assert source_until(later).startswith(source_until(earlier))


def test_the_map_of_the_steps_is_whole():
    """Each step is in the map, in order, and each chapter's code is on the page."""
    page = (FOLDER / "README.md").read_text()
    rows = re.search(r"```tiny-map\n(.*?)```", page, re.DOTALL)[1].splitlines()
    assert [row.split(" | ")[0] for row in rows] == list(site.steps())
    assert site.map_table(rows).count("<tr>") == len(rows) + 1
    assert re.findall(r"(?m)^chapter (\d)$", page) == [str(chapter) for chapter in site.chapters()]


def test_each_step_says_what_the_library_has():
    for number in site.steps():
        html = markdown.markdown(f"```tiny\n{number}\n```", extensions=["weaver.extension"])
        assert re.search(r'href="../source/[\w/]+\.html#L\d+"', html), number
        assert "<b>In the library</b>" in html


def test_the_site_shows_and_offers_the_steps():
    html = markdown.markdown("```tiny\n2.1\nchapter 3\n```\n\n```tiny-files\n```\n", extensions=["weaver.extension"])
    assert "primitive_jvps" in html and 'id="step-3.1"' in html and "after-chapter-9/tiny_loops.py" in html
    assert [source for uri, source in site.downloads() if "tiny.py" in uri][:8] == [source_until(c).rstrip() + "\n" for c in CHAPTERS]
    with pytest.raises(LookupError):
        site.find("1.99")


def test_a_step_in_a_chapter_counts_and_is_in_its_notebook(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("# A chapter\n\nText.\n\n```tiny\n2.1\n2.2\n```\n")
    shown = [site.find(number).text for number in ("2.1", "2.2")]
    assert reading.measure(page).listing_lines == len("\n".join(shown).splitlines())
    cells = json.loads(notebooks.text(page))["cells"]
    source = "".join("".join(cell["source"]) for cell in cells)
    assert all(text in source for text in shown)


NUMPY_IS = set("add multiply negative sin cos exp log greater where sum reshape broadcast_to transpose matmul shape asarray zeros ones eye arange".split())


@pytest.mark.parametrize("name", [*FILES, "numpy_stand_in.py"])
def test_it_is_in_the_common_subset(name):
    tree = ast.parse((FOLDER / name).read_text())
    assert [ast.unparse(node) for node in not_in_micropython(tree)] == []


@pytest.mark.parametrize("text", ["[*xs]", "(*xs, 1)", "{**d}", "import dataclasses", "from typing import Any", "x: int = 1",
                                  "def f(a, /): pass", "zip(a, b, strict=True)", "match x:\n  case 1: pass"])  # fmt: skip
def test_the_check_of_the_subset_finds(text):
    assert list(not_in_micropython(ast.parse(text)))


@pytest.mark.parametrize("name", FILES)
def test_the_functions_of_numpy_that_it_needs(name):
    used = set(re.findall(r"\bnp\.(\w+)", (FOLDER / name).read_text()))
    assert used <= NUMPY_IS


# ----------------------------------------------------------------------------------------------
# The stand-in for NumPy

stand_in = from_module(FOLDER / "numpy_stand_in.py")
CALLS = {
    "add": [(1.0, 2.0), (VECTOR, MATRIX), (MATRIX, 1), ([1.0, 2.0], 3.0)],
    "multiply": [(1.0, 2.0), (VECTOR, MATRIX), (MATRIX, 1)],
    "negative": [(1.0,), (MATRIX,)],
    "sin": [(1.0,), (MATRIX,), (np.inf,)], "cos": [(MATRIX,), (np.inf,)],
    "exp": [(MATRIX,), (1000.0,)], "log": [(np.exp(MATRIX),), (0.0,), (-1.0,)],
    "greater": [(MATRIX, VECTOR), (1.0, 1.0)], "where": [(np.array([1.0, 0.0, 1.0]), VECTOR, 2 * VECTOR)],
    "sum": [(MATRIX, (0,)), (MATRIX, (0, 1)), (MATRIX, ()), (2.0, ()), (np.ones((0, 2)), (0,))],
    "reshape": [(MATRIX, (3, 2)), (MATRIX, (1, 6)), (2.0, (1, 1)), (np.ones((1, 1)), ())],
    "broadcast_to": [(2.0, (2, 3)), (VECTOR, (2, 3)), (VECTOR.reshape(3, 1), (3, 2)), (np.ones((1, 3)), (0, 3))],
    "transpose": [(MATRIX, (1, 0)), (np.arange(24.0).reshape(2, 3, 4), (2, 0, 1)), (1.0, ())],
    "matmul": [(MATRIX, MATRIX.T), (MATRIX, VECTOR), (np.arange(24.0).reshape(2, 3, 4), np.arange(16.0).reshape(2, 4, 2))],
    "asarray": [(3, float), ([[1, 2], [3, 4]], float), (MATRIX, float)],
    "shape": [(3.0,), ([[1.0], [2.0]],)],
    "zeros": [(3,), ((2, 3),), ((),)], "ones": [(3,), ((2, 3),), ((0, 2),)], "eye": [(1,), (3,)], "arange": [(3.0,), (0.0,)],
}  # fmt: skip


def in_stand_in(x):
    """An array in the stand-in's class."""
    return stand_in.asarray(x.tolist()) if isinstance(x, np.ndarray) and x.size else (
        stand_in.ndarray(x.shape, []) if isinstance(x, np.ndarray) else x)  # fmt: skip


@pytest.mark.parametrize("name", sorted(NUMPY_IS))
def test_the_stand_in_agrees_with_numpy(name):
    assert CALLS[name]
    for args in CALLS[name]:
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(*args) if name != "where" else np.where(args[0] != 0, *args[1:])
        found = getattr(stand_in, name)(*map(in_stand_in, args))
        assert stand_in.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(np.array(found.tolist() if hasattr(found, "tolist") else found, float).reshape(np.shape(wanted)),
                                   np.asarray(wanted, float), rtol=1e-12)  # fmt: skip


def test_tiny_runs_on_the_stand_in():
    """The same results as on NumPy, here without MicroPython."""
    t = from_module(TINY, numpy=stand_in)
    t.client = None
    vector, matrix = map(in_stand_in, (VECTOR, MATRIX))

    def program(t, v, m):
        loss = lambda m: t.log(t.reduce_sum(t.exp(t.sin(t.dot(m, v)))))
        return t.jit(t.grad(loss))(m), t.vmap(t.grad(lambda a: t.reduce_sum(a * a)))(m)

    for found, wanted in zip(program(t, vector, matrix), program(tiny(), VECTOR, MATRIX)):
        np.testing.assert_allclose(np.array(found.tolist()), wanted, rtol=1e-12)


def test_loops_run_on_the_stand_in():
    t = from_module(TINY, numpy=stand_in)
    t = from_module(LOOPS, tiny=t, numpy=stand_in)
    v, m = map(in_stand_in, (VECTOR, MATRIX))
    for make in LOOP_PROGRAMS[1], LOOP_PROGRAMS[4]:
        found = t.grad(lambda args: make(t)(*args))((0.8, v, m))
        wanted = _loops().grad(lambda args: make(_loops())(*args))((0.8, VECTOR, MATRIX))
        for x, y in zip(found, wanted):
            np.testing.assert_allclose(np.array(x.tolist() if hasattr(x, "tolist") else x), y, rtol=1e-9)


# ----------------------------------------------------------------------------------------------
# MicroPython itself, where npm has installed it

BROWSER = Path(__file__).resolve().parents[1] / "browser"
PROGRAM = """
import numpy as np
from tiny import *
f = lambda x: x * sin(x)
m, v = np.asarray([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]), np.asarray([1.0, -2.0, 0.5])
loss = lambda p, m: log(reduce_sum(exp(dot(m, p["w"]) + p["b"])))
g = jit(grad(loss))({"w": v, "b": 1e-05}, m)
from tiny_loops import cond, scan
h = lambda x: scan(lambda c, s: (cond(greater(s, 0.0), sin, lambda c: c * x, c * s), c), x, v)
print([grad(lambda x: h(x)[0])(0.5), grad(grad(f))(3.0), vmap(grad(f))(v).tolist(), g["b"], g["w"].tolist()])
print(make_jaxpr(grad(f))(3.0))
"""


def test_micropython_runs_it(tmp_path):
    if not shutil.which("node") or not (BROWSER / "node_modules/@micropython").exists():
        pytest.skip("needs node, and `npm ci` in tests/browser")
    (tmp_path / "program.py").write_text(PROGRAM)
    run = subprocess.run(
        ["node", BROWSER / "micropython.mjs", FOLDER / "numpy_stand_in.py", TINY, LOOPS, tmp_path / "program.py"],
        capture_output=True, text=True, timeout=120)  # fmt: skip
    assert run.returncode == 0, run.stdout
    numbers, jaxpr = run.stdout.split("\n", 1)
    t = tiny()
    f = lambda x: x * t.sin(x)
    m, v = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]), np.array([1.0, -2.0, 0.5])
    g = t.grad(lambda p, m: t.log(t.reduce_sum(t.exp(t.dot(m, p["w"]) + p["b"]))))({"w": v, "b": 1e-05}, m)
    t = _loops()
    h = lambda x: t.scan(lambda c, s: (t.cond(t.greater(s, 0.0), t.sin, lambda c: c * x, c * s), c), x, v)
    looped, second, vector, b, w = ast.literal_eval(numbers)
    for found, wanted in ((looped, t.grad(lambda x: h(x)[0])(0.5)), (second, t.grad(t.grad(f))(3.0)), (vector, t.vmap(t.grad(f))(v)), (b, g["b"]), (w, g["w"])):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert jaxpr.strip() == repr(t.make_jaxpr(t.grad(f))(3.0))
