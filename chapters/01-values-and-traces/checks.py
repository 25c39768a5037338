"""The checks of chapter 1's exercises."""

from __future__ import annotations

import contextlib
import itertools
import threading

import numpy as np
from learning.checking import Wrong, compare, exercise, expect

from minijax.core import dtypes, primitives as lax
from minijax.core.array import def_numpy
from minijax.core.core import (
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    current_trace,
    eval_trace,
    set_current_trace,
)
from minijax.errors import UnexpectedTracerError
from minijax.lax import cutting, shaping

F = np.float32


def refuses(error, f, *args):
    """That f raises this error and no other."""
    shown = ", ".join(map(str, args))
    try:
        result = f(*args)
    except error:
        return
    except Exception as other:
        raise Wrong(f"with {shown}\n  it should raise {error.__name__}, and raises "
                    f"{type(other).__name__}: {other}") from other
    raise Wrong(f"with {shown}\n  it should raise {error.__name__}\n  you say   {result!r}")


PROGRAMS = {
    "lambda x: x": (lambda x: x, {}),
    "lax.sin": (lax.sin, {"sin": 1}),
    "lambda x: x * lax.sin(x) * x": (lambda x: x * lax.sin(x) * x, {"mul": 2, "sin": 1}),
    "lambda x: lax.broadcasted_iota('float32', (3,), 0)": (
        lambda x: shaping.broadcasted_iota("float32", (3,), 0), {"iota": 1}),
    "lambda x: lax.split(lax.full((2,), x), (1, 1), 0)[0]": (
        lambda x: cutting.split(lax.full((2,), x), (1, 1), 0)[0],
        {"broadcast_in_dim": 1, "split": 1}),
}


@exercise("1.1", "Counting primitives", ["count_primitives"], hints=[
    "NarrateTrace of the text prints each primitive. Count instead.",
    "`with new_trace(YourTrace(current_trace())) as trace:` makes it current, and ends it.",
    "Make the parent current before you bind again, or it never ends.",
    "Return what the parent gave, whatever it is: it may be a list.",
])
def counting(count_primitives):
    for name, (f, want) in PROGRAMS.items():
        compare(lambda x, f=f: dict(count_primitives(f, x)), lambda x, w=want: w, [(F(2),)],
                f"f = {name}, and x =")
    both = lambda x: lax.neg(lax.sin(x) if count_primitives(lax.cos, x) == {"cos": 1} else x)
    compare(lambda x: dict(count_primitives(both, x)),
            lambda x: {"cos": 1, "sin": 1, "neg": 1}, [(F(2),)],
            "f = lambda x: … count_primitives(lax.cos, x) … lax.neg(lax.sin(x)), and x =")
    expect(current_trace() is eval_trace, "afterwards EvalTrace must be current again")
    with contextlib.suppress(ZeroDivisionError):
        count_primitives(_fails, F(2))
    expect(current_trace() is eval_trace, "… also if f raises an exception")


def _fails(x):
    raise ZeroDivisionError


class _Heard(Trace):
    """Keeps what it was asked, and answers by a word."""

    asked = None

    def process_primitive(self, primitive, args, params):
        self.asked = primitive, tuple(args), params
        return "its answer"


class _Box(Tracer):
    """A value of some trace."""

    def __init__(self, trace, name):
        self._trace, self.name = trace, name

    aval = ShapedArray((), "float32")

    def __repr__(self):
        return self.name


@exercise("1.2", "A guard against leaked boxes", ["bind"], hole="core.core.Primitive.bind", hints=[
    "Collect the stack first: the current trace, its parent, the parent's parent, to None.",
    "A value that is not a Tracer is a constant, and may always pass.",
    "bind computes nothing. It calls process_primitive of the current trace, with the primitive, "
    "the arguments as a tuple, and the parameters as a dict.",
])
def door(bind):
    compare(lambda x: float(lax.neg(x)), lambda x: -x, [(2.0,)],
            "EvalTrace current, and lax.neg of")
    heard = _Heard(eval_trace)
    with set_current_trace(heard):
        answer = lax.reshape_p.bind(F(1), new_sizes=(1, 1), dimensions=None)
    want = (lax.reshape_p, (F(1),), {"new_sizes": (1, 1), "dimensions": None})
    expect(heard.asked is not None, "the current trace was not asked")
    expect(heard.asked == want, f"the current trace should hear {want}\n  it heard  {heard.asked}")
    expect(answer == "its answer", f"bind should give what the trace gave; you give {answer!r}")
    with set_current_trace(heard):
        elsewhere = _in_thread(lambda: float(lax.neg(3.0)))
    expect(elsewhere == [-3.0],
           "another thread has a current trace of its own, and there lax.neg(3.0) is -3.0;\n"
           f"  you say   {elsewhere}")
    _guarded(heard)


