"""Partial evaluation: linearize, dead code, and jaxprs split in two."""

from __future__ import annotations

import itertools
import sys
from collections import Counter

import numpy as np
import pytest

import minijax
from minijax import core, errors, lax
from minijax.core.array import Array, as_array
from minijax.core.core import Primitive, ShapedArray, typeof
from minijax.core.jaxpr import ClosedJaxpr, Literal, convert_constvars_jaxpr, eval_jaxpr
from minijax.core.partial_eval import (
    JaxprTrace,
    JaxprTracer,
    dce_closed,
    dce_jaxpr,
    linearize_flat,
    partial_eval_call,
    partial_eval_jaxpr,
)
from tests.core.same import close, outcome
from tests.oracle import jax
from tests.recorder import applied

jax_pe = jax._src.interpreters.partial_eval

float0 = jax.dtypes.float0
X = np.float32([[0.5, 2.0, 1.5], [1.0, 3.0, 0.25]])
Y = np.float32([0.3, 0.7, 1.1])


def names(jaxpr) -> Counter:
    """The primitives of a jaxpr, those of inner jaxprs included."""
    counts = Counter()
    for eqn in jaxpr.eqns:
        counts[eqn.primitive.name] += 1
        if "jaxpr" in eqn.params:
            counts += names(eqn.params["jaxpr"].jaxpr)
    return counts


# -- linearize ----------------------------------------------------------------------------------


def test_the_nonlinear_part_is_computed_once():
    counted, (_, f_jvp) = applied(minijax.linearize, lambda x: lax.sin(lax.exp(x)), X)
    assert counted["exp"] == counted["sin"] == counted["cos"] == 1
    again, _ = applied(f_jvp, X)
    assert again == Counter({"mul": 2})
    assert applied(f_jvp, 2 * X)[0] == again


def test_residuals_are_shared():
    """One array that two equations need is one constant."""
    leaves = lambda f, *xs: jax.tree.leaves(minijax.linearize(f, *xs)[1].args)
    assert len(leaves(lambda x: lax.add(lax.mul(x, Y), lax.mul(lax.neg(x), Y)), Y)) == 1
    y = as_array(Y)
    assert len(leaves(lambda x: lax.add(lax.mul(x, y), lax.mul(lax.neg(x), y)), y)) == 1
    exp = leaves(lambda x: (lambda e: lax.mul(e, e))(lax.exp(x)), y)
    assert len(exp) == 1  # exp(x) serves as the residual of exp and of mul


def test_linearized_functions_are_linear_and_differentiable():
    f = lambda x: lax.mul(lax.sin(x), lax.exp(x))
    _, f_jvp = minijax.linearize(f, X)
    close(f_jvp(3 * X + 1), 3 * np.asarray(f_jvp(X)) + np.asarray(f_jvp(np.ones_like(X))), tol=1e-5)
    out, tangent = minijax.jvp(f_jvp, (X,), (X,))
    close(out, tangent)
    second = minijax.jvp(lambda x: minijax.linearize(f, x)[1](X), (X,), (X,))[1]
    close(second, jax.jvp(lambda x: jax.linearize(lambda z: jax.lax.sin(z) * jax.lax.exp(z), x)[1](X), (X,), (X,))[1],
          tol=1e-5)


def test_has_aux():
    def f(x):
        return lax.mul(x, x), {"sin": lax.sin(x), "text": 3, "same": x}

    out, f_jvp, aux = minijax.linearize(f, Y, has_aux=True)
    assert type(aux["sin"]) is Array and aux["text"] == 3
    close(aux["sin"], np.sin(Y), tol=1e-6)
    close(aux["same"], Y)
    close(f_jvp(Y), 2 * Y * Y, tol=1e-6)
    jax_aux = jax.linearize(lambda x: (x, (x, 3)), Y, has_aux=True)[2]
    assert jax.tree.structure(minijax.linearize(lambda x: (x, (x, 3)), Y, has_aux=True)[2]) == (
        jax.tree.structure(jax_aux))
    for wrong in (lambda x: x, lambda x: (x, x, x)):
        got = outcome(lambda wrong=wrong: minijax.linearize(wrong, Y, has_aux=True))
        want = outcome(lambda wrong=wrong: jax.linearize(wrong, Y, has_aux=True))
        assert type(got).__name__ == type(want).__name__


