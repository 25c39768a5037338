"""Chapter 5: effects, what an equation does besides computing its results.

An equation with effects is kept although nobody reads its results. Those of *ordered* effects
happen in the order of the program. Which effects an equation has, its primitive says
(`Primitive.def_effectful_abstract_eval`); a jaxpr has those of its equations.
"""

from __future__ import annotations

from collections.abc import Iterable


class Effect:
    """A kind of side effect. Its subclasses' instances are what `jaxpr.effects` holds."""

    __slots__ = ()


Effects = frozenset  # of `Effect`s
no_effects: frozenset = frozenset()


class EffectTypeSet:
    """Some classes of effects, with their subclasses.

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
        """Whether the effect is of one of the classes."""
        return isinstance(effect, self._types)

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """Those of the effects that are of one of the classes."""
        return [*filter(self.contains, effects)]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """Those of the effects that are of none of the classes."""
        return [effect for effect in effects if not self.contains(effect)]


ordered_effects = EffectTypeSet()  # they happen in the order of the program
lowerable_effects = EffectTypeSet()  # XLA can do them
control_flow_allowed_effects = EffectTypeSet()  # they may happen in loops and branches
remat_allowed_effects = EffectTypeSet()  # they may happen again in the backward pass


def is_ordered(effects: Iterable[Effect]) -> bool:
    """Whether one of the effects is ordered."""
    return any(map(ordered_effects.contains, effects))


def check_allowed(effects: frozenset, allowed: EffectTypeSet, where: str) -> None:
    """Raise `NotImplementedError` if there is an effect that may not happen at this place."""
    if effects and (disallowed := allowed.filter_not_in(effects)):
        raise NotImplementedError(f"Effects not supported in `{where}`: {disallowed}")
