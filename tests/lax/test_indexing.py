"""Basic indexing: every combination of integers, slices, `None` and `...`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minijax import core
from minijax.core.array import Array, as_array
from minijax.core.extension import Extension, hooks
from minijax.lax import indexing
from tests.core.same import outcome, pair, same
from tests.oracle import ask, both, jax, jnp
from tests.recorder import Recorder

SLICES = [slice(None), slice(1, None), slice(None, -1), slice(None, None, -1), slice(5, None),
          slice(-7, 9, 2), slice(2, 0, -1), slice(1, 1), slice(None, None, 3), slice(2, 1)]
ENTRIES = [0, -1, slice(None), slice(1, None), slice(None, None, -2), slice(2, 0), None, ...]
SHAPES = [(), (3,), (2, 3), (3, 1, 2), (2, 1, 3, 2), (0,), (2, 0), (0, 3), (1, 0, 2)]


def numbers(shape):
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


def check_as_numpy(x, ours, index):
    """As NumPy; but what NumPy finds out of bounds is for the comparison with JAX."""
    want = outcome(lambda: x[index])
    if isinstance(want, IndexError) and "out of bounds" in str(want):
        return
    got = outcome(lambda: ours[index])
    if isinstance(want, Exception):
        assert type(got) is type(want), (x.shape, index, got, want)
    else:
        assert type(got) is Array and got.shape == want.shape, (x.shape, index, got)
        assert got.dtype == want.dtype and got.tolist() == want.tolist(), (x.shape, index)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_combinations_as_numpy(shape):
    x = numbers(shape)
    ours = as_array(x)
    for n in range(4 if len(shape) < 3 else 3):
        for index in itertools.product(ENTRIES, repeat=n):
            check_as_numpy(x, ours, index)
    if len(shape) == 4:
        for index in itertools.product((1, slice(None, None, -1), slice(1, 9)), repeat=4):
            check_as_numpy(x, ours, index)


@pytest.mark.parametrize("shape", [s for s in SHAPES if s], ids=str)
def test_single_entries_without_a_tuple(shape):
    x = numbers(shape)
    for index in [*range(-4, 4), *SLICES, None, ..., np.int8(0), np.uint8(1), np.int64(-1)]:
        check_as_numpy(x, as_array(x), index)


def test_all_slices_of_a_vector():
    bounds = [None, -9, -5, -3, -1, 0, 1, 3, 5, 9, np.int32(2)]
    x = numbers((5,))
    ours = as_array(x)
    for start, stop, step in itertools.product(bounds, bounds, [None, 1, 2, 7, -1, -2, -7]):
        check_as_numpy(x, ours, slice(start, stop, step))


# -- Against JAX: bounds, types, errors ---------------------------------------------------------

OUTSIDE = [3, -4, 100, -100, 2**31 - 1, -2**31]
ODD = [True, False, 1.0, 1j, np.float32(1), "a", b"a", object(), {}, {1}, 2**31, 2**40,
       (0, 0, 0), (..., ...), (..., None, ...), slice(0, 1, 0), slice(1.0, 2), slice("a"), slice(None, 2.5),
       slice(0, 2, 1.5), (0, "a"), (slice(None), 1.5), ((0,), 1)]


NO_NUMBERS = [b"a", slice(None, "a"), 2**31, 2**40]  # JAX complains of them in terms of its internals


def shown(x, index, f=lambda z, i: z[i]):
    """What the two libraries do, without the compiler: JAX says shapes and errors."""
    got = outcome(lambda: f(as_array(x), index))
    want = ask(lambda: jax.eval_shape(lambda z: f(z, index), x))
    return got, want


@pytest.mark.parametrize("index", [*OUTSIDE, (0, 3), (-5, slice(1, None)), (None, 7), (..., 9)], ids=str)
def test_integers_out_of_bounds(index):
    for shape in ((3, 2), (1, 2)):
        ours, jaxs = pair(numbers(shape))
        same(outcome(lambda: ours[index]), outcome(lambda: jaxs[index]), (shape, index))


@pytest.mark.parametrize("number", range(len(ODD)))
def test_what_is_no_index(number):
    index = ODD[number]
    got, want = shown(numbers((3, 2)), index)
    if isinstance(got, NotImplementedError):  # it selects by elements, which is for chapter 11
        assert indexing.is_array_index(index) or any(map(indexing.is_array_index, index))
    elif isinstance(want, Exception):
        assert type(got).__name__ == type(want).__name__, (index, got, want)
        if str(want):  # the words are not stored
            assert str(got).split()[:2] == str(want).split()[:2] or index in NO_NUMBERS, (got, want)
    else:
        assert (got.shape, got.dtype) == (want.shape, want.dtype)


def test_too_many_indices():
    for shape, index in (((), 0), ((), slice(None)), ((3,), (0, 0)), ((3, 2), (..., 0, 0, 0))):
        got, want = shown(numbers(shape), index)
        assert type(got) is type(want) is IndexError
        assert str(got).lower().startswith("too many indices")


@pytest.mark.parametrize("index", [np.array([0, 1]), np.array([True, False, True]), (0, [1]), True])
def test_indexing_by_elements_needs_gather(index, monkeypatch):
    class Advanced(Extension):
        def index_by_arrays(self, x, index):
            return "advanced"

    monkeypatch.setattr(hooks, "index_by_arrays", ())
    with pytest.raises(NotImplementedError, match="chapter 11"):
        as_array(numbers((3, 2)))[index]
    monkeypatch.setattr(hooks, "index_by_arrays", (Advanced().index_by_arrays,))
    assert as_array(numbers((3, 2)))[index] == "advanced"


def test_weak_types_and_dtypes_stay():
    for dtype in (bool, np.int8, np.float16, np.float32, np.complex64):
        for weak in (False, True):
            ours, jaxs = pair(np.ones((2, 3), dtype), weak_type=weak and dtype != bool)
            for index in (0, (slice(None), 1), None, slice(1, 2), (-1, -1), ...):
                same(ours[index], jaxs[index], (dtype, weak, index))


# -- Integers in arrays: traced, so clamped -----------------------------------------------------

TRACED = [
    (lambda i, j: i, "rows"), (lambda i, j: (i, j), "both"), (lambda i, j: (slice(None), j), "columns"),
    (lambda i, j: (i, slice(1, 3)), "row and slice"), (lambda i, j: (..., j), "ellipsis"),
    (lambda i, j: (None, i), "new"), (lambda i, j: (i, 0), "with known"), (lambda i, j: (-1, j), "with last"),
    (lambda i, j: (i, slice(None, None, -2)), "with steps"), (lambda i, j: (slice(2, 0), j), "with nothing"),
]


@pytest.mark.parametrize("make, name", TRACED, ids=lambda x: x if isinstance(x, str) else "")
def test_integers_in_arrays(make, name):
    x = numbers((3, 4))
    places = [(0, 0), (2, 3), (-1, -1), (-3, -4)]
    wants = [x[make(i, j)] for i, j in places]
    for (i, j), want in zip(places, wants):
        for dtype in (np.int32, np.int8):
            got = as_array(x)[make(as_array(dtype(i)), as_array(dtype(j)))]
            assert got.shape == want.shape and got.tolist() == want.tolist(), (name, i, j)


def test_integers_in_arrays_out_of_bounds_as_jax():
    x = numbers((3, 4))
    outside = [(9, 0), (-9, 0), (2**31 - 1, 5), (-2**31, -5), (1, 100), (0, -100)]
    for make, name in TRACED:
        wants = ask(lambda: jax.jit(lambda x, places: [x[make(i, j)] for i, j in places])(
            x, [(jnp.int32(i), jnp.int32(j)) for i, j in outside]))
        for (i, j), want in zip(outside, wants):
            same(as_array(x)[make(as_array(np.int32(i)), as_array(np.int32(j)))], want, (name, i, j))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint32, np.int16])
def test_index_types_reach_all_of_a_long_array(dtype):
    x = numbers((300,))
    for i in (0, 5, 127, np.iinfo(dtype).max):
        want = ask(lambda: jax.jit(lambda x, i: x[i])(x, jnp.asarray(i, dtype)))
        same(as_array(x)[as_array(dtype(i))], want, (dtype, i))


@pytest.mark.parametrize("index", [np.float32(0), np.float32([1.0]), np.complex64(0)], ids=repr)
def test_arrays_that_are_no_indices(index):
    got = outcome(lambda: as_array(numbers((3,)))[as_array(index)])
    want = ask(lambda: jnp.asarray(numbers((3,)))[jnp.asarray(index)])
    assert type(want) is TypeError and type(got) in (TypeError, NotImplementedError)


def test_slices_by_arrays():
    """A concrete bound is a known integer; a traced one is refused."""
    x, i = as_array(numbers((5,))), as_array(np.int32(2))
    assert x[i:].tolist() == [2, 3, 4] and x[:i:i].tolist() == [0]

    class Unknown(core.Tracer):
        __slots__ = ("aval",)

        def __init__(self):
            self._trace, self.aval = core.eval_trace, core.typeof(np.int32(2))

    with pytest.raises(IndexError, match="Slice entries must be static integers"):
        x[Unknown():]
    in_jax = ask(lambda: jax.eval_shape(lambda z, n: z[n:], numbers((5,)), 2))
    assert type(in_jax) is IndexError


def test_empty_dimensions_have_no_elements():
    for index in (0, -1, as_array(np.int32(0))):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 0"):
            as_array(numbers((0, 2)))[index]


# -- The primitives that it takes ---------------------------------------------------------------


@pytest.mark.parametrize("index, names", [
    (slice(None), []), (..., []), ((), []), (0, ["slice", "squeeze"]), (slice(1, 2), ["slice"]),
    (slice(None, None, -1), ["rev"]), (None, ["broadcast_in_dim"]), ((0, 1), ["slice", "squeeze"]),
    ((slice(1, None), slice(None, None, 2)), ["slice"]), (slice(None, None, -2), ["slice", "rev"]),
    ((None, 0, None), ["slice", "squeeze", "broadcast_in_dim"])], ids=str)
def test_known_indices_are_static_slices(index, names):
    recorder = Recorder()
    x = as_array(numbers((3, 4)))
    with core.set_current_trace(recorder):
        x[index]
    assert recorder.names == names


def test_traced_indices_are_one_dynamic_slice():
    recorder = Recorder()
    x, i = as_array(numbers((3, 4))), as_array(np.int32(1))
    with core.set_current_trace(recorder):
        x[i, i], x[i, 1:3]
    assert recorder.names.count("dynamic_slice") == 2 and "slice" not in recorder.names


def test_at_says_what_to_write():
    x = as_array(np.arange(3))
    with pytest.raises(TypeError, match=r"Write `x = x.at\[index\].set\(y\)`"):
        x.at[0] = 5
    with pytest.raises(TypeError, match=r"`x.at\[index\].set\(y\)`"):
        x.at(0)


@pytest.mark.parametrize("call", ["x[5]", "x[-4]", "x[2]", "x[np.int32(5)]", "x[jnp.int32(5)]", "x[5:9]", "x[np.array([5])]",
                                  "x[None, 7]", "jax.jit(lambda x: x[5])(x)", "x.at[5].set(1.)", "x.at[5].get(mode='fill')"])
def test_integers_are_checked_if_the_setting_says_so(call):
    def program(jx):
        def run(x):
            jx.config.update("jax_check_static_indices", True)
            try:
                return eval(call, {"jax": jx, "jnp": jx.numpy, "np": np, "x": jx.numpy.asarray(x)})
            except IndexError as error:
                return str(error).partition(" (")[0]
            finally:
                jx.config.update("jax_check_static_indices", False)

        return run

    both(program, np.arange(3, dtype="f"))
