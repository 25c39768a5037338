"""`while_loop` and `fori_loop`: nesting, errors, partial evaluation, without `jit`.

Their values, jaxprs and derivatives are compared with JAX's by the rows of `oracle/lax_table.py`.
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import minijax
from minijax.checks.typecheck import check_jaxpr
from minijax.core.partial_eval import dce_jaxpr, partial_eval_jaxpr
from minijax.lax.control_flow.while_loop import while_p
from tests.halves import check_halves
from tests.oracle import both, in_both
from tests.oracle.lax_table import CALLS, function
from tests.oracle.primitives_table import operands

X = np.float32(2.5)
V = np.array([0.3, 1.2, 0.8], np.float32)
M = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 3


def square_root(jx):
    def f(a):
        return jx.lax.while_loop(
            lambda x: jx.numpy.abs(x * x - a) > 1e-3, lambda x: 0.5 * (x + a / x), a
        )

    return f


def fixed_carry(jx):
    """A carry that the body hands on, and the condition ignores, is a constant."""
    return lambda x, v: jx.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1], c[2] * c[1]), (0, x, v)
    )


def swapped_carry(jx):
    """Tangents, batch dimensions and unknowns travel from carry to carry."""
    return lambda n, x, v: jx.lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, c[2], c[3], c[1] * x), (0, v, v * 0 + 1, v * 0)
    )


def counts_down(jx):
    return lambda n, x: jx.lax.while_loop(
        lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] + jx.numpy.cos(c[1])), (n, x)
    )


def cond_in_while(jx):
    def f(x):
        def body(c):
            i, y = c
            return i + 1, jx.lax.cond(y > 4, lambda y: y / 3, lambda y: y * x, y)

        return jx.lax.while_loop(lambda c: c[0] < 6, body, (0, x))[1]

    return f


def while_in_cond(jx):
    return lambda n, x: jx.lax.cond(
        x > 1, lambda: counts_down(jx)(n, x)[1], lambda: jx.numpy.sin(x)
    )


def while_in_while(jx):
    def f(n, x):
        def body(c):
            i, y = c
            return i + 1, jx.lax.fori_loop(0, i, lambda j, z: z * 0.9 + x / (j + 1), y)

        return jx.lax.while_loop(lambda c: c[0] < n, body, (0, x))[1]

    return f


def test_the_reverse_mode_error_says_why_and_what_to_do():
    with pytest.raises(ValueError, match="backwards") as caught:
        minijax.grad(square_root(minijax))(X)
    for part in ("Reverse-mode", "lax.scan", "static start/stop", "jacfwd", "chapter 9"):
        assert part in str(caught.value)


# --- batching: each argument batched alone, and all of them ---


def stacked(x):
    """Three examples, for which loops run for different lengths."""
    x = np.asarray(x)
    x = x.astype({"f": np.float32, "i": x.dtype if x.itemsize < 8 else np.int32}[x.dtype.kind])
    return np.stack([x, x + x.dtype.type(2), x + x])


def test_vmap_of_vmap():
    """A predicate with two batch dimensions, and one with the outer of two."""
    both(lambda jx: jx.vmap(jx.vmap(square_root(jx))), M)
    both(lambda jx: jx.make_jaxpr(jx.vmap(jx.vmap(square_root(jx)))), M)
    both(lambda jx: jx.vmap(jx.vmap(counts_down(jx), (None, 0)), (0, None)), np.arange(3), V)
    both(lambda jx: jx.make_jaxpr(jx.vmap(jx.vmap(counts_down(jx), (None, 0)), (0, None))),
         np.arange(3), V)
    both(lambda jx: jx.vmap(jx.vmap(counts_down(jx), (0, None)), (None, 0)), np.arange(3), V)


def test_vmap_over_another_dimension():
    both(lambda jx: jx.vmap(lambda v: fixed_carry(jx)(X, v)[2], 1, 1), M)


# --- nesting to depth three and more ---


@pytest.mark.parametrize("program, args", [
    (cond_in_while, [X]), (while_in_cond, [3, X]), (while_in_while, [3, X])])
def test_nested_under_transformations(program, args):
    args = [stacked(x) for x in args]
    last = len(args) - 1

    def derivative(jx):
        df = jx.vmap(jx.jacfwd(jx.jit(program(jx)), last))
        return lambda *a: jx.jvp(lambda x: df(*a[:last], x), (a[last],), (a[last],))

    both(derivative, *args)
    both(lambda jx: jx.jit(derivative(jx)), *args)


def test_cond_in_while_in_vmap_in_grad():
    """Reverse mode through a `fori_loop` of static length with a `cond` in it."""

    def loss(jx):
        def f(x):
            def body(i, y):
                return jx.lax.cond(y > 2, lambda y: y / 2, lambda y: y * x + i, y)

            return jx.lax.fori_loop(0, 4, body, x)

        return lambda xs: (jx.vmap(f)(xs) ** 2).sum()

    both(lambda jx: jx.grad(loss(jx)), V)
    both(lambda jx: jx.jit(jx.hessian(loss(jx))), V)


# --- errors ---


def message(f):
    with pytest.raises(TypeError) as caught:
        f()
    return str(caught.value)


def test_a_wrong_carry_is_shown_with_its_path_and_both_types():
    def body(state):
        return {"n": state["n"] + 1, "x": (state["x"][0], state["x"][1] > 0)}

    text = message(lambda: minijax.lax.while_loop(
        lambda state: state["n"] < 3, body, {"n": 0, "x": (X, V)}))
    for part in ("while_loop body", "state['x'][1]", "float32[3]", "bool[3]", "dtypes"):
        assert part in text
    assert "state['n']" not in text and "['x'][0]" not in text


def test_a_wrong_tree_is_shown_with_its_path():
    text = message(lambda: minijax.lax.while_loop(
        lambda c: True, lambda c: (c[0], [c[1][0]]), (X, (X,))))
    for part in ("c[1]", "tuple", "list"):
        assert part in text


@pytest.mark.parametrize("where", ["cond", "body"])
def test_a_tracer_that_leaks(where):
    def f(jx):
        def g():
            leaked = []

            def keep(c):
                leaked.append(c)
                return c

            def cond(c):
                return (keep(c) if where == "cond" else c) < 3

            def body(c):
                return (keep(c) if where == "body" else c) + 1

            jx.lax.while_loop(cond, body, 0)
            return leaked[0] + 1

        return g

    both(f, raises="UnexpectedTracerError")


# --- the rules by themselves ---

@pytest.mark.parametrize("program, args", [
    (swapped_carry, (4, X, V)), (lambda jx: lambda n, x, v: fixed_carry(jx)(x, v * n), (2, X, V)),
    (lambda jx: lambda n, x, v: (counts_down(jx)(n, v), counts_down(jx)(n, x)), (2, X, V)),
])
@pytest.mark.parametrize("unknown", [(False, True, False), (False, False, True), (False, True, True),
                                     (True, False, False), (True, True, True)])
def test_partial_evaluation(program, args, unknown):
    args = [np.int32(args[0]), *args[1:]]
    check_halves(minijax.make_jaxpr(program(minijax))(*args), unknown, args)


def halves(program, args, unknown):
    jaxpr = minijax.make_jaxpr(program)(*args)
    return partial_eval_jaxpr(jaxpr, unknown, (False,) * len(jaxpr.jaxpr.outvars))


def two_carries(x, y):
    def body(c):
        i, u, w = c
        return i + 1, minijax.numpy.sin(u), minijax.numpy.cos(w) + u

    return minijax.lax.while_loop(lambda c: c[0] < 3, body, (0, x, y))


def test_known_carries_are_computed_now():
    """The counter and the sine are known; the loop of the cosine, which needs them, is not."""
    known_jaxpr, unknown_jaxpr, out_unknown, *_ = halves(two_carries, (X, X), (False, True))
    assert out_unknown == (False, False, True)
    assert "sin" in str(known_jaxpr) and "cos" not in str(known_jaxpr)
    assert "cos" in str(unknown_jaxpr)


def test_what_comes_to_depend_on_an_unknown_is_unknown():
    known_jaxpr, unknown_jaxpr, out_unknown, *_ = halves(two_carries, (X, X), (True, False))
    assert out_unknown == (False, True, True)
    assert "sin" not in str(known_jaxpr) and "sin" in str(unknown_jaxpr)


def test_an_unknown_length_makes_everything_unknown():
    def f(n, x):
        return minijax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, x))

    known_jaxpr, _, out_unknown, *_ = halves(f, (3, X), (True, False))
    assert out_unknown == (True, True) and not known_jaxpr.eqns


@pytest.mark.parametrize("used, kept", [
    ([True, False, False], ["add"]), ([False, True, False], ["add", "sin"]),
    ([False, False, True], ["add", "sin", "cos"]),
])
def test_dead_carries(used, kept):
    """A carry lives if a used result or the condition needs it, in any round."""
    jaxpr = minijax.make_jaxpr(two_carries)(X, X)
    pruned, _ = dce_jaxpr(jaxpr.jaxpr, used)
    check_jaxpr(pruned)
    assert [name for name in ("add", "sin", "cos") if f"= {name} " in str(pruned)] == kept


def test_ill_typed_equations_are_found():
    jaxpr = minijax.make_jaxpr(two_carries)(X, X).jaxpr
    eqns = [e.replace(invars=e.invars[:-1]) if e.primitive is while_p else e for e in jaxpr.eqns]
    with pytest.raises(TypeError, match="condition takes"):
        check_jaxpr(jaxpr.replace(eqns=eqns))


# --- disable_jit, caching ---


@pytest.mark.parametrize("line, call", [row for row in CALLS if "while_loop" in row[1]
                                        or "fori_loop" in row[1]])
def test_disable_jit(line, call):
    """Python's loop runs, on concrete values; results have their types as without a tracer."""
    def program(jx):
        def run(*args):
            with jx.disable_jit():
                return function(call)(jx)(*args)

        return run

    both(program, *operands(line, "float32"))


