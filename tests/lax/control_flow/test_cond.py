"""Chapter 9: `cond` and `switch`, against real JAX."""

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
from tests.oracle import both

X = np.float32(0.7)
V = np.array([0.3, -1.2, 0.8], np.float32)
M = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 3


# --- programs: functions of the namespace, smooth at their arguments ---


def func7(jx):
    """The first example of JAX's page on jaxprs that has a `cond`."""
    return lambda arg: jx.lax.cond(
        arg >= 0.0, lambda xtrue: xtrue + 3.0, lambda xfalse: xfalse - 3.0, arg
    )


def func8(jx):
    """The second, in which a branch closes over an array, and operands are a pytree."""

    def func(arg1, arg2):
        return jx.lax.cond(
            arg1 >= 0.0,
            lambda xtrue: xtrue[0],
            lambda xfalse: jx.numpy.array([1]) + xfalse[1],
            arg2,
        )

    return func


def three_branches(jx):
    sin, cos = jx.numpy.sin, jx.numpy.cos
    return lambda i, x: jx.lax.switch(i, [sin, cos, lambda x: x * x], x)


def closes_over_arrays(jx):
    c, d = np.float32([1, 2, 3]), np.float32([3, 2, 1])

    def f(x, v):
        return jx.lax.cond(
            x > 0, lambda: (v * c * d).sum() + x, lambda: (jx.numpy.sin(v) * d).sum() * x
        )

    return f


def closes_over_tracers(jx):
    def f(x, v):
        y = jx.numpy.exp(x)
        return jx.lax.cond(x > 0, lambda u: u * y + x, lambda u: u - jx.numpy.cos(y), v)

    return f


def passes_operands_through(jx):
    return lambda x, v: jx.lax.cond(
        x > 0, lambda x, v: (x, v * 2, v), lambda x, v: (x, v.sum() + v, v), x, v
    )


def pytrees(jx):
    def f(x, v):
        tree = {"a": (x, v), "b": [x * 2]}
        return jx.lax.cond(
            x > 0,
            lambda t: {"u": t["a"][1] * t["b"][0], "w": (t["a"][0],)},
            lambda t: {"u": jx.numpy.sin(t["a"][1]), "w": (t["b"][0] ** 2,)},
            tree,
        )

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


def tangent_in_one_branch(jx):
    return lambda x, v: jx.lax.cond(
        x > 0, lambda v: (v * 0 + 1.0, v), lambda v: (v, v * v), jx.lax.stop_gradient(v)
    )[0] * x


def constant_branch(jx):
    return lambda x: jx.lax.cond(x > 0.5, lambda: 1.0, lambda: 2.0) * x


def weak_types(jx):
    return lambda x: jx.lax.cond(x > 0, lambda: 1.0, lambda: x)


def operand_by_name(jx):
    return lambda x: jx.lax.cond(x > 0, lambda t: t[0] * t[1], lambda t: t[0], operand=(x, x + 1))


def number_as_predicate(jx):
    return lambda n, x: jx.lax.cond(n, lambda x: x + 1, lambda x: x - 1, x)


def nested(jx):
    def inner(x):
        return jx.lax.cond(x > 1, lambda x: x**3, lambda x: jx.numpy.sin(x), x)

    return lambda x, v: jx.lax.cond(x > 0, lambda: inner(x) * v, lambda: inner(x * x) + v)


def inside_jit(jx):
    inner = jx.jit(lambda x: jx.lax.cond(x > 0, jx.numpy.sin, jx.numpy.cos, x))
    return lambda x: inner(x) * inner(-x)


def same_branches_twice(jx):
    def f(x):
        double, increment = lambda a: a * 2, lambda a: a + 1
        return jx.lax.cond(x > 0, double, increment, jx.lax.cond(x > 1, double, increment, x))

    return f


def integers(jx):
    return lambda n, x: jx.lax.cond(n > 1, lambda: (n, x), lambda: (n * 2, x * x))


PROGRAMS = {
    "func7": (func7, X),
    "func7_false": (func7, -X),
    "func7_weak": (func7, 5.0),
    "func8": (func8, X, (np.zeros(1, np.float32), 2.0)),
    "func8_false": (func8, -X, (np.zeros(1, np.float32), 2.0)),
    "switch_0": (three_branches, 0, X),
    "switch_1": (three_branches, 1, V),
    "switch_2": (three_branches, np.int8(2), V),
    "switch_below": (three_branches, -5, X),
    "switch_above": (three_branches, np.uint32(7), X),
    "arrays": (closes_over_arrays, X, V),
    "arrays_false": (closes_over_arrays, -X, V),
    "tracers": (closes_over_tracers, X, V),
    "tracers_false": (closes_over_tracers, -X, V),
    "through": (passes_operands_through, X, V),
    "pytrees": (pytrees, X, V),
    "pytrees_false": (pytrees, -X, V),
    "residuals_0": (residuals_that_differ, 0, X, V),
    "residuals_1": (residuals_that_differ, 1, X, V),
    "residuals_2": (residuals_that_differ, 2, X, V),
    "one_tangent": (tangent_in_one_branch, X, V),
    "one_tangent_false": (tangent_in_one_branch, -X, V),
    "constant": (constant_branch, X),
    "weak": (weak_types, X),
    "weak_false": (weak_types, -X),
    "operand": (operand_by_name, X),
    "number": (number_as_predicate, 2, X),
    "number_zero": (number_as_predicate, 0.0, X),
    "nested": (nested, X, V),
    "nested_false": (nested, np.float32(-1.5), V),
    "in_jit": (inside_jit, X),
    "twice": (same_branches_twice, X),
    "integers": (integers, 1, X),
}
NAMES = list(PROGRAMS)


