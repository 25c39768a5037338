"""Chapter 6: what the lowering to StableHLO refuses."""

from __future__ import annotations

from typing import Any

from ..runtime.effect_sets import lowerable_effects


def effects(jaxpr: Any) -> None:
    """Raise ValueError if the jaxpr has an effect that XLA cannot perform, and NotImplementedError
    for elements that XLA cannot store."""
    for aval in (*jaxpr.in_avals, *(v.aval for e in jaxpr.eqns for v in e.outvars)):
        if hasattr(aval.dtype, "storage") and aval.dtype.storage.kind == "V":
            raise NotImplementedError(
                f"XLA has no elements of {aval.dtype.itemsize} bytes, as those of dtype "
                f"{aval.dtype.name} are. Use them outside of compiled functions, or keys of at "
                "most four words.")
    if unknown := lowerable_effects.filter_not_in(jaxpr.effects):
        raise ValueError(f"Cannot lower jaxpr with effects: {unknown}")


def addressable(aval: Any) -> None:
    """Raise ValueError for an array with more bytes than an address can count."""
    if aval.size * max(aval.dtype.itemsize, 1) >= 2 ** 63 or max(aval.shape, default=0) >= 2 ** 63:
        raise ValueError(f"An array of type {aval.str_short(True)} is too big: it has {aval.size} "
                         "elements, and XLA addresses fewer than 2**63 bytes.")
