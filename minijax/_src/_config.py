"""`jax._src.config`: each setting under its name without `jax_`."""

from typing import Any

from ..compat.config import config


def __getattr__(name: str) -> Any:
    return getattr(config, name)
