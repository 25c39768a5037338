"""`jax.experimental.hijax`: primitives whose rules are methods, and types of other values."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both


def hijax(jx):
    return import_module(f"{jx.__name__}.experimental.hijax")


X = np.float32(3.0)


def cube(jx):
    class Cube(hijax(jx).HiPrimitive):
        def abstract_eval(self, x, *, scale):
            return x, set()

        def to_lojax(self, x, *, scale):
            return scale * x * x * x

        def jvp(self, primals, tangents, *, scale):
            (x,), (t,) = primals, tangents
            return self.bind(x, scale=scale), 30 * scale * x * x * t

    p = Cube("cube")
    return lambda x: p.bind(x, scale=2.0)


@pytest.mark.parametrize("run", [
    lambda jx, f: f(jx.numpy.float32(3.0)), lambda jx, f: jx.jit(lambda x: f(x) + 1)(X),
    lambda jx, f: jx.jvp(f, (X,), (X,)), lambda jx, f: jx.eval_shape(f, X).shape,
], ids=["value", "jit", "jvp", "eval_shape"])
def test_hi_primitive(run):
    both(lambda jx: lambda: run(jx, cube(jx)))


def boxed(jx):
    """A type of values that are no arrays, as libraries declare it when they are imported."""
    hj = hijax(jx)

    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    class PointType(hj.HiType):
        def __hash__(self):
            return 1

        def __eq__(self, other):
            return isinstance(other, PointType)

        def str_short(self, *args, **kwargs):
            return "Point"

        def lower_val(self, p):
            return [p.x, p.y]

        def raise_val(self, x, y):
            return Point(x, y)

    class Norm(hj.HiPrimitive):
        def abstract_eval(self, p):
            return jx.typeof(np.float32(0)), set()

        def to_lojax(self, p):
            return jx.numpy.hypot(p.x, p.y)

    hj.register_hitype(Point, lambda p: PointType())
    return Point, PointType, Norm("norm")


@in_both
def test_types_of_other_values(jx):
    Point, PointType, norm_p = boxed(jx)
    p = Point(np.float32(3), np.float32(4))
    return norm_p.bind(p), jx.typeof(p) == PointType(), jx.typeof(p).is_high


@in_both
def test_values_of_other_types_are_traced(jx):
    Point, _, norm_p = boxed(jx)
    p = Point(np.float32(3), np.float32(4))
    return jx.jit(lambda x: norm_p.bind(p) + x)(1.0)


def test_names_of_hijax():
    both(lambda jx: lambda: [hasattr(hijax(jx), name) for name in (
        "Zero AbstractValue AvalQDD ShapedArray aval_method aval_property AvalMutableQDD "
        "instantiate_zeros is_undefined_primal control_flow_allowed_effects HiPrimitive HiPspec "
        "HiType MutableHiType VJPHiPrimitive register_hitype AbstractRef TransformedRef").split()])


@pytest.mark.parametrize("use", [
    minijax.jit, minijax.vmap, minijax.grad,
    lambda f: lambda p: minijax.eval_shape(f, p), lambda f: lambda p: minijax.jvp(f, (p,), (p,)),
    lambda f: lambda p: minijax.lax.scan(lambda c, x: (c, None), p, length=3),
    lambda f: lambda p: minijax.lax.while_loop(lambda p: f(p) < 3, lambda p: p, p),
])
def test_only_arrays_are_traced(use):
    Point, _, norm_p = boxed(minijax)
    with pytest.raises(NotImplementedError, match="only arrays are traced. Pass its arrays"):
        use(norm_p.bind)(Point(np.float32(3), np.float32(4)))


def test_an_operation_on_a_value_that_changes_is_not_traced():
    hj = hijax(minijax)

    class Counter:
        value = 0

        def cur_qdd(self):
            return "count"

    class CounterType(hj.MutableHiType):
        pass

    class Count(hj.HiPrimitive):
        def to_lojax(self, counter):
            counter.value += 1
            return counter.value

        def abstract_eval(self, counter):
            return minijax.typeof(0), set()

    hj.register_hitype(Counter, lambda counter: CounterType())
    counter, count_p = Counter(), Count("count")
    assert [count_p.bind(counter), count_p.bind(counter)] == [1, 2]
    with pytest.raises(NotImplementedError, match="where it may change"):
        minijax.jit(lambda: count_p.bind(counter))()
    assert counter.value == 2 and minijax.experimental.cur_qdd(counter) == "count"


def test_operations_on_pytrees_are_refused():
    class Square(hijax(minijax).VJPHiPrimitive):
        def __init__(self, aval):
            self.in_avals, self.out_aval, self.params = (aval,), aval, {}
            super().__init__()

    with pytest.raises(NotImplementedError, match="VJPHiPrimitive.*`jax.custom_vjp`"):
        Square(minijax.typeof(X))
