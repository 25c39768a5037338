"""Mutable references: values, jaxprs, every transformation, and what they refuse."""

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both

X = np.array([0.5, -1.2, 2.0], np.float32)

# ----------------------------------------------------------------------------------------------
# Eager


def _use_all(jx):
    def f(x):
        jnp = jx.numpy
        ref = jx.new_ref(x)
        ref[0] = 5.0
        ref[1] += 2.0
        jx.ref.addupdate(ref, slice(1, 3), jnp.ones(2))
        old = jx.ref.swap(ref, -1, 7.0)
        first = ref[...]
        ref[...] = first * 2
        jx.ref.set(ref, (0,), first[1])
        return old, first, ref[:2], ref[jnp.array([2, 0])], jx.ref.get(ref), jx.freeze(ref), len(ref)

    return f


def test_reading_and_writing():
    both(_use_all, X)
    both(lambda jx: jx.jit(_use_all(jx)), X)
    both(lambda jx: jx.make_jaxpr(_use_all(jx)), X)


INDICES = {
    "integer": lambda jnp: 1, "negative": lambda jnp: -1, "pair": lambda jnp: (1, 2),
    "slice": lambda jnp: (slice(None), slice(1, None)),
    "all": lambda jnp: ..., "dots": lambda jnp: (..., 0), "empty": lambda jnp: (slice(1, 1),),
    "array": lambda jnp: jnp.array([1, 0, 1]), "arrays": lambda jnp: (jnp.array([0, 1]), jnp.array([2, 2])),
    "slice and array": lambda jnp: (slice(None), jnp.array([2, 0])),
    "integer and array": lambda jnp: (1, jnp.array([2, 0])),
    "matrix": lambda jnp: (jnp.array([[0, 1], [1, 1]]), slice(0, 2)),
}  # fmt: skip


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("index", INDICES)
def test_indices(index, jitted):
    def program(jx):
        def f(x, y):
            ref = jx.new_ref(x)
            i = INDICES[index](jx.numpy)
            part = ref[i]
            jx.ref.addupdate(ref, i, jx.numpy.ones_like(part))
            added = ref[...]
            ref[i] = jx.numpy.zeros_like(part) + y
            return part, added, ref[...]

        return jx.jit(f) if jitted else f

    both(program, np.arange(6, dtype=np.float32).reshape(2, 3), 9.0)


MIXED = {
    "int32 and slice": lambda jnp: jnp.int32(1), "uint8 and slice": lambda jnp: jnp.uint8(1),
    "slice and int8": lambda jnp: (slice(1, 3), jnp.int8(-1)), "uint32": lambda jnp: (jnp.uint32(1), slice(1, 3)),
    "two arrays": lambda jnp: (jnp.int32(1), jnp.uint8(0)), "integer and array": lambda jnp: (1, jnp.int16(-2)),
}  # fmt: skip


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("index", MIXED)
def test_indices_of_several_integer_types(index, x64):
    """A box starts at its slices' starts and at the scalars beside them, whatever their types."""
    def program(jx):
        def f(x):
            ref = jx.new_ref(x)
            part = ref[MIXED[index](jx.numpy)]
            ref[MIXED[index](jx.numpy)] = part * 3
            return part, ref[...]

        def run(x):
            with jx.enable_x64(x64):
                x = jx.numpy.array(x)
                double = jx.vmap(f)(jx.numpy.stack([x, x * 2]))
                return f(x), jx.jit(f)(x), jx.checkpoint(f)(x), double

        return run

    both(program, np.arange(9, dtype=np.float32).reshape(3, 3))


@pytest.mark.parametrize("i", [0, 2, 5, -1])
def test_traced_positions(i):
    def program(jx):
        @jx.jit
        def f(x, i):
            ref = jx.new_ref(x)
            ref[i] = ref[i] * 10
            return ref[...]

        return f

    both(program, X, i)


