"""Derivatives of `custom_vjp` functions that take references: `bwd` returns their cotangents."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both


def scaled(jx, symbolic_zeros=False):
    """`r[...] * x` with a rule that can be told from the true derivative."""
    f = jx.custom_vjp(lambda r, x: r[...] * x)
    value = (lambda x: x.value) if symbolic_zeros else lambda x: x
    f.defvjp(lambda r, x: (value(r)[...] * value(x), (value(r)[...], value(x))),
             lambda res, ct: (ct * res[1] * 10, ct * res[0] * 100), symbolic_zeros=symbolic_zeros)
    return f


def adding(jx):
    """`r += x`, and the new contents times `x`."""
    def fun(r, x):
        r[...] = r[...] + x
        return r[...] * x

    f = jx.custom_vjp(fun)
    f.defvjp(lambda r, x: (fun(r, x), (x, r[...])), lambda res, ct: (res[1] * ct, ct * 7))
    return f


def writing(jx):
    """`r *= x` without a result: its rule has no cotangent to begin with."""
    def fun(r, x):
        r[...] = r[...] * x

    f = jx.custom_vjp(fun)
    f.defvjp(lambda r, x: (fun(r, x), x), lambda x, ct: (x * 2, x * 3))
    return f


def ignoring(jx):
    """The rule says that the contents do not matter."""
    f = jx.custom_vjp(lambda r, x: r[...] * x)
    f.defvjp(lambda r, x: (r[...] * x, None), lambda _, ct: (None, ct))
    return f


def read(jx, y, x):
    return scaled(jx)(jx.new_ref(y), x)


def read_and_used(jx, y, x):
    r, f = jx.new_ref(y), scaled(jx)
    a = f(r, x)
    r[...] = r[...] * x
    return a * 5 + f(r, x) + r[...]


def zeros_stay_symbolic(jx, y, x):
    r = jx.new_ref(y)
    return scaled(jx, symbolic_zeros=True)(r, x) + r[...]


def written(jx, y, x):
    r = jx.new_ref(y)
    writing(jx)(r, x)
    return r[...]**2


def ignored(jx, y, x):
    r = jx.new_ref(y)
    return ignoring(jx)(r, x) + r[...]


def changed(jx, y, x):
    r = jx.new_ref(y)
    return adding(jx)(r, x) * 2 + r[...]


def in_a_call(jx, y, x):
    r, f = jx.new_ref(y), scaled(jx)

    @jx.jit
    def inner(x):
        out = f(r, x)
        r[...] = r[...] * x
        return out + f(r, x)

    return inner(x) + r[...]


def in_a_branch(jx, y, x):
    r, f = jx.new_ref(y), adding(jx)
    return jx.lax.cond(x > 0, lambda: f(r, x), lambda: x) * 2 + r[...]


def in_a_scan(jx, y, x):
    r, f = jx.new_ref(y), adding(jx)
    return jx.lax.scan(lambda c, x: (c + f(r, x), r[...]), 0.0, x * np.arange(3.0, dtype="f"))[0]


def after_a_loop(jx, y, x):
    r, f = jx.new_ref(y), scaled(jx)

    def body(i, c):
        r[...] = r[...] * x
        return c

    jx.lax.fori_loop(0, 3, body, 0)
    return f(r, x)


def for_each_example(jx, y, x):
    def one(y, x):
        r = jx.new_ref(y)
        return scaled(jx)(r, x) + r[...]

    return jx.vmap(one)(jx.numpy.stack([y, y + 1]), jx.numpy.stack([x, x + 2])).sum()


PROGRAMS = [read, read_and_used, zeros_stay_symbolic, written, ignored, changed, in_a_call,
            in_a_branch, in_a_scan, after_a_loop, for_each_example]


@pytest.mark.parametrize("derivative", [
    lambda jx, f: jx.grad(f, (0, 1)), lambda jx, f: jx.jit(jx.grad(f, (0, 1))),
    lambda jx, f: jx.grad(jx.jit(f), (0, 1)), lambda jx, f: jx.value_and_grad(f, (0, 1))],
    ids=["grad", "jit of grad", "grad of jit", "value and grad"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_cotangents_of_references(program, derivative):
    both(lambda jx: lambda y, x: [np.asarray(g) for g in jx.tree.leaves(
        derivative(jx, lambda y, x: program(jx, y, x))(y, x))], 3.0, 2.0)


def test_a_reference_cannot_be_a_residual_under_staging():
    import minijax as jax
    f = jax.custom_vjp(lambda r, x: r[...] * x)
    f.defvjp(lambda r, x: (r[...] * x, r), lambda r, ct: (None, ct * r[...]))

    @jax.jit
    def program(y):
        return f(jax.new_ref(y), y)

    with pytest.raises((NotImplementedError, ValueError), match="reference"):
        jax.grad(program)(2.0)
