"""Products with masks: NaN, infinite and negative numbers times False, as in compiled programs."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle.compare import both, in_both

inf, nan = np.inf, np.nan
VALUES = {
    **{f"{dtype} of {shape}": (dtype, np.resize([inf, -2.0, nan], shape))
       for dtype in ("float32", "float16", "bfloat16", "complex64")
       for shape in ((), (2,), (2, 1))},
    "weak": (None, inf), "a number": ("number", -inf), "a complex number": ("number", -1j),
    "of NumPy": ("numpy", np.array([nan, -1.0])), "a scalar of NumPy": ("numpy", np.float32(inf)),
}  # fmt: skip
MASKS = {"False": False, "of NumPy": np.False_, "()": np.array(False), "(2,)": np.array([False, True]),
         "(2, 1)": np.array([[False], [True]]), "(1,)": np.array([False]), "(1, 2)": np.array([[False, True]])}


def as_value(jx, kind, value):
    if kind in ("number", "numpy"):
        return value
    return jx.numpy.asarray(float(value)) if kind is None else jx.numpy.asarray(value, kind)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", VALUES)
@in_both
def test_products_with_masks(jx, name, mask):
    x, m = as_value(jx, *VALUES[name]), MASKS[mask]
    m = jx.numpy.asarray(m) if type(m) is np.ndarray else m
    products = [lambda: jx.numpy.multiply(x, m), lambda: jx.numpy.multiply(m, x)]
    if isinstance(x, jx.Array) or isinstance(m, jx.Array):
        products += [lambda: x * m, lambda: m * x]
    results = [product() for product in products for _ in range(3)]
    return results, [str(np.asarray(r).tolist()) for r in results]  # with the signs of zeros


@pytest.mark.parametrize("n", [1000, 100_000])
def test_many_values(n):
    x = np.where(np.arange(n) % 3, -1.0, nan).astype(np.float32)

    def program(jx):
        def product(x):
            zeros = x * jx.numpy.zeros(x.shape, bool)
            return zeros.sum(), np.signbit(np.asarray(zeros)).sum(), (x * (x == x))[:5]

        return product

    both(program, x)


def test_what_is_no_array_is_refused_as_before():
    with pytest.raises(TypeError, match="multiply"):
        minijax.numpy.multiply([1.0], True)
    with pytest.raises(TypeError, match="incompatible shapes"):
        minijax.numpy.ones(2) * minijax.numpy.zeros(3, bool)


def test_invalid_products_are_still_told_in_debugging():
    x = minijax.numpy.array([inf, nan])
    with minijax.debug_nans(True):
        assert (x[:1] * minijax.numpy.array([False])).tolist() == [0.0]
        with pytest.raises(FloatingPointError):
            x * minijax.numpy.array([False, True])


@pytest.mark.filterwarnings("error")
def test_numbers_that_are_too_large_become_infinite_without_a_warning():
    mask = minijax.numpy.array([False, True])
    for _ in range(3):
        assert (1e300 * mask).tolist() == [0, inf]
        assert minijax.numpy.multiply(np.array([1e300, 1e300]), mask).tolist() == [0, inf]
