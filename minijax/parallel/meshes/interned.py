"""Chapter 14: values that exist once.

Equal ones are one object, so comparing and hashing them costs nothing.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakValueDictionary

# ----------------------------------------------------------------------------------------------
# Values that exist once: equal ones are one object, so comparing and hashing them costs nothing.

_interned: WeakValueDictionary[tuple, Any] = WeakValueDictionary()
_interning = threading.RLock()


def interned(cls: type, *key: Hashable, make: Callable[[], Any]) -> Any:
    """The one object of a class with this key; `make` makes it the first time."""
    found = _interned.get((cls, *key))
    if found is None:
        with _interning:  # another thread may have made it meanwhile
            found = _interned.setdefault((cls, *key), make())
    return found


class Immutable:
    """An object whose attributes are set while it is made, by `_new`, and never again."""

    __slots__ = ()

    @classmethod
    def _new(cls, **attributes: Any) -> Any:
        self = object.__new__(cls)
        for name, value in attributes.items():
            object.__setattr__(self, name, value)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to {name!r}: a {type(self).__name__} never changes.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}: a {type(self).__name__} never changes.")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict) -> Any:
        return self
