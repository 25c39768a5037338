"""Shardings in types: the types, jaxprs, errors and values of many programs, as in JAX."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minijax
from tests.oracle import oracle
from tests.parallel.types import sharded_types

CELLS = [*sharded_types.cells()]
ROWS = [*dict.fromkeys((row, mesh) for row, mesh, *_ in CELLS)]

# Where an operand that all devices hold meets one that is split, JAX sometimes wants the user to
# reshard. Here an array on all devices fits one that is split.
LENIENT = re.compile(r"select|where|concatenate|lax\.sort\(\(|c \+ a\[0\]")


def is_lenient(cell, got, want):
    return LENIENT.search(cell[0]) and "error" in want and "error" not in got


def plain(text):
    """The text of a jaxpr in one line, without the shardings that only ours shows."""
    text = re.sub(r"\n? *(out_)?sharding=NamedSharding\([^\n]*\)", "", text)
    return re.sub(r"(?<=\[) | (?=\])", "", re.sub(r"\s+", " ", text))


@pytest.mark.parametrize("row, mesh", ROWS)
def test_types_and_errors(row, mesh):
    wrong = []
    for cell in CELLS:
        if cell[:2] != (row, mesh):
            continue
        want = sharded_types.program(oracle, cell)
        got = sharded_types.program(minijax, cell)
        if is_lenient(cell, got, want):
            continue
        if want.get("error") != got.get("error") or want.get("types") != got.get("types"):
            wrong.append((cell[2:], got, want))
    assert not wrong


SAME_TEXT = [row for row in sharded_types.ONE.strip().splitlines()
             if re.match(r"jnp.sin|x\.T|x\.sum|x\.reshape|x\[|lax\.|jax\.vmap", row)
             and not re.search(r"at\[|full_like|constraint|prod\(\)|map|optimization|scan|while|cond"
                               r"|fori", row)]


@pytest.mark.parametrize("row", SAME_TEXT)
def test_jaxprs(row):
    cell = (row, "grid", "None, 'x'", "None, 'x'")
    want = sharded_types.program(oracle, cell)
    if "error" not in want:
        assert plain(sharded_types.program(minijax, cell)["text"]) == plain(want["text"])


@pytest.mark.daily(3)
@pytest.mark.parametrize("row", dict.fromkeys(row for row, _ in ROWS))
def test_values(row):
    """Compiled, on one sharding of the operands: a different one for each mesh in turn."""
    mesh = [*sharded_types.MESHES][sum(map(ord, row)) % 3]
    cell = next(cell for cell in CELLS if cell[:2] == (row, mesh))
    got = sharded_types.program(minijax, cell, run=True)
    want = sharded_types.program(oracle, cell, run=True)
    if is_lenient(cell, got, want):
        return
    assert got.get("error") == want.get("error"), (got, want)
    if "error" in want:
        return
    assert got["types"] == want["types"]
    for ours, jaxs in zip(got["value"], want["value"], strict=True):
        if isinstance(jaxs, str):
            assert ours == jaxs
        else:
            np.testing.assert_allclose(ours, jaxs, rtol=2e-5, atol=2e-5)
