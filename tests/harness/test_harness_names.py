"""What JAX's tables of test cases ask for, and what its test files say of refused programs."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
import minijax.experimental
from tests import harness
from tests.oracle import both, in_both

harness.show()

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
FULL = np.sin(X ** 2)  # of full rank


def test_svd_without_an_algorithm():
    """The parameter is optional, also for who binds the primitive."""
    def singular_values(jx):
        params = {"full_matrices": True, "compute_uv": False, "subset_by_index": None}
        return lambda x: jx.lax.linalg.svd_p.bind(x, **params)[0]

    both(lambda jx: lambda: (singular_values(jx)(FULL[0]), jx.vmap(singular_values(jx))(FULL),
                             jx.grad(lambda x: singular_values(jx)(x).sum())(FULL[0])))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_conj_of_any_dtype(dtype):
    """The parameter only matters to JAX's transposition."""
    both(lambda jx: lambda x: (jx.lax.conj_p.bind(x), jx.jit(jx.vmap(jx.lax.conj_p.bind))(x)),
         X[0].astype(dtype))


# ----------------------------------------------------------------------------------------------
# Indices by products with rows of zeros and a one

ONE_HOT = [((2, 3, 4), [[[1]]], 1), ((3, 4), [[1, 7], [0, -1], [-9, 2]], 1), ((4,), [1, 9, -5], 0),
           ((3, 4), [[1, 0, 2, 7]], 0), ((2, 3, 4), [[[2, 0, 1, 3]]], 1), ((6,), [], None)]


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "bfloat16", "complex64"])
@pytest.mark.parametrize(("shape", "indices", "axis"), ONE_HOT)
@in_both
def test_take_along_axis_one_hot(jx, shape, indices, axis, dtype):
    x = jx.numpy.arange(np.prod(shape)).reshape(shape).astype(dtype)
    places = np.array(indices, "int32")
    return jx.numpy.take_along_axis(x, places, axis, mode="one_hot"), jx.vmap(
        lambda x: jx.numpy.take_along_axis(x, places, axis, mode="one_hot"))(x[None])


def test_derivative_of_one_hot_indices():
    def loss(jx):
        return lambda x: (jx.numpy.take_along_axis(x, np.array([1, 1, 7]), 0, "one_hot") ** 2).sum()

    both(lambda jx: jx.grad(loss(jx)), X[0, 0])


def test_other_functions_have_no_such_mode():
    both(lambda jx: lambda: jx.numpy.arange(3).at[np.array([1])].get(mode="one_hot"),
         raises=AssertionError)
    both(lambda jx: lambda: jx.numpy.take(jx.numpy.arange(3), 1, mode="one_hot"), raises=ValueError)


# ----------------------------------------------------------------------------------------------
# Callbacks that would happen for examples which do not choose them

def branches(jx, ordered):
    call = jx.experimental.io_callback
    return lambda p, x: jx.lax.cond(p, lambda x: call(np.sin, x, x, ordered=ordered), lambda x: x,
                                    x)


def loop(jx):
    def step(i):
        jx.experimental.io_callback(lambda i: None, None, i)
        return i + 1

    return lambda i: jx.lax.while_loop(lambda i: i < 3, step, i)


@pytest.mark.parametrize("ordered", [False, True])
def test_batched_choice_of_callbacks(ordered):
    both(lambda jx: jx.vmap(branches(jx, ordered)), np.array([True, False]), X[0, 0, :2],
         raises=NotImplementedError)


def test_batched_end_of_a_loop_with_callbacks():
    """JAX refuses it with a bare `Exception`."""
    with pytest.raises(NotImplementedError, match="^IO effect not supported in vmap-of-while"):
        minijax.vmap(loop(minijax))(np.array([0, 2]))


@in_both
def test_debug_callbacks_happen_for_all(jx):
    """They only show something."""
    seen = []
    show = lambda x: jx.debug.callback(lambda x: seen.append(float(x)), x)
    jx.vmap(lambda p, x: jx.lax.cond(p, show, lambda x: None, x))(
        np.array([True, False]), np.array([1.0, 2.0], "float32"))
    jx.effects_barrier()
    return sorted(seen)


# ----------------------------------------------------------------------------------------------
# Facts about shapes

@pytest.mark.parametrize("name", ["shape", "ndim", "size"])
@in_both
def test_lists_are_no_arrays(jx, name):
    with pytest.warns(DeprecationWarning, match=f"{name} requires ndarray or scalar"):
        return getattr(jx.numpy, name)([[1, 2, 3]])


def test_size_along_an_axis_twice():
    both(lambda jx: lambda: jx.numpy.size(X, (0, -1)))
    both(lambda jx: lambda: jx.numpy.size(X, (0, -3)), raises=ValueError)


def test_numbers_do_not_become_keys():
    both(lambda jx: lambda: jx.lax.convert_element_type(X, jx.random.key(0).dtype),
         raises=ValueError)
