"""Chapter 15: effects on the inputs of an equation or of a jaxpr."""

from __future__ import annotations

from typing import Any

from ..core.jaxpr import Effect, Jaxpr, JaxprEqn, Literal


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

    def of_equation(self, eqn: JaxprEqn) -> tuple[JaxprInputEffect, ...]:
        """The effect on the equation's own operand. An effect on a literal is no effect.

        `input` is the position of an operand, or a variable of a jaxpr that the equation calls.
        """
        operands: dict[Any, Any] = dict(enumerate(eqn.invars))
        for jaxpr in eqn._jaxprs():
            places = places_of_operands(jaxpr, eqn.own_params, len(eqn.invars))
            operands.update(zip(jaxpr.invars, [eqn.invars[i] for i in places]))
        operand = operands.get(self.input, self.input)
        return () if isinstance(operand, Literal) else (self.replace(operand),)

    def leaves(self, jaxpr: Jaxpr) -> bool:
        return self.input in jaxpr.constvars or self.input in jaxpr.invars

    def __eq__(self, other):
        return type(self) is type(other) and self.input == other.input

    def __hash__(self):
        return hash((type(self), self.input))

    def __repr__(self):
        return f"{type(self).__name__}({self.input})"


def places_of_operands(jaxpr: Jaxpr, params: dict[str, Any], n_operands: int) -> list[int]:
    """The positions of the operands that an equation gives to a jaxpr among its parameters.

    These are the last ones. The operands in front of them are the index of a `cond`, or what a
    `while`'s condition closes over; the condition itself takes these, and the carry.
    """
    n_first = 0
    if "cond_nconsts" in params and params["cond_jaxpr"].jaxpr is jaxpr:
        n_first = params["cond_nconsts"]
    return [*range(n_first), *range(n_operands - len(jaxpr.invars) + n_first, n_operands)]
