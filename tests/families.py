"""The starter primitives, and the families of `minijax.lax` with the other common ones."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from minijax import lax

NAMES = ("core.primitives", "lax.elementwise", "lax.bitwise", "lax.rounding", "lax.complex_numbers",
         "lax.shaping", "lax.slicing", "lax.reductions", "lax.cumulative", "lax.products")


def families(library: str = "minijax") -> list[ModuleType]:
    """The modules, the core's first."""
    return [importlib.import_module(f"{library}.{name}") for name in NAMES]


def functions() -> dict[str, Any]:
    """What is in these modules, and above all the public functions of `lax`."""
    found = {name: value for m in families() for name, value in vars(m).items()}
    return found | {name: getattr(lax, name) for name in dir(lax)}


def primitives_of_families(library: str = "minijax") -> set:
    """Every `Primitive` that a family defines."""
    return {value for module in families(library) for value in vars(module).values()
            if type(value).__name__ == "Primitive"}
