"""Views of references, as `ref.at[1:]`, that are passed to traced functions."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both, jax

X = np.arange(14, dtype=np.float32).reshape(2, 7)


def replaced(jx, view):
    """What the view showed, after it was doubled and its first part was changed."""
    old = view[...]
    view[...] = old * 2.0
    view[0] += 1.0
    return old


VIEWS = {
    "slice": lambda jx, r, i: r.at[0, 1:6],
    "row": lambda jx, r, i: r.at[1],
    "operand": lambda jx, r, i: r.at[i],
    "start": lambda jx, r, i: r.at[0, jx.ds(i, 3)],
    "view of a view": lambda jx, r, i: r.at[:, 1:6].at[i, 2:],
    "array": lambda jx, r, i: r.at[:, jx.numpy.array([1, 3])],
}
CALLS = {
    "plain": lambda jx, f, v: f(v),
    "jit": lambda jx, f, v: jx.jit(f)(v),
    "jit in jit": lambda jx, f, v: jx.jit(jx.jit(f))(v),
    "checkpoint": lambda jx, f, v: jx.checkpoint(f)(v),
    "branch": lambda jx, f, v: jx.lax.cond(True, f, f, v),
    "in a dict": lambda jx, f, v: jx.jit(lambda d: f(d["view"]) + d["x"])({"view": v, "x": 1.0}),
    "switch": lambda jx, f, v: jx.lax.switch(1, [f, f], v),
}
# JAX makes an operand of an integer in the index of a view; here it stays a literal.
CLOSED_OVER = {
    "branch": lambda jx, f, v: jx.lax.cond(True, lambda: f(v), lambda: f(v)),
    "loop": lambda jx, f, v: jx.lax.fori_loop(0, 1, lambda i, c: c + f(v), 0 * v[...]),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("call", CALLS)
def test_calls(call, view):
    def program(jx):
        def f(x, i):
            ref = jx.new_ref(x)
            old = CALLS[call](jx, lambda v: replaced(jx, v), VIEWS[view](jx, ref, i))
            return old, ref[...]

        return lambda x, i: (jx.make_jaxpr(f)(x, i), jx.jit(f)(x, i))

    both(program, X, 1)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("call", CLOSED_OVER)
@in_both
def test_closed_over(jx, call, view):
    def f(x, i):
        ref = jx.new_ref(x)
        old = CLOSED_OVER[call](jx, lambda v: replaced(jx, v), VIEWS[view](jx, ref, i))
        return old, ref[...]

    return jx.jit(f)(X, 1)


@pytest.mark.parametrize("call", sorted({*CALLS, *CLOSED_OVER} - {"plain"}))
def test_derivatives_and_batches(call):
    """As without the call. JAX refuses most of these, or fails inside."""
    jx = minijax

    def apply(f, view):
        out = (CALLS | CLOSED_OVER)[call](jx, f, view)
        return out - 1.0 if call == "in a dict" else out

    def results(apply):
        def f(x):
            ref = jx.new_ref(x)
            return apply(lambda v: replaced(jx, v) ** 2, ref.at[1, 2:5]), ref[...] ** 2

        def loss(x):
            return sum(y.sum() for y in f(x))

        return (f(X), jx.jvp(f, (X,), (X,)), jx.grad(loss)(X),
                jx.jit(jx.vmap(f))(np.stack([X, X + 1])))

    expected = results(lambda f, view: f(view))
    for got, want in zip(jx.tree.leaves(results(apply)), jx.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@in_both
def test_shard_map(jx):
    mesh = jx.make_mesh((1,), ("i",), axis_types=(jx.sharding.AxisType.Explicit,))

    def f(x):
        ref = jx.new_ref(x)
        body = jx.shard_map(lambda v: replaced(jx, v), mesh=mesh, out_specs=jx.P(None))
        return body(ref.at[0, 1:6]), ref[...]

    return jx.jit(f)(X)


def test_outside_of_a_trace():
    """Here a view of a reference that is not traced can be made; in JAX it cannot."""
    ref = minijax.new_ref(X)
    assert np.array_equal(minijax.jit(lambda v: replaced(minijax, v))(ref.at[1, 2:4]), X[1, 2:4])
    assert ref[1, 2] == 2 * X[1, 2] + 1 and ref[1, 3] == 2 * X[1, 3] and ref[0, 2] == X[0, 2]
    with pytest.raises(NotImplementedError):
        jax.new_ref(X).at  # noqa: B018


def test_not_mapped_over():
    def program(jx):
        return lambda x: jx.jit(lambda x: jx.vmap(lambda v: v[...])(jx.new_ref(x).at[0:2]))(x)

    both(program, X, raises=TypeError)
    with pytest.raises(TypeError, match="TransformedRefs are not allowed"):
        program(minijax)(X)


def test_what_a_view_shows_of_its_shape():
    def program(jx):
        @jx.jit
        def shapes():
            view = jx.new_ref(jx.numpy.zeros((2, 7))).at[0, 1:6]
            return [view.ndim, view.size, *view.shape, view.at[1].ndim]
        return shapes

    both(program)
