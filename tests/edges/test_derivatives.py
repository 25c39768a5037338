"""The stored table of derivatives at edges: what is right there and not in JAX stays right."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import minijax
from tests.edges.derivatives import answers, derivative
from tests.edges.functions import ROWS
from tools import edge_derivatives

STORED = edge_derivatives.stored()
MENDED = [(row, f"{row['functions'][0]} {row['dtype']}") for row in STORED if row["mended"]]


@pytest.mark.parametrize("row", [row for row, _ in MENDED], ids=[name for _, name in MENDED])
def test_where_jax_alone_is_wrong(row):
    (function,) = (f for f in ROWS if list(f.programs) == row["functions"])
    groups = defaultdict(list)
    for program, point, order, right in row["mended"]:
        groups[program, tuple(order)].append((point, right))
    for (program, order), places in groups.items():
        points, right = zip(*places)
        found = answers(minijax, program, function, row["dtype"], [tuple(p) for p in points], order)
        np.testing.assert_allclose(found, right, rtol=0.5, atol=1e-6, err_msg=f"{program} {order} {points}")


def test_nothing_is_wrong_that_is_right_in_jax():
    assert [row["functions"] for row in STORED if row["jax"] and row["ours"]["wrong"] > row["jax"]["wrong"]] == []


def test_every_function_has_a_row_for_each_type():
    assert [(row["functions"], row["dtype"]) for row in STORED] == [
        (list(row.programs), dtype) for row in ROWS for dtype in edge_derivatives.DTYPES]
    page = edge_derivatives.page()
    assert all(f"`{name}`".replace("|", "\\|") in page for row in ROWS for name in row.programs)


@pytest.mark.parametrize("f, x, order, right", [
    (lambda x: x**3, 2.0, 1, 12), (lambda x: x**3, 0.0, 2, 0), (lambda x: 1 / x, 1e-30, 2, 2e90),
    (abs, 0.0, 1, None), (lambda x: x * abs(x), 0.0, 2, None)])
def test_what_is_right_is_found_by_differences(f, x, order, right):
    found = derivative(f, (x,), (order,))
    assert found is None if right is None else abs(found - right) <= 1e-15 * right
