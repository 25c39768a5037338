"""Values at the edges of each type: what NumPy does there must become what XLA does.

Infinities, NaN, signed zeros, the ends of the integers, division by zero, conversions that do
not fit. Each is computed eagerly and under `jit`, since these are two implementations.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special

from tests.oracle import both, subject
from tests.oracle.primitives_table import BINARY, UNARY, UNARY_POSITIVE

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e30, 80.0]
INTEGERS = {
    name: np.array(
        [np.iinfo(name).min, np.iinfo(name).max, 0, 1, 2, 3, 7, np.iinfo(name).max - 1]
        + ([-1, -2, -7] if np.iinfo(name).min else []),
        name,
    )
    for name in ("int8", "int32", "uint8", "uint32")
}
with np.errstate(over="ignore"):
    VALUES = {
        "float32": np.array(FLOATS, np.float32),
        "float16": np.array(FLOATS, np.float16),
        "bfloat16": np.array(FLOATS, ml_dtypes.bfloat16),
        **INTEGERS,
        "bool": np.array([True, False]),
    }


def _modes(jx: Any, f: Any) -> Any:
    """Eager and compiled results."""

    def run(*args: Any) -> Any:
        arrays = [jx.numpy.asarray(x) for x in args]
        return [np.asarray(out) for out in (f(*arrays), jx.jit(f)(*arrays))]

    return run


def _with_signs(jx: Any, f: Any) -> Any:
    """The same, with the signs of zeros made visible. (Every other sign shows in the value.)"""

    def run(*args: Any) -> Any:
        return [(x, np.signbit(x) & (x == 0) if x.dtype.kind == "f" else None)
                for x in _modes(jx, f)(*args)]  # fmt: skip

    return run


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("name", UNARY + UNARY_POSITIVE + ("bitwise_not",))
def test_unary(name, dtype):
    # XLA's exp2 of a large bfloat16 is off by a fifth; NumPy's is right.
    tol = 0.25 if (name, dtype) == ("exp2", "bfloat16") else None
    both(lambda jx: _with_signs(jx, getattr(jx.lax, name)), VALUES[dtype], tol=tol)


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("name", BINARY + ("pow",))
def test_binary(name, dtype):
    left, right = (x.ravel() for x in np.meshgrid(VALUES[dtype], VALUES[dtype]))
    # Which of 0.0 and -0.0 is the larger is left to the machine.
    modes = _modes if name in ("max", "min") else _with_signs
    both(lambda jx: modes(jx, getattr(jx.lax, name)), left, right)


@pytest.mark.parametrize("dtype", [name for name in VALUES if name != "bool"])
@pytest.mark.parametrize("power", [-3, -1, 0, 1, 2, 5])
def test_integer_pow(power, dtype):
    both(lambda jx: _modes(jx, lambda x: jx.lax.integer_pow(x, power)), VALUES[dtype])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_pow_of_integers(dtype):
    left, right = (x.ravel() for x in np.meshgrid(VALUES[dtype], np.arange(6, dtype=np.int32)))
    both(lambda jx: _modes(jx, jx.lax.pow), left, right)


@pytest.mark.parametrize("new", list(VALUES))
@pytest.mark.parametrize("dtype", VALUES)
def test_conversion(dtype, new):
    both(
        lambda jx: _modes(
            jx, lambda x: jx.lax.convert_element_type(x, VALUES[new].dtype)
        ),
        VALUES[dtype],
    )


@pytest.mark.parametrize("method", [0, 1])
def test_round_halves(method):
    halves = np.array([-2.5, -1.5, -0.5, -0.49999997, 0.49999997, 0.5, 1.5, 2.5, 1e9], np.float32)
    both(
        lambda jx: _modes(jx, lambda x: jx.lax.round(x, jx.lax.RoundingMethod(method))), halves
    )


@pytest.mark.parametrize("dtype", [d for d in VALUES if d != "bool"])
@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "reduce_sum", "reduce_prod"])
def test_reductions(name, dtype):
    values = VALUES[dtype]
    rows = np.stack([values[:4], values[4:8], values[-4:], values[[0, 1, 0, 1]]])
    with np.errstate(all="ignore"):
        both(lambda jx: _modes(jx, lambda x: getattr(jx.lax, name)(x, (1,))), rows)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_argmax_prefers_nan_then_the_first(name):
    rows = np.array([[1, np.nan, 3, np.nan], [2, 5, 5, 2], [0.0, -0.0, 0.0, -0.0]], np.float32)
    both(lambda jx: _modes(jx, lambda x: getattr(jx.lax, name)(x, 1, np.int32)), rows)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
def test_cumulative_with_nan(name):
    values = np.array([1.0, -np.inf, 2.0, np.nan, 3.0, np.inf], np.float32)
    both(lambda jx: _modes(jx, getattr(jx.lax, name)), values)
    both(lambda jx: _modes(jx, getattr(jx.lax, name)), values[:3])


def test_clamp_with_nan_and_crossed_bounds():
    x = np.array([np.nan, -1, 5, 0.5], np.float32)
    both(lambda jx: _modes(jx, lambda x: jx.lax.clamp(np.float32(0), x, np.float32(1))), x)
    both(lambda jx: _modes(jx, lambda x: jx.lax.clamp(np.float32(1), x, np.float32(0))), x)


@pytest.mark.parametrize("start", [-9, -1, 0, 2, 9])
def test_dynamic_slices_are_moved_inside(start):
    x, i = np.arange(5, dtype=np.float32), np.int32(start)
    both(lambda jx: _modes(jx, lambda x, i: jx.lax.dynamic_slice(x, (i,), (3,))), x, i)
    both(lambda jx: _modes(jx, lambda x, i: jx.lax.dynamic_update_slice(x, -x[:3], (i,))), x, i)


def test_large_unsigned_slice_index():
    x = np.arange(5, dtype=np.float32)
    for index in (np.uint8(250), np.uint32(2**32 - 1), np.int8(-128)):
        both(lambda jx: _modes(jx, lambda x, i: jx.lax.dynamic_slice(x, (i,), (3,))), x, index)


def test_integer_overflow_wraps_around():
    big = np.array([2**31 - 1, -(2**31)], np.int32)
    both(lambda jx: _modes(jx, lambda x: (x + 1) * 2 - x), big)
    both(lambda jx: _modes(jx, lambda x: jx.numpy.sum(x) + jx.numpy.prod(x)), big)


def test_sums_of_small_types_keep_their_type():
    both(lambda jx: _modes(jx, jx.numpy.sum), np.full(300, 100, np.uint8))
    both(lambda jx: _modes(jx, jx.numpy.sum), np.full(3000, 0.1, np.float16))
    both(lambda jx: _modes(jx, jx.numpy.mean), np.full(3000, 100.0, np.float16))


def test_long_sums_are_accurate():
    values = np.random.RandomState(0).randn(100_000).astype(np.float32)
    both(lambda jx: _modes(jx, lambda x: jx.numpy.sum(x) / 300), values, tol=1e-4)


@pytest.mark.parametrize("name", ["reciprocal", "atan", "asin", "acosh", "sqrt"])
def test_complex_derivatives_at_infinity(name):
    z = np.complex64([np.inf, -np.inf, complex(0, np.inf), complex(1, -np.inf), complex(2, 1)])

    def program(jx):
        def gradient(x):
            out, pull = jx.vjp(getattr(jx.lax, name), x)
            return pull(jx.numpy.ones_like(out))[0]

        def run(x):
            # Apart, since a comparison of complex numbers takes any NaN for another.
            outs = [np.asarray(f(jx.numpy.asarray(x))) for f in (gradient, jx.jit(gradient))]
            return [(out.real, out.imag) for out in outs]
        return run

    both(program, z)


@pytest.mark.parametrize("name", ["bessel_i0e", "bessel_i1e"])
def test_bessel_functions_have_all_digits_of_double_precision(name):
    """The second derivative of that of order 1 divides their difference by x."""
    def values(jx: Any) -> Any:
        def run(x: Any) -> Any:
            with jx.enable_x64(True):
                x = jx.numpy.asarray(x)
                return [np.asarray(f(x)) for f in (getattr(jx.lax, name), jx.jit(getattr(jx.lax, name)))]
        return run

    both(values, np.array([0, 1e-10, 1e-3, 0.1, 1, 3, 7.9, 8.1, 100, -2, 1e18]), tol=8e-16)


def test_terms_of_a_hypergeometric_series_do_not_overflow_before_their_sum():
    both(lambda jx: jx.scipy.special.hyp1f1, *np.float32([254, 2, 8]), tol=1e-5)


@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_gamma_of_complex_numbers_near_its_poles(name):
    """1 / z near 0, and -1 / (z + 1) near -1: SciPy's double precision is the judge."""
    z = np.complex64([1e-30j, -1e-30j, 1e-5j, 1e-12 + 1e-12j, -1 + 1e-6j, -2 - 1e-5j, -0.5 + 3j])
    want = getattr(scipy.special, name)(z.astype(np.complex128))
    f = getattr(subject.scipy.special, name)
    for run in (f, subject.jit(f)):
        np.testing.assert_allclose(run(z), want, rtol=1e-5)
