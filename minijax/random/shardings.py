"""Chapter 13: the parameter `out_sharding` of the functions that draw samples."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable)

_PARAMETER = inspect.Parameter("out_sharding", inspect.Parameter.KEYWORD_ONLY, default=None)


def shardable(draw: F) -> F:
    """`draw` with a parameter `out_sharding`. It is ignored; `reshard` moves the result (chapter
    14)."""
    @functools.wraps(draw)
    def sharded(*args, out_sharding=None, **kwargs):
        return draw(*args, **kwargs)

    signature = inspect.signature(draw)
    sharded.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), _PARAMETER])
    return sharded  # type: ignore[return-value]
