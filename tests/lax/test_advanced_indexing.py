"""`x[index]` and `x.at[index]` with arrays in the index, against JAX: values, text and errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both, jax

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
A, B = np.array([0, 2, -1]), np.array([[1], [3]])
M3, M4, M34 = np.array([True, False, True]), np.array([True] * 4), X[:, :, 0] > 25
OUT = np.array([5, -7, 1])  # out of bounds, but for one
S = np.s_
INDICES = {
    "a": A, "b": B, "a, a": (A, A), "a, b": (A, B), ":, a": S[:, A], ":, a, a": S[:, A, A],
    "a, :, a": S[A, :, A], "a, None, a": S[A, None, A], "None, a": S[None, A],
    "a, None": S[A, None], "..., a": S[..., A], "a, ..., a": S[A, ..., A], "a, ...": S[A, ...],
    "1, a": S[1, A], "a, 1": S[A, 1], "1, :, a": S[1, :, A], ":, 1, a": S[:, 1, A],
    ":1, a": S[:1, A], "::2, a": S[::2, A], "::-1, a": S[::-1, A], "a, ::-1": S[A, ::-1],
    "a, 1:3": S[A, 1:3], "a, ::-2, None, b": S[A[:2], ::-2, None, B],
    "m3": M3, "m34": M34, "m3, a": S[M3, A[:2]], ":, m4": S[:, M4], "m34, 0": S[M34, 0],
    "0, m4, 1:3": S[0, M4, 1:3], "m34, m": S[M34, np.array([True, True, True, True, True])[:5]],
    "True": True, "False": False, "True, a": S[True, A], "a, True": S[A, True], ":, True": S[:, True],
    "array 1, a": S[np.array(1), A], "array True": np.array(True), "int8": np.int8(1),
    "a, int8": S[A, np.int8(1)],
    "list": [0, 1], "list of lists": [[0], [1]], "list of slices": [slice(1)], "range": range(2),
    "(list,)": ([0, 1],), "lists": ([0, 1], [1, 2]), "list of booleans": ([True, False, True],),
    "empty": np.zeros((0,), int), "empty rows": np.zeros((2, 0), int), "empty slice": S[:0, A],
    "backwards": S[3:1, A], "uint8": A.astype("uint8") % 3, "int8s": A.astype("int8"),
    "out": OUT, "out, :2": S[OUT, :2], ":, out": S[:, OUT], "a, 9": S[A, 9], "0, -9, a": S[0, -9, A],
    "a[:, None], :, b": S[A[:, None], :, B[:, 0]],
    "float": 1.0, "floats": np.array([1.0]), "string": "a", "a, string": (A, "a"), "a, float": (A, 1.5),
    "too many": (A, A, A, A), "two ellipses": (..., A, ...), "a, 1:1.5": S[A, 1:1.5],
    "short mask": M3[:2], "long mask": M4, "empty mask": np.zeros((0, 4), bool), "object": object(),
    "1:2": S[1:2], "1": 1, "-1": -1, "7": 7, "-7": -7, "1, 2": S[1, 2], "1, ::2": S[1, ::2], "...": ...,
    "None": None, "()": (), "::-2, 1": S[::-2, 1], "1, None, 1:3": S[1, None, 1:3], "0, 1, 2": S[0, 1, 2],
    ":0": S[:0], "::-1, ::-2": S[::-1, ::-2],
}  # fmt: skip
ACCESS = {
    "get": lambda x, i, y: x[i],
    "set": lambda x, i, y: x.at[i].set(y),
    "add": lambda x, i, y: x.at[i].add(y),
    "fill": lambda x, i, y: x.at[i].get(mode="fill", fill_value=-1.0),
    "clip": lambda x, i, y: x.at[i].set(y, mode="clip"),
    "no wrap": lambda x, i, y: x.at[i].get(wrap_negative_indices=False, mode="clip"),
}
# Where JAX's text follows an accident: constants in another order, floats as indices, integers
# out of bounds wrapped at run time.
OTHER_TEXT = {"7", "-7", "-1", "a, True"}


def same(f, *args, text=True):
    """`both`, without the warnings of unsorted or truncated indices."""

    def quietly(m):
        def run(*args):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return f(m)(*args)

        return run

    both(quietly, *args, text=text)


@pytest.mark.daily(3)
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("name", INDICES)
def test_eager_and_text(name, access):
    use, index = ACCESS[access], INDICES[name]
    same(lambda m: lambda x: use(m.numpy.asarray(x), index, 2.0), X)
    same(lambda m: m.make_jaxpr(lambda x: use(x, index, 2)), X, text=name not in OTHER_TEXT)


REFUSED = {
    "m34, m", "list", "list of lists", "list of slices", "range", "float", "floats", "string",
    "a, string", "a, float", "too many", "two ellipses", "a, 1:1.5", "short mask", "long mask", "object",
}  # fmt: skip
TRACED = [name for name in INDICES if name not in REFUSED]


@pytest.mark.daily(3)
@pytest.mark.parametrize("access", ["get", "set", "add"])
@pytest.mark.parametrize("name", TRACED)
def test_transformed(name, access):
    use, index = ACCESS[access], INDICES[name]

    def f(x):
        y = (x[index] ** 2).sum()
        return (use(x * x, index, y) ** 3).sum()

    same(lambda m: m.jit(m.value_and_grad(f)), X / 10)
    same(lambda m: m.vmap(lambda x: use(x, index, x[0, 0, 0]), in_axes=1), np.stack([X, -X], 1))


@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("indices", [(A,), (A, A), (np.int32(1), A), (OUT,), (np.uint8([1, 2]),), (np.int32(-1),)])
def test_traced_indices(indices, access):
    use = ACCESS[access]
    text = access != "no wrap" or len(np.shape(indices[0])) > 0  # JAX slices, and we gather
    same(lambda m: m.jit(lambda x, *i: use(x, i, 2.0)), X, *indices)
    same(lambda m: m.make_jaxpr(lambda x, *i: use(x, i, 2.0)), X, *indices, text=text)
    many = [np.stack([i, i + 1]).astype(i.dtype) for i in indices]
    same(lambda m: lambda x, *i: m.vmap(lambda x, *i: use(x, i, 2.0), (None, *[0] * len(i)))(
        m.numpy.asarray(x), *i), X, *many)
    same(lambda m: m.make_jaxpr(m.vmap(lambda x, *i: use(x, i, 2.0))), np.stack([X, X]), *many,
         text=text)


def test_traced_integers_and_strides():
    for index in (lambda i: S[i, ::2], lambda i: S[::-2, i], lambda i: S[i, 1:3], lambda i: S[1:, i, None]):
        same(lambda m: lambda x, i: (m.jit(lambda x, i: x[index(i)])(x, i),
                                     m.jit(lambda x, i: x.at[index(i)].add(1))(x, i)), X, np.int32(1))
    same(lambda m: m.make_jaxpr(lambda x, i: x[i, ::2]), X, np.int32(1))


METHODS = ["set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max"]


@pytest.mark.daily(3)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "bfloat16", "complex64", "bool"])
@pytest.mark.parametrize("method", METHODS)
def test_methods(method, dtype):
    if dtype == "bool" and method in ("subtract", "divide", "power"):
        return  # refused in JAX too, only deep inside
    x = np.asarray(minijax.numpy.arange(12).reshape(3, 4).astype(dtype))
    for values in (2, np.arange(3), [1, 2, 3], np.float32([1, 2, 3])):
        same(lambda m: lambda x: getattr(m.numpy.asarray(x).at[A, 1], method)(values), x)
        same(lambda m: m.jit(lambda x: getattr(x.at[A, 1], method)(values, mode="drop")), x)


PLACES = {
    "twice": np.int32([0, 2, -1, 2]), "outside": np.int32([0, 2, -9, 7]), "0-d": np.int32(-1),
    "beyond 32 bits": np.array([1, 2**32 + 1]),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("method", ["set", "add", "subtract", "multiply"])
def test_writes_of_arrays(method, name):
    """Eager, and with arrays of the library's: NumPy writes many of these."""
    def program(m):
        def f(x, place, y):
            x, y = m.numpy.asarray(x), m.numpy.asarray(y)
            place = m.numpy.asarray(place) if place.dtype == np.int32 else place
            return [getattr(x.at[index], method)(value)
                    for index in (place, S[:, place], S[place, place], S[1, place])
                    for value in (2, y)]
        return f

    for dtype in ("float32", "uint8"):
        x = np.arange(12, dtype=dtype).reshape(3, 4) * 3
        both(program, x, PLACES[name], x[1, 1])


