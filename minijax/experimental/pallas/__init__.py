"""`jax.experimental.pallas`, which minijax does not have: a language for kernels of accelerators.

Libraries import it where they offer such kernels beside plain functions. The import succeeds, so
that the plain functions run. Each name of it is refused.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(f"pallas.{name}: minijax has no language for kernels of accelerators. "
                         "Write the function with `jax.numpy`, and compile it by `jax.jit`.")
