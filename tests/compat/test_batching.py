"""Tables that libraries add own types to: containers for `vmap`, and values of own classes."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minijax.compat.core import canonicalize_dtype_handlers
from minijax.core import batching
from minijax.core.avals import pytype_aval_mappings
from minijax.core.batching import spec_types
from minijax.custom_rules import vmappables
from tests.oracle import both, in_both, subject


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """Forget afterwards what a test registered. (JAX keeps it: each test has its own classes.)"""
    tables: list[Any] = [batching.containers, vmappables.make_iota_handlers, spec_types,
                         pytype_aval_mappings, canonicalize_dtype_handlers._handlers]
    before = [table.copy() for table in tables]
    yield
    for table, contents in zip(tables, before):
        table.clear()
        table.update(contents)


def part(jx: Any, name: str) -> Any:
    return import_module(f"{jx.__name__}.{name}")


# ----------------------------------------------------------------------------------------------
# register_vmappable

X, Y = np.arange(6.0, dtype="f").reshape(3, 2), np.arange(3.0, dtype="f")


def containers(jx: Any, make_iota: Any = None) -> SimpleNamespace:
    """A class of containers with a shape and int axes, and one with its own specifications."""

    class Pair:
        def __init__(self, x, y):
            self.x, self.y, self.shape = x, y, np.shape(y)

    class Batched:  # the examples are at the end, and its specification says how many there are
        def __init__(self, data):
            self.data = data

    class Spec:
        def __init__(self, size):
            self.size = size

    seen: list = []

    def pair_to_elt(cont, get_idx, p, axis):
        seen.append(("to_elt", axis, type(get_idx()).__name__.replace("Tracer", "")))
        return Pair(cont(p.x, axis), cont(p.y, axis))

    def pair_from_elt(cont, size, p, axis):
        seen.append(("from_elt", size, axis))
        return Pair(cont(size, p.x, axis), cont(size, p.y, axis))

    register = part(jx, "interpreters.batching").register_vmappable
    register(Pair, int, int, pair_to_elt, pair_from_elt, make_iota)
    register(Batched, Spec, int, lambda cont, idx, b, spec: Batched(cont(b.data, -1)),
             lambda cont, size, b, spec: Batched((cont(size, b.data, 1), spec.size)), None)
    return SimpleNamespace(Pair=Pair, Batched=Batched, Spec=Spec, seen=seen)


def taken_apart(x: Any) -> Any:
    if type(x).__name__ == "Pair":
        return [x.x, x.y]
    return x.data if type(x).__name__ == "Batched" else x


MAPS = {
    "in": lambda jx, c: jx.vmap(lambda p: p.x.sum() + p.y)(c.Pair(X, Y)),
    "in and out": lambda jx, c: jx.vmap(lambda p: p)(c.Pair(X, Y)),
    "out": lambda jx, c: jx.vmap(lambda x: c.Pair(x, x[0]))(X),
    "broadcast out": lambda jx, c: jx.vmap(lambda x: c.Pair(1.0, 2 * x))(Y),
    "with an array": lambda jx, c: jx.vmap(lambda p, z: c.Pair(p.x * z, z))(c.Pair(X, Y), Y),
    "not mapped": lambda jx, c: jx.vmap(lambda x: x + 1)(Y),
    "axis 1": lambda jx, c: jx.vmap(lambda p: p, 1, 1)(c.Pair(X.T, X.T)),
    "in a tuple": lambda jx, c: jx.vmap(lambda t: (t[0].x, t[1]["a"]))((c.Pair(X, Y), {"a": Y})),
    "in_axes": lambda jx, c: jx.vmap(lambda t, z: t[0].x * z, ((0,), None))((c.Pair(X, Y),), 2.0),
    "keyword": lambda jx, c: jx.vmap(lambda *, p: p.y)(p=c.Pair(X, Y)),
    "own spec": lambda jx, c: jx.vmap(lambda b: b.data * 2, c.Spec(3), axis_size=3)(
        c.Batched(X.T)),
    "own spec out": lambda jx, c: jx.vmap(c.Batched, out_axes=c.Spec("three"))(X),
    "jit": lambda jx, c: jx.jit(lambda x, y: taken_apart(jx.vmap(lambda p: p)(c.Pair(x, y))))(X, Y),
    "grad": lambda jx, c: jx.grad(
        lambda x: jx.vmap(lambda p: p.x @ p.x)(c.Pair(x, x)).sum())(X),
    "vmap of vmap": lambda jx, c: jx.vmap(jx.vmap(lambda p: p))(c.Pair(X, X)),
    "unregistered": lambda jx, c: (
        part(jx, "interpreters.batching").unregister_vmappable(c.Pair),
        jx.vmap(lambda p: p.y)(c.Pair(X, Y)))[1],
    "axis name": lambda jx, c: jx.vmap(
        lambda p: jx.lax.psum(p.y, "i"), axis_name="i")(c.Pair(X, Y)),
}


@pytest.mark.parametrize("name", MAPS)
@in_both
def test_vmappable(jx, name):
    c = containers(jx)
    return taken_apart(MAPS[name](jx, c)), c.seen


@in_both
def test_results_are_put_together_outside_of_the_map(jx):
    """Objects that note the trace they were made in, as flax's variables do, note the caller's."""
    core = part(jx, "extend.core")

    class Noted:
        def __init__(self, x):
            self.x, self.trace = x, core.get_opaque_trace_state(convention="nnx")

    jx.tree_util.register_pytree_node(Noted, lambda n: ((n.x,), None),
                                      lambda _, children: Noted(*children))

    def is_of_here(result):
        return result.trace == core.get_opaque_trace_state(convention="nnx")

    containers(jx)
    nested = jx.vmap(lambda x: x * is_of_here(jx.vmap(Noted)(x)))(X)
    return is_of_here(jx.vmap(Noted)(X)), nested


REFUSED = {
    "sizes": (lambda jx, c: jx.vmap(lambda p, z: z)(c.Pair(X, Y), np.ones(4)), "ValueError"),
    "axis_size": (lambda jx, c: jx.vmap(lambda p: p.y, axis_size=2)(c.Pair(X, Y)), "ValueError"),
    "no size": (lambda jx, c: jx.vmap(lambda b: b.data, c.Spec(3))(c.Batched(X)), "ValueError"),
    "None out": (lambda jx, c: jx.vmap(lambda p: p.y, out_axes=None)(c.Pair(X, Y)), "ValueError"),
    "prefix": (lambda jx, c: jx.vmap(lambda p: p.y, ((0, 0),))(c.Pair(X, Y)), "ValueError"),
    "another spec": (lambda jx, c: jx.vmap(lambda x: x, "0")(Y), "TypeError"),
    "spec of an array": (lambda jx, c: jx.vmap(lambda p, x: x, (0, c.Spec(3)))(c.Pair(X, Y), Y),
                         "AssertionError"),
    "no arguments": (lambda jx, c: jx.vmap(lambda: 1)(), "ValueError"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_vmappable_refused(name):
    run, error = REFUSED[name]
    both(lambda jx: lambda: run(jx, containers(jx)), raises=error)


@in_both
def test_number_of_the_example(jx):
    class Box:
        def __init__(self, x):
            self.x = x

    part(jx, "interpreters.batching").register_vmappable(
        Box, int, int, lambda cont, idx, b, axis: Box(cont(b.x, axis) + idx()),
        lambda cont, size, b, axis: b, lambda size: 10 * jx.lax.iota("int32", size))
    return jx.vmap(lambda b: b.x, axis_size=3)(Box(np.zeros(3, "int32")))


# ----------------------------------------------------------------------------------------------
# Values of own classes


def meters(jx: Any) -> Any:
    class Meters:
        def __init__(self, number):
            self.number = number

    class Feet(Meters):
        pass

    mappings = jx.core.pytype_aval_mappings if jx is subject else import_module(
        "jax._src.core").pytype_aval_mappings
    handlers = part(jx, "interpreters.xla").canonicalize_dtype_handlers
    mappings[Meters] = lambda m: mappings[type(m.number)](m.number)
    handlers[Meters] = lambda m: handlers[type(m.number)](m.number)
    return SimpleNamespace(Meters=Meters, Feet=Feet, handlers=handlers, mappings=mappings)


VALUES = {
    "jit": lambda jx, m: jx.jit(lambda x: x + 1)(m.Meters(1.0)),
    "jit of a NumPy array": lambda jx, m: jx.jit(lambda x: x + 1)(m.Meters(np.ones(2))),
    "jit of an array": lambda jx, m: jx.jit(lambda x: x + 1)(m.Meters(jx.numpy.ones(2))),
    "jit of a NumPy scalar": lambda jx, m: jx.jit(lambda x: x + 1)(m.Meters(np.int64(2))),
    "subclass": lambda jx, m: jx.jit(lambda x: x + 1)(m.Feet(1.0)),
    "lax": lambda jx, m: jx.lax.sin(m.Meters(np.ones(2))),
    "device_put": lambda jx, m: jx.device_put(m.Meters(3.0)),
    "typeof": lambda jx, m: str(jx.typeof(m.Meters(3.0))),
    "make_jaxpr": lambda jx, m: jx.make_jaxpr(lambda x: x + 1)(m.Meters(1.0)),
    "scan": lambda jx, m: jx.lax.scan(lambda c, x: (c + x, x), m.Meters(0.0), np.ones(3, "f")),
    "cond": lambda jx, m: jx.lax.cond(True, lambda x: x + 1, lambda x: x, m.Meters(1.0)),
    "handler of an array": lambda jx, m: np.asarray(m.handlers[np.ndarray](np.ones(2))),
    "types that are known": lambda jx, m: [str(m.mappings[type(x)](x)) for x in (
        1, 1.0, True, 1j, np.float32(1), np.int8(1), np.ones(2))],
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_own_classes(name):
    both(lambda jx: lambda: VALUES[name](jx, meters(jx)))


@pytest.mark.parametrize("run", [lambda jx, m: jx.numpy.asarray(m.Meters(1.0)),
                                 lambda jx, m: jx.numpy.add(m.Meters(1.0), 1.0),
                                 lambda jx, m: jx.numpy.ones(2) + m.Meters(1.0)])
def test_values_of_own_classes_refused(run):
    both(lambda jx: lambda: run(jx, meters(jx)), raises=TypeError)


class Inches(int):
    pass


class Liters(float):
    pass


class Color(enum.IntEnum):
    RED = 3


NUMBERS = {
    "jit": lambda jx, x: jx.jit(lambda x: x + 1)(x),
    "sin": lambda jx, x: jx.numpy.sin(x),
    "asarray": lambda jx, x: jx.numpy.asarray(x),
    "operator": lambda jx, x: jx.numpy.ones(2, "bfloat16") * x,
    "add": lambda jx, x: jx.numpy.add(jx.numpy.ones(2, "int8"), x),
    "typeof": lambda jx, x: str(jx.typeof(x)),
    "where": lambda jx, x: jx.numpy.where(True, x, jx.numpy.ones(2, "float16")),
    "make_jaxpr": lambda jx, x: jx.make_jaxpr(lambda y: y * x)(2.0),
    "full": lambda jx, x: jx.numpy.full(2, x),
    "list": lambda jx, x: jx.numpy.array([x, 1]),
    "power": lambda jx, x: jx.numpy.power(2.0, x),
    "operator power": lambda jx, x: jx.numpy.float32(2.0) ** x,
    "scan": lambda jx, x: jx.numpy.asarray(jx.lax.scan(lambda c, _: (c, c), x, None, 2)[0]),
    "lax": lambda jx, x: jx.lax.mul(x, x),
    "device_put": lambda jx, x: jx.device_put(x),
    "grad": lambda jx, x: jx.grad(lambda y: y * x)(2.0),
    "vmap": lambda jx, x: jx.vmap(lambda y: y * x)(np.ones(2, "int8")),
}


@pytest.mark.parametrize("number", [Inches(3), Liters(2.5), Color.RED], ids=["int", "float", "enum"])
@pytest.mark.parametrize("name", NUMBERS)
def test_subclasses_of_numbers_are_numbers(name, number):
    both(lambda jx: lambda: NUMBERS[name](jx, number))


# ----------------------------------------------------------------------------------------------
# Names of the core


def main_of(jx: Any, wrap: Any) -> list:
    """Whether the current trace has an identity."""
    found: list = []

    def look(x):
        found.append(part(jx, "extend.core").find_top_trace((x,)).main is None)
        return x * 2

    wrap(look)
    return found


@pytest.mark.parametrize("wrap", [
    lambda jx: lambda f: f(1.0), lambda jx: lambda f: jx.jit(f)(1.0),
    lambda jx: lambda f: jx.vmap(f)(np.ones(2)), lambda jx: lambda f: jx.grad(f)(1.0),
    lambda jx: lambda f: jx.jvp(f, (1.0,), (1.0,))], ids=["eval", "jit", "vmap", "grad", "jvp"])
def test_main_of_the_current_trace(wrap):
    both(lambda jx: lambda: main_of(jx, wrap(jx)))


@pytest.mark.parametrize("x", [1.0, np.int8(1), True, np.float16(1), np.ones(2, "int8"), 1j])
def test_at_least_vspace(x):
    both(lambda jx: lambda: str(jx.typeof(x).at_least_vspace()))
