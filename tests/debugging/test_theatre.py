"""The theatre's recordings: what they tell, that they change nothing, and that they stay small."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.core.core import Trace, Tracer, current_trace, new_trace, set_current_trace, typeof
from minijax.debugging.theatre import FORMAT, drawing, graph, record, recorder, theatre
from minijax.debugging.theatre.drawing import draw
from minijax.debugging.theatre.steps import MOST_STEPS, marks, visible

X = np.arange(3, dtype=np.float32)
OUTSIDE = "://"


def f(x):
    return jnp.sin(x) * x


def kinds(recording, kind):
    return [event for event in recording.events if event["kind"] == kind]


def doubled_in_place(x):
    ref = jax.new_ref(x)
    ref[...] = ref[...] * 2
    return ref[...].sum()


@jax.custom_jvp
def sine(x):
    return jnp.sin(x)


sine.defjvp(lambda primals, tangents: (sine(*primals), tangents[0] * jnp.cos(*primals)))
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
    "keys": lambda: jax.random.normal(jax.random.key(0), (3,)),
    "references": lambda: jax.grad(doubled_in_place)(X),
    "custom rule": lambda: jax.hessian(sine)(1.0),
    "donated": lambda: jax.jit(lambda x: x + 1, donate_argnums=0)(jnp.ones(3)),
    "index": lambda: jax.grad(lambda x: x[np.array([0, 0, 1])].sum())(X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recording_tells_the_run_and_does_not_change_it(name):
    expected = PROGRAMS[name]()
    with record(name) as recording:
        result = PROGRAMS[name]()
    for got, want in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(got, want)
    assert not recording.failures
    again = json.loads(json.dumps(recording.as_dict()))
    assert again["format"] == FORMAT
    assert len(recording.sentences()) - len(recording.notes()) == len(recording.events) > 0
    for event in recording.events:
        for path, line, first, last in (event["at"], recording.users[event["user"]]):
            assert first <= line <= last
            assert recording.sources[path][line].strip()
        assert recording.users[event["user"]][0] == __file__
        assert event["traces"][-1] == "EvalTrace" or event["traces"][-1] in event["alive"] or (
            event["kind"] in ("end", "begin"))


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
    (rule,) = [event for event in kinds(recording, "rule") if event["at"][0] == "core/forward.py"]
    assert rule["rule"] == "jvp rule of sin"
    assert "sin_p" in recording.sources["core/forward.py"][rule["at"][1]]


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
        for _ in range(2000):
            x = x + 1
    assert float(x) == 2000
    assert len(recording.events) <= 2 * recorder.MOST_ALIKE
    assert any("more steps like these were left out" in note for note in recording.notes())


def test_a_long_program_is_cut(monkeypatch):
    monkeypatch.setattr(recorder, "MOST_EVENTS", 100)
    with record("long") as recording:
        exec("x = jnp.float32(0)\n" + "x = x + 1\n" * 150, {"jnp": jnp})
    assert len(recording.events) == 100
    assert recording.notes()


def test_an_error_of_the_recorder_does_not_disturb_the_run(monkeypatch):
    def broken(*args):
        raise RuntimeError("broken")

    monkeypatch.setattr(recorder, "describe", broken)
    with record("sine") as recording:
        assert jnp.sin(0.0) == 0
    assert any("could not be recorded: RuntimeError: broken" in x for x in recording.notes())


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
    assert OUTSIDE not in text  # the page quotes this function


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


# ----------------------------------------------------------------------------------------------
# The graph


def graph_of(run):
    with record("graph") as recording:
        run()
    return recording.graph.nodes


def nodes(found, lane):
    return [(node.label, node.value) for node in found if node.lane == lane]


def test_the_graph_of_forward_mode_has_primals_and_tangents_that_need_residuals():
    found = graph_of(lambda: jax.jvp(f, (3.0,), (1.0,)))
    assert [label for label, _ in nodes(found, "primal")] == ["", "sin", "cos", "mul"]
    assert nodes(found, "tangent")[-1] == ("add_any", "-2.8289")
    *_, by_x, by_sine, _ = found
    assert [x.label for x in by_sine.residuals] == ["sin"]
    assert [x.value for x in by_x.residuals] == ["3"]


def test_cotangents_come_back_and_add_up():
    found = graph_of(lambda: jax.grad(f)(3.0))
    assert {node.lane for node in found} == {"primal", "tangent"}
    (tangent,) = [node for node in found if node.lane == "tangent" and not node.label]
    assert [text for _, text, _ in tangent.cotangents] == [
        "0.14112", "0.14112 + (-2.97)", "0.14112 + (-2.97) = -2.8289"]
    by_number = {node.label: [ct for _, ct, _ in node.cotangents] for node in found[4:]}
    assert by_number["add_any"] == ["1"]
    events = [at for node in found for at, *_ in node.cotangents]
    assert min(events) > max(node.at for node in found)


@pytest.mark.parametrize("uses", [2, 3, 4])
def test_any_number_of_cotangents_add_up(uses):
    found = graph_of(lambda: jax.grad(lambda x: sum(jnp.sin(x) * k for k in range(1, 1 + uses)))(0.0))
    (tangent,) = [node for node in found if node.lane == "tangent" and not node.label]
    assert tangent.cotangents[-1][1].endswith(f"= {uses * (uses + 1) // 2}")


def test_inside_another_transformation_the_way_back_has_nodes():
    found = graph_of(lambda: jax.jit(jax.vmap(jax.grad(f)))(X))
    assert [label for label, _ in nodes(found, "cotangent")] == ["mul", "mul", "mul", "add_any"]


def test_a_sub_program_is_one_node_of_the_graph():
    found = graph_of(PROGRAMS["scan"])
    assert [node.label for node in found if node.label] == ["scan", "scan"]
    assert found[1].cotangents[-1][1] == "12"


def test_a_large_graph_is_cut_and_says_so():
    with record("large") as recording:
        exec("x = jnp.float32(0)\n" + "x = x + 1\n" * 100, {"jnp": jnp})
    assert len(recording.graph.nodes) == graph.MOST_NODES
    assert any("are not in the graph" in note for note in recording.notes())


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_picture_is_whole_and_nothing_in_it_covers_another(name):
    with record(name) as recording:
        PROGRAMS[name]()
    picture = ElementTree.fromstring(draw(recording.graph))
    boxes = [(float(rect.get("x")), float(rect.get("y"))) for rect in picture.iter("rect")]
    assert len(boxes) == len(recording.graph.nodes)
    for (x, y), (z, w) in itertools.combinations(boxes, 2):
        assert abs(x - z) > drawing.WIDTH or abs(y - w) > drawing.HEIGHT
    assert max(x for x, _ in boxes) + drawing.WIDTH <= float(picture.get("width"))
    steps = len(recording.events)
    assert all(int(part.get("data-at", 0)) < steps for part in picture.iter())


# ----------------------------------------------------------------------------------------------
# Steps


@pytest.mark.parametrize("name", PROGRAMS)
def test_few_steps_are_shown_at_first_and_all_can_be(name):
    with record(name) as recording:
        PROGRAMS[name]()
    events, data = recording.events, recording.as_dict()
    at_first = visible(events, set(data["open"]))
    assert len(at_first) <= max(data["most"], len(visible(events, ())))
    assert data["most"] == MOST_STEPS == 25
    everything = visible(events, set(range(len(events))))
    assert set(at_first) <= set(everything)
    assert [i for i, _ in data["marks"]] == sorted({i for i, _ in data["marks"]})


def test_a_folded_step_has_its_result_with_it():
    with record("jvp") as recording:
        jax.jvp(f, (3.0,), (1.0,))
    folded = visible(recording.events, ())
    assert [recording.events[i]["kind"] for i in folded] == ["begin", "process", "process", "end"]
    opened = visible(recording.events, {folded[1]})
    assert recording.events[opened[1]]["kind"] == "process"
    assert "result" in [recording.events[i]["kind"] for i in opened]


def test_the_chapters_of_a_run():
    with record("grad") as recording:
        jax.grad(f)(3.0)
    assert [label for _, label in marks(recording.events)] == ["forwards", "backwards"]
    with record("grad of jit") as recording:
        jax.grad(jax.jit(f))(3.0)
    assert [label for _, label in marks(recording.events)] == ["forwards", "backwards"]


def test_the_body_of_a_loop_is_folded_at_first():
    with record("scan") as recording:
        PROGRAMS["scan"]()
    opened = recording.as_dict()["open"]
    subs = [i for i, event in enumerate(recording.events) if event.get("sub")]
    assert subs
    assert not set(opened) & set(subs)


def test_the_executing_line_of_a_rule_is_told():
    with record("vmap") as recording:
        jax.vmap(f)(X)
    lines = [recording.sources[event["at"][0]][event["at"][1]]
             for event in kinds(recording, "process") if event["at"][1] != event["at"][2]]
    assert any("bind" in line for line in lines)
