"""What the operators refuse: operands that are not arrays, and ranks that are mixed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from .. import settings
from ..errors import user_stacklevel


def rank_promotion(shapes: Sequence[tuple], name: str) -> None:
    """Operands have one rank, or are scalars, if `jax_numpy_rank_promotion` asks for it."""
    mode = settings.numpy_rank_promotion.value
    if mode == "allow" or len({len(shape) for shape in shapes if shape}) <= 1:
        return
    if mode == "raise":
        raise ValueError(
            f"Operands could not be broadcast together for {name} on shapes {list(shapes)} and "
            "with the config option jax_numpy_rank_promotion='raise'.")
    warnings.warn(f"Following NumPy automatic rank promotion for {name} on shapes {list(shapes)}.",
                  stacklevel=user_stacklevel())
