"""Chapter 5: effects, what an equation does besides computing its results, and where it may do so.

An equation with effects is kept even if no equation reads its results. The primitive says which
effects an equation has (`Primitive.def_effectful_abstract_eval`). A jaxpr has the effects of its
equations. The core unites these sets, and never looks at an effect.

Later rooms define kinds of effects. They enter each kind in the tables below, which say what is
allowed. *Ordered* effects happen in the order of the program.

In JAX: `jax/_src/effects.py`.
"""

from __future__ import annotations

from collections.abc import Iterable


class Effect:
    """A kind of side effect. `jaxpr.effects` holds instances of its subclasses."""

    __slots__ = ()


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
lowerable_effects = EffectTypeSet()  # XLA can perform them
control_flow_allowed_effects = EffectTypeSet()  # they may happen in loops and branches
remat_allowed_effects = EffectTypeSet()  # they may happen again in the backward pass


def is_ordered(effects: Iterable[Effect]) -> bool:
    """Whether one of the effects is ordered."""
    return any(map(ordered_effects.contains, effects))


def check_allowed(effects: frozenset, allowed: EffectTypeSet, where: str) -> None:
    """Raise `NotImplementedError` if an effect is not allowed at this place."""
    if effects and (disallowed := allowed.filter_not_in(effects)):
        raise NotImplementedError(f"Effects not supported in `{where}`: {disallowed}")
