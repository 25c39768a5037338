"""Chapter 8: what transposition refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.core import Primitive


def linear(primitive: Primitive, holds: bool, kind: type[Exception] = AssertionError) -> None:
    """Raise an error of this kind unless it holds that the primitive is linear."""
    if not holds:
        raise kind(
            f"Only linear functions can be transposed: '{primitive.name}' is not linear in all "
            "those operands that depend on the arguments (as their product is not, a quotient by "
            "one, or a branch that is chosen by one).")


def linear_operands(primitive: Primitive, rules: Sequence[Callable | None],
                    is_linear: Sequence[bool], bilinear: bool) -> None:
    """Raise an error if an operand is linear that has no transpose rule, or if both operands of a
    bilinear primitive are linear."""
    if bilinear and all(is_linear):
        linear(primitive, False)
    for rule, needed in zip(rules, is_linear):
        if needed and rule is None:  # JAX has two classes: the first is that of `x / x`
            linear(primitive, False, RuntimeError if all(is_linear) else AssertionError)
