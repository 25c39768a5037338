"""Functions that put elements in, take them off or lay them out; polynomials, windows, grids, files."""

from __future__ import annotations

import io

import numpy as np
import pytest

import minijax.numpy
from tests.oracle.compare import both

ARRAYS = {
    "x": np.array([0.5, 1.5, -2.0, 3.25], np.float32), "i": np.array([3, -1, 4, 0], np.int32),
    "m": np.arange(6, dtype=np.float32).reshape(2, 3), "z": np.array([0, 0, 1, 0, 2, 0], np.int32),
    "b": np.array([True, False, True, True]), "c": np.array([1 + 2j, -0.5j, 3.0, -1 + 1j], np.complex64),
    "q": np.array([[0, 0, 0, 0], [0, 1, 2, 0], [0, 0, 0, 0]], np.float32), "k": np.array([1, 0, 2], np.int32),
}

CALLS = """
insert(x, 1, 9) | insert(x, [1, 2], 9) | insert(x, k, 7) | insert(x, k, x[:3]) | insert(x, -1, 5)
insert(x, slice(0, 3), 8) | insert(m, 1, 9) | insert(m, 1, 9, axis=1) | insert(m, 1, x[:2], axis=1)
insert(m, jnp.array([1]), m[:, :1], axis=1) | insert(m, [0, 2], m[:, :2], axis=1) | insert(x, 1.5, 2)
insert(x, [[1]], 2) | insert(m, 1, 9, axis=2) | insert(i, 1, 2.7) | insert(x, jnp.array([9]), 1)
insert(x, 0, [1]) | insert(c, 1, 2)
delete(x, k, assume_unique_indices=True) | delete(m, k[:2] - 1, 1, assume_unique_indices=True) | delete(x, k + 3, assume_unique_indices=True)
trim_zeros(z) | trim_zeros(z, "f") | trim_zeros(z, "b") | trim_zeros(z * 0) | trim_zeros(q) | trim_zeros(z, "x")
trim_zeros(q, axis=1) | trim_zeros(q, "f", axis=(0,)) | trim_zeros(x) | trim_zeros([0, 1])
trim_zeros(q, axis=(0, 0)) | trim_zeros(q, axis=(1, -1)) | trim_zeros(q, axis=(1, 0)) | trim_zeros(q, axis=2)
put(x, k, 9, inplace=False) | put(m, [5, 0], k[:2], inplace=False) | put(m, k, jnp.array([7.0, 8.0]), inplace=False)
put(x, k, 9) | put(x, jnp.array([9, -1]), 1, inplace=False) | put(x, jnp.array([9, -9]), 1, "clip", inplace=False)
put(x, jnp.array([9, -9]), 1, "wrap", inplace=False) | put(x, k, 1, "raise", inplace=False) | put(x, k, 1, "a", inplace=False)
put(m, k, [], inplace=False) | put(i, k, 2.5, inplace=False)
place(x, b, 9, inplace=False) | place(x, b, k, inplace=False) | place(m, m > 1, k[:2], inplace=False)
place(x, b, 9) | place(x, m, 9, inplace=False) | place(x, b, [], inplace=False) | place(m[:0], m[:0], 1, inplace=False)
put_along_axis(m, k[None], 9, 1, inplace=False) | put_along_axis(m, k[None, :2], m[:, :2], 1, inplace=False)
put_along_axis(m, k, 9, None, inplace=False) | put_along_axis(m, k, 9, 1, inplace=False) | put_along_axis(m, k[None], 9, 1)
put_along_axis(m, k[None], x, 1, inplace=False) | put_along_axis(m, k[None] + 1, 9, -1, inplace=False, mode="clip")
fill_diagonal(m, 9, inplace=False) | fill_diagonal(q, k, inplace=False) | fill_diagonal(m, 9) | fill_diagonal(x, 9, inplace=False)
fill_diagonal(m, 9, wrap=True, inplace=False) | fill_diagonal(jnp.zeros((2, 2, 2)), x[:2], inplace=False)
fill_diagonal(jnp.zeros((2, 3, 2)), 1, inplace=False) | fill_diagonal(m, x, inplace=False)
choose(k, [x[:3], i[:3], 7]) | choose(jnp.array([0, 5, -1]), [1, 2], mode="wrap") | choose(jnp.array([0, 5, -1]), [1, 2], mode="clip")
choose(jnp.array([0, 5]), [1, 2]) | choose(x, [1, 2]) | choose(k, [1, 2], mode="a") | choose(k[:2], [m[:, :2], 1])
choose(k, [1, 2, 3], out=x)
mask_indices(3, jnp.triu) | mask_indices(3, jnp.tril, -1) | mask_indices(3, jnp.triu, 1, size=4)
ravel_multi_index((k, k), (3, 4)) | ravel_multi_index((k, i[:3]), (3, 4)) | ravel_multi_index((k, i[:3]), (3, 4), mode="clip")
ravel_multi_index((k, i[:3]), (3, 4), mode="wrap") | ravel_multi_index((k, k), (3, 4), order="F") | ravel_multi_index((k, 1), (3, 4))
ravel_multi_index((k, i[:3]), (3, 4), mode="ignore") | ravel_multi_index((x,), (9,)) | ravel_multi_index((k, k), (3, 4), order="A")
ravel_multi_index((k, k), (3, 4), mode="a") | ravel_multi_index((k,), (3, 4)) | ravel_multi_index((k,), (3,), dtype=float)
ravel_multi_index((k, k), (300, 400), dtype=jnp.int8) | ravel_multi_index((k, k), (3, 4), dtype=jnp.int16)
unravel_index(i, (2, 3)) | unravel_index(5, (2, 3)) | unravel_index(jnp.array([-1, -6, -7, 6, 99]), (2, 3)) | unravel_index(k, 3)
unravel_index(k.astype("uint8"), (2, 3)) | unravel_index(k, ((2, 3),)) | unravel_index(jnp.array([[1], [2]]), [2, 2, 2])
polyval(x, 2) | polyval(x, m) | polyval(k, k) | polyval(m, x[:3]) | polyval([1], 2) | polyval(x[:0], k) | polyval(c, x)
polyadd(x, x) | polyadd(x, k) | polyadd(k, x) | polyadd(x, m) | polyadd(c, 1) | polyadd(x, c[:2])
polysub(x, x) | polysub(x, k) | polysub(k, x) | polysub(k, i)
polyder(x) | polyder(k) | polyder(x, 2) | polyder(x, 4) | polyder(x, 0) | polyder(x, -1) | polyder(c)
polyint(x) | polyint(k) | polyint(x, 2) | polyint(x, 3, k) | polyint(x, 2, 5) | polyint(x, 0) | polyint(x, -1) | polyint(x, 2, k)
polydiv(x, x[:2]) | polydiv(i, k[[0]]) | polydiv(x[:2], x) | polydiv(x, x, trim_leading_zeros=True)
polydiv(x, 2 * x[:2], trim_leading_zeros=True) | polydiv([1], x)
polymul(x, x[:2]) | polymul(x, k) | polymul(z, z, trim_leading_zeros=True) | polymul(x[:0], x) | polymul(c, x) | poly(x) | poly(k) | poly(x[:0])
poly(m @ m.T) | poly(m) | poly(c) | roots(x) | roots(jnp.array([1, 0, -4])) | roots(z) | roots(z * 0) | roots(z, strip_zeros=False) | roots(m) | roots(x[:1])
roots(z * 0, strip_zeros=False) | roots(c) | roots(jnp.array([0.0, 0, 1, -3, 2]), strip_zeros=False)
polyfit(x, i, 1) | polyfit(x, i, 2, w=jnp.array([1, 2, 1, 1])) | polyfit(x, i, 1, full=True) | polyfit(x, i, 1, cov=True) | polyfit(x, i, 1, cov="unscaled")
polyfit(x, jnp.stack([x, x ** 2], 1), 2) | polyfit(x, jnp.stack([x, x ** 2], 1), 1, cov=True) | polyfit(m, x, 1) | polyfit(x, x[:2], 1) | polyfit(x, i, -1)
polyfit(x, i, 3, cov=True) | polyfit(x[:0], x[:0], 1) | polyfit(x, i, 1, w=m) | polyfit(x, i, 1, w=x[:2]) | polyfit(x, i, 1, rcond=0.9)
angle(c) | angle(x) | angle(i) | angle(c, deg=True) | angle(-1.0) | angle(1j) | angle(b) | angle(jnp.float16(-2))
bartlett(5) | blackman(6) | hamming(5) | hanning(4) | bartlett(1) | hanning(0) | hamming(-1) | blackman(2.5) | kaiser(5, 8.6)
kaiser(6, x[0]) | kaiser(1, 2) | i0(x) | i0(i) | i0(c)
mgrid[0:3] | mgrid[0:2, 1:4] | mgrid[0:1:3j] | mgrid[0:1:0.5, 0:3] | mgrid[:3, 4:2:-1] | mgrid[0:2, 0:1:2j] | mgrid[()] | mgrid[x]
ogrid[0:3] | ogrid[0:2, 1:4] | ogrid[0:1:3j] | ogrid[:2, 0:1:0.5]
r_[x, 1, 2] | r_[1:4, 0] | r_[x] | r_["0,2", x, x] | r_["0,2,0", x, x] | r_["-1,2", x[None], x[None]] | r_["r", x] | r_["c", x]
r_[0:1:3j, x] | r_["1,3,0", x, x] | r_["a", x] | r_[x, "r"] | r_[m, m] | r_["1", m, m] | r_["0,3,1", m, m]
c_[x, x] | c_[1:3, 4:6] | c_[m, x[:2]] | c_["r", x, x] | c_[m, m] | c_["0", m, m]
fromstring("1 2", sep=" ") | fromstring("1,2", int, sep=",") | fromiter([1]) | fromfile("a") | frombuffer(b"abcd", jnp.int16)
from_dlpack(np.arange(3, dtype="float32")) | from_dlpack(3) | from_dlpack(np.arange(4).reshape(2, 2)) | from_dlpack(x)
from_dlpack(np.arange(3, dtype="int8"), copy=True)
""".replace("\n", " | ").strip(" |").split(" | ")

