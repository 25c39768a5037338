"""Chapter 1: extensions are asked while they are registered, and leave nothing behind."""

import pytest

from minijax import numpy as jnp
from minijax.core import extension
from minijax.core.extension import Extension, hooks, register, remove
from minijax.debugging.registering import registered

POINTS = [*extension.points]


class Seven(Extension):
    """Evaluates `sin` to 7, and counts what it is asked."""

    def __init__(self):
        self.asked = 0

    def evaluate(self, primitive, args, params):
        self.asked += 1
        return jnp.float32(7) if primitive.name == "sin" else NotImplemented


class Watching(Extension):
    def __init__(self):
        self.seen = []

    def after_evaluation(self, primitive, args, params, out):
        self.seen.append((primitive.name, float(out)))


def test_an_extension_evaluates():
    seven = Seven()
    with registered(seven):
        assert float(jnp.sin(0.0)) == 7 and float(jnp.cos(0.0)) == 1
    assert seven.asked == 2 and float(jnp.sin(0.0)) == 0


def test_all_see_what_was_evaluated():
    first, second = Watching(), Watching()
    with registered(first), registered(Seven()), registered(second):
        jnp.sin(0.0)
    jnp.sin(0.0)
    assert first.seen == second.seen == [("sin", 7.0)]


def test_registrations_are_counted():
    watching = Watching()
    register(watching)
    with registered(watching):
        jnp.sin(0.0)
    assert len(watching.seen) == 1, "registered twice, asked once"
    jnp.sin(0.0)
    assert len(watching.seen) == 2, "still registered"
    remove(watching)
    jnp.sin(0.0)
    assert len(watching.seen) == 2
    with pytest.raises(ValueError, match="not in list"):
        remove(watching)


def test_points_are_documented():
    for point in POINTS:
        assert extension.points[point].__doc__


def subclasses(cls):
    return [sub for direct in cls.__subclasses__() for sub in (direct, *subclasses(direct))]


def test_a_point_is_declared_before_it_is_overridden():
    """Else the method would never be called."""
    for cls in subclasses(Extension):
        assert {*POINTS} & vars(cls).keys() <= {*cls._overridden}, cls


def test_a_later_room_adds_a_point():
    """It asks through `hooks`, as the engine does, and gets nothing without extensions."""
    def colour(self, x):
        """The colour of a value."""
        return None

    extension.point(colour)
    try:
        blue = type("Blue", (Extension,), {"colour": lambda self, x: "blue"})()
        assert hooks.colour == ()
        with registered(blue):
            assert [colour(1.0) for colour in hooks.colour] == ["blue"]
        assert hooks.colour == () and extension.points["colour"] is colour
    finally:
        del hooks.colour, extension.points["colour"], extension._methods["colour"]


@pytest.mark.parametrize("point", POINTS)
def test_nothing_is_left_of_an_extension(point):
    before = getattr(hooks, point)
    one = type("One", (Extension,), {point: lambda self, *args: None})()
    with registered(one):
        assert getattr(hooks, point) == (*before, getattr(one, point))
        others = {name for name in POINTS if name != point}
        assert all(one != getattr(bound, "__self__", bound) for name in others for bound in getattr(hooks, name))
    assert getattr(hooks, point) == before


def test_a_removal_within_a_registration(monkeypatch):
    """A garbage collection can remove an extension at any moment."""
    one, other = Seven(), Seven()
    register(one)

    class Collecting(list):
        """A list that is collected while it is copied."""

        def copy(self):
            copied = list(self)
            if one.evaluate in self:
                remove(one)
            return copied

    methods = extension._methods["evaluate"]
    monkeypatch.setitem(extension._methods, "evaluate", Collecting(methods))
    with registered(other):
        assert one.evaluate not in hooks.evaluate
        assert other.evaluate in hooks.evaluate
    monkeypatch.undo()
    remove(one)
