"""minijax cut at each chapter imports, and passes that chapter's tests."""

from __future__ import annotations

import ast
import functools
import importlib.util
import tomllib
from pathlib import Path

import pytest

from tools import cut

ROOT = Path(__file__).resolve().parents[2]


TESTED = 8  # the programs that chapters 9 and 10 are tested with need the NumPy layer


@pytest.mark.parametrize("chapter", range(1, TESTED + 1))
@pytest.mark.live_jax
def test_cut(chapter, tmp_path):
    """A sample of the core's tests: all of them run against the core alone."""
    folder = cut.cut(chapter, tmp_path)
    assert cut.import_all(folder) == 0
    assert cut.test(folder, chapter, "-x", "--sample", "9") == 0


@pytest.mark.parametrize("chapter", range(TESTED + 1, cut.LAST + 1))
def test_a_later_cut_imports(chapter, tmp_path):
    assert cut.import_all(cut.cut(chapter, tmp_path)) == 0


@pytest.mark.live_jax
def test_the_core_stands_alone(tmp_path):
    """Without checks, short cuts, compatibility and all later rooms."""
    folder = cut.cut_core(tmp_path)
    assert cut.import_all(folder) == 0
    assert cut.test_paths(folder, "-x", cut.ENGINE_TESTS) == 0


def test_a_cut_facade_ends_where_the_chapter_ends():
    text = "a\n# chapter 1\nb\n# chapter 3: trees\nc\n# chapter 2\nd\n"
    assert cut.cut_facade(text, 1) == "a\n# chapter 1\nb\n"
    assert cut.cut_facade(text, 2) == "a\n# chapter 1\nb\n# chapter 2\nd\n"
    assert cut.cut_facade(text, 3) == text


TRANSFORMATIONS = {  # what each section of core/api.py adds, and the core's modules it may import
    3: ({"jvp", "stop_gradient"},
        "dtypes core boundary array operators primitives extension forward tree api_util"),
    4: ({"vmap"}, "batching placements"),
    5: ({"make_jaxpr", "eval_shape"}, "jaxpr staging traced"),
    7: ({"linearize"}, "lowering jit partial_eval"),
    8: ({"vjp", "value_and_grad", "grad"}, "transposition"),
}


@pytest.mark.parametrize("chapter", TRANSFORMATIONS)
def test_the_api_can_be_cut_at_each_section(chapter):
    text = cut.cut_facade((cut.PACKAGE / "core" / "api.py").read_text(), chapter)
    tree = ast.parse(text)
    until = [entry for number, entry in TRANSFORMATIONS.items() if number <= chapter]
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {name for name in functions if name[0] != "_"} == set().union(*(x for x, _ in until))
    imported = {node.module or alias.name for node in tree.body
                if isinstance(node, ast.ImportFrom) and node.level == 1 for alias in node.names}
    assert imported <= {name for _, names in until for name in names.split()}
    _derivatives_in(_module(text), chapter)


def _module(text):
    """A module of the core with this text."""
    spec = importlib.util.spec_from_loader("minijax.core.cut_api", loader=None)
    module = importlib.util.module_from_spec(spec)
    exec(compile(text, "cut_api.py", "exec"), vars(module))
    return module


def _derivatives_in(api, chapter):
    """Use what a cut `api` has."""
    f = lambda x: x * x
    assert api.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    if chapter >= 4:
        pushforward = functools.partial(api.jvp, f, (3.0,))
        assert api.vmap(pushforward, axis_size=2, in_axes=None, out_axes=None)((1.0,)) == (9.0, 6.0)
    if chapter >= 5:
        assert api.eval_shape(f, 3.0).shape == ()
    if chapter >= 7:
        assert api.linearize(f, 3.0)[1](1.0) == 6.0
    if chapter >= 8:
        assert api.grad(f)(3.0) == 6.0


def test_the_rooms_are_those_of_the_import_contract():
    """In the same order; a room may be several layers, each above the last."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    names = [{name.strip(" \n").removeprefix("minijax.") for name in layer.split(":")}
             for layer in reversed(layers)]
    room_of = {name: number for number, rooms in cut.ROOMS.items() for room in rooms
               for name in cut.members(room)}
    rooms = [{room_of[name] for name in layer} for layer in names]
    assert all(len(room) == 1 for room in rooms)
    assert [min(room) for room in rooms] == sorted(min(room) for room in rooms)
    assert set().union(*names) == room_of.keys()


def test_every_module_is_in_a_room_or_a_facade():
    rooms = [room for rooms in cut.ROOMS.values() for room in rooms]
    known = {path for room in (*rooms, *cut.FACADES) for path in cut.sources(room)}
    assert known == {path.relative_to(cut.PACKAGE) for path in cut.PACKAGE.rglob("*.py")}
