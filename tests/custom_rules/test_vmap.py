"""`custom_vmap` and `sequential_vmap`: the rule is used, under every transformation, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

F32 = np.float32
X, Y = np.arange(3, dtype=F32), np.arange(1, 4, dtype=F32)


def product(jx):
    """A sum, which is a product under `vmap`."""
    f = jx.custom_batching.custom_vmap(lambda x, y: {"out": jx.numpy.sin(x) + y})

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        assert (np.shape(x)[:1] == (axis_size,)) or not in_batched[0]
        return {"out": jx.numpy.sin(x) * y * (1 + in_batched[0] + 2 * in_batched[1])}, {"out": True}

    return lambda x, y: f(x, y=y)["out"]


PROGRAMS = {
    "call": (lambda jx, f: f, (X, Y)),
    "jit": (lambda jx, f: jx.jit(f), (X, Y)),
    "vmap": (lambda jx, f: jx.vmap(f), (X, Y)),
    "vmap of the first": (lambda jx, f: jx.vmap(f, (0, None)), (X, Y)),
    "vmap of the second": (lambda jx, f: jx.vmap(f, (None, 0)), (X, Y)),
    "vmap of jit": (lambda jx, f: jx.jit(jx.vmap(jx.jit(f), out_axes=1)), (X, np.stack([Y] * 3))),
    "vmap of scan": (lambda jx, f: jx.vmap(
        lambda x, y: jx.lax.scan(lambda c, x: (f(c, x), c), x, jx.numpy.stack([y, y]))), (X, Y)),
    "jvp": (lambda jx, f: lambda x, y: jx.jvp(f, (x, y), (y, x)), (X, Y)),
    "vmap of jvp": (lambda jx, f: jx.vmap(lambda x, y: jx.jvp(f, (x, y), (y, x))), (X, Y)),
    "jvp of vmap": (lambda jx, f: lambda x, y: jx.jvp(jx.vmap(f), (x, y), (y, x)), (X, Y)),
    "vmap of jvp of jit": (lambda jx, f: jx.vmap(
        lambda x, y: jx.jvp(jx.jit(f), (x, y), (y, x))), (X, Y)),
    "grad": (lambda jx, f: lambda x, y: jx.grad(lambda x: f(x, y).sum())(x), (X, Y)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_custom_vmap(name):
    program, args = PROGRAMS[name]
    both(lambda jx: program(jx, product(jx)), *args)


def test_vmap_of_a_jvp_in_one_argument():
    """JAX gives the result one batch dimension too many; so compare with a tangent of zeros."""
    f = product(subject)
    half = subject.vmap(lambda x, y: subject.jvp(lambda x: f(x, y), (x,), (y,)))(X, Y)
    whole = subject.vmap(lambda x, y: subject.jvp(f, (x, y), (y, 0 * y)))(X, Y)
    np.testing.assert_allclose(half, whole)


@in_both
def test_the_usual_combination_with_custom_vjp(jx):
    f = jx.custom_vjp(product(jx))
    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda res, ct: (ct * res[1], ct * res[0]))
    return jx.vmap(jx.grad(f, (0, 1)))(X, Y)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.live_jax
def test_sequential_vmap(jitted, capsys):
    def program(jx):
        @jx.custom_batching.sequential_vmap
        def f(x, y):
            jx.debug.callback(lambda x, y: print(float(x), float(y["b"])), x, y)
            return x + y["a"], x * y["b"]

        g = jx.vmap(f, (0, {"a": 0, "b": None}))

        def run(*args):
            out = (jx.jit(g) if jitted else g)(*args)
            jx.effects_barrier()
            return out

        return run

    both(program, X, {"a": Y, "b": F32(7)})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == lines[3:] == ["0.0 7.0", "1.0 7.0", "2.0 7.0"]


def one_rule(jx, rule):
    f = jx.custom_batching.custom_vmap(lambda x: x)
    if rule:
        f.def_vmap(rule)
    return f


ERRORS = {
    "no rule": lambda jx: one_rule(jx, None)(X),
    "structures": lambda jx: jx.vmap(one_rule(jx, lambda n, b, x: (x, (True, True))))(X),
    "other output": lambda jx: jx.vmap(one_rule(jx, lambda n, b, x: ((x, x), (True, True))))(X),
    "arguments": lambda jx: one_rule(jx, lambda n, b, x: (x, True))(1, 2),
    "closure": lambda jx: jx.vmap(lambda y: _closing(jx, y)(1.0))(X),
}


def _closing(jx, y):
    f = jx.custom_batching.custom_vmap(lambda x: x + y)
    f.def_vmap(lambda n, b, x: (x, True))
    return f


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    both(lambda jx: lambda: ERRORS[name](jx))


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)], ids=str)
@in_both
def test_what_a_rule_under_a_jvp_is_told(jx, axes):
    """A rule is told of a batch where an argument is batched together with its tangent."""
    told = []

    @jx.custom_batching.custom_vmap
    def f(x):
        return jx.numpy.sin(x)

    @f.def_vmap
    def rule(axis_size, in_batched, x):
        told.append((axis_size, *in_batched))
        return jx.numpy.cos(x), in_batched[0]

    out_axes = (axes[0], 0)
    values = [np.arange(1, 4, dtype=np.float32) if axis == 0 else np.float32(2) for axis in axes]
    return (jx.vmap(lambda x, t: jx.jvp(f, (x,), (t,)), axes, out_axes)(*values), told)


@pytest.mark.parametrize("out_axes", [(0, None), (None, 0), 0, (1, 0)], ids=str)
@pytest.mark.parametrize("axes", [(0, None), (None, 0)], ids=str)
@pytest.mark.parametrize("function", ["linear", "sine"])
def test_the_results_of_a_rule_under_a_jvp_are_mapped_only_where_they_vary(function, axes, out_axes):
    def program(jx):
        f = jx.custom_batching.custom_vmap(lambda x: x * 2)
        f.def_vmap(lambda size, batched, x: (
            x * 3 if function == "linear" else jx.numpy.sin(x), batched[0]))
        values = [np.arange(6, dtype=np.float32).reshape(3, 2) if axis == 0
                  else np.ones(2, np.float32) for axis in axes]
        return lambda: jx.vmap(lambda x, t: jx.jvp(f, (x,), (t,)), axes, out_axes)(*values)

    mapped = (True, function == "sine") if axes == (0, None) else (False, True)
    wanted = out_axes if isinstance(out_axes, tuple) else (out_axes, out_axes)
    refused = any(is_mapped and axis is None for is_mapped, axis in zip(mapped, wanted))
    both(program, raises=ValueError if refused else None)


def test_arguments_batched_in_several_ways():
    """One argument with its tangent, of another only the tangent: JAX multiplies all with all."""
    import minijax as jax

    f = jax.custom_batching.custom_vmap(lambda x, y: x * y)
    f.def_vmap(lambda n, batched, x, y: (2 * x * y, any(batched)))
    y, t = np.arange(1, 4, dtype=np.float32), np.ones(3, np.float32)
    _, slope = jax.vmap(lambda y, t: jax.jvp(f, (5.0, y), (t, t)))(y, t)
    np.testing.assert_allclose(slope, 2 * (y + 5))


@pytest.mark.parametrize("loop", [
    lambda jx, f: lambda xs: jx.lax.scan(lambda c, x: (c, f(x)), 0.0, xs),
    lambda jx, f: lambda xs: jx.lax.scan(lambda c, x: (c + x, f(c)), 0.0, xs),
    lambda jx, f: lambda xs: jx.lax.map(f, xs),
    lambda jx, f: lambda xs: jx.lax.fori_loop(0, 3, lambda i, c: f(c), xs[0]),
    lambda jx, f: lambda xs: jx.lax.while_loop(lambda c: c < 3, lambda c: c + 2 + f(c), xs[0]),
    lambda jx, f: lambda xs: jx.lax.cond(xs[0] > 0, f, lambda x: x, xs[1]),
], ids=["scan", "scan of the carry", "map", "fori_loop", "while_loop", "cond"])
@in_both
def test_the_rule_runs_as_often_as_in_jax(jx, loop):
    calls: list = []
    f = jx.custom_batching.custom_vmap(jx.numpy.sin)

    @f.def_vmap
    def rule(axis_size, in_batched, x):
        calls.append(in_batched)
        return jx.numpy.cos(x), True

    xs = np.ones((2, 3), F32)
    return (jx.vmap(loop(jx, f))(xs), len(calls))


@pytest.mark.parametrize("outer", ["custom_vjp", "custom_jvp"])
def test_rules_are_given_through_the_decorator_around(outer):
    """The function that has both rules is one object, and takes the inner rule by its method."""
    def program(jx):
        f = getattr(jx, outer)(jx.custom_batching.custom_vmap(lambda x: jx.numpy.sin(x)))
        f.def_vmap(lambda axis_size, in_batched, x: (2 * jx.numpy.cos(x), True))
        if outer == "custom_vjp":
            f.defvjp(lambda x: (f(x), x), lambda x, g: (5 * g * x,))
        else:
            f.defjvp(lambda primals, tangents: (f(*primals), 5 * tangents[0]))
        return lambda x: (f(x), jx.vmap(f)(x), jx.vmap(jx.grad(f))(x),
                          hasattr(f, "defvjp"), hasattr(f, "unknown"))

    both(lambda jx: program(jx), X)