@pytest.mark.parametrize("index", [0, S[1:3], np.array([1, 1])])
def test_writes_are_looked_at_for_nan(index):
    def program(m):
        def f(x):
            x, error = m.numpy.asarray(x), []
            with m.debug_nans(True):
                for method in ("set", "add"):
                    try:
                        getattr(x.at[index], method)(float("nan"))
                    except FloatingPointError as e:
                        error.append(type(e).__name__)
            return error
        return f

    assert program(minijax)(X[0, 0]) == program(jax)(X[0, 0]) == ["FloatingPointError"] * 2


@pytest.mark.parametrize("method", ["set", "add", "subtract", "divide", "min", "max"])
def test_gradients(method):
    def program(m):
        def f(x, y):
            return (getattr(x.at[A, 1:3], method)(y) ** 2).sum()

        return m.grad(f, (0, 1))

    y = np.float32([[2.0, 3], [4, 5], [6, 7]])
    both(program, X[0] + 1, y)


def test_apply():
    both(lambda m: lambda x: (m.numpy.asarray(x).at[A].apply(m.numpy.cos),
                              m.jit(lambda x: x.at[1, :2].apply(m.numpy.exp))(x)), X[0])
    both(lambda m: m.grad(lambda x: x.at[A].apply(m.numpy.cos).sum()), X[0])