@pytest.mark.parametrize("f", [
    lambda x: x, lambda x: Y, lambda x: 2.0, lambda x: (x, x), lambda x: lax.floor(x), lambda x: None,
    lambda x: [x, 1, lax.gt(x, x)], lambda x: lax.convert_element_type(x, np.int32), lambda x: ()])
def test_results_that_are_arguments_or_constants(f):
    for primal in (Y, 1.5):
        _, f_jvp = minijax.linearize(f, primal)
        _, jax_jvp = jax.linearize(_with(f, jax.lax), primal)
        got, expected = f_jvp(primal), jax_jvp(primal)
        assert jax.tree.structure(got) == jax.tree.structure(expected)
        for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(expected)):
            if getattr(y, "dtype", None) != float0:  # what is handed through may be a Python number
                assert (typeof(x).shape, typeof(x).dtype) == (jax.typeof(y).shape, jax.typeof(y).dtype)


def _with(f, lax_module):
    """`f` with another module as its global `lax`."""
    return type(f)(f.__code__, {**f.__globals__, "lax": lax_module}, closure=f.__closure__)


WRONG_TANGENTS = {
    "shape": lambda f: f(Y[:2], 1.0), "dtype": lambda f: f(Y.astype(np.float16), 1.0),
    "number": lambda f: f(Y), "tree": lambda f: f((Y,), 1.0), "too many": lambda f: f(Y, 1.0, 1.0),
    "integer": lambda f: f(Y, 1), "None": lambda f: f(None, 1.0), "text": lambda f: f("a", 1.0),
}


@pytest.mark.parametrize("name", WRONG_TANGENTS)
def test_tangents_that_do_not_fit(name):
    got, want = (outcome(WRONG_TANGENTS[name], lib.linearize(lambda x, y: lib.lax.mul(x, y), Y, 2.0)[1])
                 for lib in (minijax, jax))
    assert type(got).__name__ == type(want).__name__, (got, want)


def test_numpy_arguments_may_change_afterwards():
    x = Y.copy()
    _, f_jvp = minijax.linearize(lambda x: lax.mul(x, x), x)
    x[:] = 0
    close(f_jvp(np.ones_like(Y)), 2 * Y, tol=1e-6)


def test_linearize_flat_says_which_results_have_tangents():
    outs, closed, nonzeros = linearize_flat(lambda x, n: [lax.sin(x), lax.floor(x), n], [X, as_array(3)])
    assert nonzeros == [True, False, False] and len(outs) == 3
    assert closed.in_avals == [typeof(X)] and closed.out_avals == [typeof(X)]
    assert names(closed.jaxpr) == Counter({"mul": 1})


# -- Tracers ------------------------------------------------------------------------------------


def test_unknown_values_are_written_down_and_known_ones_computed():
    trace = JaxprTrace(core.current_trace())
    with core.new_trace(trace):
        x = trace.new_arg(typeof(Y))
        known = lax.sin(Y)
        out = lax.mul(lax.mul(x, known), lax.add(known, known))
        assert type(known) is Array and type(out) is JaxprTracer and out.aval is typeof(Y)
        assert isinstance(out, Array) and repr(out) == "JaxprTracer(float32[3])"
        assert trace.is_unknown(out) and not trace.is_unknown(known)
        with pytest.raises(errors.TracerBoolConversionError):
            bool(x[0])
    assert [e.primitive.name for e in trace.builder.eqns] == ["mul", "mul", "slice", "squeeze"]


