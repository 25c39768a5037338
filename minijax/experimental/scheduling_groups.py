"""`jax.experimental.scheduling_groups`: functions whose operations the compiler keeps together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._annotated_calls import annotated_call, call


def _attributes(jaxpr, **meta):
    for name, value in meta.items():
        if not isinstance(value, str):
            raise NotImplementedError(f"xla_metadata_call: {name} is {value!r} of {type(value)}; "
                                      "the compiler takes strings. Convert it by `str`.")
    return meta


xla_metadata_call_p = annotated_call("xla_metadata_call", _attributes)


def scheduling_group(name: str) -> Callable[[Callable], Callable]:
    """A decorator: the function's operations are one group for the compiler's scheduler.

    Args:
      name: the group's.

    >>> from minijax.experimental.scheduling_groups import scheduling_group
    >>> scheduling_group("first")(jnp.sin)(0.0).item()
    0.0
    """
    return xla_metadata_call(scheduling_group=name)


def xla_metadata_call(f: Callable | None = None, **meta: str) -> Any:
    """A function that is called with metadata for the compiler; without `f`, a decorator.

    Args:
      f: a function of pytrees of arrays that returns one.
      **meta: strings, which the compiled call has as its frontend attributes.

    Raises:
      NotImplementedError: when compiled: a value is not a string.
    """
    if f is None:
        return lambda fun: xla_metadata_call(fun, **meta)

    def wrapped(*args, **kwargs):
        return call(xla_metadata_call_p, f, args, kwargs, "xla_metadata_call", lambda _: meta)

    return wrapped
