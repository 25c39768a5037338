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

QUESTIONS = sorted(name for name in {*vars(AllPlacements), *vars(AllPlacements.__base__)}
                   if not name.startswith("_"))


@pytest.fixture(scope="module")
def tables():
    """The rows of both tables, by name. To read the whole library takes seconds."""
    return {row.name: row for row in extensions.points()}, {row.name: row for row in extensions.questions()}


def test_points_are_few():
    assert len(points) <= extensions.MOST


def test_the_tables_have_all_that_is_declared(tables):
    assert [points.keys(), {*QUESTIONS}] == [table.keys() for table in tables]


@pytest.mark.parametrize("name", [*points, *QUESTIONS])
def test_each_is_documented_asked_and_answered(name, tables):
    row = (tables[0] | tables[1])[name]
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


def test_the_tables_name_each_place(tables):
    page = extensions.page()
    for row in (*tables[0].values(), *tables[1].values()):
        assert f"| `{row.name}` |" in page
        assert all(f"`{place}`" in page for place in row.asked)
