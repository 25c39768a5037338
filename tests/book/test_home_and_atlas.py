"""The home page's drawing shows true numbers; the atlas leads to the rules; cards are pictures."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from weaver import cards, hero, listings, pages, rule_atlas, rule_tests

import minijax
import minijax.numpy as jnp
from tools import atlas


def test_the_numbers_of_the_drawing_are_those_of_grad():
    found = hero.values(hero.X)
    y, slope = minijax.value_and_grad(lambda x: x * jnp.sin(x))(hero.X)
    np.testing.assert_allclose([found["y"], found["x_bar"]], [y, slope], rtol=1e-5)
    assert math.isclose(found["x_direct"] + found["x_through"], found["x_bar"])
    assert f"x̄ = {found['x_bar']:.4g}" in hero.drawing()


@pytest.mark.parametrize(
    "primitive, column, path, words",
    [
        ("sin", "jvp", "core/forward.py", "defjvp"), ("mul", "transpose", "core/transposition.py", "deftranspose"),
        ("gather", "jvp", "lax/gathering.py", "defjvp"), ("scan", "batching", "lax/control_flow/scan.py", "primitive_batchers"),
        ("cond", "partial_eval", "lax/control_flow/cond.py", "partial_eval_rules"), ("add", "lowering", "core/lowering_rules.py", "register_lowering"),
        ("acos", "evaluation", "lax/trigonometric.py", "="),
    ],
)  # fmt: skip
def test_a_cell_leads_to_its_rule(primitive, column, path, words):
    found = rule_atlas.rule(primitive, column)
    assert found is not None
    assert found.path == path
    assert words in found.head


@pytest.mark.long
def test_every_primitive_and_every_hole_is_on_the_page_of_the_atlas():
    shown = set(pages.shown_files())
    page = rule_atlas.page(shown)
    names = re.findall(r"<tr><th>(?:<a [^>]*>)?([\w-]+)(?:</a>)?</th>", page)
    assert sorted(names) == sorted(p.name for p in atlas.primitives())
    holes = re.findall(r'class="hole" href="#note-(\d+)"', page)
    assert len(holes) == len(atlas.holes())
    assert page.count('<li id="note-') == len(set(atlas.reasons().values()))
    assert page.count("✓</a>") > 0.95 * page.count("✓")


@pytest.mark.parametrize(
    "primitive, path, words",
    [("sin", rule_tests.TABLE, "UNARY"), ("cholesky", "lax/linalg/test_linalg.py", "cholesky"),
     ("scan", "lax/control_flow/test_scan.py", "scan"), ("psum", "parallel/collectives/test_collectives.py", "psum")],
)  # fmt: skip
def test_a_row_leads_to_its_test(primitive, path, words):
    found, line = rule_atlas.tested(primitive)
    assert found == path
    lines = listings.source_lines(f"../tests/{path}")
    assert any(words in text for text in lines[line - 1 : line + 3])


def test_the_list_of_files_shows_the_core_in_reading_order_with_its_questions():
    rows = [line for line in pages._index(pages.shown_files()).splitlines() if line.startswith("- ")]
    assert len(rows) == len(pages.shown_files())
    assert all(re.fullmatch(r"- \[`\S+`\]\(\S+\.md\): .*[.?!]", row) for row in rows)
    chapters = [int(found[1]) for row in rows[:18] if (found := re.match(r"- \[`core/.*: Chapter (\d)", row))]
    assert len(chapters) == 18 and chapters == sorted(chapters)


@pytest.mark.long
def test_nearly_every_row_leads_to_a_test():
    untested = [p.name for p in atlas.primitives() if rule_atlas.tested(p.name) is None]
    assert len(untested) < 0.05 * len(atlas.primitives()), untested
    assert all(rule_tests.rule(column) for column in atlas.columns() if column != "sharding")


def test_a_card_is_a_picture_of_the_size_that_sites_show():
    picture = cards.card("A title that is so long that it needs more than one line of the card", "minijax")
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20]) == cards.WIDTH
    assert int.from_bytes(picture[20:24]) == cards.HEIGHT
