"""`cond` and `switch`: errors, partial evaluation, what is staged and what is run.

Their values, jaxprs and derivatives are compared with JAX's by the rows of `oracle/lax_table.py`.
"""

from __future__ import annotations

import gc
import weakref
from unittest import mock

import numpy as np
import pytest

import minijax
from minijax.checks.typecheck import check_jaxpr
from minijax.core import jit as jit_room
from minijax.core.partial_eval import dce_jaxpr, linearize_flat, partial_eval_jaxpr
from minijax.core.tree import tree_structure
from minijax.lax.control_flow.common import stage
from minijax.lax.control_flow.cond import cond_p
from tests.halves import check_halves
from tests.oracle import both, in_both

X = np.float32(0.7)
V = np.array([0.3, -1.2, 0.8], np.float32)
M = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 3


def closes_over_tracers(jx):
    def f(x, v):
        y = jx.numpy.exp(x)
        return jx.lax.cond(x > 0, lambda u: u * y + x, lambda u: u - jx.numpy.cos(y), v)

    return f


def residuals_that_differ(jx):
    """One branch saves a vector, another a scalar and a vector, the third nothing."""

    def f(i, x, v):
        return jx.lax.switch(
            i,
            [
                lambda: jx.numpy.sin(v) * v,
                lambda: jx.numpy.sin(jx.numpy.exp(x)) * jx.numpy.cos(v) + jx.numpy.tanh(x),
                lambda: v,
            ],
        )

    return f


# --- batching: each argument batched alone, and all of them ---


def test_vmap_over_another_dimension():
    both(lambda jx: jx.vmap(closes_over_tracers(jx), (None, 1)), X, M)


def test_a_batched_predicate_keeps_infinite_derivatives_of_the_other_branch_out():
    def f(jx):
        return jx.vmap(
            jx.grad(lambda x: jx.lax.cond(x > 0, lambda x: jx.numpy.sqrt(x), lambda x: x, x))
        )

    x = np.float32([0.0, 4.0])
    both(f, x)
    assert np.isfinite(np.asarray(f(minijax)(x))).all()


# --- errors ---


def message(f):
    with pytest.raises(TypeError) as caught:
        f()
    return str(caught.value)


def test_a_wrong_type_is_shown_with_its_path_and_the_functions():
    def if_true():
        return {"a": (1, 2.0)}

    def if_false():
        return {"a": (1, np.zeros(3, np.int32))}

    text = message(lambda: minijax.lax.cond(True, if_true, if_false))
    for part in ("['a'][1]", "float32[]", "int32[3]", "dtypes", "shapes", "if_true", "if_false"):
        assert part in text
    assert "['a'][0]" not in text


def test_a_wrong_tree_is_shown_with_its_path():
    text = message(lambda: minijax.lax.switch(0, [lambda: {"a": (1, 2)}, lambda: {"a": [1, 2]}]))
    for part in ("branch 0 output at path ['a']", "tuple", "list"):
        assert part in text


def test_a_tracer_that_leaks_from_a_branch():
    def f(jx):
        def g():
            leaked = []
            jx.lax.cond(True, lambda x: (leaked.append(x), x)[1], lambda x: x, 1.0)
            return leaked[0] + 1

        return g

    both(f, raises="UnexpectedTracerError")


# --- the rules by themselves ---


def staged(jx, index=0):
    """The jaxpr of `residuals_that_differ`, and its branches."""
    jaxpr = jx.make_jaxpr(residuals_that_differ(jx))(index, X, V)
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is cond_p]
    return jaxpr, eqn.params["branches"]


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("unknown", [(False, True, False), (False, False, True), (False, True, True),
                                     (True, False, False), (True, True, True)])
def test_partial_evaluation(index, unknown):
    jaxpr, _ = staged(minijax)
    check_halves(jaxpr, unknown, [np.int32(index), X, V])


