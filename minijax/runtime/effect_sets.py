"""Chapter 5: which kinds of effects may happen where. Later rooms enter theirs in these tables.

In JAX: `jax/_src/effects.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.jaxpr import Effect


class EffectTypeSet:
    """A set of classes of effects, which includes their subclasses.

    >>> allowed = EffectTypeSet()
    >>> allowed.add_type(Effect)
    >>> allowed.contains(Effect())
    True
    """

    def __init__(self):
        self._types: tuple[type[Effect], ...] = ()

    def add_type(self, effect_type: type[Effect]) -> None:
        """Add a class."""
        self._types += (effect_type,)

    def contains(self, effect: Effect) -> bool:
        """Whether the effect belongs to one of the classes."""
        return isinstance(effect, self._types)

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects that belong to one of the classes."""
        return [*filter(self.contains, effects)]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects that do not belong to any of the classes."""
        return [effect for effect in effects if not self.contains(effect)]


ordered_effects = EffectTypeSet()  # they happen in the order of the program
shardable_ordered_effects = EffectTypeSet()  # they may be in programs for several devices
lowerable_effects = EffectTypeSet()  # XLA can perform them
control_flow_allowed_effects = EffectTypeSet()  # they may happen in loops and branches
remat_allowed_effects = EffectTypeSet()  # they may happen again in the backward pass


def is_ordered(effects: Iterable[Effect]) -> bool:
    """Whether one of the effects is ordered."""
    return any(map(ordered_effects.contains, effects))
