"""Chapter 6: what the lowering to StableHLO refuses."""

from __future__ import annotations

from typing import Any

from ..core.core import Tracer
from ..core.jaxpr import ClosedJaxpr
from ..errors import UnexpectedTracerError
from .core import escaped
from .jaxpr import lowerable_effects


def effects(jaxpr: ClosedJaxpr) -> None:
    """Raise ValueError if the jaxpr has an effect that XLA cannot have."""
    if unknown := lowerable_effects.filter_not_in(jaxpr.effects):
        raise ValueError(f"Cannot lower jaxpr with effects: {unknown}")


def concrete(x: Any) -> None:
    """Raise UnexpectedTracerError if `x`, whose contents a program needs, is a tracer."""
    if isinstance(x, Tracer):
        escaped(x)
        raise UnexpectedTracerError(f"A program that is about to run got a traced value: {x}")
