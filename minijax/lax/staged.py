"""Functions that are one `jit` equation when traced, and plain Python when not.

JAX compiles many functions of `jax.numpy`, and a few of `jax.lax`, with `jit`, and so they stand in
jaxprs under their own names: `jit[name=_where …]`. Our jaxprs read the same. But to compile
`jnp.where` only to run it once would be slow, so outside of a staging trace the Python function
runs as it is, unless it consists of many operations.
"""

import functools
from collections.abc import Callable
from typing import Any

from ..checks.tracebacks import hide_frames
from ..core.core import eval_trace, state
from ..runtime.jit import jit
from . import slicing


def staged(function: Callable | None = None, *, static_argnames: tuple[str, ...] = (),
           static_argnums: tuple[int, ...] | None = None, eager: bool = True) -> Any:
    """Decorator: under a staging trace, a call of `function` is a `jit` equation of its name.

    Args:
      function: a function of arrays.
      static_argnames, static_argnums: its parameters that are no arrays; they must be hashable.
      eager: whether to run it as it is when nothing is traced; else it is always compiled, which
        is better for a loop or for many operations. It is compiled when it is first called.
    """
    if function is None:
        return functools.partial(staged, static_argnames=static_argnames,
                                 static_argnums=static_argnums, eager=eager)
    jitted = functools.cache(lambda: jit(
        function, static_argnames=static_argnames, static_argnums=static_argnums))

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            compiled = not eager or state.trace.staging
            return (jitted() if compiled else function)(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return call


def compiled(function: Callable, **options: Any) -> Callable:
    """Decorator for a function of arrays that is not staged. When nothing is traced, it is one
    compiled program: NumPy has no function for what it is made of. `options` are those of `jit`."""
    jitted = functools.cache(lambda: jit(function, **options))

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return (jitted() if state.trace is eval_trace else function)(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return call


# `slicing.py` comes earlier. Its functions are for the rooms in between, these for users.
dynamic_index_in_dim = staged(
    slicing.dynamic_index_in_dim, static_argnames=("axis", "keepdims", "allow_negative_indices"))
dynamic_update_index_in_dim = staged(
    slicing.dynamic_update_index_in_dim, static_argnames=("axis", "allow_negative_indices"))
