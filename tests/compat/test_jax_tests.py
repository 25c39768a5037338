"""What JAX's own tests look at: small programs, each a row of a table.

The programs return texts, numbers and types, which must be JAX's.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.oracle import both

X = np.arange(6.0, dtype="float32").reshape(2, 3)
ROWS = {}


def row(program):
    """`program(jx)` is run in both libraries."""
    ROWS[program.__name__] = program
    return program


def message(run, *args):
    """The class and the words of the error that a call raises."""
    try:
        run(*args)
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def page_of(run, *args):
    name, words = message(run, *args)
    return name, re.findall(r"See https://\S*#jax.errors.\w+", words)


@row
def errors_name_a_page(jx):
    leaked = []
    jx.jit(lambda x: leaked.append(x))(1.0)
    return [page_of(jx.jit(f), 1.0) for f in (bool, int, np.asarray, lambda x: [0][x])] + [
        page_of(lambda: leaked[0] + 1), page_of(jx.jit(lambda x: X[x < X]), 1.0)]


@row
def names_of_errors(jx):
    return [name for name in dir(jx.errors) if name != "InconclusiveDimensionOperation"]


@row
def short_texts_of_types(jx):
    return [jx.typeof(x).str_short() for x in (X, 1, True)] + [jx.typeof(X).str_short(True)]


@row
def eval_shape_traces_once(jx):
    calls = []

    def f(x):
        calls.append(1)
        return x * 2

    outs = [jx.eval_shape(f, x).shape for x in (X, X + 1, jx.ShapeDtypeStruct((2, 3), "float32"))]
    jitted = jx.jit(f)
    return outs, jitted.eval_shape(X).shape, jx.eval_shape(jitted, X[0]).shape, len(calls)


@row
def eval_shape_of_what_has_no_hash(jx):
    class Twice:
        __hash__ = None

        def __call__(self, x):
            return x * 2

    return jx.eval_shape(Twice(), X).shape


@row
def constraint_to_a_format(jx):
    from importlib import import_module
    layout = import_module(f"{jx.__name__}.experimental.layout")
    columns = layout.Format(layout.Layout((1, 0)), jx.numpy.ones(1).sharding)

    def f(x):
        return jx.lax.with_sharding_constraint({"a": x * 2, "b": x}, {"a": columns, "b": columns})

    return jx.jit(f)(X), f(X)["a"].format.layout.major_to_minor


@row
def rank_promotion_of_vectorize(jx):
    def found(signature, *shapes):
        f = jx.numpy.vectorize(lambda a, b: b, signature=signature)
        with jx.numpy_rank_promotion("raise"):
            name, words = message(f, *map(np.ones, shapes)) or ("", "")
            return name, words.split(". ")[0]

    return [found("(m,m),(m)->(m)", (2, 3, 3), (3,)), found("(),()->()", (2,), ()),
            found("(),()->()", (2,), (1, 2)), found("(n),()->()", (4, 2), (5, 4)),
            found("(m,m),(m)->(m)", (2, 3, 3), (2, 3)), found(None, (2,), (1, 2))]


@row
def rank_promotion_of_solve(jx):
    a = np.stack([np.eye(3, dtype="float32")] * 2)
    with jx.numpy_rank_promotion("raise"):
        return message(jx.numpy.linalg.solve, a, a[0, 0])[0], jx.numpy.linalg.solve(a[0], a[0])


@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    both(lambda jx: lambda: ROWS[name](jx))
