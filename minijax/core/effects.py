"""Chapter 5: what does an operation do besides computing its results?

The primitive says which effects an equation has (`Primitive.def_effectful_abstract_eval`), and a
jaxpr has the effects of its equations. The core unites these sets, and keeps equations with effects
even if no equation reads their results. Later rooms define kinds of effects, and enter them in the
tables below.

In JAX: `jax/_src/effects.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .jaxpr import Jaxpr, JaxprEqn


class Effect:
    """A kind of side effect. `jaxpr.effects` holds instances of its subclasses.

    Programs with an effect that `is_discharged` are rewritten to others before they are compiled.
    """

    __slots__ = ()
    is_discharged = False


Effects = frozenset  # of `Effect`s


class JaxprInputEffect(Effect):
    """An effect on an input: it reads a reference, or writes to it.

    `input` is the variable of the operand. A primitive's rule has no variables, so it gives the
    operand's position, which the equation replaces by its variable.
    """

    __slots__ = ("input",)

    def __init__(self, input: Any):
        self.input = input

    def replace(self, input: Any) -> JaxprInputEffect:
        """The same effect on another input."""
        return type(self)(input)

    def __eq__(self, other):
        return type(self) is type(other) and self.input == other.input

    def __hash__(self):
        return hash((type(self), self.input))

    def __repr__(self):
        return f"{type(self).__name__}({self.input})"


def of_operands(effects: frozenset, eqn: JaxprEqn) -> frozenset:
    """The effects of an equation, with its own operands as the inputs.

    `effects` names positions of operands, and variables of the jaxprs that the equation calls. An
    effect on a literal is no effect.
    """
    if not any(isinstance(effect, JaxprInputEffect) for effect in effects):
        return effects
    operands: dict[Any, Any] = dict(enumerate(eqn.invars))
    for jaxpr in eqn._jaxprs():
        places = places_of_operands(jaxpr, eqn.own_params, len(eqn.invars))
        operands.update(zip(jaxpr.invars, [eqn.invars[i] for i in places]))
    return frozenset(_renamed(effects, operands))


def _renamed(effects: frozenset, operands: dict) -> Iterator[Effect]:
    for effect in effects:
        if not isinstance(effect, JaxprInputEffect):
            yield effect
        elif not hasattr(operand := operands.get(effect.input, effect.input), "val"):
            yield effect.replace(operand)


def places_of_operands(jaxpr: Jaxpr, params: dict[str, Any], n_operands: int) -> list[int]:
    """The positions of the operands that an equation gives to a jaxpr among its parameters.

    These are the last ones. The operands in front of them are the index of a `cond`, or what a
    `while`'s condition closes over; the condition itself takes these, and the carry.
    """
    n_first = 0
    if "cond_nconsts" in params and params["cond_jaxpr"].jaxpr is jaxpr:
        n_first = params["cond_nconsts"]
    return [*range(n_first), *range(n_operands - len(jaxpr.invars) + n_first, n_operands)]


def of_inputs(effects: frozenset, jaxpr: Jaxpr) -> frozenset:
    """The effects of a jaxpr, without those on variables that are not its inputs."""
    inner = {effect for effect in effects if isinstance(effect, JaxprInputEffect)}
    if not inner:
        return effects
    inputs = {*jaxpr.constvars, *jaxpr.invars}
    return effects - {effect for effect in inner if effect.input not in inputs}


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