def _guarded(below):
    """Boxes of the stack pass, others do not."""
    above, beside = _Heard(below), _Heard(eval_trace)
    with set_current_trace(above):
        for box in (_Box(above, "a box of the current trace"), _Box(below, "a box of its parent")):
            got = _call(lax.neg_p.bind, box)
            expect(got == "its answer",
                   f"with {box}\n  it should ask the current trace, and gives {_first_line(got)}")
        above.asked = None
        leaked = _Box(beside, "a box of a trace that is not on the stack")
        for args in ((leaked,), (F(1), leaked), (leaked, F(1))):
            refuses(UnexpectedTracerError, lax.mul_p.bind, *args)
        expect(above.asked is None, "the trace should not be asked if an argument has leaked")
        said = _call(lax.mul_p.bind, leaked)
        expect("mul" in said, f"the message should name the primitive, mul; it is\n  {said}")
    with set_current_trace(below):
        refuses(UnexpectedTracerError, lax.neg_p.bind, _Box(above, "a box of a trace above"))


def _in_thread(f):
    results = []

    def run():
        try:
            results.append(f())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results


@exercise("1.3", "A shape rule", ["outer_shape"], hints=[
    "Four things: are they vectors, do the types fit, what is the shape, is the result weak?",
    "An aval has the attributes `ndim`, `shape`, `dtype` and `weak_type`.",
    "The result is weak if both arguments are.",
])
def shape_rule(outer_shape):
    vector = lambda n, dtype="float32", weak=False: ShapedArray((n,), dtype, weak)
    expected = lambda x, y: ShapedArray(x.shape + y.shape, x.dtype, x.weak_type and y.weak_type)
    cases = [(vector(1), vector(1)), (vector(2), vector(3)), (vector(0, "int8"), vector(3, "int8")),
             (vector(2, weak=True), vector(3)), (vector(2, weak=True), vector(3, weak=True))]
    compare(outer_shape, expected, cases, "x, y =")
    scalar, matrix = ShapedArray((), "float32"), ShapedArray((2, 2), "float32")
    for x, y in ((scalar, vector(2)), (vector(2), matrix), (vector(2), vector(2, "int32"))):
        refuses(TypeError, outer_shape, x, y)
    outer_p = Primitive("outer")
    outer_p.def_abstract_eval(outer_shape)
    def_numpy(outer_p, np.multiply.outer)
    compare(outer_p.bind, np.multiply.outer, [(np.arange(2.0, dtype=F), np.arange(3.0, dtype=F))],
            "the primitive with your rule, bound to")


DEEP = {
    "lambda x, y: x": (lambda x, y: x, 0),
    "lambda x, y: 1.0": (lambda x, y: 1.0, 0),
    "lambda x, y: lax.sin(x)": (lambda x, y: lax.sin(x), 1),
    "lambda x, y: lax.mul(lax.sin(x), y)": (lambda x, y: lax.mul(lax.sin(x), y), 2),
    "lambda x, y: lax.mul(y, lax.sin(lax.neg(x)))": (
        lambda x, y: lax.mul(y, lax.sin(lax.neg(x))), 3),
    "lambda x, y: lax.sin(lax.sin(lax.broadcasted_iota('float32', (1,), 0)))": (
        lambda x, y: lax.sin(lax.sin(shaping.broadcasted_iota("float32", (1,), 0))), 0),
    "lambda x, y: lax.add(x, lax.sin(lax.sin(2.0)))": (
        lambda x, y: lax.add(x, lax.sin(lax.sin(2.0))), 1),
    "lambda x, y: lax.split(lax.full((2,), x), (1, 1), 0)[0]": (
        lambda x, y: cutting.split(lax.full((2,), x), (1, 1), 0)[0], 2),
}


@exercise("1.4", "How deep is a function?", ["depth"], hints=[
    "Take DependsTracer and DependsTrace of the page Traces and tracers, with a number instead of "
    "the names.",
    "The depth of a result is one more than the greatest depth of its arguments.",
    "A value that is not one of our boxes depends on no input. It does not count, whatever was "
    "done to it.",
    "Ask `x._trace is self` when you unbox: the box of another `depth` is a constant.",
])
def deep(depth):
    for name, (f, want) in DEEP.items():
        compare(lambda x, y, f=f: depth(f, x, y), lambda x, y, w=want: w, [(F(1), F(2))],
                f"f = {name}, and x, y =")

    seen = []

    def nested(x):
        seen.append(depth(lambda y: lax.mul(lax.sin(y), lax.sin(lax.sin(lax.sin(x)))), F(3)))
        return lax.neg(x)

    compare(lambda x: depth(nested, x), lambda x: 1, [(F(1),)], "depth within depth; the outer, at")
    expect(seen == [2], "depth(lambda y: lax.mul(lax.sin(y), lax.sin(lax.sin(lax.sin(x)))), 3.0), "
           f"where x is a box of an outer depth\n  should be [2]\n  you say   {seen}")


