"""Chapter 10: names for parts of a program, which its jaxprs and its StableHLO carry along."""

import contextlib
from collections.abc import Callable

from ..core.boundary import public
from ..source import fun_name, source, wraps


class named_scope(contextlib.ContextDecorator):
    """A context in which operations belong to a scope of this name, inside the scopes around it.

    The names are on the operations in StableHLO (`lower(...).as_text(debug_info=True)`), in XLA's
    profiles, and in `jaxpr.pretty_print(name_stack=True)`. They change nothing else.

    Args:
      name: a string.

    Raises:
      TypeError: it is not a string.

    >>> def f(x):
    ...     with named_scope("layer"):
    ...         return jnp.sin(x)
    >>> print(jax.make_jaxpr(f)(1.0).jaxpr.pretty_print(name_stack=True))
    { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } # [layer]
    """

    @public
    def __init__(self, name: str):
        if not isinstance(name, str):
            raise TypeError(f"named_scope: name must be a string, got {name!r}.")
        self.name = name

    def _recreate_cm(self):
        return named_scope(self.name)  # a decorated function may call itself

    def __enter__(self):
        self._outside = source.names
        source.names = (*self._outside, self.name)

    def __exit__(self, *error):
        source.names = self._outside


@public
def named_call(fun: Callable, *, name: str | None = None) -> Callable:
    """`fun`, whose operations belong to a scope of this name.

    Args:
      fun: a function.
      name: the function's own name by default.

    >>> _ = jax.make_jaxpr(named_call(jnp.sin, name="wave"))(1.0)
    """
    if name is None and not hasattr(fun, "__name__") and not callable(fun):
        raise AttributeError(f"named_call: expected a function, got {fun!r}.")
    return wraps(fun)(named_scope(fun_name(fun) if name is None else name)(fun))
