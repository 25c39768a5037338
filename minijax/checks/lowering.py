"""Chapter 6: what the lowering to StableHLO refuses."""

from __future__ import annotations

from ..core.jaxpr import ClosedJaxpr
from .jaxpr import lowerable_effects


def effects(jaxpr: ClosedJaxpr) -> None:
    """Raise ValueError if the jaxpr has an effect that XLA cannot have."""
    if unknown := lowerable_effects.filter_not_in(jaxpr.effects):
        raise ValueError(f"Cannot lower jaxpr with effects: {unknown}")
