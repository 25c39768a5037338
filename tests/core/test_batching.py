"""Chapter 4: `vmap` itself: pytrees of axes, errors, nesting, named axes; against JAX's."""

from __future__ import annotations

import threading
from collections import namedtuple

import numpy as np
import pytest

from minijax import core, errors, lax
from minijax.core.api import vmap
from minijax.core.array import Array, as_array
from minijax.core.batching import (
    AxisData,
    BatchTrace,
    BatchTracer,
    WithTrace,
    batch_subtrace,
    mapped_aval,
    matchaxis,
    primitive_batchers,
    unmapped_aval,
)
from tests.oracle import ask, both, jax, subject

x23 = np.arange(6, dtype=np.float32).reshape(2, 3)
x34 = np.arange(12, dtype=np.float32).reshape(3, 4)
x234 = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
Point = namedtuple("Point", "x y")


def outcomes(program, *args, **kwargs):
    """What minijax and JAX make of `program(vmap, lax)`: values, or errors."""
    try:
        got = program(vmap, lax)(*args, **kwargs)
    except Exception as error:
        got = error
    return got, ask(lambda: program(jax.vmap, jax.lax)(*args, **kwargs))


def assert_same(program, *args, **kwargs):
    both(lambda jx: program(vmap if jx is subject else jx.vmap, jx.lax), *args, **kwargs)


# ----------------------------------------------------------------------------------------------
# Axes