def test_views():
    ref = minijax.new_ref(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    row = ref.at[1]
    row[0] = 7.0
    assert row.shape == (3,) and row.at[1:].shape == (2,)
    row.at[1:][0] = 8.0
    assert ref[...].tolist() == [[0, 1, 2], [7, 8, 5]]


def test_contents_are_independent_of_what_they_came_from():
    x = minijax.numpy.zeros(3)
    ref = minijax.new_ref(x)
    before = ref[...]

    @minijax.jit
    def increment(ref):
        ref[...] += 1

    for _ in range(3):
        increment(ref)
    inside = ref[...]
    increment(ref)
    assert (x.tolist(), before.tolist()) == ([0, 0, 0], [0, 0, 0])
    assert (inside.tolist(), ref[...].tolist()) == ([3, 3, 3], [4, 4, 4])


def test_a_reference_alone_with_its_contents_is_updated_in_place():
    ref = minijax.new_ref(np.zeros(1000, np.float32))
    update = minijax.jit(lambda ref: ref.__setitem__(0, ref[0] + 1))
    update(ref)
    first = ref.value
    update(ref)
    assert first.is_deleted()
    assert ref[0] == 2


# ----------------------------------------------------------------------------------------------
# References as arguments


def _update(jx):
    def update(ref, x):
        ref[0] = ref[0] * x
        return ref[0] + ref[1]

    return update


@pytest.mark.parametrize("transform", ["id", "jit", "vmap", "jit vmap", "scan", "cond", "checkpoint"])
def test_arguments(transform):
    def program(jx):
        f = {"id": lambda f: f, "jit": jx.jit, "vmap": jx.vmap, "jit vmap": lambda f: jx.jit(jx.vmap(f)),
             "checkpoint": jx.checkpoint,
             "cond": lambda f: lambda r, x: jx.lax.cond(x[0] > 0, f, f, r, x),
             "scan": lambda f: lambda r, x: jx.lax.scan(lambda c, y: (c, f(r, y)), 0, x)[1],
             }[transform](_update(jx))  # fmt: skip

        def run(contents, x):
            ref = jx.new_ref(contents)
            return f(ref, x), f(ref, x), ref[...]

        return run

    both(program, np.arange(6, dtype=np.float32).reshape(3, 2) if transform != "scan" else X, X)


@in_both
def test_tangents_of_arguments(jx):
    contents, x = X, 1.5
    ref, dot = jx.new_ref(contents), jx.new_ref(jx.numpy.ones(3))
    out = jx.jvp(_update(jx), (ref, x), (dot, 2.0))
    return out, ref[...], dot[...]


@in_both
def test_cotangents_into_references(jx):
    contents, x = X, 1.5
    ref = jx.new_ref(contents)
    _, f_vjp = jx.vjp(_update(jx), ref, x)
    ct, x_ct = jx.new_ref(jx.numpy.ones(3)), jx.new_ref(0.0)
    shown = f_vjp.with_refs(ct, x_ct)(1.0)
    return repr(shown), ct[...], x_ct[...], ref[...]


@in_both
def test_accumulation_of_gradients(jx):
    x, y = X, X + 1
    total = jx.new_ref(jx.numpy.zeros(3))

    @jx.jit
    def add(x, y):
        _, f_vjp = jx.vjp(lambda x, y: (jx.numpy.sin(x) * y).sum(), x, y)
        return f_vjp.with_refs(total, jx.ad.GradValue())(1.0)[1]

    return add(x, y), add(x, y), total[...]


# ----------------------------------------------------------------------------------------------
# Stages


def test_a_program_with_references_can_be_lowered_and_compiled():
    def program(jx):
        def f(ref, x):
            ref[...] = ref[...] + x
            return x * 2

        ref = jx.new_ref(jx.numpy.ones(3))
        lowered = jx.jit(f).lower(ref, 2.0)
        compiled = lowered.compile()
        texts = ("tf.aliasing_output = 1" in lowered.as_text(), "alias" in compiled.as_text())
        return compiled(ref, 2.0), ref[...], compiled(ref, 1.0), jx.freeze(ref), texts

    both(lambda jx: program(jx))


@in_both
def test_what_a_whole_slice_reads_survives_the_donation_of_the_contents(jx):
    ref = jx.new_ref(jx.numpy.zeros(8))
    add = jx.jit(lambda r: r.__setitem__(..., r[...] + 1))
    read = []
    for index in (slice(None), slice(0, 8), (...,), (slice(None),), slice(2, 5)):
        add(ref)
        read.append(ref[index])
        add(ref)
    return read, ref[...]


@in_both
def test_a_compiled_program_may_close_over_references(jx):
    ref = jx.new_ref(jx.numpy.zeros(3))

    def f():
        ref[...] += 2

    compiled = jx.jit(f).lower().compile()
    compiled(), compiled()
    return ref[...]


@pytest.mark.parametrize("jit", [False, True])
@in_both
def test_a_rule_keeps_a_reference_as_a_residual(jx, jit):
    """Statistics of gradients: `bwd` writes to a reference that `fwd` was passed."""
    x, y = np.ones(3, np.float32), np.ones(3, np.float32)
    history = jx.new_ref(jx.numpy.zeros(3))
    keep = jx.custom_vjp(lambda x, ref: x)

    def bwd(ref, ct):
        ref[:] = jx.numpy.roll(ref[:], 1).at[0].set(jx.numpy.abs(ct).max())
        return ct / ref[:].max(), None

    keep.defvjp(lambda x, ref: (x, ref), bwd)
    loss = lambda x, y: keep(jx.numpy.dot(x, y), history).sum() * 2
    loss = jx.jit(loss) if jit else loss
    return [(jx.grad(loss, (0, 1))(x, y), history[:]) for _ in range(2)]
