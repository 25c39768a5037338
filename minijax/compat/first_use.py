"""The names of packages: which are imported when they are first used, and which `dir` shows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..core.boundary import public


def loaded_on_first_use(package: str, places: dict[str, str]) -> Callable[[str], Any]:
    """A package's or module's `__getattr__` (PEP 562). It imports what few programs use.

    Args:
      places: for each name the module that has it, as seen from the package; "" for a module.
    """
    @public
    def __getattr__(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f".{places[name] or name}", sys.modules[package].__package__)
        return getattr(module, name) if places[name] else module

    return __getattr__


def public_names(package: str, modules: Collection[str] = ()) -> list[str]:
    """A package's public names. Of its modules, only these are for users."""
    return sorted(name for name, x in vars(sys.modules[package]).items() if name[0] != "_"
                  and (name in modules or not isinstance(x, ModuleType)))


def show_module(module: ModuleType) -> None:
    """Make a module without a file importable by its name, and an attribute of its package."""
    name = module.__name__
    sys.modules[name] = module
    module.__spec__, module.__path__ = ModuleSpec(name, None, is_package=True), []
    above, _, last = name.rpartition(".")
    vars(sys.modules[above])[last] = module
