"""Searches in sorted arrays, quantiles, covariances and histograms, as JAX has them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle.calls import program, rows_of
from tests.oracle.compare import both

RNG = np.random.default_rng(0)
# s: sorted floats, si: sorted ints, q: quantiles, w and mn: with NaN, k: small counts, p: points.
ARRAYS = {
    "x": np.array([0.5, 1.5, -2.0, 3.25], np.float32),
    "s": np.array([-1.0, 0.5, 0.5, 2.0, 3.0], np.float32),
    "si": np.array([0, 1, 1, 4], np.int32),
    "i": np.array([3, -1, 4, 0], np.int32),
    "k": np.array([0, 2, 1, 1], np.int32),
    "u": np.array([1, 2, 0, 7], np.uint8),
    "b": np.array([True, False, True, True]),
    "q": np.array([0.0, 0.3, 0.5, 1.0], np.float32),
    "w": np.array([1.0, np.nan, 2.0, 5.0, -0.0], np.float32),
    "c": np.array([1 + 2j, -0.5j, 3.0, -1 + 1j], np.complex64),
    "h": np.array([-2.25, 0.125, 1.5, 4.0], np.float16),
    "m": RNG.normal(size=(3, 5)).astype(np.float32),
    "mn": np.where(np.arange(15).reshape(3, 5) % 4, RNG.normal(size=(3, 5)), np.nan).astype("f4"),
    "t": RNG.normal(size=(2, 3, 4)).astype(np.float32),
    "p": np.arange(20, dtype=np.float32).reshape(10, 2) % 7,
    "e0": np.zeros((0, 3), np.float32),
}

SEARCHES = [f"jnp.searchsorted({a}, {v}, {side!r}, method={method!r})"
            for method, side, cases in [
                ("scan", "left", [("s", "x"), ("s", "m"), ("si", "x"), ("s[:0]", "x"), ("h", "h"),
                                  ("jnp.sort(w)", "w"), ("jnp.sort(c)", "c"), ("si", "u")]),
                ("scan", "right", [("s", "s"), ("jnp.sort(w)", "w"), ("s", "0.5"), ("s", "e0")]),
                ("scan_unrolled", "right", [("s", "s"), ("s[:1]", "m")]),
                ("sort", "left", [("s", "s"), ("jnp.sort(w)", "w"), ("s", "m")]),
                ("sort", "right", [("s", "s"), ("s[:0]", "x"), ("s", "2")]),
                ("compare_all", "left", [("s", "s"), ("jnp.sort(w)", "w"), ("s", "m")]),
                ("compare_all", "right", [("s", "s"), ("jnp.sort(c)", "c"), ("s[:0]", "x")]),
            ] for a, v in cases]

SEARCHES += rows_of("""
jnp.searchsorted(x, s, sorter=jnp.argsort(x)) | jnp.searchsorted(m, x) | jnp.searchsorted(s, x, "a")
jnp.searchsorted(s, x, method="a") | jnp.searchsorted(s, "a") | x.searchsorted(2)
jnp.digitize(x, s) | jnp.digitize(x, s, True) | jnp.digitize(x, s[::-1]) | jnp.digitize(x, e0[0])
jnp.digitize(m, s, method="sort") | jnp.digitize(x, m) | jnp.digitize(x, s[:0]) | jnp.digitize(i, si)
jnp.interp(x, s, s * 2) | jnp.interp(m, s, s, left=7, right=8.0) | jnp.interp(x, s, s, "a")
jnp.interp(x, s, s, "extrapolate", "extrapolate") | jnp.interp(x, s, s * 1j) | jnp.interp(c, s, s)
jnp.interp(x, s, s, period=2) | jnp.interp(x, x, x, period=s) | jnp.interp(x, m, m)
jnp.interp(i, si, si) | jnp.interp(x, s, s[:2]) | jnp.interp(1.0, s, s) | jnp.interp(h, h, h)
""")

QUANTILES = [f"jnp.{name}({args}, method={method!r})"
             for method, name, cases in [
                 ("linear", "quantile", ["x, 0.3", "mn, q, axis=0", "t, q, (2, 0), keepdims=True"]),
                 ("linear", "nanquantile", ["mn, q, axis=1", "mn, 0.4, keepdims=True"]),
                 ("lower", "quantile", ["m, q, axis=-1"]),
                 ("higher", "nanquantile", ["mn, q"]),
                 ("nearest", "quantile", ["mn, q, axis=0, keepdims=True"]),
                 ("midpoint", "nanquantile", ["mn, 0.3, axis=0"]),
                 ("inverted_cdf", "quantile", ["x, 0.3", "mn, q, axis=1, keepdims=True"]),
                 ("inverted_cdf", "nanquantile", ["mn, q, axis=(0, 1)", "mn, 0.5, axis=1"]),
             ] for args in cases]

QUANTILES += rows_of("""
jnp.quantile(i, 0.5) | jnp.quantile(h, 0.3) | jnp.quantile(b, 0.5) | jnp.quantile(u, q) | jnp.quantile(c, 0.5)
jnp.quantile(x, 1) | jnp.quantile(x, q[None]) | jnp.quantile(x, 0.5, method="a") | jnp.quantile(x, 0.5, out=x)
jnp.quantile(m, 0.5, (0, 0)) | jnp.quantile(m, 0.5, 2) | jnp.quantile(x, q, weights=x) | jnp.quantile(x, h[2:])
jnp.quantile(x, q, method="inverted_cdf", weights=x * x) | jnp.quantile(2.0, 0.5) | jnp.quantile(e0, 0.5)
jnp.quantile(m, q, 1, method="inverted_cdf", weights=np.arange(5)) | jnp.median(e0, 1) | jnp.median(e0, 0)
jnp.quantile(m, 0.2, method="inverted_cdf", weights=np.arange(5)) | jnp.percentile(x, 30)
jnp.quantile(x, q, method="inverted_cdf", weights=x) | jnp.percentile(m, np.array([5, 50]), 0)
jnp.nanquantile(mn, 0.3, 0, method="inverted_cdf", weights=jnp.abs(m)) | jnp.nanpercentile(mn, 30.0, 1)
jnp.quantile(x, q, method="inverted_cdf", weights=c) | jnp.median(x) | jnp.median(i) | jnp.median(w)
jnp.quantile(t, q, (0, 2), method="inverted_cdf", weights=t[:, 0] ** 2, keepdims=True) | jnp.median("a")
jnp.median(m, (0, 1), keepdims=True) | jnp.nanmedian(w) | jnp.nanmedian(mn, 0) | jnp.median(h) | jnp.median(c)
jnp.nanmedian(w[1:2]) | jnp.median(x, out=x) | jnp.median(x[:0])
""")

COVARIANCES = rows_of("""
jnp.cov(m) | jnp.cov(x) | jnp.cov(m, rowvar=False) | jnp.cov(c, i) | jnp.cov(x, x) | jnp.cov(m, bias=True)
jnp.cov(m, ddof=0) | jnp.cov(t) | jnp.cov(x, t) | jnp.cov(i) | jnp.cov(m, fweights=np.arange(5))
jnp.cov(m, aweights=s * s) | jnp.cov(m, fweights=np.arange(5), aweights=s * s) | jnp.cov(m, fweights=x)
jnp.cov(m, fweights=i) | jnp.cov(m, aweights=m) | jnp.cov(m, fweights=s) | jnp.cov(m, dtype=jnp.float16)
jnp.cov(m, dtype=int) | jnp.cov(e0) | jnp.cov(e0, rowvar=False) | jnp.cov(h) | jnp.cov(2.0)
jnp.cov(x[:, None], x[:, None], rowvar=False) | jnp.cov(m, x) | jnp.cov(x[None], rowvar=False)
jnp.corrcoef(m) | jnp.corrcoef(x) | jnp.corrcoef(c, c * 1j) | jnp.corrcoef(m, rowvar=False)
jnp.corrcoef(x, x) | jnp.corrcoef(m, dtype=int) | jnp.corrcoef(i, i) | jnp.corrcoef("a")
""")

HISTOGRAMS = rows_of("""
jnp.bincount(k) | jnp.bincount(i) | jnp.bincount(u) | jnp.bincount(b) | jnp.bincount(x) | jnp.bincount(k, x)
jnp.bincount(k, minlength=5) | jnp.bincount(k, length=2) | jnp.bincount(k, c, length=7) | jnp.bincount(m)
jnp.bincount(k, m) | jnp.bincount(k[:0]) | jnp.bincount(k[:0], minlength=3) | jnp.bincount(k, length=x[0])
jnp.histogram_bin_edges(x) | jnp.histogram_bin_edges(i, 3) | jnp.histogram_bin_edges(x, "auto")
jnp.histogram_bin_edges(x, i) | jnp.histogram_bin_edges(x, 3, (0, 1)) | jnp.histogram_bin_edges(h, 3)
jnp.histogram_bin_edges(x.astype(jnp.bfloat16), 3) | jnp.asarray([x[0], x[1]], jnp.bfloat16)
jnp.histogram_bin_edges(x, 3, (0, 1, 2)) | jnp.histogram_bin_edges(x[:1], 2) | jnp.histogram(x, weights=m)
jnp.histogram(m, 3) | jnp.histogram(i, 4, density=True) | jnp.histogram(x, s) | jnp.histogram(x, 3, (0, 2))
jnp.histogram(m, 5, weights=m * m) | jnp.histogram(x, [0, 1, 5], weights=i) | jnp.histogram(h)
jnp.histogram2d(x, i, s, density=True) | jnp.histogram2d(x, m)
jnp.histogram2d(x, i, [s, 4]) | jnp.histogram2d(x, i, 3, [(0, 1), (0, 3)], weights=x)
jnp.histogram2d(x, i, [3]) | jnp.histogramdd(p, [2, 3, 4]) | jnp.histogramdd(p, 3, [(0, 5), None])
jnp.histogramdd(p, 3, [(0, 5)]) | jnp.histogramdd(p, (3, s), density=True, weights=p[:, 0])
jnp.histogramdd(p, 3, weights=x)
""")

GRADIENTS = rows_of("""
jnp.interp(x, s, s**2) | jnp.quantile(m, q, 1) | jnp.nanmedian(m, 0) | jnp.cov(m) | jnp.corrcoef(m)
jnp.histogram(x, s, weights=x**2)[0] | jnp.bincount(k, x) | jnp.percentile(x, 100 * q, method="lower")
jnp.quantile(m, 0.3, method="inverted_cdf", axis=0)
""")

TEXT = rows_of("""
jnp.searchsorted(s, m) | jnp.searchsorted(s, x, "right", method="scan_unrolled") | jnp.digitize(x, s)
jnp.searchsorted(s, x, method="sort") | jnp.searchsorted(s, x, "right", method="compare_all")
jnp.interp(x, s, s**2) | jnp.histogram(x, 3) | jnp.bincount(k, length=3) | jnp.cov(m)
jnp.median(m) | jnp.median(m, 0) | jnp.quantile(m, q, 1) | jnp.percentile(x, q, method="nearest")
""")

BATCHED = rows_of("""
jnp.searchsorted(s, x) | jnp.digitize(x, s) | jnp.interp(x, s, s) | jnp.quantile(m, 0.3, 1)
jnp.median(m) | jnp.cov(m) | jnp.histogram(x, 3) | jnp.bincount(k, length=3)
""")


def modules(library):
    return {"jnp": library.numpy}


@pytest.mark.parametrize("row", [*SEARCHES, *QUANTILES, *COVARIANCES, *HISTOGRAMS])
def test_eager(row):
    both(program(row, ARRAYS, modules))


@pytest.mark.parametrize("row", GRADIENTS)
def test_gradients(row):
    """Of a sum of squares in all arrays of floats; and the gradient's own derivative."""
    def transform(library, function):
        def loss(*args):
            return (function(*args) ** 2).sum()

        def derivatives(*args):
            floats = tuple(n for n, a in enumerate(args) if a.dtype == np.float32)
            gradient = library.grad(loss, floats)
            tangents = tuple(np.ones(a.shape, a.dtype) if a.dtype == np.float32
                             else np.zeros(a.shape, library.dtypes.float0) for a in args)
            return library.jit(lambda *args: library.jvp(gradient, args, tangents))(*args)

        return derivatives

    both(program(row, ARRAYS, modules, transform))