# Fast paths compute these.
FAST = """
frombuffer(jnp.arange(3), "float16") | put_along_axis(m, np.array([[1], [2]]), 7, 1, inplace=False) | put_along_axis(m, k[None, :2] - 3, k[None, :2] * 1.0, 1, inplace=False)
put_along_axis(x, k - 1, 2, 0, inplace=False) | put_along_axis(i, k, 2.5, 0, inplace=False) | put_along_axis(c, k, 2.5, -1, inplace=False)
put_along_axis(m, k[None] * 0, m[:1], 0, inplace=False)
tril(m) | triu(m, 1) | tril(q, -9) | triu(c[None], 9) | tril(b[None], -1) | triu(jnp.full((3, 3), 2.0)) | tril(jnp.zeros((0, 2)))
tril(m.astype("bfloat16") * jnp.nan) | triu(-m.T[::-1], -1) | tril(jnp.ones((2, 3, 3), "uint8"), 1) | tril(jnp.ones((300, 200)))
tril(jnp.ones((2, 20, 20), "int8"), -1) | triu(jnp.ones((40, 10), "bfloat16") * jnp.nan, 1) | triu(jnp.ones((10, 40), "complex64"), -3) | tril(jnp.full((20, 20), 2.0), 99)
""".replace("\n", " | ").strip(" |").split(" | ")

