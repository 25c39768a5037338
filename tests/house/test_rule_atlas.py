"""No undeclared hole: every primitive has every rule, or a stated reason why not."""

from __future__ import annotations

import pytest

from tools import atlas


@pytest.mark.parametrize("column", list(atlas.columns()))
def test_holes_are_those_that_are_declared(column):
    empty = {name for name, c in atlas.holes() if c == column}
    explained = {name for name, c in atlas.reasons() if c == column}
    declared = {name for name, c in atlas.declared() if c == column}
    assert empty - explained == set(), "a rule is missing, and no reason declared in tools/atlas.py"
    assert declared - empty == set(), "declared in tools/atlas.py as missing, but it is there"


def test_why_a_transpose_is_missing_follows_from_the_jvp_rule():
    derived = atlas.derived()
    kinds = {"exp": atlas.NOT_LINEAR, "reduce_max": atlas.NOT_LINEAR, "cholesky": atlas.NOT_LINEAR,
             "floor": atlas.ZERO_DERIVATIVE, "xor": atlas.ZERO_DERIVATIVE, "iota": atlas.ZERO_DERIVATIVE,
             "geqrf": atlas.NO_JVP}
    assert {name: derived[name, "transpose"] for name in kinds} == kinds
    linear = "neg reduce_sum transpose copy real".split()
    assert not [name for name in linear if (name, "transpose") in derived], "these must have a transpose"


def test_a_primitive_is_declared_once_in_a_column():
    written = [
        (name, column)
        for column, reasons in atlas.HOLES.items()
        for names in reasons.values()
        for name in names.split()
    ]
    assert len(written) == len(set(written))


def test_the_starter_set_is_there():
    starter = """neg sin cos tan tanh exp log log1p expm1 sqrt rsqrt logistic abs sign floor round
        integer_pow pow add sub mul div rem max min eq ne lt le gt ge and or not xor is_finite
        select_n clamp convert_element_type broadcast_in_dim reshape squeeze transpose concatenate
        slice pad rev iota reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or
        argmax argmin dot_general cumsum dynamic_slice dynamic_update_slice stop_gradient copy
        jit"""
    assert set(starter.split()) <= {p.name for p in atlas.primitives()}


def test_the_page_names_every_primitive_and_no_missing_rule():
    page = atlas.page()
    assert "missing" not in page
    assert all(f"| {p.name} |" in page for p in atlas.primitives())
