"""Donated arguments, and what compiled functions keep alive."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import minijax
from minijax.errors import JaxRuntimeError
from tests.core import arrays as jnp
from tests.oracle.compare import in_both

F32 = np.float32
x3 = np.array([1.0, -2.0, 0.5], F32)

# ----------------------------------------------------------------------------------------------
# Memory


def aligned(n: int) -> np.ndarray:
    """Zeros at an address from which XLA would read in place."""
    memory = np.zeros(4 * n + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + 4 * n].view(F32)


def test_changing_a_numpy_argument_after_the_call_changes_nothing():
    f = minijax.jit(lambda x: (x.reshape(512, 512) @ x.reshape(512, 512)).sum())
    x = aligned(512 * 512)
    x[:] = 1
    f(x)
    for _ in range(5):
        x[:] = 1
        y = f(x)
        x[:] = 7
        assert y == 512**3


def test_changing_a_captured_numpy_array_changes_nothing():
    x = aligned(1000)
    f = minijax.jit(lambda y: x + y)
    assert f(1.0)[0] == 1
    x[:] = 7
    assert f(1.0)[0] == 1


def test_results_cannot_be_written_to_through_numpy():
    view = np.asarray(minijax.jit(lambda x: x + 1)(x3))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5


@pytest.mark.parametrize("numbers", [-1, -3, (-1, 0), (0, -2)])
@in_both
def test_negative_numbers_donate_nothing(jx, numbers):
    """Counted from the end of a call with keywords, they would be of other arguments."""
    args = [jx.numpy.ones(3) for _ in range(6)]
    f = jx.jit(lambda x, y, z: (x + y, z * 2, x + z), donate_argnums=numbers)
    f(*args[:3])
    f(args[3], z=args[4], y=args[5])
    return [x.is_deleted() for x in args]


def test_donated_arrays_are_gone_and_their_memory_is_used():
    f = minijax.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = jnp.asarray(x3) + 0, jnp.asarray(x3)
    address = lambda a: a._buffer.unsafe_buffer_pointer()
    first = f(x, y)
    for _ in range(3):
        here = address(first)
        second = f(first, y)
        assert address(second) == here
        assert first.is_deleted() and not y.is_deleted()
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]"):
            first + 1
        with pytest.raises(RuntimeError, match="Array has been deleted"):
            f(first, y)
        first = second
    np.testing.assert_allclose(first, 5 * x3)


def test_donation_spares_what_numpy_looks_at():
    f = minijax.jit(lambda x: x + 1, donate_argnums=0)
    x = f(jnp.asarray(x3))
    view = np.asarray(x)
    f(x)
    np.testing.assert_array_equal(view, x3 + 1)


def test_donation_by_name_and_of_pytrees():
    f = minijax.jit(lambda p, *, state: (p["w"] * 2, state + 1), donate_argnames=("p", "state"))
    p, state = {"w": jnp.ones(3)}, jnp.zeros(2)
    f(p, state=state)
    assert p["w"].is_deleted() and state.is_deleted()


def test_a_donation_that_is_of_no_use_is_told_and_not_taken():
    f = minijax.jit(lambda x: x.sum(), donate_argnums=0)
    x = jnp.ones(3)
    with pytest.warns(UserWarning, match=r"Some donated buffers were not usable: float32\[3\]"):
        f(x)
    assert not x.is_deleted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(x)


def test_donating_an_array_that_is_also_another_argument():
    x = jnp.ones(3)
    with pytest.raises(JaxRuntimeError, match="donated"):
        minijax.jit(lambda a, b: a + b, donate_argnums=0)(x, x)


def test_dispatch_does_not_wait():
    f = minijax.jit(lambda x: (x @ x @ x @ x).sum())
    x = jnp.ones((1200, 1200)) / 1200
    f(x).block_until_ready()
    y = f(x)
    assert not y._buffer.is_ready()
    assert y.block_until_ready() is y and y._buffer.is_ready()
