"""The theatre's recordings: what they tell, that they change nothing, and that they stay small."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.core.core import Trace, Tracer, current_trace, new_trace, set_current_trace, typeof
from minijax.debugging.theatre import FORMAT, record, recorder, theatre

X = np.arange(3, dtype=np.float32)


def f(x):
    return jnp.sin(x) * x


def kinds(recording, kind):
    return [event for event in recording.events if event["kind"] == kind]


PROGRAMS = {
    "eager": lambda: f(2.0),
    "jvp": lambda: jax.jvp(f, (2.0,), (1.0,)),
    "vmap": lambda: jax.vmap(f)(X),
    "grad": lambda: jax.grad(f)(2.0),
    "hessian": lambda: jax.hessian(lambda x: (x ** 3).sum())(X),
    "jit": lambda: jax.jit(lambda x: f(x) + 1)(X),
    "jit of vmap of grad": lambda: jax.jit(jax.vmap(jax.grad(lambda x: f(x) + 2)))(X),
    "scan": lambda: jax.grad(lambda x: lax.scan(lambda c, _: (c * x, None), 1.0, None, 3)[0])(2.0),
    "linearize": lambda: jax.linearize(f, 2.0)[1](1.0),
    "tree": lambda: jax.grad(lambda p: (p["w"] * p["b"]).sum())({"w": X, "b": X}),
    "integers": lambda: jnp.arange(3) + 1 == 2,
    "complex": lambda: jnp.abs(jnp.array(3 + 4j)),
    "empty": lambda: jnp.zeros((0, 3)).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recording_tells_the_run_and_does_not_change_it(name):
    expected = PROGRAMS[name]()
    with record(name) as recording:
        result = PROGRAMS[name]()
    for got, want in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(got, want)
    again = json.loads(json.dumps(recording.as_dict()))
    assert again["format"] == FORMAT
    assert len(recording.sentences()) - len(recording.notes()) == len(recording.events) > 0
    for event in recording.events:
        path, line = event["at"]
        assert recording.sources[path][line].strip()
        assert recording.users[event["user"]][0] == __file__


def test_a_recording_is_the_same_each_time():
    def run():
        with record("grad") as recording:
            jax.jit(jax.vmap(jax.grad(f)))(X)
        return json.dumps(recording.as_dict())

    run()  # what is compiled once and then remembered
    assert run() == run()


def test_forward_mode_shows_boxes_in_boxes_and_the_rule_that_fires():
    with record("jvp") as recording:
        jax.vmap(lambda x: jax.jvp(jnp.sin, (x,), (1.0,)))(X)
    first = kinds(recording, "process")[0]
    assert first["primitive"] == "sin"
    assert first["traces"] == ["EvalTrace", "BatchTrace 1", "JVPTrace 2"]
    (box,) = first["args"]
    assert (box["box"], box["primal"]["box"], box["primal"]["value"]["text"]) == (
        "jvp", "batch", "[0. 1. 2.]")
    (line,) = [line for path, line in (event["at"] for event in kinds(recording, "rule"))
               if path == "core/forward.py"]
    assert "sin_p" in recording.sources["core/forward.py"][line]


def test_reverse_mode_writes_equations_and_walks_them_back():
    with record("grad") as recording:
        jax.grad(f)(2.0)
    written = [event["equation"] for event in kinds(recording, "equation")]
    back = [event["equation"] for event in kinds(recording, "transpose")]
    assert written[-1] == back[0]
    assert set(back) <= set(written)
    assert any(box["box"] == "unknown" for event in kinds(recording, "process") for box in event["args"])


class _BoxTracer(Tracer):
    def __init__(self, trace, value):
        self._trace, self.value = trace, value

    @property
    def aval(self):
        return typeof(self.value)

    def __repr__(self):
        return f"[{self.value}]"


class _BoxTrace(Trace):
    def process_primitive(self, primitive, args, params):
        with set_current_trace(self.parent):
            return _BoxTracer(self, primitive.bind(*(x.value for x in args), **params))


def test_a_trace_of_the_readers_own_is_shown_by_how_its_boxes_print():
    with record("own") as recording, new_trace(_BoxTrace(current_trace())) as trace:
        lax.neg(_BoxTracer(trace, 2.0))
    assert recording.sentences()[:2] == [
        "_BoxTrace 1 is asked for neg([2.0]).", "EvalTrace computes neg(2)."]


def test_long_loops_are_folded():
    with record("loop") as recording:
        x = jnp.float32(0)
        for _ in range(10_000):
            x = x + 1
    assert float(x) == 10_000
    assert len(recording.events) <= 2 * recorder.MOST_ALIKE
    assert any("more steps like these were left out" in note for note in recording.notes())


def test_a_long_program_is_cut():
    with record("long") as recording:
        exec("x = jnp.float32(0)\n" + "x = x + 1\n" * 3000, {"jnp": jnp})
    assert len(recording.events) == recorder.MOST_EVENTS
    assert recording.notes()


def test_a_debugger_that_was_there_is_there_again():
    def debugger(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        with pytest.raises(ZeroDivisionError), record("error"):
            1 / 0  # noqa: B018
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)


def test_an_error_is_raised_and_the_page_written_up_to_it(tmp_path):
    def g(x):
        return bool(jnp.sin(x))

    page = tmp_path / "page.html"
    with pytest.raises(jax.errors.TracerBoolConversionError):
        theatre(jax.jit(g), 1.0, path=page)
    text = page.read_text()
    assert "DynamicJaxprTrace" in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_theatre_is_found_under_debug_and_loaded_late(tmp_path):
    program = "import sys, minijax; assert 'minijax.debugging.theatre' not in sys.modules; minijax.debug.theatre"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert jax.debug.theatre is theatre
    with pytest.raises(AttributeError):
        jax.debug.no_such_name  # noqa: B018


def test_a_title_cannot_break_out_of_the_page(tmp_path):
    def g(x):
        return jnp.sin(x)

    g.__name__ = "</script><script>alert(1)</script>"
    theatre(g, 1.0, path=tmp_path / "page.html")
    assert "<script>alert" not in (tmp_path / "page.html").read_text()