# Under `jit`, these want known arguments or make a shape of them: JAX refuses, and so do we.
JIT = [text for text in CALLS if not text.startswith(("from", "r_", "c_", "mgrid", "ogrid"))][::6]


def call(text):
    return lambda jnp: lambda values: eval("jnp." + text, {"jnp": jnp, "np": np, **values})


@pytest.mark.parametrize("text", CALLS + FAST)
def test_calls(text):
    both(lambda m: lambda: call(text)(m.numpy)({n: m.numpy.asarray(a) for n, a in ARRAYS.items()}))


@pytest.mark.parametrize("text", JIT)
def test_jit(text):
    used = {n: a for n, a in ARRAYS.items() if n in text}
    both(lambda m: m.jit(call(text)(m.numpy)), used)


@pytest.mark.parametrize("text", """
polyval(x, m) | polyadd(x, k) | polysub(x, k) | angle(c) | angle(c, deg=True) | put_along_axis(m, k[None], 9, 1, inplace=False)
fill_diagonal(m, x[0], inplace=False) | hanning(5) | blackman(5) | mgrid[0:2, 1:4] | polydiv(x, x[:2])
ravel_multi_index((k, k), (3, 4), mode="wrap") | choose(k, [x[:3], 1, 2], mode="clip") | c_[x, x] | r_[x, 1]
""".replace("\n", " | ").strip(" |").split(" | "))
def test_text(text):
    used = {n: a for n, a in ARRAYS.items() if n in text.split("_")[-1] or f"({n}" in text}
    both(lambda m: m.make_jaxpr(call(text)(m.numpy)), used)