def escapes():
    """One escaped tracer of each kind."""
    store = {}

    def keep(name, x):
        store[name] = x
        return x

    minijax.jvp(lambda x: keep("jvp", x), (Y,), (Y,))
    minijax.vmap(lambda x: keep("vmap", x))(Y)
    minijax.make_jaxpr(lambda x: keep("make_jaxpr", x))(Y)
    minijax.jit(lambda x: keep("jit", lax.sin(x)))(Y)
    minijax.linearize(lambda x: keep("linearize", x), Y)
    minijax.linearize(minijax.jit(lambda x: keep("linearize of jit", x)), Y)
    trace = JaxprTrace(core.eval_trace)
    with core.new_trace(trace):
        store["partial evaluation"] = trace.new_arg(typeof(Y))
    return store


USES = {
    "evaluation": lambda x: lax.sin(x), "operator": lambda x: 1 + x, "jit": lambda x: minijax.jit(lax.sin)(x),
    "closure of jit": lambda x: minijax.jit(lambda y: x + y)(1.0), "jvp": lambda x: minijax.jvp(lax.sin, (x,), (x,)),
    "closure of jvp": lambda x: minijax.jvp(lambda y: lax.mul(y, x), (Y,), (Y,)),
    "closure of vmap": lambda x: minijax.vmap(lambda y: y * x)(Y),
    "closure of linearize": lambda x: minijax.linearize(lambda y: y * x, Y),
    "staging": lambda x: minijax.make_jaxpr(lambda: x * 2)(), "array": as_array,
}


@pytest.mark.parametrize("use", USES)
def test_escaped_tracers_of_every_kind_are_refused_everywhere(use):
    for kind, tracer in escapes().items():
        with pytest.raises(errors.UnexpectedTracerError):
            print(kind, USES[use](tracer))
        assert core.current_trace() is core.eval_trace


# -- Dead code ----------------------------------------------------------------------------------


def program(x, y, z):
    a = lax.sin(x)
    b = lax.mul(a, y)
    c = lax.exp(z)
    lax.log(c)  # nobody looks at it
    return a, b, lax.add(c, b), x, 3.0


def test_dead_equations_and_arguments_as_jax():
    ours_jaxpr = minijax.make_jaxpr(program)(1.0, 2.0, 3.0).jaxpr
    jaxs_jaxpr = jax.make_jaxpr(_with(program, jax.lax))(1.0, 2.0, 3.0).jaxpr
    for used in itertools.product((False, True), repeat=5):
        for keep in (False, True, [True, False, False], [False, True, True]):
            got, got_inputs = dce_jaxpr(ours_jaxpr, used, keep)
            want, want_inputs = jax_pe.dce_jaxpr(jaxs_jaxpr, list(used), keep)
            assert list(got_inputs) == list(want_inputs)
            assert [e.primitive.name for e in got.eqns] == [e.primitive.name for e in want.eqns]
            assert (len(got.invars), len(got.outvars)) == (len(want.invars), len(want.outvars))


def test_dead_code_leaves_the_values():
    closed = minijax.make_jaxpr(program)(1.0, 2.0, 3.0)
    values = eval_jaxpr(closed.jaxpr, closed.consts, 1.0, 2.0, 3.0)
    for used in itertools.product((False, True), repeat=5):
        jaxpr, inputs = dce_jaxpr(closed.jaxpr, used)
        args = [x for x, keep in zip((1.0, 2.0, 3.0), inputs) if keep]
        outs = eval_jaxpr(jaxpr, closed.consts, *args)
        assert list(map(float, outs)) == [float(v) for v, u in zip(values, used) if u]


