"""With 64 bits enabled: dtypes of results, and of the indices in jaxprs, are JAX's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import in_both

F32, F64 = np.float32, np.float64
DATA = np.array([[0.5, 1.5, 1.0, 3.0], [2.0, 0.0, 1.0, 2.5]], F32)
GRID = [np.array([0.0, 1.0, 2.0], F32), np.array([0.0, 0.5, 1.0], F32)]
IMAGE = np.arange(9, dtype=F32).reshape(3, 3)
PLACES = np.array([0.25, 1.5], F32), np.array([0.1, 0.9], F32)


def density(jx, data, **options):
    return jx.scipy.stats.gaussian_kde(data, **options)


def interpolated(jx, places, **options):
    return jx.scipy.interpolate.RegularGridInterpolator(GRID, IMAGE, **options)(places)


CALLS = {
    "density": lambda jx: density(jx, DATA)(DATA[:, :2]),
    "logarithm of a density": lambda jx: density(jx, DATA).logpdf(DATA[:, :2]),
    "density at wider points": lambda jx: density(jx, DATA)(DATA[:, :2].astype(F64) + 1e-9),
    "density of wider data": lambda jx: density(jx, DATA.astype(F64))(DATA[:, :2]),
    "density with wider weights": lambda jx: density(
        jx, DATA, weights=np.ones(4) / 3)(DATA[:, :2]),
    "integral of densities": lambda jx: density(jx, DATA).integrate_kde(density(jx, DATA + 1)),
    "integral with a Gaussian": lambda jx: density(jx, DATA).integrate_gaussian(
        np.ones(2, F32), np.eye(2, dtype=F32)),
    "columns of places": lambda jx: interpolated(jx, PLACES),
    "columns of wider places": lambda jx: interpolated(jx, tuple(x.astype(F64) for x in PLACES)),
    "array of places": lambda jx: interpolated(jx, np.stack(PLACES, -1)),
    "nearest": lambda jx: interpolated(jx, PLACES, method="nearest"),
    "extrapolated": lambda jx: interpolated(jx, PLACES, fill_value=None),
    "halves": lambda jx: interpolated(jx, tuple(x.astype(np.float16) for x in PLACES)),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", CALLS)
@in_both
def test_results(jx, name, x64):
    with jx.enable_x64(x64):
        return CALLS[name](jx)


TEXTS = {
    "tri": lambda jx, x: jx.numpy.tri(3),
    "tri of a short diagonal": lambda jx, x: jx.numpy.tri(3, k=np.int8(1)),
    "tril": lambda jx, x: jx.numpy.tril(x, -1),
    "triu": lambda jx, x: jx.numpy.triu(x),
    "eye": lambda jx, x: jx.numpy.eye(3),
    "cholesky": lambda jx, x: jx.numpy.linalg.cholesky(x),
    "its derivative": lambda jx, x: jx.jvp(jx.numpy.linalg.cholesky, (x,), (x,)),
    "lu": lambda jx, x: jx.scipy.linalg.lu(x),
}


@pytest.mark.parametrize("name", TEXTS)
@in_both
def test_texts(jx, name):
    with jx.enable_x64(True):
        return str(jx.make_jaxpr(lambda x: TEXTS[name](jx, x))(np.eye(3, dtype=F32)))
