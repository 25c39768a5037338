"""The order of complex numbers with NaN, infinite and equal parts, eagerly and under `jit`.

NumPy and XLA differ there: a maximum of NaN is NaN in NumPy, and XLA's depends on the order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

PARTS = [0.0, 1.0, 2.0, -1.0, np.nan, np.inf, -np.inf]
POINTS = np.empty(len(PARTS) ** 2, np.complex64)
POINTS.real, POINTS.imag = np.repeat(PARTS, len(PARTS)), np.tile(PARTS, len(PARTS))
X, Y = (z.ravel() for z in np.meshgrid(POINTS, POINTS))
RANDOM = np.random.RandomState(0)
ROWS = np.stack([RANDOM.choice(POINTS, 6) for _ in range(40)])
ROW = RANDOM.permutation(np.concatenate([POINTS, POINTS[:20]]))
PLACES = np.array([0, 1, 1, 3, 2, 2, 4])


def _eager_and_compiled(program: Any) -> Any:
    return lambda jx: lambda: [program(jx), jx.jit(lambda: program(jx))()]


ELEMENTWISE = {
    "lax.max": lambda jx: jx.lax.max(X, Y),
    "lax.min": lambda jx: jx.lax.min(X, Y),
    "maximum": lambda jx: jx.numpy.maximum(X, Y),
    "minimum": lambda jx: jx.numpy.minimum(X, Y),
    "fmax": lambda jx: jx.numpy.fmax(X, Y),
    "less": lambda jx: jx.numpy.less(X, Y),
    "greater_equal": lambda jx: jx.numpy.greater_equal(X, Y),
    "relu": lambda jx: jx.nn.relu(X),
    "sign": lambda jx: jx.numpy.sign(POINTS),
}
REDUCTIONS = {
    "max": lambda jx: jx.numpy.max(ROWS, 1),
    "max of the columns": lambda jx: jx.numpy.max(ROWS, 0),
    "max of all": lambda jx: jx.numpy.max(ROWS),
    "min": lambda jx: jx.numpy.min(ROWS, 1),
    "nanmax": lambda jx: jx.numpy.nanmax(ROWS, 1),
    "ptp": lambda jx: jx.numpy.ptp(ROWS, 1),
    "argmax": lambda jx: jx.numpy.argmax(ROWS, 1),
    "reduce_max": lambda jx: jx.lax.reduce_max(ROWS, (1,)),
    "reduce_min": lambda jx: jx.lax.reduce_min(ROWS, (0,)),
    "reduce": lambda jx: jx.lax.reduce(jx.numpy.asarray(ROWS), np.complex64(-np.inf), jx.lax.max, (1,)),
    "reduce_window": lambda jx: jx.lax.reduce_window(
        jx.numpy.asarray(ROWS), np.complex64(-np.inf), jx.lax.max, (1, 2), (1, 1), "VALID"),
    "cummax": lambda jx: jx.lax.cummax(jx.numpy.asarray(ROWS), 1),
    "cummin from the end": lambda jx: jx.lax.cummin(jx.numpy.asarray(ROWS), 1, reverse=True),
    "cummax of many": lambda jx: jx.lax.cummax(jx.numpy.asarray(ROW)),
    "scatter_max": lambda jx: jx.numpy.asarray(ROWS[0]).at[PLACES].max(ROWS[1:8, 0]),
    "scatter_min": lambda jx: jx.numpy.asarray(ROWS[0]).at[PLACES].min(ROWS[1:8, 0]),
    "segment_max": lambda jx: jx.ops.segment_max(jx.numpy.asarray(ROW), np.arange(ROW.size) // 4, num_segments=18),
    "associative_scan": lambda jx: jx.lax.associative_scan(jx.lax.max, jx.numpy.asarray(ROW)),
    "pmax": lambda jx: jx.vmap(lambda x: jx.lax.pmax(x, "i"), axis_name="i")(jx.numpy.asarray(ROWS)),
}
SORTS = {
    "sort": lambda jx: jx.numpy.sort(ROWS, 1),
    "sort of all": lambda jx: jx.numpy.sort(ROW, descending=True),
    "argsort": lambda jx: jx.numpy.argsort(ROW),
    "two operands": lambda jx: jx.lax.sort((jx.numpy.asarray(ROW), jx.numpy.arange(ROW.size)), num_keys=1),
    "two keys": lambda jx: jx.lax.sort((jx.numpy.asarray(ROW), -jx.numpy.arange(ROW.size)), num_keys=2),
    "lexsort": lambda jx: jx.numpy.lexsort((-jx.numpy.arange(ROW.size), jx.numpy.asarray(ROW))),
    "searchsorted": lambda jx: jx.numpy.searchsorted(jx.numpy.sort(ROW), jx.numpy.asarray(ROW)),
    "unique": lambda jx: jx.numpy.unique(jx.numpy.asarray(ROW), size=ROW.size, return_counts=True),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    both(_eager_and_compiled(ELEMENTWISE[name]))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    both(_eager_and_compiled(REDUCTIONS[name]))


@pytest.mark.parametrize("name", SORTS)
def test_sorting(name):
    both(_eager_and_compiled(SORTS[name]))


@pytest.mark.parametrize("name", ["max", "min"])
@in_both
def test_a_gradient_of_an_extreme_is_that_of_the_compiled_program(jx, name):
    x = jx.numpy.asarray(ROWS)
    f = getattr(jx.numpy, name)
    (pulled,) = jx.vjp(lambda x: f(x, 1), x)[1](jx.numpy.ones(40, np.complex64))
    return [jx.numpy.isnan(pulled), f(x, 1)]


@pytest.mark.parametrize("name", ["log1mexp", "arctan2"])
def test_on_a_branch_cut_the_sign_of_a_zero_is_that_of_xla(name):
    x = np.array([-1, 1, -0.5, 2, -2j, 1j], np.complex64)
    y = np.array([-2j, 1j, -3j, -1, -2, 3], np.complex64)
    calls = {"log1mexp": lambda jx: jx.nn.log1mexp(jx.numpy.asarray(x)),
             "arctan2": lambda jx: jx.lax.atan2(0 * x, y)}
    both(_eager_and_compiled(calls[name]), tol=1e-6)


def test_clamp_compares_real_parts():
    """JAX's answers, written down: with the suite's flags for XLA, it cannot compile them."""
    low, x, high = np.array([0, 0, 1 + 2j, 0], np.complex64), np.array([1j, 5, 1 + 1j, 3]), 2 + 1j
    high = np.full(4, high, np.complex64)
    got = subject.lax.clamp(low, x.astype(np.complex64), high)
    np.testing.assert_array_equal(got, np.array([0, 2 + 1j, 1 + 2j, 2 + 1j], np.complex64))
