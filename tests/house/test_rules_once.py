"""No rule in a table is set twice by the library, and the core sets all rules of its primitives."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("rule_tables.py")
ATTRIBUTES = {"impl", "abstract_eval", "effects"}  # of primitives: rules that are in no table
OF_THE_CORE = {"numpy_rules", "primitive_jvps", "primitive_batchers", "calls", "lowering_rules",
               "partial_eval_rules", "dce_rules", "primitive_transposes", "staging_rules"}


@functools.cache
def settings():
    """`[table, name, number, places]` for each entry of each table of the library."""
    run = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.long
def test_no_rule_is_set_twice():
    twice = [(table, name, places) for table, name, _, places in settings() if len(places) > 1]
    assert not twice


def test_all_tables_are_seen():
    tables = {table.rpartition(".")[2] for table, *_ in settings()}
    assert tables >= ATTRIBUTES | OF_THE_CORE | {"discharge_rules", "jet_rules"}


def test_rules_of_starters_are_the_cores():
    starters = {number for table, _, number, places in settings()
                if table == "abstract_eval" and places[0].startswith("minijax/core/primitives.py")}
    assert len(starters) == 26
    elsewhere = [(table, name, places) for table, name, number, places in settings()
                 if number in starters and table.rpartition(".")[2] in ATTRIBUTES | OF_THE_CORE
                 and not all(place.startswith("minijax/core/") for place in places)]
    assert not elsewhere
