"""The checks of chapter 4's exercises."""

from __future__ import annotations

import itertools
import math

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import vmap
from minijax.core import primitives as lax
from minijax.core.array import def_numpy
from minijax.core.batching import primitive_batchers
from minijax.core.core import Primitive, current_trace
from minijax.core.forward import jvpfun
from minijax.lax import cutting, shaping

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@exercise("4.1", "The arithmetic of axes", ["moved_axis"], hints=[
    "Write down the shape of the whole array, strike out the batch axis, and count.",
    "Axes that lie before the batch axis keep their number.",
], page=True)
def axes(moved_axis):
    compare(lambda axis, bdim: int(moved_axis(axis, bdim)),
            lambda axis, bdim: [d for d in range(4) if d != bdim][axis],
            [(axis, bdim) for bdim in (3, 0, 1, 2) for axis in range(3)], "axis, batch_dim")


@exercise("4.2", "A batching rule", ["outer_rule"], hints=[
    "x[i] * y[j] is mul of x with a dimension of size 1 after it, and y with one before it.",
    "bdim_at_front(x, dim, size) brings the batch to the front, or makes a batch if dim is None.",
    "lax.expand_dims(x, (1,)) adds a dimension of size 1.",
])
def outer(outer_rule):
    outer_p = Primitive("outer")
    outer_p.def_impl(lambda x, y: lax.mul(lax.expand_dims(x, (1,)), lax.expand_dims(y, (0,))))
    primitive_batchers[outer_p] = outer_rule
    x, y = X[0], X[1, :, 1:]
    cases = [((0, None), x, y[0]), ((None, 0), x[0], y), ((0, 0), x, y), ((1, 0), x[:, :3], y)]
    compare(lambda in_axes, x, y: np.asarray(vmap(outer_p.bind, in_axes)(x, y)),
            lambda in_axes, x, y: _loop(np.outer, in_axes, x, y), cases, "in_axes, x, y =")


def _loop(f, in_axes, *args):
    size = next(x.shape[d] for x, d in zip(args, in_axes) if d is not None)
    return np.stack([f(*(x if d is None else np.take(x, i, d) for x, d in zip(args, in_axes)))
                     for i in range(size)])


@exercise("4.3", "What vmap means", ["loop_map"], hints=[
    "The number of examples is the size of a mapped axis, in any argument that has one.",
    "np.take(x, i, axis) takes one example out.",
    "np.stack puts the results together along a new first axis.",
])
def meaning(loop_map):
    f = lambda x, y: lax.reduce_sum(lax.mul(x, y), (0,))
    cases = [((0, 0), X[0], X[1]), ((1, None), X[0], X[0, :, 0]), ((None, 0), X[0, 0], X[1])]
    compare(lambda in_axes, *args: np.asarray(loop_map(f, in_axes, *args)),
            lambda in_axes, *args: np.asarray(vmap(f, in_axes)(*args)), cases, "in_axes, x, y =")


@exercise("4.4", "Moving axes", ["moveaxis"], hole="core.batching.moveaxis", hints=[
    "lax.transpose(x, permutation): dimension i of the result is dimension permutation[i] of x.",
    "Take the list 0, 1, 2 …, remove the sources, and insert them at their destinations.",
    "In which order must they be inserted, so that an insertion moves none that is in its place?",
])
def moving(moveaxis):
    compare(lambda x, s, d: np.asarray(moveaxis(x, s, d)), np.moveaxis,
            [(X, s, d) for s in range(3) for d in range(3)], "x, source, destination")
    expect(moveaxis(X, 1, 1) is X, "where nothing is to be moved, nothing should be done")
    expect(moveaxis(X, (0, 1), (0, 1)) is X, "where nothing is to be moved, nothing should be done")
    pairs = [(s, d) for n in (1, 2, 3) for s in itertools.permutations(range(3), n)
             for d in itertools.permutations(range(3), n)]
    compare(lambda x, s, d: np.asarray(moveaxis(x, s, d)), np.moveaxis, [(X, *p) for p in pairs],
            "x, source, destination")
    compare(lambda x: np.asarray(vmap(lambda x: lax.reshape(x, (8,)), 1)(x)),
            lambda x: x.transpose(1, 0, 2).reshape(3, 8), [(X,)], "vmap of a reshape, of")


