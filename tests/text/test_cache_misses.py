"""`explain_cache_misses` logs why a function is traced, in JAX's words where JAX has them."""

import logging
import re

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both

X, Y = np.float32(1), {"hi": np.arange(3, dtype=np.float32)}


# What differs from run to run: addresses, folders, and what was traced before.
PLACES = r"id=\d+|MISS at [^\n]*|(?<=defined at )\S*/|\n  but seen another [^?]*\?"


class Kept(logging.Handler):
    """Keeps the messages about misses."""

    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        if "TRACING CACHE MISS" in record.getMessage():
            self.messages.append(record.getMessage())


def messages(jx, calls):
    """What is logged during each of the calls."""
    logger, kept = logging.getLogger(jx.__name__), Kept()
    logger.addHandler(kept)
    out = []
    try:
        for call in calls:
            with jx.explain_cache_misses(True):
                call()
            out.append([re.sub(PLACES, "", m) for m in kept.messages])
            kept.messages.clear()
    finally:
        logger.removeHandler(kept)
    return out


def jitted(jx):
    @jx.jit
    def f(x, y):
        return jx.numpy.sin(x) * y["hi"]
    return f


def in_promotion(jx, f):
    with jx.numpy_rank_promotion("warn"):
        f(X, Y)


CALLS = {
    "first": lambda jx, f: f(X, Y),
    "hit": lambda jx, f: [f(X, Y), f(X, Y)],
    "shape": lambda jx, f: [f(X, Y), f(X, {"hi": np.arange(4, dtype=np.float32)})],
    "dtype": lambda jx, f: [f(X, Y), f(np.int32(1), Y)],
    "setting": lambda jx, f: [f(X, Y), in_promotion(jx, f)],
    "in a function": lambda jx, f: jx.jit(lambda x: f(x, Y))(X),
    "a gradient": lambda jx, f: jx.jit(jx.grad(lambda x: x * 2.0))(1.0),
    "inside of the library": lambda jx, f: jx.numpy.median(jx.numpy.arange(77.0)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_words_are_those_of_jax(name):
    both(lambda jx: lambda: repr(messages(jx, [lambda: CALLS[name](jx, jitted(jx))])))


def explained(*calls):
    return messages(minijax, calls)[-1]


def test_a_weak_type():
    f = jitted(minijax)
    (message,) = explained(lambda: f(X, Y), lambda: f(1.0, Y))
    assert "at x, now f32[]{weak_type=True} and before f32[]{weak_type=False}" in message
    assert "type_promotion.html#weak-types" in message


def test_the_structure():
    f = jitted(minijax)
    (message,) = explained(lambda: f(X, Y), lambda: f(X, y=Y))
    assert "different input pytree:" in message
    assert "at input path [1], now a <class 'dict'> with 1 child" in message


def test_a_function_that_is_made_again(caplog):
    with caplog.at_level(logging.WARNING), minijax.explain_cache_misses(True):
        for _ in range(2):
            minijax.jit(lambda x: x + 1)(1.0)
    first, second = caplog.messages
    assert "seen another function" not in first
    assert "but seen another function defined on the same line; maybe the function is" in second


def test_static_arguments():
    f = minijax.jit(lambda x, n: x * n, static_argnames="n")
    (message,) = explained(lambda: f(X, n=2), lambda: f(X, n=3))
    assert "different static arguments:\n  * at 'n', now 3 and before 2" in message
    (message,) = explained(lambda: f(X, 4))
    assert "* at 1, now 4 and before absent" in message


def test_named_axes():
    f = minijax.jit(lambda x: x * 2)
    mapped = lambda: minijax.vmap(lambda x: f(1.0), axis_name="i")(np.arange(3.0))
    (message,) = explained(lambda: f(1.0), mapped)
    assert "different named axes:\n  * now {'i': 3} and before {}" in message


def test_the_closest_previous_call_is_named():
    f = minijax.jit(lambda x, y: x)
    calls = [lambda x=x, y=y: f(x, y) for x, y in ((1, 2.0), (X, Y), (np.ones(2), X))]
    (message,) = explained(*calls, lambda: f(np.ones(3), X))
    assert message.splitlines()[-1] == "  * at x, now f32[3] and before f32[2]"


def test_without_the_setting_nothing_is_logged(caplog):
    with caplog.at_level(logging.WARNING):
        jitted(minijax)(X, Y)
    assert not caplog.records


# ----------------------------------------------------------------------------------------------
# A context of the user's own


def scaled(jx, default=7):
    context, traced = jx.make_user_context(default), []

    @jx.jit
    def f(x):
        traced.append(context.value)
        return x * context.value

    return context, traced, f


@in_both
def test_a_context_is_part_of_the_key(jx):
    context, traced, f = scaled(jx)
    out = [f(1.0), f(1.0)]
    with context(3):
        out += [f(1.0), context.value]
        with context(4):
            out.append(f(1.0))
    return out, f(1.0), context.value, traced


def test_a_default_and_a_context_without_one():
    both(lambda jx: lambda: repr([jx.make_user_context().value, jx.make_user_context("a").value]))


@in_both
def test_a_context_needs_a_hash(jx):
    context, _, f = scaled(jx)
    with context([1]):
        f(1.0)


def test_a_context_that_differs_is_named():
    context, _, f = scaled(minijax)

    def other():
        with context(2):
            f(1.0)

    (message,) = explained(lambda: f(1.0), other)
    assert "a context differs: now 2 and before 7" in message


def test_explain_misses_lists_each_tracing():
    f = minijax.jit(lambda x, n: x * n, static_argnums=1)
    assert str(f.explain_misses()) == "It has not been traced."
    f(1, 2), f(2, 2), f(1.0, 2), f(1.0, 3)
    with minijax.enable_x64(True):
        f(1.0, 3)
    first, types, statics, setting = f.explain_misses()
    assert first == "(i32[]): the first call"
    assert "at x, now f32[] and before i32[]" in types
    assert "at 1, now 3 and before 2" in statics
    assert "jax_enable_x64 differs: now True and before False" in setting
    f.clear_cache()
    assert list(f.explain_misses()) == []
