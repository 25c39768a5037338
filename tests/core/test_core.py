"""Abstract values, primitives, traces and tracers."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import minijax
from minijax import errors, settings
from minijax.core import core
from minijax.core.array import Array, as_array
from minijax.core.core import Primitive, ShapedArray, Trace, Tracer, typeof
from minijax.lax import elementwise as lax
from minijax.lax.compile_time import concrete_or_error, eval_context, is_concrete
from minijax.pytree.arguments import valid_jaxtype
from tests.core.same import BFLOAT16, pair
from tests.oracle import jax

DTYPES = ["bool", "int8", "uint8", "int32", "float16", "float32", "complex64", "int64", BFLOAT16]
SHAPES = [(), (0,), (3,), (2, 3), (1, 0, 4)]

# -- Abstract values ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_equal_types_are_one_object(dtype):
    for shape in SHAPES:
        for weak in (False, True):
            aval = ShapedArray(shape, dtype, weak)
            others = [
                ShapedArray(list(shape), np.dtype(dtype), weak_type=weak),
                ShapedArray(tuple(np.int64(n) for n in shape), np.dtype(dtype).type, int(weak)),
                pickle.loads(pickle.dumps(aval)), copy.copy(aval), copy.deepcopy(aval),
                ShapedArray((), dtype, weak).update(shape=shape),
                ShapedArray(shape, dtype, not weak).update(weak_type=weak),
            ]
            assert all(other is aval for other in others)
            assert all(type(n) is int for n in aval.shape) and type(aval.weak_type) is bool


def test_different_types_differ():
    avals = {ShapedArray(shape, dtype, weak) for shape in SHAPES for dtype in DTYPES
             for weak in (False, True)}
    assert len(avals) == len(SHAPES) * len(DTYPES) * 2


def test_threads_agree_on_the_one_object():
    made, start = [], threading.Barrier(8)

    def make():
        start.wait()
        made.append([ShapedArray((n, 7, 7, 7), "float32") for n in range(200)])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert all(a is b for avals in made for a, b in zip(avals, made[0]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_types_describe_themselves_as_in_jax(dtype):
    for shape in SHAPES:
        for weak in (False, True):
            ours = ShapedArray(shape, dtype, weak)
            jaxs = jax.core.ShapedArray(shape, np.dtype(dtype), weak)
            assert repr(ours) == repr(jaxs)
            assert ours.str_short() == jaxs.str_short()
            assert ours.str_short(short_dtypes=True) == jaxs.str_short(short_dtypes=True)
            assert (ours.ndim, ours.size) == (jaxs.ndim, jaxs.size)
            tangent, in_jax = ours.to_tangent_aval(), jaxs.to_tangent_aval()
            assert (tangent.shape, tangent.dtype) == (in_jax.shape, in_jax.dtype)
            assert ours.strip_weak_type() is ShapedArray(shape, dtype)


def test_the_length_of_a_type():
    assert len(ShapedArray((4, 2), "int8")) == 4
    with pytest.raises(TypeError, match="unsized"):
        len(ShapedArray((), "int8"))


class WithJaxArray:
    def __jax_array__(self):
        return as_array(np.float32([1, 2]))


TYPED = [True, 3, 2.5, 1j, np.bool_(True), np.int8(1), np.int64(1), np.float16(1), np.float64(1),
         np.complex128(1), BFLOAT16.type(1), np.zeros((2, 0), np.uint8), np.zeros(3),
         np.zeros((2, 2), BFLOAT16), np.arange(3)]
UNTYPED = [None, "a", b"a", [1, 2], (1.0,), {}, {1}, object(), len, np.array("a"),
           np.array([None]), np.datetime64("2020-01-01"), slice(3), ...]


@pytest.mark.parametrize("x", TYPED, ids=repr)
def test_typeof_as_jax(x):
    ours, jaxs = typeof(x), jax.typeof(x)
    assert (ours.shape, ours.dtype, ours.weak_type) == (jaxs.shape, jaxs.dtype, jaxs.weak_type)
    assert minijax.typeof(x) is ours and valid_jaxtype(x)
    assert as_array(x).aval.shape == ours.shape


@pytest.mark.parametrize("x", UNTYPED, ids=lambda x: type(x).__name__)
def test_typeof_refuses(x):
    with pytest.raises(TypeError):
        jax.typeof(x)
    with pytest.raises(TypeError, match="not a valid JAX type"):
        typeof(x)
    assert not valid_jaxtype(x)


def test_typeof_subclasses_and_protocols():
    class Number(float):
        pass

    assert typeof(as_array(1.0)) is typeof(1.0)
    assert typeof(WithJaxArray()) is ShapedArray((2,), "float32")
    assert lax.neg(WithJaxArray()).tolist() == [-1, -2]
    assert jax.typeof(np.arange(3)).str_short() == typeof(np.arange(3)).str_short()


def test_sixty_four_bits_only_if_enabled():
    values = (1, 1.0, 1j, np.int64(1), np.float64(1), np.zeros(2, np.complex128))
    with jax.enable_x64(True):
        wide = [jax.typeof(x).dtype for x in values]
    with minijax.enable_x64(True):
        assert [typeof(x).dtype for x in values] == wide
    assert [typeof(x).dtype for x in values] == [jax.typeof(x).dtype for x in values]


# -- Primitives ---------------------------------------------------------------------------------


def test_a_primitive_of_the_user():
    twice_p = Primitive("twice")
    impl = twice_p.def_impl(lambda x, *, times: x * times)
    rule = twice_p.def_abstract_eval(lambda aval, *, times: aval)
    assert impl(2, times=3) == 6 and rule(typeof(1), times=3) is typeof(1)
    assert twice_p.bind(5, times=2) == 10
    assert twice_p.out_aval((typeof(1.0),), {"times": 2}) is typeof(1.0)
    assert (repr(twice_p), twice_p.name, twice_p.multiple_results) == ("twice", "twice", False)
    pair_p = Primitive("pair", multiple_results=True)
    pair_p.def_impl(lambda x: [x, x])
    assert pair_p.multiple_results and pair_p.bind(1) == [1, 1]


def test_a_new_shape_rule_replaces_the_remembered_types():
    p = Primitive("changing")
    p.def_abstract_eval(lambda aval: aval)
    assert p.out_aval((typeof(1),), {}) is typeof(1)
    p.def_abstract_eval(lambda aval: typeof(1.0))
    assert p.out_aval((typeof(1),), {}) is typeof(1.0)


def test_types_are_worked_out_once_for_equal_parameters():
    calls = []
    p = Primitive("counting")
    p.def_abstract_eval(lambda aval, **params: calls.append(params) or aval)
    for params in ({}, {"k": (1, 2)}, {"k": (1, 3)}, {"k": [1]}, {"k": {1: 2}}):
        for _ in range(3):
            assert p.out_aval((typeof(1),), params) is typeof(1)
    assert len(calls) == 1 + 1 + 1 + 3 + 3  # what cannot be hashed cannot be remembered


def test_the_memory_of_types_is_bounded():
    p = Primitive("many")
    p.def_abstract_eval(lambda aval, *, n: aval)
    for n in range(settings._CACHE_LIMIT + 10):
        p.out_aval((typeof(1),), {"n": n})
    assert len(p.out_avals) <= settings._CACHE_LIMIT


def test_errors_of_shape_rules_are_clean_and_not_remembered():
    p = Primitive("refusing")

    def rule(aval):
        raise ValueError("mine")

    p.def_abstract_eval(rule)
    for _ in range(2):
        with pytest.raises(ValueError, match="mine") as info:
            p.out_aval((typeof(1),), {})
        assert info.value.__context__ is None


def test_missing_rules_name_the_primitive_and_the_chapter():
    nameless_p = Primitive("nameless")
    with pytest.raises(NotImplementedError, match="Evaluation rule for 'nameless'.*chapter 1"):
        nameless_p.bind(1)
    with pytest.raises(NotImplementedError, match="Abstract evaluation for 'nameless' .*chapter 1"):
        nameless_p.out_aval((typeof(1),), {})
    with pytest.raises(NotImplementedError) as info:
        raise core.missing_rule(nameless_p, "Sorting", 99)
    assert str(info.value) == ("Sorting rule for 'nameless' not implemented: "
                               "chapter 99 tells how to write one.")


# -- Traces -------------------------------------------------------------------------------------


class NegatingTracer(Tracer):
    """A box that stands for the negative of its contents."""

    __slots__ = ("value",)

    def __init__(self, trace, value):
        self._trace, self.value = trace, value

    @property
    def aval(self):
        return typeof(self.value)


class RecordingTrace(Trace):
    """The smallest interpreter: writes down names, computes in its parent, boxes results."""

    __slots__ = ("names",)

    def __init__(self, parent):
        super().__init__(parent)
        self.names = []

    def box(self, x):
        return NegatingTracer(self, x)

    def unbox(self, x):
        return x.value if isinstance(x, NegatingTracer) and x._trace is self else x

    def process_primitive(self, primitive, args, params):
        self.names.append(primitive.name)
        with core.set_current_trace(self.parent):
            out = primitive.bind(*map(self.unbox, args), **params)
        return [*map(self.box, out)] if primitive.multiple_results else self.box(out)


@pytest.fixture
def recording():
    trace = RecordingTrace(core.current_trace())
    with core.new_trace(trace):
        yield trace


def test_evaluation_is_at_the_bottom():
    assert core.current_trace() is core.eval_trace
    assert core.eval_trace.parent is None and not core.eval_trace.staging
    assert repr(core.eval_trace) == "EvalTrace"


def test_the_current_trace_interprets_whatever_the_arguments():
    trace = RecordingTrace(core.current_trace())
    with core.set_current_trace(trace):
        assert core.current_trace() is trace
        out = lax.add(lax.sin(1.0), 2.0)
    assert trace.names == ["sin", "add"] and type(out) is NegatingTracer
    assert core.current_trace() is core.eval_trace
    assert repr(trace) == "RecordingTrace(EvalTrace)"


def test_traces_nest():
    outer = RecordingTrace(core.eval_trace)
    with core.set_current_trace(outer):
        inner = RecordingTrace(core.current_trace())
        with core.set_current_trace(inner):
            out = lax.sin(1.0)
        lax.cos(1.0)
    assert (outer.names, inner.names) == (["sin", "cos"], ["sin"])
    assert type(out) is type(out.value) is NegatingTracer and type(out.value.value) is Array


def test_the_previous_trace_returns_after_an_error():
    for manager in (core.set_current_trace, core.new_trace):
        with pytest.raises(KeyError), manager(RecordingTrace(core.eval_trace)):
            raise KeyError
        assert core.current_trace() is core.eval_trace


def test_each_thread_has_its_own_current_trace(recording):
    seen = []
    thread = threading.Thread(target=lambda: seen.append((core.current_trace(), lax.sin(0.0))))
    thread.start()
    thread.join()
    assert seen[0][0] is core.eval_trace and type(seen[0][1]) is Array
    assert recording.names == []


def test_compile_time_evaluation(recording):
    with minijax.ensure_compile_time_eval():
        assert int(lax.add(1, 2)) == 3
    with eval_context():
        assert int(lax.add(1, 2)) == 3
    assert type(lax.add(1, 2)) is NegatingTracer and recording.names == ["add"]
    tracer = recording.box(as_array(1.0))
    with eval_context(), pytest.raises(errors.UnexpectedTracerError):
        lax.sin(tracer)
    with minijax.ensure_compile_time_eval():  # what is traced is traced on
        assert type(lax.sin(tracer)) is NegatingTracer
    assert recording.names == ["add", "sin"]


def test_literals_are_for_staging_traces_only(recording):
    assert not recording.staging
    with pytest.raises(AttributeError):
        recording.literal(1, typeof(1))


# -- Tracers ------------------------------------------------------------------------------------


def test_tracers_answer_for_their_type(recording):
    x = recording.box(as_array(np.zeros((2, 3), np.float16)))
    assert (x.shape, x.dtype, x.ndim, x.size, x.itemsize, x.nbytes, x.weak_type) == (
        (2, 3), np.float16, 2, 6, 2, 12, False)
    assert len(x) == 2 and repr(x) == f"{x}" == "NegatingTracer(float16[2,3])"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{x:>30}"
    assert isinstance(x, Array) and isinstance(x, Tracer) and not isinstance(as_array(1), Tracer)
    assert copy.copy(x) is copy.deepcopy(x) is x
    with pytest.raises(TypeError, match="unsized"):
        len(recording.box(as_array(1)))


QUESTIONS = [
    (bool, errors.TracerBoolConversionError), (int, errors.ConcretizationTypeError),
    (float, errors.ConcretizationTypeError), (complex, errors.ConcretizationTypeError),
    (range, errors.TracerIntegerConversionError), (np.asarray, errors.TracerArrayConversionError),
    (lambda x: x.item(), errors.ConcretizationTypeError),
    (lambda x: x.tolist(), errors.ConcretizationTypeError), (hash, TypeError),
]


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_tracers_do_not_answer_for_their_contents(number, recording):
    question, error = QUESTIONS[number]
    with pytest.raises(error) as info:
        question(recording.box(as_array(np.int32(3))))
    in_jax = []

    def program(x):
        with pytest.raises(Exception) as seen:
            question(x)
        in_jax.append(seen.value)
        return x

    jax.jit(program)(3)
    assert type(info.value).__name__ == type(in_jax[0]).__name__
    assert str(info.value).split()[:2] == str(in_jax[0]).split()[:2]


def test_the_truth_of_several_unknown_elements(recording):
    with pytest.raises(ValueError, match="more than one element is ambiguous"):
        bool(recording.box(as_array(np.ones(2))))


def test_a_tracer_refuses_assignment(recording):
    with pytest.raises(TypeError):
        recording.box(as_array(np.ones(2)))[0] = 1


def test_is_concrete_and_concrete_or_error(recording):
    known, unknown = as_array(np.int32(3)), recording.box(as_array(np.int32(3)))
    assert is_concrete(known) and is_concrete(3) and not is_concrete(unknown)
    assert concrete_or_error(None, known) is known
    assert concrete_or_error(int, known) == concrete_or_error(int, 3) == 3
    with pytest.raises(errors.ConcretizationTypeError, match="It is the axis"):
        concrete_or_error(int, unknown, "It is the axis.")


# -- Escape -------------------------------------------------------------------------------------


def escaped():
    trace = RecordingTrace(core.eval_trace)
    with core.new_trace(trace):
        return trace.box(as_array(np.float32(1)))


ESCAPES = [lax.sin, lambda x: lax.add(1.0, x), bool, int, float, complex, range,
           lambda x: x.item(), lambda x: x + 1, lambda x: 1 + x, as_array,
           lambda x: concrete_or_error(None, x)]


@pytest.mark.parametrize("number", range(len(ESCAPES)))
def test_an_escaped_tracer_is_refused(number):
    with pytest.raises(errors.UnexpectedTracerError, match="NegatingTracer.*used after the end"):
        ESCAPES[number](escaped())


def test_an_escaped_tracer_within_another_trace(recording):
    store = [escaped()]
    with pytest.raises(errors.UnexpectedTracerError):
        lax.mul(recording.box(as_array(2.0)), store.pop())
    assert core.current_trace() is recording


def test_the_type_of_an_escaped_tracer_may_be_asked():
    assert typeof(escaped()) is ShapedArray((), "float32")
    assert repr(escaped()) == "NegatingTracer(float32[])"


# -- Rank promotion -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["allow", "warn", "raise"])
def test_rank_promotion(mode):
    (x, jx), (y, jy) = pair(np.ones((2, 3))), pair(np.ones(3))
    with minijax.numpy_rank_promotion(mode), jax.numpy_rank_promotion(mode):
        for a, b in ((x, y), (jx, jy)):
            if mode == "raise":
                with pytest.raises(ValueError, match="rank_promotion"):
                    a + b
            elif mode == "warn":
                with pytest.warns(UserWarning, match="rank promotion for add"):
                    a + b
            else:
                a + b
        assert (x + 1).shape == (jx + 1).shape  # scalars are no promotion
