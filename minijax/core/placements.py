"""Chapter 1: what does the engine ask of shardings?

Chapter 14 puts arrays on devices, meshes and memories. The engine knows nothing of these. It passes
along what a type says of them, in the slot `ShapedArray.placement`, without looking inside. Where
it needs more, it asks the object `placements()`. The methods of `Placements` are the answers
without shardings. Later rooms ask more (`runtime/placements.py`), and chapter 14 answers all of it
(`parallel/answers.py`).

A `sharding` below is what a user states: a spec or a sharding of chapter 14.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .extension import hooks


class Placements:
    """The answers without shardings: values are nowhere in particular, and all types fit."""

    # Types

    def stated(self, sharding: Any, shape: tuple) -> Any:
        """The placement of a type of this shape that was given a sharding, or a placement."""
        return sharding

    def join(self, primitive: Any, avals: Sequence, params: dict, out: Any) -> Any:
        """The result type(s) `out` of a primitive, with the placements that follow from those of
        the operands. Asked only if an operand has a placement."""
        return out

    def of_batch(self, axis_data: Any, in_dims: Sequence, args: Sequence) -> Any:
        """`axis_data`, with the placement of the batch dimensions of these arguments."""
        return axis_data

    # Values

    def like(self, x: Any, aval: Any) -> Any:
        """`x` with the placement of the type `aval`. Asked only if that of `x` is another one."""
        return x

    def transposed(self, primitive: Any, ct: Any, operands: Sequence, params: dict) -> Any:
        """The cotangents of the operands of a linear primitive, placed as these are;
        `NotImplemented` leaves it to the transpose rule."""
        return NotImplemented


_nowhere = Placements()


def placements() -> Any:
    """The object in force: that of chapter 14 where it is loaded."""
    return hooks.placements[-1] if hooks.placements else _nowhere
