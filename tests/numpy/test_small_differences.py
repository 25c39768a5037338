"""Where results and messages of `jax.numpy` once were not JAX's; any call can be added."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

X = np.array([[3.0, 1.0, 4.0], [1.5, 9.0, 2.5]], "float32")
CALLS = {
    "pad by medians": lambda jx: jx.numpy.pad(X, ((1, 2), (0, 3)), "median"),
    "pad by medians of a part": lambda jx: jx.numpy.pad(
        X, 2, mode="median", stat_length=((1, 2), (2, 3))),
    "pad integers by medians": lambda jx: jx.numpy.pad(
        np.array([5, 2, 8, 1]), 1, mode="median"),
    "repeat nothing up to a length": lambda jx: jx.numpy.repeat(X, 0, total_repeat_length=0),
    "repeat none along an axis": lambda jx: jx.numpy.repeat(
        X, np.zeros(2, int), axis=0, total_repeat_length=0),
    "repeat once": lambda jx: (jx.numpy.repeat(X, True), jx.numpy.repeat(X[0], False)),
    "a diagonal by a boolean": lambda jx: (jx.numpy.eye(2, k=True), jx.numpy.eye(2, k=False)),
    "unroll by NumPy's booleans": lambda jx: [jx.lax.scan(
        lambda c, x: (c + x, c), X[0], X, unroll=u)[1] for u in (np.True_, np.False_)],
    "closeness of keys": lambda jx: jx.numpy.isclose(
        jx.random.split(jx.random.key(1), 2), jx.random.key(1)),
    "delete a traced place": lambda jx: jx.jit(lambda i: jx.numpy.delete(
        X, i, axis=1, assume_unique_indices=True))(1),
}


@pytest.mark.parametrize("name", CALLS)
def test_results(name):
    both(lambda jx: lambda: CALLS[name](jx))


MESSAGES = [
    ("pad(jnp.ones(3), 1, mode='spline')", NotImplementedError, "Unimplemented padding mode 'spline'"),
    ("tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), ((0,), (1, 0)))", TypeError,
     "tensordot requires axes lists to have equal length"),
    ("tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), ('a', 'b'))", TypeError,
     "tensordot requires both axes lists to be either ints, tuples or lists"),
    ("clip(jnp.ones(2, complex))", ValueError, "Clip received a complex value"),
    ("interp(0.5, jnp.ones((2, 1)), jnp.ones((2, 1)))", ValueError,
     "xp and fp must be one-dimensional arrays of equal size"),
    ("zeros(3, 4)", TypeError, "Did you accidentally write `jax.numpy.zeros"),
    ("arange(3j)", ValueError, "Passing complex start/stop/step to jnp.arange is no longer supp"),
    ("ones(jnp.ones(2))", TypeError, "(?s)Shapes must be 1D sequences of concrete values of integer type"),
    ("broadcast_to(jnp.ones((2, 3)), (3,))", ValueError,
     "Cannot broadcast to shape with fewer dimensions"),
    ("broadcast_to(jnp.ones((2, 3)), (2, 2))", ValueError,
     r"Incompatible types for broadcasting: input type=float32\[2,3\] and requested type="),
    ("ones(2, dtype=object)", TypeError, "JAX only supports number, bool, and string dtypes"),
    ("ones(2) + {}", TypeError, "ArrayImpl'"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, words", MESSAGES)
def test_words(call, kind, words):
    """Programs search the messages for these words: they match JAX's and ours."""
    jnp = subject.numpy
    with pytest.raises(kind, match=words):
        eval(f"jnp.{call}", {"jnp": jnp})


def test_the_words_of_a_refused_rank_promotion():
    jx = subject
    with jx.numpy_rank_promotion("raise"), pytest.raises(
            ValueError, match=r"Operands could not be broadcast together for add on shapes "
                              r"\(2, 3\) \(3,\).*the config option jax_numpy_rank_promotion='raise'"):
        jx.numpy.ones((2, 3)) + jx.numpy.ones(3)


def test_the_words_of_a_cast_to_reals():
    jx = subject
    with pytest.warns(DeprecationWarning, match="Casting from complex to real dtypes"):
        jx.numpy.ones(2, complex).astype(float)


def test_a_file_of_objects(tmp_path):
    """There are no arrays of objects, so that NumPy's is given back."""
    path = tmp_path / "objects.npy"
    subject.numpy.save(path, np.array([1, None, "a"], object))
    read = subject.numpy.load(path, allow_pickle=True)
    assert type(read) is np.ndarray and read.tolist() == [1, None, "a"]


def test_the_function_of_a_ufunc_stays():
    function = subject.numpy.frompyfunc(lambda x: x, 1, 1)
    with pytest.raises(AttributeError):
        function._func = None


@pytest.mark.parametrize("shape", [(2, 2), (-1, 2), (2, 0), (-1, 0), (-1, -1), 0])
def test_an_array_of_numpy_is_reshaped_or_refused_as_by_numpy(shape):
    both(lambda jx: lambda: jx.numpy.reshape(np.ones(3), shape), raises=ValueError)


def test_pooling_has_as_many_dimensions_as_its_windows():
    import importlib

    def program(jx):
        stax = importlib.import_module(f"{jx.__name__}.example_libraries.stax")
        return lambda: stax.MaxPool((2, 2))[0](None, (2, 5))

    both(program, raises=ValueError)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "complex64", "bool"])
@in_both
def test_diagonal_matrices(jx, dtype):
    """A vector of known contents is written into zeros; under `jit` places are compared."""
    x = jx.numpy.asarray([1, 0, 3]).astype(dtype)
    return [(jx.numpy.diag(v, k), jx.jit(jx.numpy.diag, static_argnums=1)(v, k))
            for v in (x, x[:0], x[:1]) for k in (-2, 0, 3)]


def test_diagonal_matrices_of_weak_type():
    both(lambda jx: lambda: (jx.numpy.diag(jx.numpy.asarray(2.0)[None]),
                             jx.numpy.diag(jx.numpy.asarray([2.0]), np.int32(1))))


@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
@pytest.mark.parametrize("name", ["isfinite", "isinf", "isposinf", "isneginf"])
@in_both
def test_random_keys_are_finite(jx, name, shape):
    """Samplers check a whole state, with its keys, for numbers that are not finite."""
    keys, function = jx.random.split(jx.random.key(0), shape), getattr(jx.numpy, name)
    return (function(keys), jx.jit(function)(keys))


@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
@in_both
def test_nan_to_num_returns_random_keys_unchanged(jx, shape):
    keys, function = jx.random.split(jx.random.key(0), shape), jx.numpy.nan_to_num
    return [jx.random.key_data(f(keys)) for f in (function, jx.jit(function))]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int32"])
@pytest.mark.parametrize("name", """relu relu6 hard_sigmoid sparse_sigmoid sparse_plus hard_silu
    hard_tanh soft_sign squareplus silu mish elu celu selu gelu leaky_relu log_sigmoid""".split())
def test_activations_of_arrays_of_numpy(name, dtype):
    """NumPy does not compute with them first: it has other rules of promotion."""
    x = np.linspace(-3, 3, 8).astype(subject.dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    both(lambda jx: lambda: getattr(jx.nn, name)(x))