@pytest.mark.parametrize("text", ["insert(x, 1, x[:3])", "polyval(x, m)", "polyint(x)",
                                  "put(x, k, 9, inplace=False)", "angle(c)", "place(x, x > 1, x, inplace=False)"])
def test_gradients(text):
    def loss(m):
        def f(v):
            out = call(text)(m.numpy)({**ARRAYS, "k": m.numpy.asarray(ARRAYS["k"]), **v})
            return sum((leaf ** 2).sum() for leaf in m.tree.leaves(out))
        return f
    v = {n: a for n, a in ARRAYS.items() if n in ("c" if "c)" in text else "xm")}
    both(lambda m: m.grad(loss(m)), v)
    if "poly" in text:
        both(lambda m: m.vmap(m.grad(loss(m))), {n: np.stack([a, 2 * a]) for n, a in v.items()})


def test_files():
    jnp = minijax.numpy
    for dtype in ("float32", "bfloat16", "int8", "complex64"):
        x, file = jnp.arange(3).astype(dtype), io.BytesIO()
        jnp.save(file, x)
        file.seek(0)
        y = jnp.load(file)
        assert y.dtype == x.dtype and (y == x).all()
    x = jnp.arange(3.0)
    assert np.shares_memory(np.from_dlpack(x), np.asarray(jnp.from_dlpack(x)))
    shared = np.arange(3.0, dtype=np.float32)
    assert not np.shares_memory(shared, np.asarray(jnp.from_dlpack(shared, copy=True)))


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("text", [
    "x.astype('{}')", "x.astype('{}').T", "x[:0].astype('{}')", "x[0, 0].astype('{}')",
    "jx.jit(lambda x: (x + 1).astype('{}'))(x)"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e8m0fnu", "int4", "bool"])
def test_dtypes_that_numpy_does_not_share(dtype, text):
    """XLA has DLPack's names of bfloat16 and the types of 8 bits, and refuses int4."""
    both(lambda jx: lambda x: jx.dlpack.from_dlpack(
        eval(text.format(dtype), {"jx": jx, "x": jx.numpy.asarray(x)})).astype("float32"),
         X, raises="JaxRuntimeError" if dtype == "int4" else None)


def test_where_such_an_array_is():
    both(lambda jx: lambda: tuple(map(int, jx.numpy.ones(2, "bfloat16").__dlpack_device__())))
    x = minijax.numpy.ones(2, "bfloat16")
    assert minijax.dlpack.from_dlpack(x, copy=True).dtype == x.dtype


@pytest.mark.parametrize("options", [{}, {"endpoint": False}, {"retstep": True}, {"dtype": "int32"},
                                     {"axis": 1}], ids=str)
def test_many_numbers_at_equal_distances(options):
    """So many are a program of XLA's, with JAX's bits."""
    start = np.arange(2.0, dtype=np.float32) if "axis" in options else 1.5

    def program(jx):
        return lambda: jx.numpy.linspace(start, 9.25, 70_000, **options)

    both(program, tol=1e-9)