PROGRAMS = {
    "one argument": (lambda vmap, lax: vmap(lax.sin), x23),
    "last axis": (lambda vmap, lax: vmap(lax.sin, -1, -1), x234),
    "middle axis": (lambda vmap, lax: vmap(lax.sin, 1, 2), x234),
    "negative out axis": (lambda vmap, lax: vmap(lax.sin, 0, -2), x234),
    "axes per argument": (lambda vmap, lax: vmap(lax.add, (0, 1)), x23, x23.T),
    "axes as a list": (lambda vmap, lax: vmap(lax.add, [0, 1]), x23, x23.T),
    "None": (lambda vmap, lax: vmap(lax.mul, (0, None)), x23, x23[0]),
    "pytree prefix": (
        lambda vmap, lax: vmap(lambda t, y: lax.add(lax.mul(t["a"], t["b"][0]), y), (0, None)),
        {"a": x23, "b": [x23]}, x23[1]),
    "pytree of axes": (
        lambda vmap, lax: vmap(lambda t, y: lax.add(lax.mul(t["a"], t["b"][0]), y),
                               ({"a": 1, "b": [None]}, -1)),
        {"a": x23.T, "b": [x23[0]]}, x23.T),
    "namedtuple": (lambda vmap, lax: vmap(lambda p: Point(lax.sin(p.x), p.y), (Point(0, None),),
                                          Point(1, None)), Point(x23, x34)),
    "None among the arguments": (lambda vmap, lax: vmap(lambda x, y: lax.sin(x)), x23, None),
    "keywords": (lambda vmap, lax: vmap(lambda x, *, y: lax.add(x, y), 1), x23.T, {"y": x23}),
    "out axes": (lambda vmap, lax: vmap(lambda x: (x, {"b": lax.sin(x)}), out_axes=(0, {"b": 1})),
                 x23),
    "out axes, prefix": (lambda vmap, lax: vmap(lambda x: (x, {"b": lax.sin(x)}), out_axes=(0, 1)),
                         x23),
    "constant result": (lambda vmap, lax: vmap(lambda x: (x, x34)), x23),
    "constant result, last": (lambda vmap, lax: vmap(lambda x: x34, out_axes=-1), x23),
    "constant result, not mapped": (lambda vmap, lax: vmap(lambda x: x34, out_axes=None), x23),
    "scalar result": (lambda vmap, lax: vmap(lambda x: 3), x23),
    "no result": (lambda vmap, lax: vmap(lambda x: None), x23),
    "None among the results": (lambda vmap, lax: vmap(lambda x: (x, None), out_axes=(1, None)),
                               x23),
    "axis_size alone": (lambda vmap, lax: vmap(lambda: 1.0, axis_size=3),),
    "axis_size, nothing mapped": (lambda vmap, lax: vmap(lax.sin, None, axis_size=3), x23),
    "axis_size that agrees": (lambda vmap, lax: vmap(lax.sin, axis_size=2), x23),
    "no examples": (lambda vmap, lax: vmap(lambda x: lax.reduce_sum(lax.sin(x), (0,))),
                    np.zeros((0, 3), np.float32)),
    "strings that are not mapped": (lambda vmap, lax: vmap(lambda x, s: lax.sin(x), (0, None)),
                                    x23, "s"),
    "spmd_axis_name": (lambda vmap, lax: vmap(lax.sin, spmd_axis_name="devices"), x23),
    "nested": (lambda vmap, lax: vmap(vmap(lax.add, (0, None)), (None, 0)), x23[0], x23[:, 0]),
    "nested, axes crossed": (lambda vmap, lax: vmap(vmap(lax.add, (1, 0), 1), (0, 2), 2),
                             x234, x234.transpose(2, 1, 0)),
    "inner over a constant of the outer": (
        lambda vmap, lax: vmap(lambda x: vmap(lambda y: lax.mul(x, y))(x34)), x23[:, 0]),
    "inner result from the outer": (
        lambda vmap, lax: vmap(lambda x: vmap(lambda y: lax.sin(x), out_axes=None)(x34)), x23),
    "inner constant from the outer": (
        lambda vmap, lax: vmap(lambda x: vmap(lambda y: lax.sin(x), out_axes=1)(x34)), x23),
    "all pairs": (lambda vmap, lax: vmap(vmap(lax.dot, (None, 0)), (0, None)), x23, x23),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_jax(name):
    program, *args = PROGRAMS[name]
    kwargs = args.pop() if name == "keywords" else {}
    assert_same(program, *args, **kwargs)


# ----------------------------------------------------------------------------------------------
# Errors: JAX's class, and a message that says where

identity = lambda *args, **kwargs: args[0]

ERRORS = {
    "sizes": (lambda vmap: vmap(lambda a, b: a), (x23, np.ones(5)), {},
              "inconsistent sizes", "size 2: axis 0 of argument a of type float32[2,3]",
              "size 5: axis 0 of argument b of type float32[5]"),
    "sizes in trees": (lambda vmap: vmap(lambda a, b, **c: a, (1, {"k": (0, None)})),
                       (x23, {"k": (np.ones(4), 1.0)}), {"d": np.ones(3)},
                       "most axes (2 of them) had size 3, e.g. axis 1 of argument a",
                       "one axis had size 4: axis 0 of argument b['k'][0] of type float32[4]"),
    "axis_size disagrees": (lambda vmap: vmap(identity, axis_size=5), (x23,), {},
                            "the `axis_size` argument was 5", "size 2"),
    "wrong structure": (lambda vmap: vmap(identity, ((0, 1), 0)), (x23, x23), {}, "in_axes[0]"),
    "wrong keys": (lambda vmap: vmap(identity, ({"a": 0},)), ({"b": x23},), {}, "in_axes[0]"),
    "wrong number": (lambda vmap: vmap(identity, (0,)), (x23, x23), {},
                     "len(in_axes)=1", "len(args)=2"),
    "wrong structure of out_axes": (lambda vmap: vmap(lambda a: (a, a), 0, (0, 0, 0)), (x23,), {},
                                    "vmap out_axes"),
    "mapped result": (lambda vmap: vmap(lambda a: {"p": a}, 0, None), (x23,), {},
                      "out_axes['p']", "batched on axis 0"),
    "nothing mapped": (lambda vmap: vmap(identity, None), (x23,), {}, "axis_size"),
    "no arguments": (lambda vmap: vmap(identity), (), {}, "at least one argument"),
    "axis too large": (lambda vmap: vmap(lambda a: a, 2), (x23,), {},
                       "axis 2", "at least 3", "(2, 3)", "argument a"),
    "axis too small": (lambda vmap: vmap(identity, -3), (x23,), {}, "axis -3", "at least 3"),
    "scalar": (lambda vmap: vmap(identity), (1.0,), {}, "at least 1", "only 0"),
    "out axis too large": (lambda vmap: vmap(identity, 0, 2), (x23,), {}, "axis 2"),
    "out axis too small": (lambda vmap: vmap(identity, 0, -3), (x23,), {}, "axis -3"),
    "out axis of a constant": (lambda vmap: vmap(lambda a: 1.0, 0, 1), (x23,), {}, "axis 1"),
    "axis no int": (lambda vmap: vmap(identity, "a"), (x23,), {}, "in_axes", "'a'"),
    "axis a dict": (lambda vmap: vmap(identity, {"a": 0}), (x23,), {}, "in_axes"),
    "axis a float": (lambda vmap: vmap(identity, (1.0,)), (x23,), {}, "in_axes", "1.0"),
    "axis a bool": (lambda vmap: vmap(identity, (True,)), (x23,), {}, "in_axes"),
    "axis a NumPy int": (lambda vmap: vmap(identity, (np.int64(0),)), (x23,), {}, "in_axes"),
    "out axis a float": (lambda vmap: vmap(identity, 0, 1.0), (x23,), {}, "out_axes"),
    "argument no array": (lambda vmap: vmap(lambda a, b: a), (x23, {"s": "foo"}), {}, "foo"),
    "argument an object": (lambda vmap: vmap(lambda a, b: a), (x23, object()), {}, "object"),
    "result no array": (lambda vmap: vmap(lambda a: [a, "s"]), (x23,), {}, "'s'"),
    "result no array, not mapped": (lambda vmap: vmap(lambda a: "s", 0, None), (x23,), {}, "'s'"),
    "no function": (lambda vmap: vmap(3), (), {}, "callable"),
    "generator function": (lambda vmap: vmap(lambda: (yield)), (), {}, "generator"),
    "name not hashable": (lambda vmap: vmap(identity, axis_name=["i"]), (x23,), {}, "unhashable"),
    "axis_size no int": (lambda vmap: vmap(lambda: 1, axis_size=1.5), (), {}, "float"),
    "axis_size negative": (lambda vmap: vmap(lambda: 1, axis_size=-1), (), {}, "nonnegative"),
    "if": (lambda vmap: vmap(lambda a: 1 if a else 0), (x23[0],), {}, "boolean"),
    "float()": (lambda vmap: vmap(float), (x23[0],), {}, "concrete"),
    "index": (lambda vmap: vmap(lambda i: [1, 2][i]), (np.arange(2),), {}, "__index__"),
    "NumPy": (lambda vmap: vmap(np.sin), (x23,), {}, "__array__"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    make, args, kwargs, *words = ERRORS[name]
    got, want = outcomes(lambda vmap, lax: lambda *a, **k: make(vmap)(*a, **k), *args, **kwargs)
    assert isinstance(want, Exception), f"JAX accepts this: {want}"
    assert type(got).__name__ == type(want).__name__, got
    for word in words:
        assert word in str(got), str(got)


def test_errors_in_scalar_results_show_where_the_tracer_was_made():
    with pytest.raises(errors.TracerBoolConversionError, match=r"test_batching\.py:\d+ \(<lambda>\)"):
        vmap(lambda a: 1 if lax.gt(a, 0.0) else 0)(x23[0])


# ----------------------------------------------------------------------------------------------
# Tracers


def test_tracers_print_as_in_jax():
    seen = []
    vmap(lambda x: seen.append((repr(x), str(x), f"{x}", type(x).__name__)))(x23)
    in_jax = []
    jaxs_vmap = lambda: jax.vmap(
        lambda x: in_jax.append((repr(x), str(x), f"{x}", type(x).__name__)))(x23)
    assert seen == ask(lambda: (jaxs_vmap(), in_jax)[1])
    assert seen[0][0] == "VmapTracer(aval=float32[3], batched=float32[2,3])"


def test_tracers_look_like_one_example():
    def check(x):
        assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((3,), np.float32, 1, 3, 3)
        assert isinstance(x, Array) and x.concrete_value() is None
        return x

    vmap(check)(x23)


def test_weak_types_stay():
    assert vmap(lambda x: 2.0)(x23).weak_type
    assert not vmap(lambda x: lax.mul(x, 2.0))(x23).weak_type
    assert vmap(lambda x: x)(vmap(lambda x: 2)(x23)).weak_type


def test_leaked_tracers():
    leaked = []
    vmap(lambda x: leaked.append(lax.sin(x)))(x23)
    described = r"float32\[3\], wrapped in a BatchTracer"
    for use in (lax.sin, vmap(lambda x: lax.add(x, leaked[0]), None, axis_size=2)):
        with pytest.raises(errors.UnexpectedTracerError, match=described) as error:
            use(leaked[0])
        assert "was created on line:\n  tests/core/test_batching.py" in str(error.value)


def test_unbatched_values_are_computed_once_and_concretely():
    seen = []
    vmap(lambda x, y: seen.append(lax.sin(y)) or x, (0, None))(x23, x34)
    assert type(seen[0]) is Array


def test_what_is_not_touched_is_handed_through():
    x = as_array(x23)
    assert vmap(lambda x: x)(x) is x


def test_trace_is_restored_after_an_error():
    def fail(x):
        raise ZeroDivisionError

    for function in (fail, lambda x: lax.add(x, np.ones(7, np.float32))):
        with pytest.raises((ZeroDivisionError, TypeError)):
            vmap(function, axis_name="i")(x23)
        assert core.current_trace() is core.eval_trace
        assert core.state.axis_sizes == {}


def test_threads():
    results = {}

    def work(n):
        outer = vmap(lambda x: vmap(lambda y: lax.add(x, y))(x23[0]))
        results[n] = [np.asarray(outer(np.full(5, n, np.float32))) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for n in range(8):
        assert all((r == n + np.tile(x23[0], (5, 1))).all() for r in results[n])


# ----------------------------------------------------------------------------------------------
# The function that vmap returns


def test_name_and_documentation():
    def f(x):
        """Says f."""
        return x

    f.attribute = 1
    g = vmap(f)
    assert (g.__name__, g.__wrapped__, g.attribute) == ("f", f, 1)
    assert g.__qualname__ == f.__qualname__ and g.__module__ == f.__module__
    assert "Says f." in g.__doc__ and "Vectorized version of f" in g.__doc__
    assert vmap(lambda x: x).__name__ == "<lambda>"


def test_callables_of_all_kinds():
    import functools

    class Scale:
        def __call__(self, x):
            return lax.mul(x, 2.0)

        def method(self, x):
            return self(x)

    for function in (Scale(), Scale().method, functools.partial(lax.mul, np.float32(2))):
        assert vmap(function)(x23).tolist() == (x23 * 2).tolist()


# ----------------------------------------------------------------------------------------------
# Named axes


def test_rules_with_the_trace():
    """They also run if no argument is batched, under a named axis."""
    p = core.Primitive("index_of_example")
    p.def_impl(lambda: np.float32(-1))
    primitive_batchers[p] = WithTrace(lambda trace, args, dims: (
        lax.iota(np.int32, trace.axis_data.size), 0))
    try:
        assert vmap(lambda x: p.bind(), axis_name="i")(x23).tolist() == [0, 1]
        assert vmap(lambda x: p.bind())(x23).tolist() == [-1, -1]
    finally:
        del primitive_batchers[p]


# ----------------------------------------------------------------------------------------------
# What other chapters use


def test_batch_fun():
    outs, dims = batch_subtrace(lambda x, y: [lax.add(x, y), y, 1.0], AxisData(None, 2),
                           [1, None], [x23.T, x23[0]])
    assert dims == [0, None, None]
    assert outs[0].tolist() == (x23 + x23[0]).tolist()
    axis_data = AxisData(None, 2)
    assert matchaxis(axis_data, 0, 1, outs[0]).shape == (3, 2)
    assert matchaxis(axis_data, None, 1, outs[1]).shape == (3, 2)
    assert matchaxis(axis_data, None, None, 1.0) == 1.0
    with pytest.raises(ValueError, match="out_axes is None"):
        matchaxis(axis_data, 0, None, outs[0])


def test_traces_with_one_tag_share_their_tracers():
    tag = object()
    axis_data = AxisData(None, 2)
    first = BatchTrace(core.eval_trace, axis_data, tag)
    tracer = BatchTracer(first, x23, 0)
    outs, dims = batch_subtrace(lambda y: [lax.add(tracer, y)], axis_data, [0], [x23], tag=tag)
    assert dims == [0] and outs[0].tolist() == (x23 * 2).tolist()


def test_avals_with_and_without_the_batch_dimension():
    example = core.ShapedArray((3,), "float32", weak_type=True)
    batch = core.ShapedArray((3, 2), "float32", weak_type=True)
    assert unmapped_aval(2, 1, example) is batch
    assert mapped_aval(2, 1, batch) is example
    assert mapped_aval(2, None, batch) is batch is unmapped_aval(5, None, batch)


def test_rules_run_in_the_parent():
    """A rule's own operations are interpreted by the traces outside of its own."""
    seen = []

    class Spy(core.core.Trace):
        def process_primitive(self, primitive, args, params):
            seen.append((primitive.name, core.current_trace() is self))
            return primitive.impl(*args, **params)

    with core.set_current_trace(Spy(core.eval_trace)):
        vmap(lax.add, (0, 1))(as_array(x23), as_array(x23.T))
    assert seen == [("transpose", True), ("add", True)]