def parts(name):
    program, *args = PROGRAMS[name]
    return program, args


def floats(args):
    """The numbers of the arguments of a floating type."""
    return tuple(i for i, x in enumerate(args) if np.asarray(x).dtype.kind == "f")


def differentiable(name):
    return not name.startswith("func8")


SMOOTH = [name for name in NAMES if differentiable(name)]
REAL = [name for name in SMOOTH if name != "integers"]  # whose results all are of a real type


@pytest.mark.parametrize("name", NAMES)
def test_value(name):
    program, args = parts(name)
    both(program, *args)
    both(lambda jx: jx.jit(program(jx)), *args)


@pytest.mark.parametrize("name", NAMES)
def test_jaxpr(name):
    program, args = parts(name)
    both(lambda jx: jx.make_jaxpr(program(jx)), *args)


@pytest.mark.parametrize("name", NAMES)
def test_jaxpr_is_well_typed(name):
    program, args = parts(name)
    check_jaxpr(minijax.make_jaxpr(program(minijax))(*args))


def along(jx, f, args, nums):
    """`f` as a function of the numbered arguments, which it gets as a tuple."""

    def g(*chosen):
        full = list(args)
        for i, x in zip(nums, chosen, strict=True):
            full[i] = x
        return f(*full)

    return g


@pytest.mark.parametrize("name", SMOOTH)
def test_jvp_and_its_jaxpr(name):
    program, args = parts(name)
    nums = floats(args)
    primals = tuple(args[i] for i in nums)

    def derivative(jx):
        f = along(jx, program(jx), args, nums)
        return lambda *xs: jx.jvp(f, xs, tuple(x * 0 + 1 for x in primals))

    both(derivative, *primals)
    both(lambda jx: jx.make_jaxpr(derivative(jx)), *primals)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("mode, jit", [("jacfwd", False), ("jacrev", False), ("jacrev", True)])
def test_jacobian(name, mode, jit):
    program, args = parts(name)
    nums = floats(args)

    def jacobian(jx):
        df = getattr(jx, mode)(program(jx), nums)
        return jx.jit(df) if jit else df

    both(jacobian, *args)


@pytest.mark.parametrize("name", ["arrays", "tracers_false", "residuals_1"])
def test_jacobian_of_a_jitted_function(name):
    program, args = parts(name)
    nums = floats(args)
    both(lambda jx: jx.jacrev(jx.jit(program(jx)), nums), *args)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("outer, inner", [("jacfwd", "jacrev"), ("jacrev", "jacfwd")])
def test_second_derivatives(name, outer, inner):
    program, args = parts(name)
    nums = floats(args)
    both(lambda jx: getattr(jx, outer)(getattr(jx, inner)(program(jx), nums), nums), *args)


@pytest.mark.parametrize("name", REAL)
def test_linearize(name):
    program, args = parts(name)
    nums = floats(args)
    primals = tuple(args[i] for i in nums)

    def derivative(jx):
        f = along(jx, program(jx), args, nums)
        return lambda *xs: jx.linearize(f, *xs)[1](*xs)

    both(derivative, *primals)


# --- batching: each argument batched alone, and all of them ---


def batched_somewhere(args):
    for i in range(len(args)):
        yield tuple(0 if i == j else None for j in range(len(args)))
    if len(args) > 1:
        yield (0,) * len(args)


BATCHED = [
    (name, axes)
    for name in NAMES
    if not name.startswith("func8")
    for axes in batched_somewhere(PROGRAMS[name][1:])
]


def stacked(x):
    """Three examples, of both signs."""
    x = np.asarray(x)
    x = x.astype(np.float32) if x.dtype == np.float64 else x
    x = x.astype(np.int32) if x.dtype == np.int64 else x
    return np.stack([x, (0 - x).astype(x.dtype), x + x])


@pytest.mark.parametrize("name, axes", BATCHED)
def test_vmap(name, axes):
    program, args = parts(name)
    args = [x if axis is None else stacked(x) for x, axis in zip(args, axes, strict=True)]
    both(lambda jx: jx.vmap(program(jx), axes), *args)
    both(lambda jx: jx.make_jaxpr(jx.vmap(program(jx), axes)), *args)


