"""Chapter 5: what does an operation do besides computing its results?

The primitive says which effects an equation has (`Primitive.def_effectful_abstract_eval`), and a
jaxpr has the effects of its equations. The core unites these sets, and keeps equations with effects
even if no equation reads their results. Later rooms define kinds of effects, and enter them in the
tables below.

In JAX: `jax/_src/effects.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .jaxpr import Jaxpr, JaxprEqn


class Effect:
    """A kind of side effect. `jaxpr.effects` holds instances of its subclasses.

    Programs with an effect that `is_discharged` are rewritten to others before they are compiled.
    """

    __slots__ = ()
    is_discharged = False

    def of_equation(self, eqn: JaxprEqn) -> Iterable[Effect]:
        """The effects that an equation has, if its primitive or a jaxpr that it calls has this."""
        return (self,)

    def leaves(self, jaxpr: Jaxpr) -> bool:
        """Whether a jaxpr has this effect, if one of its equations has it."""
        return True


Effects = frozenset  # of `Effect`s


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