@exercise("1.5", "A slice of a slice", ["one_slice"], hints=[
    "Which numbers of 0, 1, …, n - 1 are chosen, and in which order? A `range` can say it.",
    "range(10)[2::3] is range(2, 10, 3).",
    "In a slice, a stop of -1 is the last element. Going down to the first one, the stop is None.",
    "If nothing is chosen, any empty slice will do, but not every start and stop gives one.",
])
def slices(one_slice):
    some = [slice(None), slice(1, None), slice(None, 2), slice(None, None, 2),
            slice(None, None, -1), slice(-3, None), slice(None, -1), slice(5, None),
            slice(-2, 0, -2), slice(4, 1), slice(3, None, -3)]
    for n in (1, 2, 5, 9, 0):
        x = np.arange(n)
        for first, second in itertools.product(some, some):
            want = x[first][second]
            try:
                s = one_slice(n, first, second)
                got = (x[s] if isinstance(s, slice) else s), s
            except NotImplementedError:
                raise
            except Exception as error:
                got = f"{type(error).__name__}: {error}", None
            if not (isinstance(got[0], np.ndarray) and np.array_equal(got[0], want)):
                raise Wrong(f"with n = {n}, {first}, {second}\n  x = {x.tolist()} should give "
                            f"{want.tolist()}\n  you say   {got[1]}, which gives {got[0]}")


def _first_line(got):
    return str(got).split("\n")[0]


def _call(f, *args):
    try:
        return f(*args)
    except NotImplementedError:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {error}"


LATTICES = {
    "two types, nothing above both": ({"a": (), "b": ()}, None),
    "one above two": ({"a": ("c",), "b": ("c",), "c": ()}, None),
    "two above two": ({"a": ("c", "d"), "b": ("c", "d"), "c": (), "d": ()}, ("a", "b")),
    "two above two, one of them above the other": (
        {"a": ("c",), "b": ("c", "d"), "c": ("d",), "d": ()}, None),
    "a is below b": ({"a": ("b",), "b": ("c", "d"), "c": ("e",), "d": ("e",), "e": ()}, None),
    "two above two, through others": (
        {"w": ("a",), "a": ("c",), "b": ("d",), "c": ("e", "f"), "d": ("e", "f"), "e": ("g",),
         "f": ("g",), "g": ()}, ("w", "b")),
}


@exercise("1.6", "Where types meet", ["ambiguous_pair"], hints=[
    "First, for each type, the set of all types that it can be promoted to, itself included.",
    "What two types have in common is the intersection of two sets.",
    "A common type will do if all common types are in its own set.",
    "Types with nothing in common are refused, which is not ambiguous.",
])
def meeting(ambiguous_pair):
    for name, (lattice, want) in LATTICES.items():
        compare(ambiguous_pair, lambda lattice, w=want: w, [(lattice,)], f"{name}, the lattice")
    got = ambiguous_pair(dtypes.PROMOTIONS)
    expect(got is None, f"JAX's lattice has no ambiguous pair; you say {got}")
    floats = dict(dtypes.PROMOTIONS)
    half, bfloat16 = np.dtype("float16"), np.dtype(dtypes.bfloat16)
    floats[float] = (half, bfloat16)  # without `complex`
    floats[half] = floats[bfloat16] = (np.dtype("float32"), complex)
    got = ambiguous_pair(floats)
    expect(got is not None and set(got) == {half, bfloat16},
           "with both float32 and complex directly above float16 and bfloat16, these two are "
           f"ambiguous;\n  you say   {got}")


@exercise("1.7", "Watching for large numbers, in tiny", ["largest"], hints=[
    "A trace of your own, made with `state.trace` as its parent. It passes each primitive on.",
    "Within `set_current_trace(self.parent)`, `primitive.bind(*args, **params)` is the result.",
    "Keep the largest in the trace itself, and return the result as it is.",
], page=True)
def watching(largest):
    import tiny

    def seen(f, x):
        return float(largest(f, x))

    programs = {
        "lambda x: x": (lambda x: x, 0.0),
        "lambda x: neg(x)": (tiny.neg, 3.0),
        "lambda x: mul(x, mul(x, x))": (lambda x: tiny.mul(x, tiny.mul(x, x)), 27.0),
        "lambda x: add(8.0, neg(mul(x, x)))": (
            lambda x: tiny.add(8.0, tiny.neg(tiny.mul(x, x))), 9.0),
        "lambda x: reduce_sum(neg(x))": (lambda x: tiny.reduce_sum(tiny.neg(x)), 3.0),
    }
    bottom = tiny.state.trace
    for name in programs:
        f, want = programs[name]
        compare(lambda x: seen(f, x), lambda x: want, [(3.0,)], "f = " + name + ", and x =")

    def both(x):
        return tiny.mul(x, 100.0 if largest(tiny.neg, x) == 3.0 else 1.0)

    compare(lambda x: seen(both, x), lambda x: 300.0, [(3.0,)], "largest within largest, at")
    try:
        largest(lambda x: 1 / 0, 3.0)
    except ZeroDivisionError:
        expect(tiny.state.trace is bottom,
               "after an error, the trace that was current must be current again")
    expect(tiny.state.trace is bottom, "the trace that was current must be current again")