@in_both
def test_disable_jit_under_vmap_falls_back_to_the_primitive(jx):
    x = V
    with jx.disable_jit():
        return jx.vmap(square_root(jx))(x)


def test_python_values_are_seen_under_disable_jit():
    seen = []
    with minijax.disable_jit():
        minijax.lax.fori_loop(0, 3, lambda i, c: (seen.append(int(c)), c + i)[1], 0)
    assert seen == [0, 0, 1]


def test_a_loop_is_traced_and_compiled_once():
    calls = []

    def body(x):
        calls.append(x)
        return x * 2

    def cond(x):
        return x < 100

    for start in (1.0, 2.0, 3.0):
        minijax.lax.while_loop(cond, body, start)
    assert len(calls) == 1
    for upper in (1, 2, 3):
        minijax.jit(lambda n: minijax.lax.fori_loop(0, n, step, 0.0))(upper)
    assert len(steps) == 1


steps = []


def step(i, x):
    steps.append(i)
    return x + i


def test_a_loop_does_not_keep_its_functions_alive():
    def body(x):
        return x * 2

    minijax.lax.while_loop(lambda x: x < 100, body, 1.0)
    minijax.jit(lambda n: minijax.lax.fori_loop(0, n, minijax.numpy.add, 0.0))(3)
    ref = weakref.ref(body)
    del body
    gc.collect()
    assert ref() is None