@pytest.mark.parametrize(
    "name, axes", [(n, a) for n, a in BATCHED if n in ("arrays", "tracers", "residuals_1")]
)
def test_vmap_of_grad_and_grad_of_vmap(name, axes):
    program, args = parts(name)
    nums = floats(args)
    args = [x if axis is None else stacked(x) for x, axis in zip(args, axes, strict=True)]

    def loss(jx, *args):
        return program(jx)(*args).sum()

    both(lambda jx: jx.vmap(jx.grad(lambda *a: loss(jx, *a), nums), axes), *args)
    both(lambda jx: jx.grad(lambda *a: jx.vmap(program(jx), axes)(*a).sum(), nums), *args)


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

WRONG = {
    "no_callable": lambda jx: lambda: jx.lax.cond(True, 1.0, 2.0),
    "predicate_none": lambda jx: lambda: jx.lax.cond(None, lambda: 1, lambda: 2),
    "predicate_list": lambda jx: lambda: jx.lax.cond([True], lambda: 1, lambda: 2),
    "predicate_vector": lambda jx: lambda: jx.lax.cond(V > 0, lambda: 1, lambda: 2),
    "predicate_text": lambda jx: lambda: jx.lax.cond("yes", lambda: 1, lambda: 2),
    "predicate_complex": lambda jx: lambda: jx.lax.cond(1j, lambda: 1, lambda: 2),
    "both_operands": lambda jx: lambda: jx.lax.cond(
        True, lambda x: x, lambda x: x, 1.0, operand=2.0
    ),
    "dtypes": lambda jx: lambda: jx.lax.cond(True, lambda: 1, lambda: 2.0),
    "shapes": lambda jx: lambda: jx.lax.cond(True, lambda: V, lambda: V[:2]),
    "trees": lambda jx: lambda: jx.lax.cond(True, lambda: (1, 2), lambda: [1, 2]),
    "keys": lambda jx: lambda: jx.lax.cond(True, lambda: {"a": 1}, lambda: {"b": 1}),
    "lengths": lambda jx: lambda: jx.lax.cond(True, lambda: (1,), lambda: (1, 2)),
    "no_array": lambda jx: lambda: jx.lax.cond(True, lambda: "a", lambda: "b"),
    "python_bool": lambda jx: lambda: jx.lax.cond(True, lambda x: 1 if x else 2, lambda x: 1, 3),
    "too_many_operands": lambda jx: lambda: jx.lax.cond(True, lambda x: x, lambda x: x, 1, 2),
    "operand_no_array": lambda jx: lambda: jx.lax.cond(True, lambda x: 1, lambda x: 2, "text"),
    "switch_no_branch": lambda jx: lambda: jx.lax.switch(0, []),
    "switch_float": lambda jx: lambda: jx.lax.switch(0.0, [lambda: 1, lambda: 2]),
    "switch_bool": lambda jx: lambda: jx.lax.switch(True, [lambda: 1, lambda: 2]),
    "switch_vector": lambda jx: lambda: jx.lax.switch(np.arange(2), [lambda: 1, lambda: 2]),
    "switch_text": lambda jx: lambda: jx.lax.switch("0", [lambda: 1, lambda: 2]),
    "switch_no_callable": lambda jx: lambda: jx.lax.switch(0, [1, 2]),
    "switch_dtypes": lambda jx: lambda: jx.lax.switch(0, [lambda: 1, lambda: 2, lambda: 3.0]),
}


@pytest.mark.parametrize("name", list(WRONG))
@pytest.mark.parametrize("jit", [False, True])
def test_error_class(name, jit):
    both(lambda jx: jx.jit(WRONG[name](jx)) if jit else WRONG[name](jx))


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
@pytest.mark.parametrize("unknown", [(False, True, False), (False, False, True),
                                     (False, True, True), (True, False, False),
                                     (True, True, True)])
def test_partial_evaluation(index, unknown):
    """Both halves together compute the whole, whichever arguments are known."""
    jaxpr, _ = staged(minijax)
    args = [np.int32(index), X, V]
    split = partial_eval_jaxpr(jaxpr, unknown, (False,))
    known_jaxpr, unknown_jaxpr, out_unknown, _ = split
    check_jaxpr(known_jaxpr)
    check_jaxpr(unknown_jaxpr)
    known = [x for x, u in zip(args, unknown, strict=True) if not u]
    outs = minijax.jit(minijax.extend.core.jaxpr_as_fun(known_jaxpr))(*known)
    residuals = split.residuals(outs, known)
    late = [x for x, u in zip(args, unknown, strict=True) if u]
    assert out_unknown == (True,)
    (out,) = minijax.extend.core.jaxpr_as_fun(unknown_jaxpr)(*residuals, *late)
    np.testing.assert_allclose(out, residuals_that_differ(minijax)(*args), rtol=1e-6)


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
def test_dtypes(dtype):
    def f(jx):
        def g(p):
            x = jx.numpy.ones(2, dtype)
            return jx.lax.cond(p, lambda: x, lambda: jx.numpy.zeros(2, dtype))

        return jx.jit(g)

    both(f, True)
