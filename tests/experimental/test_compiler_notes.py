"""Frontend attributes: which operations of a module have those of `set_xla_metadata` and
`compute_on`. Programs of which both libraries write the same operations are compared with JAX."""

from __future__ import annotations

import re
import threading
from importlib import import_module

import numpy as np
import pytest

import minijax
from tests.oracle import both

X, M = np.arange(1, 5, dtype="float32"), np.eye(3, dtype="float32") * 9


def noted(jx, *args, **note):
    return import_module(f"{jx.__name__}.experimental.xla_metadata").set_xla_metadata(*args, **note)


def placed(jx, place):
    return import_module(f"{jx.__name__}.experimental.compute_on").compute_on(place)


def within(jx, f, **note):
    """`f` in a context."""
    def inside(*args):
        with noted(jx, **(note or {"a": "b"})):
            return f(*args)

    return inside


def attributes(jx, f, *args) -> list[str]:
    """The operations that have frontend attributes, and these."""
    found = []
    for line in jx.jit(f).lower(*args).as_text().splitlines():
        said = re.search(r"mhlo\.frontend_attributes = (\{.*?\})[ ,}]", line)
        operation = re.match(r' *(?:%\S+ = )?"?(call @\w+|\w+\.\w+|\})', line)
        if said:
            assert operation is not None, line
            found.append(f"{re.sub('_[0-9]+$', '', operation[1])} {said[1]}")
    return sorted(found)


def nested(jx, x):
    with noted(jx, a="b", n=1):
        x = jx.numpy.sin(x)
        with noted(jx, a=None, c=True):
            x = jx.numpy.cos(x)
        with noted(jx, a="z"), noted(jx):
            x = jx.numpy.tan(x)
        with placed(jx, "gpu_stream:1"):
            x = jx.numpy.exp(x)
            with placed(jx, "device"):
                x = x * x
        return noted(jx, -x, a="own", v=2.5)


def without(jx, x):
    with noted(jx, a=None):
        return jx.numpy.cos(x)


def in_contexts(jx, x):
    """A function is traced again in each context."""
    def wave(x):
        return jx.numpy.sin(x) * x

    f = jx.jit(wave)
    return f(x), within(jx, f)(x), noted(jx, c=1)(f)(x), placed(jx, "device_host")(f)(x), f(x + x)


