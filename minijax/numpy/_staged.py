"""Chapter 12: functions that are one `jit` equation when traced, and plain Python when not."""

import functools
from collections.abc import Callable

from ..core.boundary import public
from ..lax.staged import compiled as compiled, staged as staged
from ._arguments import user_dtype


def with_dtype(place: int, name: str | None = None) -> Callable:
    """Decorator of a compiled function whose argument number `place` is a `dtype`. It is checked
    before: each call warns of a dtype that is not there, where the program would do so once."""
    def decorate(compiled):
        @public
        @functools.wraps(compiled)
        def function(*args, **kwargs):
            if (dtype := kwargs.get("dtype")) is not None:
                kwargs["dtype"] = user_dtype(dtype, name or compiled.__name__)
            elif len(args) > place:
                dtype = user_dtype(args[place], name or compiled.__name__)
                args = *args[:place], dtype, *args[place + 1:]
            return compiled(*args, **kwargs)

        return function

    return decorate
