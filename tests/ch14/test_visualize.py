"""Pictures of shardings: line by line as JAX prints them, and what compiled programs show."""

from __future__ import annotations

import contextlib
import io
import sys

import jax
import pytest

import minijax as mj
from tests.oracle import both

SHAPES = [(8, 8), (8, 16), (16, 8), (8,), (64,), (8, 800), (800, 8)]
SPECS = [("x", "y"), ("x",), (None, "y"), (), (("x", "y"),), (("y", "x"),), (None, ("y", "x"))]
OPTIONS = [{}, {"scale": 0.5}, {"scale": 3.0}, {"max_width": 40}, {"min_width": 20},
           {"use_color": False}, {"color_map": lambda v: (v, 1 - v, 0.5, 1)}]


def printed(function, *args, **kwargs):
    """What a call prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function(*args, **kwargs)
    return out.getvalue()


def named(library, spec, sizes=(4, 2)):
    return library.NamedSharding(library.make_mesh(sizes, ("x", "y")), library.P(*spec))


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pictures(shape, terminal, monkeypatch):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    for spec in SPECS:
        for options in OPTIONS if len(spec) <= len(shape) else ():
            pictures = [printed(library.debug.visualize_sharding, shape, named(library, spec),
                                **options) for library in (jax, mj)]
            assert pictures[0] == pictures[1], (spec, options)
            has_frames = "│" in pictures[1]
            assert has_frames != (terminal and options.get("use_color", True))


@pytest.mark.parametrize("device", [0, 3])
def test_one_device(device):
    both(lambda library: lambda: printed(
        library.debug.visualize_sharding, (4, 4),
        library.sharding.SingleDeviceSharding(library.devices()[device])))


@pytest.mark.parametrize("shape", [(), (8, 8, 8), (3, 8)], ids=str)
def test_what_cannot_be_drawn(shape):
    both(lambda library: lambda: library.debug.visualize_sharding(shape, named(library, ("x",))))


def test_without_rich(monkeypatch):
    for name in ("rich", "rich.align"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match="pip install rich"):
        mj.debug.visualize_sharding((8, 8), named(mj, ("x",)))


def test_without_matplotlib_there_is_no_color(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "│" in printed(mj.debug.visualize_sharding, (8, 8), named(mj, ("x",)))


def test_colors_may_be_given_as_text(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    picture = printed(mj.debug.visualize_sharding, (8, 8), named(mj, ("x",)),
                      color_map=lambda place: "#102030")
    assert "38;2;255;255;255;48;2;16;32;48" in picture  # white on that color
