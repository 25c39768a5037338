"""`jax._src.config`: each setting under its name without `jax_`."""

from __future__ import annotations

from typing import Any

from ..compat.config import config


def __getattr__(name: str) -> Any:
    return getattr(config, name)