PROGRAMS = {
    "elements": (lambda jx: within(jx, jx.numpy.sin), X),
    "product": (lambda jx: within(jx, lambda m: m @ m), M),
    "sum": (lambda jx: within(jx, jx.numpy.sum), X),
    "minimum": (lambda jx: within(jx, jx.numpy.min), X),
    "transpose": (lambda jx: within(jx, lambda m: m.T), M),
    "slice": (lambda jx: within(jx, lambda x: x[1:3]), X),
    "concatenate": (lambda jx: within(jx, lambda x: jx.numpy.concatenate([x, x])), X),
    "pad": (lambda jx: within(jx, lambda x: jx.numpy.pad(x, 2)), X),
    "where": (lambda jx: within(jx, lambda x: jx.numpy.where(x > 1, x, -x)), X),
    "convolution": (lambda jx: within(jx, lambda m: jx.lax.conv_general_dilated(
        m[None, None], m[None, None], (1, 1), "SAME")), M),
    "fft": (lambda jx: within(jx, jx.numpy.fft.fft), X),
    "convert": (lambda jx: within(jx, lambda x: x.astype("int32")), X),
    "top_k": (lambda jx: within(jx, lambda x: jx.lax.top_k(x, 2)), X),
    "barrier": (lambda jx: within(jx, jx.lax.optimization_barrier), X),
    "reduce": (lambda jx: within(jx, lambda x: jx.lax.reduce(
        x, np.float32(1), lambda a, b: a * b + a, (0,))), X),
    "while": (lambda jx: within(jx, lambda x: jx.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * c[1]), (0, x))), X),
    "cond": (lambda jx: within(jx, lambda p, x: jx.lax.cond(p, jx.numpy.sin, jx.numpy.cos, x)),
             np.True_, X),
    "a branch without": (lambda jx: within(jx, lambda p, x: jx.lax.cond(
        p, jx.numpy.sin, lambda x: without(jx, x), x)), np.True_, X),
    "inside of a loop": (lambda jx: lambda x: jx.lax.while_loop(
        within(jx, lambda c: c[0] < 3), lambda c: (c[0] + 1, within(jx, jx.numpy.sin, k=1)(c[1])),
        (0, x)), X),
    "inside of a scan": (lambda jx: lambda x: jx.lax.scan(
        lambda c, y: (within(jx, jx.numpy.sin)(c) + y, c), np.float32(0), x), X),
    "grad of a scan": (lambda jx: jx.grad(lambda x: jx.lax.scan(
        lambda c, y: (within(jx, jx.numpy.sin)(c) + y, None), np.float32(0), x)[0]), X),
    "grad inside": (lambda jx: within(jx, jx.grad(lambda x: jx.numpy.sin(x) ** 3)), X[0]),
    "grad outside": (lambda jx: jx.grad(within(jx, lambda x: jx.numpy.sin(x) ** 3)), X[0]),
    "grad of jit": (lambda jx: jx.grad(jx.jit(within(
        jx, lambda x: jx.numpy.sin(x) * jx.numpy.exp(x)))), X[0]),
    "jvp": (lambda jx: lambda x: jx.jvp(within(jx, jx.numpy.tanh), (x,), (x,)), X),
    "vmap": (lambda jx: jx.vmap(within(jx, lambda x: jx.numpy.sin(x) @ x)), M),
    "checkpoint": (lambda jx: within(jx, jx.checkpoint(lambda x: jx.numpy.sin(jx.numpy.sin(x)))), X),
    "on the host": (lambda jx: placed(jx, "device_host")(
        lambda m: jx.numpy.sin(m) @ jx.jit(jx.numpy.cos)(m)), M),
    "nested": (lambda jx: lambda x: nested(jx, x), X),
    "contexts": (lambda jx: lambda x: in_contexts(jx, x), X),
    "names and values": (lambda jx: lambda x: noted(jx, jx.numpy.sin(x), **{
        "c.d": "\\ : % {", "e": "é\n\0", "f": False}) + noted(jx, **{"k:": "} : {"})(jx.numpy.cos)(x), X),
    "a tree": (lambda jx: lambda x: noted(jx, {"a": jx.numpy.sin(x), "b": [x * x]}, z="z"), X),
    "an argument": (lambda jx: lambda x: noted(jx, x, a=1), X),
    "two notes on a value": (lambda jx: lambda x: noted(jx, noted(jx, x * x, a=1), a=2, b=3), X),
    "a call": (lambda jx: lambda x: noted(jx, jx.numpy.where(x > x, x, x), a=1), X),
    "values of a vmap": (lambda jx: jx.vmap(lambda x: noted(jx, jx.numpy.sin(x), a=1)), M),
    "values of a grad": (lambda jx: jx.grad(lambda x: noted(jx, jx.numpy.sin(x) * x, a=1)), X[0]),
    "values of a loop": (lambda jx: lambda x: noted(jx, jx.lax.while_loop(
        lambda x: x < 9, lambda x: x + x, x), a=1), X[1]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operations_have_them(name):
    program, *args = PROGRAMS[name]
    both(lambda jx: lambda: attributes(jx, program(jx), *args))
    f = program(minijax)
    minijax.block_until_ready(minijax.jit(f)(*args))  # XLA takes the module


def test_operations_that_only_we_write():
    """JAX writes other operations for these, but on those of their results it has the same."""
    functions = [minijax.nn.sigmoid, minijax.numpy.sort, minijax.numpy.argmax,
                 minijax.numpy.cumsum, lambda x: minijax.lax.reduce_window(
                     x, np.float32(0), minijax.lax.add, (2,), (1,), "VALID")]
    for f in functions:
        assert attributes(minijax, within(minijax, f), X)
        np.testing.assert_array_equal(minijax.jit(within(minijax, f))(X), minijax.jit(f)(X))
    for f in minijax.numpy.linalg.qr, lambda m: minijax.numpy.linalg.solve(m, m):
        for line in minijax.jit(within(minijax, f)).lower(M).as_text().splitlines():
            if re.match(" *%.*(custom_call|select)", line):
                assert 'a = "b"' in line


def test_decorated_functions_keep_their_attributes():
    def program(jx):
        f = noted(jx, a="b")(jx.jit(lambda x: x * x))
        return lambda: (f.lower(X).as_text().count('{a = "b"}'), f.__wrapped__(X), f(X), f.__name__)

    both(program)


def test_programs_do_not_change():
    f = minijax.jit(lambda x: minijax.nn.softmax(x) @ minijax.numpy.sort(x))
    with noted(minijax, a="b"), placed(minijax, "device_host"):
        inside = f(X), minijax.numpy.sin(X)
    assert inside[0] == f(X) and (inside[1] == minijax.numpy.sin(X)).all()


def test_contexts_end():
    outside = attributes(minijax, minijax.numpy.sin, X)
    context = noted(minijax, a="b")
    with pytest.raises(ZeroDivisionError), context, context:
        raise ZeroDivisionError
    with context:
        seen = []
        other = threading.Thread(target=lambda: seen.append(
            attributes(minijax, lambda x: minijax.numpy.sin(x), X)))
        other.start()
        other.join()
    assert outside == attributes(minijax, minijax.numpy.sin, X) == seen[0] == []


def test_a_value_without_a_hash():
    both(lambda jx: lambda: noted(jx, a=[1]).__enter__(), raises=TypeError)


def test_names_of_scopes_have_no_notes():
    @minijax.jit
    def f(x):
        with minijax.named_scope("outer"), noted(minijax, a="b"), minijax.named_scope("inner"):
            return minijax.numpy.sin(x)

    assert "jit(f)/outer/inner/sin" in f.lower(X).as_text(debug_info=True)
    shown = f.trace(X).jaxpr.jaxpr.pretty_print(name_stack=True)
    assert "[outer/inner]" in shown
