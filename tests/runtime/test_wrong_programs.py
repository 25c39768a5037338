"""What XLA compiles wrongly by itself, and rightly with the options that minijax gives it."""

from __future__ import annotations

import numpy as np
import pytest

import minijax as jax
from minijax import numpy as jnp
from minijax.lax import slicing
from minijax.runtime.wrong_programs import (
    WRONG_PROGRAMS,
    avoiding_flags,
    is_right,
    overwrites_what_it_reads,
)


@pytest.mark.parametrize("wrong", WRONG_PROGRAMS, ids=lambda wrong: wrong.what)
def test_known_programs(wrong):
    assert is_right(wrong)
    assert not is_right(wrong, wrong.default), "XLA is mended: this row can go"


def test_in_double_precision():
    with jax.enable_x64():
        x = jnp.stack([jnp.arange(16385.0)] + [jnp.zeros(16385)] * 2, 1)
        out = jax.jit(jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2)))(x)
        assert np.array_equal(out, x[:, 0] ** 2)


def test_other_programs_are_compiled_as_before():
    for f, shape in ((lambda x: jax.nn.softmax(x @ x), (512, 512)), (lambda x: x.var(1), (10**6, 8)),
                     (lambda x: (x * 2).sum(), (2,) * 6)):
        assert avoiding_flags(jax.jit(f).lower(jnp.ones(shape)).as_text()) == {}


SHIFTED = {
    "a slice": lambda x: x.at[1:].set(x[:-1])[None],
    "one with a reshape of ones": lambda x: (x * 2).at[1:].set((x * 2)[:-1])[:, :, None],
    "through jit": lambda x: jax.jit(lambda x: x.at[1:].set(x[:-1]))(x)[None],
    "a sum": lambda x: x.at[1:].add(x[:-1])[None],
    "reversed": lambda x: x.at[1:].set(x[:-1][::-1])[None],
    "a traced place": lambda x: jax.lax.dynamic_update_slice(
        x, jax.lax.dynamic_slice_in_dim(x, x[0, 0].astype(int), 2), (1, 0))[None],
    "twice": lambda x: x.at[1:].set(x[:-1]).at[0].set(x[1])[None],
    "in a loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y[0].at[1:].set(y[0, :-1])[None], x[None]),
}


@pytest.mark.parametrize("donated", [(), (0,)])
@pytest.mark.parametrize("f", SHIFTED.values(), ids=SHIFTED)
@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_an_update_that_reads_what_it_overwrites(f, donated):
    """XLA moves the reshape before the update, and then overwrites what it has yet to read."""
    x = jnp.arange(24.0).reshape(6, 4)
    with jax.disable_jit():
        expected = f(x)
    assert np.array_equal(jax.jit(f, donate_argnums=donated)(x.copy()), expected)


def test_a_program_is_compiled_again_only_if_it_overwrites_what_it_reads():
    def optimised(f):
        return jax.jit(f).lower(jnp.arange(8.0)).compile({"xla_disable_hlo_passes": ""}).as_text()

    assert overwrites_what_it_reads(optimised(lambda x: x.at[1:].set(x[:-1])[None]))
    for right in (lambda x: x.at[1:].set(x[:-1]), lambda x: x.at[1:].set(2)[None],
                  lambda x: jax.lax.scan(lambda c, v: (c + v, c), 0.0, x)):
        assert not overwrites_what_it_reads(optimised(right))


def slice_of_a_roll():
    return jax.jit(lambda x, start: jax.lax.dynamic_slice(jnp.roll(x, x[4]), [start], [4]))


def update_on_two_devices():
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    columns = jax.NamedSharding(mesh, jax.P(None, "x"))
    return jax.jit(lambda x, update, start: jax.lax.dynamic_update_slice(x, update, [0, start]),
                   in_shardings=(columns, None, None), out_shardings=columns)


def test_starts_out_of_bounds_are_still_wrong_in_xla(monkeypatch):
    monkeypatch.setattr(slicing, "_within", lambda ctx, starts, shape, sizes: starts)
    x = np.arange(9)
    assert not np.array_equal(slice_of_a_roll()(x, 12), np.roll(x, 4)[5:9]), "XLA is mended"
    assert not np.any(update_on_two_devices()(jnp.zeros((2, 2)), jnp.ones((2, 1)), 2)), "XLA is mended"


@pytest.mark.parametrize("start", [-20, -1, 0, 3, 5, 12, 100])
def test_a_slice_of_a_slice_with_a_start_out_of_bounds(start):
    """XLA joins the two slices, and moves the sum of the starts into bounds (openxla/xla#49121)."""
    x = np.arange(9)
    inside = np.clip(start + 9 if start < 0 else start, 0, 5)
    assert np.array_equal(slice_of_a_roll()(x, start), np.roll(x, 4)[inside: inside + 4])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_starts_of_narrow_types(dtype):
    x = np.arange(1000)
    f = jax.jit(lambda x, i: jax.lax.dynamic_slice(x, [i], [3]))
    assert np.array_equal(f(x, np.array(100, dtype)), x[100:103])


@pytest.mark.parametrize("start", [1, 2, np.int32(2)])
def test_an_update_of_a_sharded_array_with_a_start_out_of_bounds(start):
    """XLA's partitioner drops the update (openxla/xla#49118)."""
    f = update_on_two_devices()
    assert np.array_equal(f(jnp.zeros((2, 2)), jnp.ones((2, 1)), start), [[0, 1], [0, 1]])
