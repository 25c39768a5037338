"""The named scopes and the transformations around an operation, as a text and as JAX's object."""

from __future__ import annotations

import functools

from ..source import Transform


class NameStack(tuple):
    """The names of the scopes and the transformations around an operation, the outermost first.

    As text, a transformation is written around the scope inside of it.

    >>> NameStack().extend("outer").transform("vmap").extend("inner")
    outer/vmap(inner)
    """

    __slots__ = ()

    @property
    def stack(self) -> tuple[str, ...]:
        """The names."""
        return tuple(self)

    def extend(self, name: str) -> NameStack:
        """With one more scope inside."""
        return NameStack((*self, name))

    def transform(self, transform_name: str) -> NameStack:
        """With one more transformation inside."""
        return NameStack((*self, Transform(transform_name)))

    def __add__(self, inner) -> NameStack:
        return NameStack((*self, *inner))

    def __getitem__(self, places):
        names = tuple(self)[places]
        return NameStack(names) if isinstance(places, slice) else names

    def __str__(self):
        return _stack_text(tuple(self))

    __repr__ = __str__


@functools.lru_cache(4096)
def _stack_text(names: tuple) -> str:
    scopes: list[str] = []  # the innermost first
    for name in reversed(names):
        if type(name) is Transform:
            inner = scopes.pop() if scopes else ""
            name = f"{name}({inner})"
        scopes.append(name)
    return "/".join(reversed(scopes))