def test_with_a_known_index_what_is_known_is_computed_now():
    """The exponential and the sine are in the known half; the second half has none."""
    jaxpr, _ = staged(minijax)
    known_jaxpr, unknown_jaxpr, *_ = partial_eval_jaxpr(jaxpr, (False, False, True), (False,))
    assert "exp" in str(known_jaxpr) and "exp" not in str(unknown_jaxpr)


def test_with_an_unknown_index_everything_is_unknown():
    jaxpr, _ = staged(minijax)
    known_jaxpr, unknown_jaxpr, *_ = partial_eval_jaxpr(jaxpr, (True, False, False), (False,))
    assert not known_jaxpr.eqns and "exp" in str(unknown_jaxpr)


def test_residuals_of_one_type_share_a_place():
    """Each of the two first branches has one vector to save: there is one vector residual."""


    def f(u):
        sin, cos = minijax.numpy.sin, minijax.numpy.cos
        return minijax.lax.cond(u[0] > 0, lambda: sin(u), lambda: cos(u))

    _, jaxpr, _ = linearize_flat(lambda u: [f(u)], [V])
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is cond_p]
    assert len(eqn.invars) == 3  # the index, the residual and the tangent


def test_dead_code():
    def f(x, v):
        return minijax.lax.cond(x > 0, lambda: (minijax.numpy.sin(v), x * 2),
                                lambda: (minijax.numpy.cos(v), x))

    jaxpr = minijax.make_jaxpr(f)(X, V)
    pruned, used = dce_jaxpr(jaxpr.jaxpr, [False, True])
    assert used == [True, False] and "sin" not in str(pruned) and "cos" not in str(pruned)
    check_jaxpr(pruned)


def test_ill_typed_equations_are_found():
    _, branches = staged(minijax)
    jaxpr = minijax.make_jaxpr(residuals_that_differ(minijax))(0, X, V).jaxpr
    eqns = [e.replace(invars=e.invars[:-1]) if e.primitive is cond_p else e for e in jaxpr.eqns]
    with pytest.raises(TypeError, match="cond: a branch takes"):
        check_jaxpr(jaxpr.replace(eqns=eqns))


@pytest.mark.live_jax
def test_python_control_flow_under_disable_jit():
    taken = []

    def f(jx):
        def g(x):
            return jx.lax.cond(x > 0, lambda: (taken.append(True), x)[1], lambda: -x)

        def run_it(x):
            with jx.disable_jit():
                return g(x), jx.lax.switch(1, [lambda: x, lambda: (taken.append(False), x * 2)[1]])

        return run_it

    both(f, X)
    assert taken == [True, False, True, False]


def test_one_branch_is_called():
    both(lambda jx: lambda x: jx.lax.switch(3, [lambda y: y * 2], x), X)


def test_old_form_with_an_operand_for_each_branch():
    both(lambda jx: lambda x: jx.lax.cond(x > 0, x, lambda a: a + 1, -x, lambda b: b * 2), X)


def test_a_function_is_staged_once():
    """The same functions give the same jaxprs, so that what is derived from them is found."""
    calls = []

    def f(x):
        calls.append(x)
        return x * 2

    for _ in range(3):
        minijax.lax.cond(True, f, f, 1.0)
    assert len(calls) <= 2


def test_a_function_is_not_kept_alive():
    def f(x):
        return x * 2

    stage(f, tree_structure((1.0,)), [minijax.typeof(1.0)], "cond")
    ref = weakref.ref(f)
    del f
    gc.collect()
    assert ref() is None


def test_eager_evaluation_runs_one_branch_only():
    """Nothing is compiled: the branch's equations are evaluated one by one."""
    with mock.patch.object(jit_room, "compile_module", side_effect=AssertionError):
        assert minijax.lax.cond(X > 0, lambda: X, lambda: 2 * X) == X


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64"])
@in_both
def test_dtypes(jx, dtype):
    def g(p):
        x = jx.numpy.ones(2, dtype)
        return jx.lax.cond(p, lambda: x, lambda: jx.numpy.zeros(2, dtype))

    return jx.jit(g)(True)
