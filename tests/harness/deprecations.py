"""What `jax._src.deprecations` has: names and uses that warn, or that are errors already."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any


def deprecation_getattr(module: str, deprecations: dict[str, tuple[str, Any]]) -> Callable:
    """A module's `__getattr__`, which warns of deprecated names.

    Args:
      module: the name of the module.
      deprecations: for each name the warning, and the value; `None` makes the name an error.
    """
    def getattr(name: str) -> Any:
        if name not in deprecations:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        message, value = deprecations[name]
        if value is None:
            raise AttributeError(message)
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return value

    return getattr


def accelerate_getattr_deprecation(module: ModuleType, name: str) -> None:
    """Make a deprecated name of a module an error."""
    module._deprecations[name] = (module._deprecations[name][0], None)


def is_accelerated_attribute(module: ModuleType, name: str) -> bool:
    """Whether a deprecated name of a module is an error."""
    return module._deprecations[name][1] is None


_accelerated: dict[str, bool] = {}  # for each deprecated use whether it is an error


def _check_registered(deprecation_id: str) -> None:
    if deprecation_id not in _accelerated:
        raise ValueError(f"{deprecation_id=!r} not registered.")


def register(deprecation_id: str) -> None:
    """Give a deprecated use a name."""
    _accelerated[deprecation_id] = False


def unregister(deprecation_id: str) -> None:
    """Undo `register`."""
    _check_registered(deprecation_id)
    del _accelerated[deprecation_id]


def accelerate(deprecation_id: str) -> None:
    """Make a deprecated use an error."""
    _check_registered(deprecation_id)
    _accelerated[deprecation_id] = True


def is_accelerated(deprecation_id: str) -> bool:
    """Whether a deprecated use is an error."""
    _check_registered(deprecation_id)
    return _accelerated[deprecation_id]


def warn(deprecation_id: str, message: str, stacklevel: int, *,
         error_class: type[Exception] = ValueError) -> None:
    """Warn of a deprecated use, or raise an error if it is one already."""
    if is_accelerated(deprecation_id):
        raise error_class(message)
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel + 1)
