"""Explanations to play with: their numbers are the library's, and they are whole without scripts."""

from __future__ import annotations

import json
import re
import textwrap
from html.parser import HTMLParser

import markdown
import numpy as np
import pytest
from weaver import WeaveError, examples, play
from weaver.play import batch, jacobian, lowered, ribbon, tangent, unzip

import minijax as jax


def woven(name: str) -> str:
    page = f"""
        ```play {name}
        What is *seen* here.
        ```
        """
    return markdown.markdown(textwrap.dedent(page), extensions=["weaver.extension"])


class Parts(HTMLParser):
    """The values of one attribute, and the text."""

    def __init__(self, attribute: str):
        super().__init__()
        self.attribute, self.found, self.text = attribute, [], ""

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name == self.attribute]

    def handle_data(self, data):
        self.text += data


def parts(text: str, attribute: str) -> Parts:
    parser = Parts(attribute)
    parser.feed(text)
    return parser


@pytest.mark.parametrize("name", play.PLAYS)
def test_a_page_has_the_picture_the_sentences_and_the_caption(name):
    page = woven(name)
    read = parts(page, "class")
    assert "pl-picture" in read.found
    assert "What is *seen* here." in read.text
    for step in play.PLAYS[name]().steps:
        assert step.say in read.text
    assert not re.search("(src|href)=", page)


@pytest.mark.parametrize("name", play.PLAYS)
def test_each_step_shows_something_new_and_no_part_waits_for_a_step_that_is_not(name):
    page = woven(name)
    steps = json.loads(re.search(r"<script[^>]*>(.*?)</script>", page)[1])["steps"]
    ranges = [words for attribute in ("data-show", "data-lit")
              for words in parts(page, attribute).found if words]
    numbers = {int(n) for words in ranges for n in re.findall(r"\d+", words)}
    assert numbers <= set(range(len(steps)))
    assert len({say for say, _ in steps}) == len(steps)
    lit = {int(n) for words in parts(page, "data-lit").found for n in re.findall(r"\d+", words or "")}
    assert len(set(range(len(steps))) - lit) <= 2  # an introduction, and a last word


def test_an_unknown_name_ends_the_build():
    with pytest.raises(WeaveError, match="no explanation 'tangent'; there are batch-axis"):
        woven("tangent")


def test_a_notebook_has_the_sentences():
    lines = ["```play jacobian", "A caption.", "```"]
    (block,) = examples.blocks(lines, "page")
    text = play.sentences(block)
    assert "A caption." in text
    assert any("column 2" in line for line in text)


# ----------------------------------------------------------------------------------------------
# The numbers


def test_the_tangent_arrow_has_the_derivative():
    data = tangent.explanation().data
    x = np.array(data["x"])
    np.testing.assert_allclose(data["y"], x * np.sin(x), atol=1e-4)
    np.testing.assert_allclose(data["slope"], np.sin(x) + x * np.cos(x), atol=1e-3)


def test_columns_and_rows_are_of_one_jacobian():
    whole = np.asarray(jax.jacobian(jacobian.f)(jacobian.POINT))
    np.testing.assert_array_equal(np.stack(jacobian.columns(), 1), whole)
    np.testing.assert_array_equal(np.stack(jacobian.rows()), whole)


def test_the_batch_axis_is_where_an_example_alone_says():
    for _, array, dim in batch.batched():
        assert array.shape[dim] == batch.EXAMPLES.shape[1]
    (_, last, dim) = batch.batched()[-1]
    for i in range(4):
        one = batch.predict(batch.WEIGHTS, batch.EXAMPLES[:, i])
        np.testing.assert_allclose(np.take(last, i, dim), one, rtol=1e-6)
    assert [name for name, *_ in batch.batched()[1:]] == list(batch.done_by_rules())


def test_each_equation_owns_lines_of_the_program_and_no_line_is_forgotten():
    equations, lines, owners = lowered.matched()
    assert set(owners) == set(range(len(equations) + 1))
    assert [line for line, owner in zip(lines, owners, strict=True) if not owner] == [
        "return %3 : tensor<f32>"]
    of = {equation.split(" = ")[1].split(" ")[0].split("[")[0]:
          [line for line, owner in zip(lines, owners, strict=True) if owner == k]
          for k, equation in enumerate(equations, start=1)}
    assert any("stablehlo.sine" in line for line in of["sin"])
    assert any("stablehlo.reduce" in line for line in of["reduce_sum"])


def test_the_unzip_spread_ends_in_the_gradient():
    spread = unzip.Spread()
    gradient = jax.grad(unzip.f)(unzip.X)
    np.testing.assert_allclose(spread.gradient, gradient, rtol=1e-6)
    assert [str(spread.eqns[i].primitive) for i in spread.linear].count("sin") == 0
    assert f"gradient, {round(float(gradient), 3)}".replace("-", "−") in unzip.explanation().steps[-1].say


def test_the_scan_ribbon_ends_in_the_derivative():
    last = ribbon.explanation().steps[-1].say
    assert last.endswith("= 13.")  # 4x + 1 at 3


def test_the_carry_gets_a_tangent_in_the_first_round():
    assert ribbon.rounds() == [(False, True), (True, True)]
