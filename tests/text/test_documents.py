"""Documents of any shape are laid out as JAX lays them out."""

from __future__ import annotations

import random

from hypothesis import given, strategies as st

from minijax.text import printing
from tests.oracle import jax

jax_pp = jax._src.pretty_printer

# ----------------------------------------------------------------------------------------------
# The pretty printer, against JAX's on random documents.


@given(st.integers(0, 10**9), st.sampled_from([10, 20, 40, 80]), st.booleans())
def test_layout_as_jax(seed, width, use_color):
    for i in range(20):
        leaves = ["text", "break", "style" if use_color else "note"]  # notes never follow a style
        ours, jaxs = random_document(random.Random(seed + i), 6, leaves)
        assert printing.layout(ours, width, use_color) == jaxs.format(width, use_color=use_color)


def random_document(choose, depth, leaves):
    """One document in our algebra, and the same in JAX's."""
    inner = ["group", "nest", "concat", "concat"]
    kind = choose.choice(leaves + inner if depth else leaves)
    if kind == "text":
        text = "x" * choose.randrange(30)
        return text, jax_pp.text(text)
    if kind == "break":
        text = choose.choice([" ", "", "; "])
        return printing.Break(text), jax_pp.brk(text)
    if kind == "note":
        return printing.Text("noted", note="why"), jax_pp.text("noted", annotation="why")
    if kind == "style":
        styles = (printing.KEYWORD, jax_pp.keyword), (printing.TYPE, jax_pp.type_annotation)
        style, jaxs = choose.choice(styles)
        return printing.Text("key", style=style), jaxs(jax_pp.text("key"))
    parts = [random_document(choose, depth - 1, leaves) for _ in range(choose.randrange(5))]
    ours, jaxs = printing.Concat([a for a, _ in parts]), jax_pp.concat([b for _, b in parts])
    if kind == "group":
        return printing.Group(ours), jax_pp.group(jaxs)
    if kind == "nest":
        return printing.Nest(2, ours), jax_pp.nest(2, jaxs)
    return ours, jaxs


def test_layout_of_a_plain_string():
    assert printing.layout("abc") == "abc"


def test_group_breaks_at_all_its_breaks():
    group = printing.Group(printing.join(printing.SPACE, ["aaa", "bbb", "ccc"]))
    assert printing.layout(group, 10) == "aaa\nbbb\nccc"
    assert printing.layout(group, 11) == "aaa bbb ccc"


def test_join_of_nothing():
    assert printing.layout(printing.join(", ", [])) == ""
