"""`pickle` finds the public functions by their names; with a function, a program is sent to another
process."""

from __future__ import annotations

import pickle
from importlib import import_module

import pytest

FUNCTIONS = {
    "lax": "add mul max sin tanh exp pow atan2 eq neg sqrt bitwise_not shift_left erf logistic",
    "tree": "all flatten leaves map map_with_path reduce structure transpose unflatten",
    "tree_util": "tree_flatten tree_leaves tree_map tree_map_with_path tree_structure",
    "numpy": "sin tanh where sum mean dot exp",
    "nn": "gelu softmax silu sigmoid",
    "random": "normal split uniform key",
}


@pytest.mark.parametrize(
    "name", [f"{module}.{name}" for module, names in FUNCTIONS.items() for name in names.split()])
def test_functions_are_pickled(name):
    module, name = name.split(".")
    function = getattr(import_module(f"minijax.{module}"), name)
    assert pickle.loads(pickle.dumps(function)) is function