@pytest.mark.parametrize("row", BATCHED)
def test_jit_of_vmap(row):
    def transform(library, function):
        stacked = library.vmap(function)
        return lambda *args: library.jit(stacked)(*[library.numpy.stack([a, a + 1]) for a in args])

    both(program(row, ARRAYS, modules, transform))


@pytest.mark.parametrize("row", ["jnp.bincount(k)", "jnp.histogram(x, k[1])"])
def test_sizes_must_be_known(row):
    both(program(row, ARRAYS, modules, lambda library, function: library.jit(function)))


@pytest.mark.parametrize("row", rows_of("""
jnp.searchsorted(s, x) | jnp.median(m, 0) | jnp.cov(m) | jnp.bincount(k) | jnp.interp(i, si, x)
"""))
def test_64_bits(row):
    def transform(library, function):
        return lambda *args: function(*[a.astype(a.dtype.kind + "8") for a in args])

    def wide(library):
        with library.enable_x64(True):
            return program(row, ARRAYS, modules, transform)(library)()

    both(lambda library: lambda: wide(library))


@pytest.mark.parametrize("row", TEXT)
def test_text(row):
    both(program(row, ARRAYS, modules, lambda library, function: library.make_jaxpr(function)))


@pytest.mark.parametrize("stop", [1.0, 25, 7.3, -31])
def test_equal_distances_from_zero_are_rounded_as_xla_rounds_them(stop):
    """An edge of a histogram that is one unit in the last place off counts a number elsewhere."""
    def edges(jx):
        jnp = jx.numpy
        counted = jnp.histogram(jnp.arange(40.0) - 10, bins=5, range=(0, abs(stop)))
        return [jnp.linspace(0, stop, n) for n in (2, 6, 11, 37)], counted

    both(lambda jx: lambda: edges(jx), tol=0)
