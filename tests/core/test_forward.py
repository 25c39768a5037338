"""Forward mode: every rule, symbolic zeros, nesting."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

import minijax
from minijax import core, errors, lax
from minijax.core.array import Array, as_array
from minijax.core.core import Primitive, ShapedArray, typeof
from minijax.core.forward import (
    JVPTrace,
    JVPTracer,
    Zero,
    add_tangents,
    deflinear_jvp,
    instantiate_zeros,
    jvpfun,
    primitive_jvps,
    zeros,
)
from minijax.core.primitives import stop_gradient_p
from tests.core.same import close
from tests.families import primitives_of_families
from tests.oracle import ask, jax
from tests.recorder import applied

float0 = jax.dtypes.float0


def jvp(f, primals, tangents):
    """`jvp` of a function with one result; the public one is for chapter 3."""
    outs, out_tangents = jvpfun(lambda *args: [f(*args)], primals, tangents)
    return outs[0], instantiate_zeros(out_tangents[0])


def derivative(f):
    return lambda x: jvp(f, [x], [as_array(np.ones_like(np.float32(1)))])[1]


# -- Rules, against JAX and against differences -------------------------------------------------


def test_ties_share_the_tangent():
    one = as_array(np.float32(1))
    for f in (lax.max, lax.min):
        assert jvp(f, [one, one], [one, Zero(typeof(one))])[1].item() == 0.5
    x = as_array(np.float32([2, 2, 1]))
    t = as_array(np.float32([3, 5, 7]))
    assert jvp(lambda x: lax.reduce_max(x, (0,)), [x], [t])[1].item() == 4


def test_products_with_zeros():
    """No division by the elements: a zero, or two, are like all others."""
    for x in ([0, 2, 3, 4], [0, 2, 0, 4]):
        x = np.float32(x)
        for i, (f, g) in itertools.product(range(4), [
                (lambda z: lax.reduce_prod(z, (0,)), lambda z: jax.lax.reduce_prod(z, (0,))),
                (lambda z: lax.cumprod(z), lambda z: jax.lax.cumprod(z))]):
            t = np.eye(4, dtype=np.float32)[i]
            close(jvp(f, [x], [t])[1], ask(lambda: jax.jvp(g, (x,), (t,))[1]), (x, i))


@pytest.mark.parametrize("f", [
    lambda l: lambda x: l.abs(x), lambda l: lambda x: l.sqrt(x),
    lambda l: lambda x: l.pow(x, np.int32(0)), lambda l: lambda x: l.integer_pow(x, 0), lambda l: l.sign,
    lambda l: lambda x: l.pow(x, np.float32(2)), lambda l: lambda x: l.pow(np.float32(0), x),
    lambda l: lambda x: l.log(x), lambda l: lambda x: l.integer_pow(x, -1), lambda l: l.logistic,
    lambda l: l.tanh])
def test_derivatives_at_singular_points(f):
    for point in (0.0, -0.0, np.inf, -np.inf, np.nan, 100.0):
        x = np.float32(point)
        got = jvp(f(lax), [x], [np.float32(1)])[1]
        want = ask(lambda: jax.jvp(f(jax.lax), (x,), (np.float32(1),))[1])
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, err_msg=str(point))


def test_every_primitive_has_a_rule():
    assert primitives_of_families() - set(primitive_jvps) == set()


# -- Symbolic zeros -----------------------------------------------------------------------------

X, T = as_array(np.float32([[0.5, 2.0], [1.0, 3.0]])), as_array(np.float32([[1.0, 0.5], [2.0, 4.0]]))
ZERO = Zero(typeof(X))


def test_zeros():
    assert repr(ZERO) == "Zero(f32[2,2])" and ZERO.aval is typeof(X)
    assert Zero.from_primal_value(np.int32(1)).aval is ShapedArray((), float0)
    assert Zero.from_primal_value(2.0).aval is typeof(2.0)
    assert instantiate_zeros(T) is T and instantiate_zeros(ZERO).tolist() == [[0, 0], [0, 0]]
    assert add_tangents(ZERO, T) is T and add_tangents(T, ZERO) is T and add_tangents(ZERO, ZERO) is ZERO
    assert add_tangents(T, T).tolist() == (2 * np.asarray(T)).tolist()
    weak = zeros(typeof(1.0))
    assert weak.weak_type and weak.item() == 0
    none = zeros(ShapedArray((2,), float0))
    assert type(none) is np.ndarray and none.dtype == float0 and none.shape == (2,)


def pushed(f, *tangents):
    """How often each primitive is applied by the forward mode of `f` at `X, X`."""
    return applied(jvpfun, lambda *args: [f(*args)], [X, X], list(tangents))[0]


def test_no_tangent_costs_nothing():
    f = lambda x, y: lax.reduce_sum(lax.tanh(lax.mul(lax.dot(x, y), lax.exp(x))), (0,))
    assert pushed(f, ZERO, ZERO) == applied(f, X, X)[0]


@pytest.mark.parametrize("f, tangents, extra", [
    (lambda x, y: lax.mul(x, y), (T, ZERO), {"mul": 1}),
    (lambda x, y: lax.mul(x, y), (T, T), {"mul": 2, "add_any": 1}),
    (lambda x, y: lax.add(x, y), (T, ZERO), {}),
    (lambda x, y: lax.add(x, y), (T, T), {"add": 1}),
    (lambda x, y: lax.sub(x, y), (ZERO, T), {"neg": 1}),
    (lambda x, y: lax.sin(lax.mul(lax.exp(y), 2.0)), (T, ZERO), {}),
    (lambda x, y: lax.add(lax.sin(x), lax.sin(y)), (ZERO, T), {"cos": 1, "mul": 1}),
    (lambda x, y: lax.neg(lax.floor(x)), (T, T), {}),
    (lambda x, y: lax.dot(x, y), (ZERO, T), {"dot_general": 1}),
    (lambda x, y: lax.transpose(lax.reshape(x, (1, 4)), (1, 0)), (T, ZERO), {"reshape": 1, "transpose": 1}),
    (lambda x, y: lax.concatenate([y, y], 0), (T, ZERO), {}),
    (lambda x, y: stop_gradient_p.bind(lax.mul(x, y)), (T, T), {"mul": 2, "add_any": 1}),
    (lambda x, y: lax.mul(stop_gradient_p.bind(x), y), (T, ZERO), {}),
    (lambda x, y: lax.convert_element_type(x, np.int32), (T, ZERO), {}),
    (lambda x, y: lax.unstack(y, 0)[0], (T, ZERO), {}),
    (lambda x, y: lax.dynamic_slice(y, (np.int32(0), np.int32(0)), (1, 1)), (T, ZERO), {}),
])
def test_only_what_has_a_tangent_is_differentiated(f, tangents, extra):
    assert pushed(f, *tangents) - applied(f, X, X)[0] == Counter(extra)


def test_zero_tangents_come_out_as_zeros():
    functions = [lambda x: lax.floor(x), lambda x: lax.gt(x, X), lambda x: lax.argmax(x, 0, np.int32),
                 lambda x: X, lambda x: 2.0, lambda x: lax.convert_element_type(x, np.int8)]
    for f in functions:
        outs, tangents = jvpfun(lambda x, f=f: [f(x)], [X], [T])
        assert type(tangents[0]) is Zero and tangents[0].aval is typeof(outs[0]).to_tangent_aval()
        assert not isinstance(outs[0], JVPTracer)


def test_several_results_with_and_without_tangents():
    outs, tangents = jvpfun(lambda x, n: [x, n, lax.mul(x, x), 3], [X, 5], [T, Zero(ShapedArray((), float0))])
    assert outs[0] is X and tangents[0] is T and outs[1] == 5 and outs[3] == 3
    assert [type(t) is Zero for t in tangents] == [False, True, False, True]


def test_values_without_a_tangent_are_not_boxed():
    seen = []
    jvpfun(lambda x, y, n: [seen.extend([x, y, n]) or x], [X, X, 3],
             [T, ZERO, np.zeros((), float0)])
    assert isinstance(seen[0], JVPTracer) and seen[1] is X and seen[2] == 3


def test_integers_have_tangents_of_float0():
    n = as_array(np.int32([1, 2]))
    outs, tangents = jvpfun(lambda n: [lax.mul(n, n)], [n], [np.zeros(2, float0)])
    assert outs[0].tolist() == [1, 4] and tangents[0].aval.dtype == float0
    x = as_array(np.float32([1, 2]))
    out, tangent = jvp(lambda n, x: lax.mul(lax.convert_element_type(n, np.float32), x), [n, x],
                       [np.zeros(2, float0), x])
    assert out.tolist() == [1, 4] and tangent.tolist() == [1, 4]


# -- Nesting ------------------------------------------------------------------------------------


CONFUSION = [  # (function of a derivative operator D and lax, value at 2)
    (lambda D, l: lambda x: D(lambda y: x)(3.0), 0.0),
    (lambda D, l: lambda x: l.mul(x, D(lambda y: l.mul(x, y))(1.0)), 4.0),
    (lambda D, l: lambda x: l.mul(x, D(lambda y: l.add(x, y))(1.0)), 2.0),
    (lambda D, l: D(lambda x: l.mul(x, D(lambda y: l.add(x, y))(1.0))), 1.0),
    (lambda D, l: D(lambda x: l.mul(x, D(lambda y: l.mul(x, y))(2.0))), 4.0),
    (lambda D, l: D(lambda x: D(lambda y: l.mul(x, l.mul(y, y)))(x)), 8.0),
    (lambda D, l: D(lambda x: D(lambda y: l.mul(y, D(lambda z: l.mul(x, z))(y)))(x)), 1.0),
    (lambda D, l: D(lambda x: D(lambda x: l.mul(x, x))(x)), 2.0),
    (lambda D, l: D(D(lambda x: l.mul(l.mul(x, x), x))), 12.0),
    (lambda D, l: D(lambda x: D(lambda y: stop_gradient_p.bind(l.mul(x, y)))(x)), 0.0),
]


@pytest.mark.parametrize("number", range(len(CONFUSION)))
def test_perturbations_are_not_confused(number):
    make, expected = CONFUSION[number]
    result = make(derivative, lax)(as_array(np.float32(2)))
    assert float(result) == expected


def test_inner_tangents_may_depend_on_the_outer_variable():
    def f(x):
        return jvp(lambda y: lax.mul(y, lax.mul(y, x)), [3.0], [x])[1]  # 6 x²

    assert derivative(f)(as_array(np.float32(2))).item() == 24


def test_the_variable_of_an_outer_derivative_is_a_constant_inside():
    levels = []

    def outer(x):
        def inner(y):
            trace = core.current_trace()
            levels.append((trace.unbox(x)[0] is x, type(trace.unbox(x)[1]) is Zero, trace.parent is x._trace))
            return lax.mul(x, y)

        return derivative(inner)(3.0)

    assert derivative(outer)(as_array(np.float32(2))).item() == 1
    assert levels == [(True, True, True)]


# -- Tracers and traces -------------------------------------------------------------------------


def test_tracers_know_their_value_and_print_it():
    seen = []

    def f(x):
        seen.extend([repr(x), bool(x), int(x), x.aval])
        return x * 2 if x > 1 else x

    x = as_array(np.float32(2))
    assert jvp(f, [x], [x])[1].item() == 4
    assert seen == [f"JVPTracer(primal={x}, tangent={x})", True, 2, typeof(x)]
    in_jax = []
    jax.jvp(lambda x: in_jax.append(repr(x)) or x, (np.float32(2),), (np.float32(2),))
    assert seen[0].startswith("JVPTracer(primal=2.0, tangent=2.0)") and "JVPTracer" in in_jax[0]


def test_tracers_are_arrays_but_not_numpys():
    def f(x):
        assert isinstance(x, Array) and x.shape == (2, 2)
        with pytest.raises(errors.TracerArrayConversionError):
            np.asarray(x)
        return x.T + x[0]

    assert jvp(f, [X], [T])[1].shape == (2, 2)


def test_python_control_flow_and_operators():
    def newton(x):
        y = x
        for _ in range(30):
            if y * y < x + 1e-6 and y * y > x - 1e-6:
                break
            y = (y + x / y) / 2
        return -y + 2 * y ** 1

    _, tangent = jvp(newton, [as_array(np.float32(2))], [as_array(np.float32(1))])
    assert abs(tangent.item() - 0.5 / np.sqrt(2)) < 1e-3


def leak(f=lambda x: x):
    store = []
    jvpfun(lambda x: [store.append(f(x)) or x], [X], [T])
    return store[0]


@pytest.mark.parametrize("use", [
    lax.sin, lambda x: x + 1, lambda x: 1 + x, lambda x: lax.mul(X, x), as_array, lambda x: x[0],
    lambda x: jvp(lax.sin, [x], [T]), lambda x: jvp(lax.sin, [X], [x]), lambda x: jvp(lambda y: y * x, [X], [T])])
def test_an_escaped_tracer_is_refused(use):
    for f in (lambda x: x, lambda x: x * 2):
        with pytest.raises(errors.UnexpectedTracerError, match="JVPTracer"):
            use(leak(f))


def test_a_tracer_stored_by_one_derivative_and_used_in_another():
    store = []

    def f(x):
        store.append(x)
        return lax.mul(x, store[0])

    assert jvp(f, [X], [T])[1].shape == (2, 2)
    with pytest.raises(errors.UnexpectedTracerError):
        jvp(f, [X], [T])
    assert core.current_trace() is core.eval_trace


def test_an_inner_tracer_may_not_leave_for_the_outer_derivative():
    def outer(x):
        store = []
        derivative(lambda y: store.append(y) or y)(x)
        return lax.mul(x, store[0])

    with pytest.raises(errors.UnexpectedTracerError):
        derivative(outer)(as_array(np.float32(2)))


def test_the_trace_returns_after_an_error():
    def fails(x):
        raise KeyError

    with pytest.raises(KeyError):
        jvp(fails, [X], [T])
    with pytest.raises(TypeError):
        jvp(lambda x: lax.add(x, np.int32(1)), [X], [T])
    assert core.current_trace() is core.eval_trace


def test_traces_print_their_nesting():
    trace = JVPTrace(JVPTrace(core.eval_trace))
    assert repr(trace) == "JVPTrace(JVPTrace(EvalTrace))" and not trace.staging


# -- New rules ----------------------------------------------------------------------------------


def test_missing_rule():
    nameless_p = Primitive("nameless")
    nameless_p.def_impl(lambda x: x)
    assert jvp(nameless_p.bind, [X], [ZERO])[0] is X  # without a tangent none is needed
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'nameless'.*chapter 2"):
        jvp(nameless_p.bind, [X], [T])


def test_a_linear_primitive_of_several_results():
    pair_p = Primitive("pair", multiple_results=True)
    pair_p.def_impl(lambda x: [lax.neg(x), lax.mul(x, 2.0)])
    deflinear_jvp(pair_p)
    outs, tangents = jvpfun(pair_p.bind, [X], [T])
    assert [x.tolist() for x in tangents] == [lax.neg(T).tolist(), lax.mul(T, 2.0).tolist()]
    outs, tangents = jvpfun(lambda x: pair_p.bind(X), [X], [T])
    assert all(type(t) is Zero for t in tangents) and len(outs) == 2


def test_primals_and_tangents_are_both_tuples_or_both_lists():
    for library in (minijax, jax):
        assert library.jvp(lambda x: x, [1.0], [2.0]) == (1.0, 2.0)
        for primals, tangents in [((1.0,), [2.0]), ([1.0], (2.0,))]:
            with pytest.raises(TypeError, match="same tree structure"):
                library.jvp(lambda x: x, primals, tangents)
