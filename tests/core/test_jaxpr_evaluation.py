"""A jaxpr is evaluated: by interpreters, under transformations, with errors that name the equation."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from minijax import core
from minijax.core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    clean_up_dead_vars,
    eval_jaxpr,
    jaxpr_as_fun,
    last_used,
)
from minijax.text.locations import new_source_info
from tests.core.small_jaxprs import (
    F32,
    I32,
    add,
    calling,
    eqn,
    fail,
    primitive,
    scale,
    sin,
    sin_plus_const,
    two,
    variables,
)

# ----------------------------------------------------------------------------------------------
# Evaluation.


# Of variables a, b, c: a jaxpr, its arguments, and its results.
EVALUATED = {
    "literals": (lambda a, b, c: Jaxpr([], [a], [b, Literal(7, I32)], [
        eqn(add, [a, Literal(1.0, F32)], [b])]), [2.0], [3.0, 7]),
    "two results": (lambda a, b, c: Jaxpr([], [a], [c, b], [eqn(two, [a], [b, c])]), [1], [2, 1]),
    "dropped": (lambda a, b, c: Jaxpr([], [a], [b], [eqn(two, [a], [DropVar(F32), b])]), [1], [2]),
    "params": (lambda a, b, c: Jaxpr([], [a], [b], [eqn(scale, [a], [b], by=5)]), [2], [10]),
    "operand twice": (lambda a, b, c: Jaxpr([], [a], [b], [eqn(add, [a, a], [b])]), [2], [4]),
    "argument as result": (lambda a, b, c: Jaxpr([], [a], [a, b, a], [eqn(sin, [a], [b])]), [0.0],
                           [0.0, 0.0, 0.0]),
    "calls": (lambda *_: calling(ClosedJaxpr(calling(ClosedJaxpr(sin_plus_const(), [1.0])))), [0.0],
              [1.0]),
}


@pytest.mark.parametrize("name", EVALUATED)
def test_eval_jaxpr(name):
    build, args, results = EVALUATED[name]
    assert eval_jaxpr(build(*variables(3)), [], *args) == results


def test_eval_with_constants():
    assert eval_jaxpr(sin_plus_const(), [10.0], 2.0) == [np.sin(2.0) + 10.0]
    assert jaxpr_as_fun(ClosedJaxpr(sin_plus_const(), [1.0]))(0.0) == [1.0]


@pytest.mark.parametrize(("consts", "args"), [([], [1.0]), ([1.0], []), ([1.0], [1.0, 2.0])])
def test_eval_of_wrong_number_of_arguments(consts, args):
    with pytest.raises(ValueError, match="different lengths"):
        eval_jaxpr(sin_plus_const(), consts, *args)


def test_evaluation_goes_through_the_current_trace():
    class Names(core.core.Trace):
        __slots__ = ("seen",)

        def process_primitive(self, primitive, args, params):
            self.seen.append(primitive.name)
            return args[0]

    trace = Names(core.current_trace())
    trace.seen = []
    with core.set_current_trace(trace):
        assert eval_jaxpr(sin_plus_const(), [10.0], 2.0) == [2.0]
    assert trace.seen == ["sin", "add"]


class Block:
    """A value that is easy to watch."""


def watched(live):
    def evaluate(x):
        gc.collect()
        live.append(sum(ref() is not None for ref in refs))
        block = Block()
        refs.append(weakref.ref(block))
        return block

    refs = []
    return primitive("watched", evaluate)


@pytest.mark.long
def test_values_live_as_long_as_they_are_read():
    live = []
    p = watched(live)
    names = variables(6)
    eqns = [eqn(p, [a], [b]) for a, b in zip(names, names[1:], strict=False)]
    eval_jaxpr(Jaxpr([], names[:1], names[-1:], eqns), [], 0.0)
    assert live == [0, 1, 1, 1, 1]


def test_values_that_nobody_reads_are_not_kept():
    live = []
    p = watched(live)
    a, *unused = variables(5)
    eval_jaxpr(Jaxpr([], [a], [a], [eqn(p, [a], [b]) for b in unused]), [], 0.0)
    assert live == [0, 0, 0, 0]


def test_arguments_are_let_go():
    alive = []
    use = primitive("use", lambda x: 0.0)
    look = primitive("look", lambda x: alive.append(ref() is not None) or 1.0)
    a, b, c = variables(3)
    block = Block()
    ref = weakref.ref(block)
    jaxpr = Jaxpr([], [a], [c], [eqn(use, [a], [b]), eqn(look, [b], [c])])
    arguments = [block]
    del block
    eval_jaxpr(jaxpr, [], arguments.pop())
    assert alive == [False]


def test_last_used():
    a, b, c = variables(3)
    first, second = eqn(sin, [a], [b]), eqn(add, [a, Literal(1.0, F32)], [c])
    assert last_used(Jaxpr([], [a], [c, Literal(1.0, F32)], [first, second])) == {
        c: None,
        a: second,
    }


def test_clean_up_dead_vars():
    a, b, c = variables(3)
    first, second = eqn(add, [a, b], [c]), eqn(add, [b, b], [c])
    env = {a: 1, b: 2}
    last = last_used(Jaxpr([], [a, b], [c], [first, second]))
    clean_up_dead_vars(first, env, last)
    assert env == {b: 2}
    clean_up_dead_vars(second, env, last)
    assert env == {}


def notes(error):
    """The notes about equations: the first note of all says that frames were hidden."""
    return [note for note in error.__notes__ if "removed its own frames" not in note]


def test_an_exception_says_which_equation():
    a, b = variables(2)
    jaxpr = Jaxpr([], [a], [b], [JaxprEqn(fail, [a], [b], {}, new_source_info())])
    with pytest.raises(ZeroDivisionError) as caught:
        eval_jaxpr(jaxpr, [], 1.0)
    (note,) = notes(caught.value)
    assert "`a:f32[] = fail b`" in note and f"{__file__}:" in note


def test_an_exception_names_the_innermost_equation_only():
    a, b = variables(2)
    inner = ClosedJaxpr(Jaxpr([], [a], [b], [eqn(fail, [a], [b])]))
    with pytest.raises(ZeroDivisionError) as caught:
        eval_jaxpr(calling(inner), [], 1.0)
    (note,) = notes(caught.value)
    assert "fail" in note and "jit" not in note


def test_long_equations_are_cut_in_notes():
    inner = ClosedJaxpr(sin_plus_const(), [1.0])
    with pytest.raises(ValueError) as caught:
        eval_jaxpr(calling(inner, n_in=2), [], 1.0, 2.0)
    assert "jit[ …`" in notes(caught.value)[0]