def test_apply_traces_a_function_once():
    seen = []

    def successor(a):
        seen.append(a)
        return a + 1

    x = minijax.numpy.zeros(3)
    for k in range(3):
        x = x.at[k].apply(successor)
    assert x.tolist() == [1.0] * 3 and len(seen) == 1


def test_modes_and_fill_values():
    for x in (X, X.astype(int), X.astype("uint8"), X > 3, X.astype("complex64")):
        for index in (OUT, 9, S[:, OUT], np.uint32([1, 2**32 - 1])):
            for options in ({"mode": "fill"}, {"mode": "fill", "fill_value": 3}, {"mode": "clip"},
                            {"mode": "drop"}, {"mode": "promise_in_bounds"}, {"fill_value": 1}):
                both(lambda m: lambda x: m.numpy.asarray(x).at[index].get(**options), x)
    for options in ({"mode": "nothing"}, {"mode": "fill", "fill_value": np.ones(2)}):
        both(lambda m: lambda x: m.numpy.asarray(x).at[OUT].get(**options), X)


def test_traced_masks():
    for program in (lambda x: x[x > 1], lambda x: x.at[x > 1].set(0), lambda x: x[0, x[0, :, 0] > 1],
                    lambda x: x[x[0, 0, 0] > 1]):
        both(lambda m: m.jit(program), X, raises="NonConcreteBooleanIndexError")
    same(lambda m: lambda x: m.numpy.asarray(x)[m.numpy.asarray(x) > 30], X)
    same(lambda m: lambda x: m.numpy.asarray(x).at[m.numpy.asarray(x) > 30].set(0), X)


def test_indices_of_the_library():
    same(lambda m: lambda x: m.numpy.asarray(x)[m.numpy.asarray(A), m.numpy.array([1, 1, 1])], X)
    same(lambda m: m.make_jaxpr(lambda x: x[m.numpy.asarray(A)]), X)
    same(lambda m: m.jit(lambda x, i: x[[i, i + 1],]), X, 1)


def test_unsafe_casts_warn():
    x = minijax.numpy.arange(3)
    with pytest.warns(FutureWarning, match="cannot safely cast"):
        assert x.at[0].set(1.5).tolist() == [1, 1, 2]


def test_printing_and_immutability():
    x = minijax.numpy.arange(3)
    assert repr(x.at) == "_IndexUpdateHelper(Array([0, 1, 2], dtype=int32))"
    assert repr(x.at[1]) == repr(jax.numpy.arange(3).at[1])
    with pytest.raises(TypeError, match=r"x\.at\[idx\]\.set"):
        x[0] = 1


@pytest.mark.parametrize("kind", ["uint8", "int64"])
@pytest.mark.parametrize("access", ["get", "set", "no wrap"])
@in_both
def test_an_index_given_twice_is_one_constant(jx, access, kind):
    index = np.array([0, 2, 1], kind)
    x = X
    with jx.enable_x64(kind == "int64"):
        return jx.make_jaxpr(lambda x: ACCESS[access](x, (index, index), 1.0))(x)
