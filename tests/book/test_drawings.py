"""Drawings that the build computes: their numbers are JAX's, and their parts can be found."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import markdown
import numpy as np
import pytest
from weaver import WeaveError, drawings, linear, ribbon, unzip

from tests.book import tiny_programs
from tests.oracle import jax


def woven(name: str) -> str:
    return markdown.markdown(f"```drawing\n{name}\n```", extensions=["weaver.extension"])


def test_the_scan_ribbon_has_the_numbers_of_the_loop():
    x, coefficients = np.float32(ribbon.X), np.array(ribbon.COEFFICIENTS, np.float32)

    def polynomial(x, coefficients):
        return jax.lax.scan(lambda c, a: (c * x + a, c), np.float32(0), coefficients)

    (last, before), (t_last, t_before) = jax.jvp(
        lambda x: polynomial(x, coefficients), (x,), (np.float32(1),))
    assert ribbon.carries() == [*before, last]
    assert ribbon.tangents() == [*t_before, t_last]
    ct_x, ct_coefficients = jax.grad(lambda *args: polynomial(*args)[0], (0, 1))(x, coefficients)
    assert ribbon.cotangents()[0][1] == ct_x
    assert [ct for ct, _ in ribbon.cotangents()[1:]] == [*ct_coefficients]


def test_the_jacobian_has_the_numbers_of_the_function():
    found = jax.jacobian(lambda x: x[:2] ** 2 + x[1:] ** 2)(np.array(linear.POINT, np.float32))
    assert found.tolist() == [list(map(float, row)) for row in linear.JACOBIAN]


def test_the_transposed_program_ends_in_the_derivative():
    slope = float(jax.grad(lambda x: jax.numpy.sin(x) * x)(linear.X))
    assert linear.transpose().count(f"= {slope:.3f}") == 2


def test_the_unzip_spread_has_the_equations_of_tinys_jvp():
    tiny = tiny_programs.tiny()
    x_sin_x = lambda x: x * tiny.sin(x)
    jaxpr = tiny.make_jaxpr(lambda x, t: tiny.jvp(x_sin_x, (x,), (t,)))(3.0, 1.0)
    shown = [re.split(" = | [·+] | ", row.text) for row in unzip.ROWS]
    operations = {"·": "mul", "+": "add"}
    names = dict(zip(jaxpr.invars, "xẋ"))
    linear = {jaxpr.invars[1]}
    for eqn, row, (result, *words) in zip(jaxpr.eqns, unzip.ROWS, shown, strict=True):
        operands = [names[v] for v in eqn.invars]
        operation = [operations[c] for c in row.text if c in operations] or words[:1]
        assert [eqn.primitive.name] == operation
        assert words[-len(operands):] == operands
        names[eqn.outvars[0]] = result
        linear |= set(eqn.outvars) if linear & set(eqn.invars) else set()
        assert bool(row.transposed) == bool(linear & set(eqn.outvars))
    assert [names[v] for v in jaxpr.outvars] == ["y", "ẏ"]
    assert [names[v] for v in linear if v in jaxpr.outvars] == ["ẏ"]


def test_the_transposed_rows_compute_the_gradient_from_the_bottom():
    x = 3.0
    values = {"x": x, "s": math.sin(x), "c": math.cos(x), "y_bar": 1.0, "x_bar": 0.0}
    for row in reversed(unzip.ROWS):
        if row.transposed:
            line = re.sub(rf"(\w){unzip.BAR}", r"\1_bar", row.transposed).replace("·", "*")
            exec(line, values)
    slope = float(jax.grad(lambda x: x * jax.numpy.sin(x))(x))
    assert values["x_bar"] == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("name", drawings.DRAWINGS)
def test_a_drawing_is_well_formed_and_its_parts_can_be_stepped_through(name):
    svg = ElementTree.fromstring(re.search("<svg.*</svg>", woven(name), re.DOTALL)[0])
    parts = [part for part in svg.iter("g") if part.get("data-step")]
    assert [int(part.get("data-step")) for part in parts] == [*range(1, len(parts) + 1)]
    assert len(parts) >= 2
    assert svg.get("aria-label")


def test_drawings_share_no_ids():
    ids = re.findall(r'\bid="([^"]+)"', "".join(draw() for draw in drawings.DRAWINGS.values()))
    assert len(set(ids)) == len(ids)


def test_a_drawing_that_is_not_there_ends_the_build():
    with pytest.raises(WeaveError, match="no drawing 'ribbon sideways'"):
        woven("ribbon sideways")
