"""Chapter 1: how do later chapters change what the engine does?

At a few documented points the engine asks its extensions before it goes its own way. Each point is
a method of `Extension`. A subclass overrides the points that it needs, and `register` puts an
instance in force until `remove`. For each point, `hooks` holds a tuple of the overriding methods.
The tuple is empty while there are none, so a point costs the engine one truth test:

    out = primitive.impl(*args, **params) if not hooks.evaluate else …

The other ways to extend the engine are its rule tables and type registries. (JAX has no counterpart
of this file: there, the engine imports what it needs.)
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any


class Extension:
    """The points at which the engine asks. Here each does what the engine does by itself.

    >>> class Counting(Extension):
    ...     seen = 0
    ...     def after_evaluation(self, primitive, args, params, out):
    ...         self.seen += 1
    >>> counting = Counting()
    >>> with registered(counting):
    ...     x = jnp.sin(jnp.cos(1.0))
    >>> counting.seen
    2
    """

    def evaluate(self, primitive: Any, args: Sequence, params: dict) -> Any:
        """The result of a primitive, or `NotImplemented` to leave it to its evaluation rule."""
        return NotImplemented

    def after_evaluation(self, primitive: Any, args: Sequence, params: dict, out: Any) -> None:
        """Called with the result `out` of every evaluation of a primitive."""

    def program_places(self, jaxpr: Any, spec: Any, args: Sequence) -> Any:
        """Where a program for these arguments runs; `None` stands for the default device.

        Otherwise, a hashable object whose method `lower(jaxpr, spec)` returns a module, and whose
        method `compile(module, jaxpr, options)` returns a `Program`.
        """
        return None

    def lower_call(self, ctx: Any, jaxpr: Any, operands: Sequence, name: str) -> Any:
        """The results of a call of `jaxpr`, a jaxpr with effects, as values of the function `ctx`
        that is being lowered; `NotImplemented` for an ordinary call."""
        return NotImplemented


_points = [name for name in vars(Extension) if not name.startswith("__")]
hooks: Any = SimpleNamespace(**dict.fromkeys(_points, ()))
_registered: list[Extension] = []  # one entry for each `register` without its `remove`
_lock = threading.RLock()  # a garbage collection can call `remove` within `register`


def register(extension: Extension) -> None:
    """Put an extension in force. Registered twice, it must also be removed twice."""
    _registered.append(extension)
    _collect()


def remove(extension: Extension) -> None:
    """Undo one `register` of the extension."""
    _registered.remove(extension)
    _collect()


@contextlib.contextmanager
def registered(extension: Extension) -> Iterator[None]:
    """Put an extension in force within a `with` block."""
    register(extension)
    try:
        yield
    finally:
        remove(extension)


def _collect() -> None:
    """Bring `hooks` up to date. Start again if another `register` or `remove` came between."""
    with _lock:
        extensions = None
        while extensions != _registered:
            extensions = list(_registered)
            for point in _points:
                setattr(hooks, point, _overriding(point, extensions))


def _overriding(point: str, extensions: Sequence[Extension]) -> tuple:
    default = getattr(Extension, point)
    return tuple(getattr(extension, point) for extension in dict.fromkeys(extensions)
                 if getattr(type(extension), point) is not default)
