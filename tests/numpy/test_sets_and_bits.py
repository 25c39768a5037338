"""Arrays as sets, partitions, bits of numbers and common divisors, as JAX has them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle.calls import program, rows_of
from tests.oracle.compare import both

RNG = np.random.default_rng(0)
# m and r: matrices with equal elements or rows, w, v and cn: with NaN, z: bits, z0: bytes.
ARRAYS = {
    "x": np.array([3, 1, 3, -2, 1], np.float32),
    "i": np.array([3, -1, 4, 0], np.int32),
    "j": np.array([4, 2, 1, 1, 3, 3], np.int32),
    "u": np.array([1, 2, 0, 7], np.uint8),
    "b": np.array([True, False, True, True]),
    "c": np.array([1 + 2j, -0.5j, 3.0, 1 + 2j], np.complex64),
    "cn": np.array([np.nan + 1j, complex(0, np.nan), 1], np.complex64),
    "w": np.array([np.nan, 1.0, np.nan, 0.0], np.float32),
    "v": np.array([np.nan, 1.0, 5.0], np.float32),
    "m": RNG.integers(0, 3, (4, 3)).astype(np.int32),
    "r": np.array([[1, 2], [1, 2], [0, 5]], np.float32),
    "e0": np.zeros((0,), np.float32),
    "e1": np.zeros((3, 0), np.float32),
    "y": RNG.normal(size=(3, 5)).astype(np.float32),
    "z": RNG.integers(0, 2, (3, 11)).astype(np.int32),
    "z0": RNG.integers(0, 255, (3, 2)).astype(np.uint8),
    "f": np.array([0.5, 1.5, -2.0, 0.0, -0.0, np.inf, -np.inf, np.nan, 3e38], np.float32),
    "h": np.array([1.5, -2.25, 0.125, 6e4, np.inf], np.float16),
    "g": np.array([100, -30, 127, 3, 1], np.int32),
}

UNIQUE = rows_of("""
jnp.unique(x) | jnp.unique(x, True, True, True) | jnp.unique(m, False, True, True, 0)
jnp.unique(m, return_index=True, axis=1) | jnp.unique(m, return_inverse=True) | jnp.unique(m, axis=2)
jnp.unique(w) | jnp.unique(w, equal_nan=False, return_counts=True) | jnp.unique(c, return_index=True)
jnp.unique(cn) | jnp.unique(b, return_counts=True) | jnp.unique(u) | jnp.unique(r, axis=0)
jnp.unique(e0, True, True, True) | jnp.unique(e1, axis=0) | jnp.unique(e1, True, True, True, 0)
jnp.unique(e1, True, True, True, 1) | jnp.unique(2.0) | jnp.unique(x, True, True, True, size=5)
jnp.unique(x, True, True, True, size=2) | jnp.unique(x, size=5, fill_value=9) | jnp.unique(x, size=0)
jnp.unique(m, True, True, True, 0, size=6, fill_value=-1) | jnp.unique(e0, size=3) | jnp.unique("a")
jnp.unique(e0, True, True, True, size=3, fill_value=1) | jnp.unique(x, size=x[0]) | jnp.unique([3, 1])
jnp.unique_all(x)[:] | jnp.unique_all(m, size=3)[:] | tuple(jnp.unique_counts(w))
tuple(jnp.unique_inverse(m)) | jnp.unique_values(w) | jnp.unique_values(w, size=5, fill_value=0)
jnp.unique_all(x)._fields | jnp.unique_counts(x).counts | jnp.unique_inverse(x).inverse_indices
""")

SETS = rows_of("""
jnp.isin(x, i) | jnp.isin(m, i) | jnp.isin(x, i, invert=True) | jnp.isin(w, w) | jnp.isin(x, e0)
jnp.isin(x, e0, invert=True) | jnp.isin(x, i, method="binary_search") | jnp.isin(x, i, method="a")
jnp.isin(x, i, method="sort", invert=True) | jnp.isin(w, w, method="binary_search", invert=True)
jnp.isin(3, i) | jnp.isin(x, c) | jnp.isin(i, j, assume_unique=True, method="sort") | jnp.isin(b, i)
jnp.union1d(x, i) | jnp.union1d(m, j) | jnp.union1d(x, i, size=3) | jnp.union1d(x, i, size=9)
jnp.union1d(x, i, size=9, fill_value=0) | jnp.union1d(w, v) | jnp.union1d(e0, e0) | jnp.union1d(x, 3)
jnp.setdiff1d(x, i) | jnp.setdiff1d(j, i) | jnp.setdiff1d(j, i, True) | jnp.setdiff1d(j, i, size=1)
jnp.setdiff1d(j, i, size=4, fill_value=9) | jnp.setdiff1d(e0, x) | jnp.setdiff1d(e0, x, size=2)
jnp.setdiff1d(x, e0) | jnp.setdiff1d(w, v) | jnp.setdiff1d(j, i, True, size=5) | jnp.setdiff1d(m, j)
jnp.intersect1d(x, i) | jnp.intersect1d(j, i, return_indices=True) | jnp.intersect1d(i, u, True)
jnp.intersect1d(j, i, return_indices=True, size=4) | jnp.intersect1d(j, i, size=1)
jnp.intersect1d(j, i, size=4, fill_value=-5) | jnp.intersect1d(w, v, return_indices=True)
jnp.intersect1d(e0, x) | jnp.intersect1d(i, u, True, True, size=3) | jnp.intersect1d(-i, -j, size=5)
jnp.setxor1d(x, i) | jnp.setxor1d(j, i) | jnp.setxor1d(j, i, size=3) | jnp.setxor1d(-j, -i, size=6)
jnp.setxor1d(j, i, size=6, fill_value=7) | jnp.setxor1d(w, v) | jnp.setxor1d(e0, e0)
jnp.setxor1d(i, u, True) | jnp.setxor1d(j, j, size=2) | jnp.setxor1d(i, u, True, size=5)
""")

BITS = rows_of("""
jnp.bitwise_count(i) | jnp.bitwise_count(u) | jnp.bitwise_count(b) | jnp.bitwise_count(x)
jnp.packbits(z) | jnp.packbits(z, 1) | jnp.packbits(z, 0, "little") | jnp.packbits(b) | jnp.packbits(x)
jnp.packbits(b, bitorder="a") | jnp.unpackbits(u) | jnp.unpackbits(z0, 1) | jnp.unpackbits(z0, 0, 20)
jnp.unpackbits(z0, 0, 30, "little") | jnp.unpackbits(i) | jnp.unpackbits(u, bitorder="a")
jnp.unpackbits(u, count=-3) | jnp.unpackbits(z0, count=5)
jnp.frexp(f) | jnp.frexp(h) | jnp.frexp(i) | jnp.frexp(c) | jnp.frexp(x.astype(jnp.bfloat16))
jnp.ldexp(f[:5], g) | jnp.ldexp(i, 2) | jnp.ldexp(f, x[0]) | jnp.ldexp(c, 1) | jnp.ldexp(h, i[:1])
jnp.ldexp(h.astype(jnp.bfloat16), g) | jnp.ldexp(1, 2)
jnp.nextafter(f, 1.0) | jnp.nextafter(h, h * 2) | jnp.nextafter(i, 2) | jnp.nextafter(c, c)
jnp.spacing(f) | jnp.spacing(h) | jnp.spacing(i) | jnp.spacing(c) | jnp.spacing(x.astype(jnp.bfloat16))
jnp.gcd(i, j[:4]) | jnp.gcd(i[:, None], j) | jnp.gcd(u, u[::-1]) | jnp.gcd(12, 18) | jnp.gcd(x, x)
jnp.lcm(b, 2) | jnp.spacing(3.0) | jnp.gcd(u, i) | jnp.lcm(i, j[:4]) | jnp.lcm(u, u[::-1]) | jnp.lcm(x, 1) | jnp.lcm(4, 6)
jnp.partition(y, 2) | jnp.partition(y, 1, 0) | jnp.partition(u, 1) | jnp.partition(y, 7) | jnp.partition(c, 0)
jnp.argpartition(y, 2) | jnp.argpartition(y, 1, 0) | jnp.argpartition(u, 1) | jnp.argpartition(c, 0)
jnp.partition(y, -1) | jnp.argpartition(i, 0) | jnp.partition(y, 0, 3) | y.argpartition(1)
jnp.sort_complex(x) | jnp.sort_complex(i) | jnp.sort_complex(c) | i[:1].choose(y)
""")

UNDER_JIT = rows_of("""
jnp.unique(x) | jnp.unique(x, True, True, True, size=4, fill_value=7) | jnp.unique(m, axis=0, size=3)
jnp.union1d(x, i) | jnp.union1d(x, i, size=3) | jnp.setdiff1d(j, i) | jnp.setdiff1d(j, i, size=2)
jnp.intersect1d(i, j) | jnp.intersect1d(i, j, return_indices=True, size=3) | jnp.setxor1d(j, i)
jnp.setxor1d(j, i, size=7) | jnp.isin(x, i) | jnp.packbits(z, 1) | jnp.unpackbits(z0, 0) | jnp.frexp(f)
jnp.lcm(i, 6) | jnp.partition(y, 2) | jnp.argpartition(y, 1, 0)
""")


TEXT = rows_of("""
jnp.isin(x, i) | jnp.isin(x, i, invert=True) | jnp.packbits(z, 1) | jnp.unpackbits(z0, 1, 5, "little")
jnp.bitwise_count(i) | jnp.nextafter(f, 1.0) | jnp.spacing(f) | jnp.partition(y, 2) | jnp.argpartition(x, 1)
jnp.sort_complex(x) | jnp.bincount(i, length=4) | jnp.bincount(j, j, length=4) | jnp.cov(y)
""")


def modules(library):
    return {"jnp": library.numpy}


@pytest.mark.parametrize("row", [*UNIQUE, *SETS, *BITS])
def test_eager(row):
    both(program(row, ARRAYS, modules))


@pytest.mark.parametrize("row", UNDER_JIT)
def test_jit(row):
    """Sizes that depend on values are errors."""
    both(program(row, ARRAYS, modules, lambda library, function: library.jit(function)))


@pytest.mark.parametrize("row", rows_of("""
jnp.frexp(y)[0] | jnp.ldexp(y, 3) | jnp.partition(y, 2) | jnp.unique(y, size=3)
"""))
def test_gradients(row):
    def transform(library, function):
        gradient = library.grad(lambda x: (function(x) ** 2).sum())
        return lambda x: (gradient(x), library.jvp(gradient, (x,), (x,)))

    both(program(row, ARRAYS, modules, transform))


@pytest.mark.parametrize("row", rows_of("""
jnp.unique(m, size=4) | jnp.isin(m, 2) | jnp.gcd(m, 4) | jnp.packbits(m) | jnp.partition(y, 1)
"""))
def test_vmap(row):
    both(program(row, ARRAYS, modules, lambda library, function: library.vmap(function)))


@pytest.mark.parametrize("row", TEXT)
def test_text(row):
    both(program(row, ARRAYS, modules, lambda library, function: library.make_jaxpr(function)))
