"""The modules of `scipy` that are ours have JAX's names, with JAX's parameters and defaults."""

from __future__ import annotations

import importlib
import inspect

import pytest

from minijax.compat.absent import Absent
from tests.scipy.test_stats import PARAMETERS

DISTRIBUTIONS = [*PARAMETERS, "dirichlet", "multinomial", "multivariate_normal"]
MODULES = ["image", "scipy.special", "scipy.stats", "scipy.optimize", "scipy.ndimage",
           "scipy.integrate", "scipy.interpolate", "scipy.cluster", "scipy.cluster.vq",
           "scipy.spatial.transform", *(f"scipy.stats.{name}" for name in DISTRIBUTIONS)]


def public(module) -> dict:
    """What a user may use, by its name."""
    return {name: value for name, value in vars(module).items() if not name.startswith("_")
            and name not in ("annotations", "lpmn", "lpmn_values")}  # which JAX deprecates


def parameters(function) -> list[tuple]:
    return [(p.name, p.kind, str(p.default)) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.live_jax
def test_names_and_parameters(name):
    expected = public(importlib.import_module(f"jax.{name}"))
    actual = importlib.import_module(f"minijax.{name}")
    assert [key for key in expected if not hasattr(actual, key)] == []
    different = [key for key, value in expected.items() if inspect.isfunction(value)
                 and not isinstance(getattr(actual, key), Absent)
                 and parameters(getattr(actual, key)) != parameters(value)]
    assert different == []
