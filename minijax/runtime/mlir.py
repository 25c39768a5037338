"""MLIR's classes and dialects, as jaxlib brings them. `Lowered.compiler_ir` returns such objects.

Nothing in minijax builds programs with them. They are for tools that take programs apart.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """A module of `jaxlib.mlir`, such as `ir`, or a dialect, such as `func`. `hlo` is StableHLO."""
    if not name.startswith("_"):
        for path in (name, f"dialects.{'stablehlo' if name == 'hlo' else name}"):
            try:
                return import_module(f"jaxlib.mlir.{path}")
            except ModuleNotFoundError:
                pass
    raise AttributeError(f"jaxlib.mlir has no module and no dialect {name!r}.")