@exercise("4.5", "The heart of batching", ["process_primitive"], hints=[
    "If all dimensions are None, the parent processes the primitive as it is.",
    "A result whose dimension is None needs no box: it is the same for all.",
    "The loop must also run in the parent. Bring the batch to the front of each batched value by "
    "moveaxis(x, dim, 0); then x[i] is an operand of example i.",
    "What primitive.bind gives for each example is one result, or a list of several: then stack "
    "the first ones of all examples, the second ones, and so on.",
], hole="core.batching.BatchTrace.process_primitive")
def heart(process_primitive):
    w = np.array([1.0, -1.0, 2.0, 0.5], np.float32)
    programs = {
        "a constant": (lambda x: 2.0, lambda x: np.full(3, 2.0, np.float32)),
        "sin": (lax.sin, np.sin),
        "x * w": (lambda x: lax.mul(x, w), lambda x: x * w),
        "a sum": (lambda x: lax.reduce_sum(x, (0,)), lambda x: x.sum(1)),
        "several results": (lambda x: cutting.split(x, (1, 3), 0)[1], lambda x: x[:, 1:]),
        "x + iota, a primitive without arguments": (
            lambda x: lax.add(x, shaping.broadcasted_iota("float32", (4,), 0)),
            lambda x: x + np.arange(4, dtype=np.float32)),
        "a loop within": (lambda x: vmap(lambda y: lax.mul(y, 2.0))(x), lambda x: 2 * x),
    }
    for name, (f, expected) in programs.items():
        compare(lambda x, f=f: np.asarray(vmap(f)(x)), expected, [(X[0],)], f"f = {name}, x =")
    slope = lambda x: jvpfun(lambda x: [lax.sin(x)], [x], [1.0])[1][0]
    compare(lambda x: np.asarray(vmap(slope)(x)), np.cos, [(X[0, 0],)], "vmap of a derivative, at")

    below, seen = current_trace(), []
    probe = Primitive("probe")
    probe.def_abstract_eval(lambda x: x)
    applied = []
    def_numpy(probe, lambda x: applied.append(x) or x)
    same_for_all = lambda x: lax.add(x, probe.bind(np.float32(1)))  # no rule yet, and none due
    compare(lambda x: np.asarray(vmap(same_for_all)(x)), lambda x: x + 1, [(X[0, 0],)],
            "x + probe(1), where `probe` needs no rule, because its argument is not batched; at")
    expect(len(applied) == 1, f"… and probe is applied once, not {len(applied)} times")

    def rule(args, dims):
        seen.append(current_trace())
        return np.float32(7), None

    primitive_batchers[probe] = rule
    try:
        compare(lambda x: np.asarray(vmap(probe.bind)(x)), lambda x: np.full_like(x, 7),
                [(X[0, 0],)], "a rule that says (7.0, None), the same for all examples; at")
    finally:
        del primitive_batchers[probe]
    _without_a_rule()
    expect(seen[-1] is below, "while a rule runs, the parent should be current")


def _without_a_rule():
    """Primitives of one vector, and of several results, that have no batching rule."""
    smooth, ends = Primitive("smooth"), Primitive("ends", multiple_results=True)
    def_numpy(smooth, lambda x, w: np.convolve(x, w, "same"))
    smooth.def_abstract_eval(lambda x, w: x)
    ends.def_impl(lambda x: [np.asarray(x)[:1], np.asarray(x)[-2:]])
    times = Primitive("times")
    def_numpy(times, lambda x, factor: x * np.float32(factor))
    times.def_abstract_eval(lambda x, factor: x)
    compare(lambda x: np.asarray(vmap(lambda x: times.bind(x, factor=3))(x)), lambda x: 3 * x,
            [(X[0],)], "a primitive without a rule that has a parameter, at")
    w = np.array([0.5, 0.25, 0.25], np.float32)
    for name, axes, x, y in (("x", (0, None), X[0], w), ("x, along axis 1", (1, None), X[0].T, w),
                             ("both", (0, 1), X[0], np.stack([w, w, 2 * w], 1)),
                             ("w", (None, 0), X[0, 0], np.stack([w, 2 * w]))):
        compare(lambda x, y, axes=axes: np.asarray(vmap(smooth.bind, axes)(x, y)),
                lambda x, y, axes=axes: _loop(lambda x, y: np.convolve(x, y, "same"), axes, x, y),
                [(x, y)], f"a primitive without a rule, {name} batched, at")
    compare(lambda x: [np.asarray(out) for out in vmap(lambda x: ends.bind(lax.neg(x)))(x)],
            lambda x: [-x[:, :1], -x[:, -2:]], [(X[0],)],
            "a primitive without a rule that gives a list, at")
    compare(lambda x: np.asarray(vmap(vmap(lambda x: smooth.bind(x, w)))(x)),
            lambda x: np.stack([[np.convolve(row, w, "same") for row in part] for part in x]),
            [(X,)], "vmap of vmap of a primitive without a rule, at")


@exercise("4.6", "All pairs, in tiny", ["pairwise"], hints=[
    "One vmap is over the first argument, and leaves the second as it is.",
    "The result of the outer vmap has its batch dimension first: that is the row.",
], page=True)
def pairs(pairwise):
    import numpy as np
    import tiny

    calls = []

    def f(x, y):
        calls.append(x)
        return x * tiny.sin(y) + y

    xs, ys = np.asarray([1.0, -2.0]), np.asarray([0.5, 1.5, 3.0])
    want = [[float(x) * math.sin(float(y)) + float(y) for y in ys] for x in xs]
    compare(lambda xs, ys: pairwise(f)(xs, ys).tolist(), lambda xs, ys: want, [(xs, ys)],
            "f = lambda x, y: x * sin(y) + y, and xs, ys =")
    expect(len(calls) == 1, f"f should be called once, and is called {len(calls)} times")
    rows = np.asarray([[1.0, 2.0], [3.0, 4.0]])
    compare(lambda rows: pairwise(tiny.dot)(rows, rows).tolist(),
            lambda rows: [[5.0, 11.0], [11.0, 25.0]], [(rows,)], "f = dot, and xs = ys =")