def test_dead_code_inside_jit():
    def f(x, y):
        inner = minijax.jit(lambda a, b: (lax.sin(a), lax.exp(b), a))
        return inner(x, y)

    jaxpr = minijax.make_jaxpr(f)(1.0, 2.0).jaxpr
    for used in itertools.product((False, True), repeat=3):
        pruned, inputs = dce_jaxpr(jaxpr, used)
        want, want_inputs = jax_pe.dce_jaxpr(jax.make_jaxpr(
            lambda x, y: jax.jit(lambda a, b: (jax.lax.sin(a), jax.lax.exp(b), a))(x, y))(1.0, 2.0).jaxpr, list(used))
        assert inputs == want_inputs
        assert (names(pruned)["sin"], names(pruned)["exp"]) == (used[0], used[1])
        for eqn in pruned.eqns:
            inner = eqn.params["jaxpr"].jaxpr
            assert len(inner.invars) == len(eqn.invars) and len(inner.outvars) == len(eqn.outvars)


def test_constants_of_dead_equations_go():
    y = as_array(Y)
    closed = minijax.make_jaxpr(lambda x: (x * y, x + Y))(Y)
    assert len(closed.consts) == 2
    for used, consts in (((True, False), 1), ((False, True), 1), ((False, False), 0), ((True, True), 2)):
        pruned, inputs = dce_closed(closed, used)
        assert len(pruned.consts) == len(pruned.jaxpr.constvars) == consts
        assert inputs == (any(used),)


def test_a_jaxpr_is_not_changed():
    closed = minijax.make_jaxpr(program)(1.0, 2.0, 3.0)
    text = str(closed)
    dce_jaxpr(closed.jaxpr, [False] * 5)
    partial_eval_jaxpr(closed, (True, False, True), (False,) * 5)
    assert str(closed) == text


# -- A jaxpr in two parts -----------------------------------------------------------------------

K = as_array(np.float32([2.0, 3.0, 5.0]))


def chain(x, y, z):
    return lax.sin(lax.mul(x, y)), lax.mul(lax.exp(y), z), lax.neg(z)


def with_constants(x, y):
    return lax.mul(lax.add(x, K), lax.mul(y, K)), K, 2.0, x


def with_jit(x, y):
    inner = minijax.jit(lambda a, b: (lax.mul(lax.sin(a), b), lax.cos(a), b, lax.mul(lax.exp(b), K)))
    a, b, c, d = inner(x, y)
    return lax.mul(a, b), lax.add(c, d), d


def with_nested_jit(x, y, z):
    innermost = minijax.jit(lambda a, b: lax.mul(lax.sin(a), b))
    return minijax.jit(lambda a, b, c: (innermost(a, b), innermost(b, c), innermost(a, a)))(x, y, z)


def several_results(x, y):
    parts = lax.split(lax.concatenate([x, y], 0), (2, 4), 0)
    return parts[0], lax.mul(parts[1], lax.concatenate([y, y[:1]], 0)), lax.reduce_sum(x, (0,))


def passed_through(x, y):
    return x, y, y, lax.mul(x, x)


SPLIT = {f.__name__: f for f in (chain, with_constants, with_jit, with_nested_jit, several_results, passed_through)}


def recombine(parts, jaxpr, unknowns, args):
    """The values of the whole, from those of the two parts."""
    known_jaxpr, unknown_jaxpr, out_unknowns, _ = parts
    known_args = [x for x, unknown in zip(args, unknowns) if not unknown]
    known_outs = eval_jaxpr(known_jaxpr.jaxpr, known_jaxpr.consts, *known_args)
    residuals = parts.residuals(known_outs, [*known_args, *jaxpr.consts, *known_outs])
    unknown_args = [x for x, unknown in zip(args, unknowns) if unknown]
    unknown_outs = iter(eval_jaxpr(unknown_jaxpr.jaxpr, unknown_jaxpr.consts, *residuals, *unknown_args))
    known = iter(known_outs)
    return [next(unknown_outs) if unknown else next(known) for unknown in out_unknowns]


