"""`jax._src.op_shardings`: questions about XLA's own shardings."""

from __future__ import annotations

from typing import Any


def is_hlo_sharding_replicated(hc: Any) -> bool:
    """Whether all devices hold all of an array."""
    return hc.num_devices() == 1 or hc.is_replicated()


def are_hlo_shardings_equal(hc1: Any, hc2: Any) -> bool:
    """Whether two shardings are the same for all arrays."""
    both_whole = is_hlo_sharding_replicated(hc1) and is_hlo_sharding_replicated(hc2)
    return hc1 is hc2 or both_whole or hc1 == hc2
