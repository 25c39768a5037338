"""Pictures of shardings: line by line as JAX prints them, and what compiled programs show."""

from __future__ import annotations

import contextlib
import io
import sys

import numpy as np
import pytest

import minijax as mj
from tests.oracle import both, in_both, jax

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


# ------------------------------------------------------------------------------------------------
# Inside of programs


def inspected(library, transform, *specs):
    """What `inspect_array_sharding` says in a program of arrays that lie so, as text."""
    seen = []

    def look(sharding):
        seen.append((repr(sharding), len(sharding.device_set)))

    def program(*xs):
        y = library.numpy.sin(sum(xs))
        library.debug.inspect_array_sharding({"y": y}, callback=look)
        return (y * 2).sum()

    types = (library.sharding.AxisType.Auto,) * 2
    mesh = library.make_mesh((4, 2), ("x", "y"), types)
    xs = [library.device_put(np.ones((8, 8), np.float32),
                             library.NamedSharding(mesh, library.P(*spec))) for spec in specs]
    transform(library, program)(*xs)
    return seen


@pytest.mark.parametrize("specs", [[("x",)], [(None, "y")], [(("y", "x"),)], [()],
                                   [("x",), ("x", "y")]], ids=str)
@pytest.mark.parametrize("transform", [
    lambda library, f: f,
    lambda library, f: library.jit(f),
    lambda library, f: library.grad(f),
    lambda library, f: library.jit(library.grad(f)),
    lambda library, f: library.jit(library.vmap(f)),
    lambda library, f: library.jit(
        lambda *xs: library.lax.cond(xs[0][0, 0] > 0, f, lambda *xs: 0.0, *xs)),
    lambda library, f: lambda *xs: library.jit(f).lower(*xs).compile(),
], ids=["eager", "jit", "grad", "jit grad", "jit vmap", "cond", "lower"])
def test_inspecting_what_a_program_does(transform, specs):
    both(lambda library: lambda: inspected(library, transform, *specs))


def test_what_is_computed_again_is_inspected_again():
    """In JAX it is inspected once; a callback is called again in both."""
    def remat(library, f):
        return library.grad(library.checkpoint(f))

    assert inspected(mj, remat, ("x",)) == 2 * inspected(jax, remat, ("x",))


def test_a_program_without_results():
    seen = []
    x = mj.device_put(np.ones((8, 8), np.float32), named(mj, (None, "x")))
    mj.jit(lambda x: mj.debug.inspect_array_sharding(x * 2, callback=seen.append))(x)
    assert [sharding.spec for sharding in seen] == [mj.P(None, "x")]


@pytest.mark.parametrize("device", [0, 3])
def test_inspecting_a_program_on_one_device(device):
    seen = []
    f = mj.jit(lambda x: (mj.debug.inspect_array_sharding(x, callback=seen.append), x + 1)[1])
    x = mj.device_put(np.ones(3, np.float32), mj.devices()[device])
    f(x)
    f(x)
    assert seen == [mj.sharding.SingleDeviceSharding(mj.devices()[device])]  # once, not twice


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("jit", [False, True])
@in_both
def test_visualize_array_sharding(library, spec, jit):
    def show(x):
        library.debug.visualize_array_sharding(x, scale=0.5)
        return x

    types = (library.sharding.AxisType.Auto,) * 2
    sharding = library.NamedSharding(
        library.make_mesh((4, 2), ("x", "y"), types), library.P(*spec))
    x = library.device_put(np.ones((8, 8), np.float32), sharding)
    return printed(library.jit(show) if jit else show, x)


@pytest.mark.parametrize("value", [1.0, np.ones(3, np.float32)], ids=["number", "NumPy"])
def test_inspecting_what_is_no_array(value):
    both(lambda library: lambda: library.debug.inspect_array_sharding(value, callback=print))