@pytest.mark.parametrize("name", SPLIT)
def test_the_two_parts_make_the_whole(name):
    f = SPLIT[name]
    n = f.__code__.co_argcount
    args = [as_array(np.float32([0.5, 1.5, 2.5]) * (i + 1)) for i in range(n)]
    closed = minijax.make_jaxpr(f)(*args)
    wants = eval_jaxpr(closed.jaxpr, closed.consts, *args)
    for unknowns in itertools.product((False, True), repeat=n):
        halves = {(False,) * len(wants): partial_eval_call(closed, unknowns)}
        for instantiate in ((False,) * len(wants), (True,) * len(wants), (True,) + (False,) * (len(wants) - 1)):
            for parts in (partial_eval_jaxpr(closed, unknowns, instantiate), halves.pop(instantiate, None)):
                if parts is None:
                    continue
                outs = recombine(parts, closed, unknowns, args)
                for got, want in zip(outs, wants, strict=True):
                    close(got, want, (unknowns, instantiate), 1e-6)
                assert len(parts.known.outvars) == parts.out_unknowns.count(False) + parts.sources.count(None)
                assert all(u or not i for u, i in zip(parts.out_unknowns, instantiate) if not u)
                assert not parts.unknown.consts


@pytest.mark.parametrize("name", ["chain", "with_jit", "with_nested_jit", "several_results"])
def test_unknown_results_are_those_of_jax(name):
    f = SPLIT[name]
    n = f.__code__.co_argcount
    args = [Y * (i + 1) for i in range(n)]
    minijax_closed = minijax.make_jaxpr(f)(*args)
    cells = {"lax": jax.lax, "minijax": jax, "K": jax.numpy.asarray(np.asarray(K))}
    theirs = type(f)(f.__code__, {**f.__globals__, **cells})
    jax_closed = jax.make_jaxpr(theirs)(*map(jax.numpy.asarray, args))
    for unknowns in itertools.product((False, True), repeat=n):
        n_out = len(minijax_closed.out_avals)
        _, _, got, *_ = partial_eval_jaxpr(minijax_closed, unknowns, (False,) * n_out)
        _, _, want, _ = jax_pe.partial_eval_jaxpr_nounits(jax_closed, list(unknowns), [False] * n_out)
        assert list(got) == list(want), unknowns


def test_known_equations_run_once_and_unknown_ones_are_few():
    closed = minijax.make_jaxpr(chain)(Y, Y, Y)
    known, unknown, out_unknowns, sources = partial_eval_jaxpr(closed, (False, False, True), (False,) * 3)
    assert names(known.jaxpr) == Counter(["sin", "mul", "exp"])
    assert names(unknown.jaxpr) == Counter(["mul", "neg"])
    assert out_unknowns == (False, True, True) and sources.count(None) == 1


def test_known_arguments_are_forwarded_not_computed():
    closed = minijax.make_jaxpr(lambda x, y: lax.mul(x, y))(Y, Y)
    known, _, _, sources = partial_eval_jaxpr(closed, (False, True), (False,))
    assert sources == (0,) and known.jaxpr.outvars == []


def test_constants_are_forwarded():
    closed = minijax.make_jaxpr(lambda x, y: lax.add(lax.mul(x, K), y))(Y, Y)
    assert sorted(partial_eval_call(closed, (True, False)).sources) == [0, 1]  # argument y, and after it the constant
    assert partial_eval_jaxpr(closed, (True, False), (False,)).sources.count(None) == 1


def test_a_residual_used_twice_is_one():
    closed = minijax.make_jaxpr(lambda x, y: (lax.mul(lax.sin(x), y), lax.add(lax.mul(lax.sin(x), y), y)))(Y, Y)
    shared = minijax.make_jaxpr(lambda x, y: (lambda s: (lax.mul(s, y), lax.div(y, s)))(lax.sin(x)))(Y, Y)
    assert partial_eval_jaxpr(closed, (False, True), (False,) * 2).sources.count(None) == 2
    assert partial_eval_jaxpr(shared, (False, True), (False,) * 2).sources.count(None) == 1


