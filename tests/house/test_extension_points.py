"""Extension points are few, asked, used and documented; `tools/extensions.py` reads them."""

from __future__ import annotations

import inspect

import pytest

import minijax.experimental.hijax
import minijax.state.programs  # noqa: F401  (both declare, or use, points)
from minijax.core.extension import points
from minijax.parallel.answers import Answers
from minijax.runtime.placements import AllPlacements
from tools import extensions

POINTS = {row.name: row for row in extensions.points()}
QUESTIONS = {row.name: row for row in extensions.questions()}


def test_points_are_few():
    assert len(POINTS) <= extensions.MOST


def test_the_table_has_all_points_that_are_declared():
    assert points.keys() == POINTS.keys()
    assert {name for name in {*vars(AllPlacements), *vars(AllPlacements.__base__)} if not name.startswith("_")} == QUESTIONS.keys()


@pytest.mark.parametrize("row", [*POINTS.values(), *QUESTIONS.values()], ids=lambda row: row.name)
def test_each_is_documented_asked_and_answered(row):
    assert row.text and row.asked and row.answered
    for place in (row.declared, *row.asked, *row.answered.values()):
        lines = (extensions.PACKAGE / place.path).read_text().splitlines()
        assert row.name in lines[place.line - 1]


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_takes_the_arguments_of_its_question(name):
    def arguments(method, skipped=0):
        return [*inspect.signature(method).parameters][skipped:]

    is_function = isinstance(vars(Answers)[name], staticmethod)
    question, answer = getattr(AllPlacements, name), getattr(Answers, name)
    assert len(arguments(answer, not is_function)) == len(arguments(question, 1))


def test_the_tables_name_each_place():
    page = extensions.page()
    for row in (*POINTS.values(), *QUESTIONS.values()):
        assert f"| `{row.name}` |" in page
        assert all(f"`{place}`" in page for place in row.asked)