def test_splitting_is_remembered():
    closed = minijax.make_jaxpr(chain)(Y, Y, Y)
    first = partial_eval_jaxpr(closed, (False, True, True), (False,) * 3)
    assert partial_eval_jaxpr(closed, (False, True, True), (False,) * 3) is first


def test_constants_as_arguments():
    closed = minijax.make_jaxpr(lambda x: x * K)(Y)
    jaxpr = convert_constvars_jaxpr(closed.jaxpr)
    assert not jaxpr.constvars and len(jaxpr.invars) == 2
    close(eval_jaxpr(jaxpr, [], K, Y)[0], Y * np.asarray(K))


# -- jit within linearize -----------------------------------------------------------------------


def test_the_known_half_of_jit_is_compiled_and_the_other_written_down():
    f = minijax.jit(lambda x, y: lax.mul(lax.sin(x), lax.exp(y)))
    counted, (_, f_jvp) = applied(minijax.linearize, f, Y, Y)
    assert counted["jit"] == 1 and set(counted) == {"jit"}
    linear = minijax.make_jaxpr(f_jvp)(Y, Y)
    assert not names(linear.jaxpr).keys() & {"sin", "cos", "exp"}


def test_jit_whose_results_are_all_known():
    f = lambda x: lax.mul(x, minijax.jit(lambda y: lax.sin(y))(Y))
    assert names(linearize_flat(lambda x: [f(x)], [as_array(Y)])[1].jaxpr) == Counter({"mul": 1})


# -- Long programs ------------------------------------------------------------------------------


def test_long_programs_need_no_recursion():
    length = 20_000

    def f(x):
        for i in range(length):
            x = lax.neg(x) if i % 2 else lax.mul(x, np.float32(1))
        return x

    assert sys.getrecursionlimit() < length
    _, closed, _ = linearize_flat(lambda x: [f(x)], [as_array(1.0)])
    assert len(closed.jaxpr.eqns) == length
    assert len(dce_jaxpr(closed.jaxpr, [True])[0].eqns) == length
    assert len(dce_jaxpr(closed.jaxpr, [False])[0].eqns) == 0
    assert eval_jaxpr(closed.jaxpr, closed.consts, 3.0)[0].item() == 3


def test_the_number_of_equations_grows_linearly():
    def equations(length):
        def f(x, y):
            for _ in range(length):
                x, y = lax.mul(lax.sin(x), y), lax.exp(y)
            return x

        closed = minijax.make_jaxpr(f)(1.0, 2.0)
        known, unknown, *_, = partial_eval_jaxpr(closed, (True, False), (False,))
        linear = linearize_flat(lambda x, y: [f(x, y)], [as_array(1.0), as_array(2.0)])[1]
        return np.array([len(j.eqns) for j in (closed, known, unknown, linear)])

    one, two, four = equations(10), equations(20), equations(40)
    assert (four - two == 2 * (two - one)).all()


# -- Rules of one's own -------------------------------------------------------------------------


def test_a_primitive_without_a_rule_becomes_an_equation():
    third_p = Primitive("third")
    third_p.def_impl(lambda x: lax.div(x, 3.0))
    third_p.def_abstract_eval(lambda aval: aval)
    trace = JaxprTrace(core.eval_trace)
    with core.new_trace(trace):
        out = third_p.bind(trace.new_arg(typeof(1.0)))
        assert third_p.bind(as_array(3.0)).item() == 1
        closed = trace.builder.build([trace.atom(out)])
    assert [e.primitive for e in closed.jaxpr.eqns] == [third_p]


def test_a_known_scalar_is_a_literal():
    trace = JaxprTrace(core.eval_trace)
    with core.new_trace(trace):
        out = lax.mul(trace.new_arg(ShapedArray((), np.float32)), np.float32(2))
        jaxpr = trace.builder.build([trace.atom(out)])
    assert type(jaxpr.jaxpr.eqns[0].invars[1]) is Literal and type(jaxpr) is ClosedJaxpr
