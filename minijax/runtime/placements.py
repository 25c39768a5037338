"""What the rooms after the engine ask of shardings.

Here are the answers without shardings. Chapter 14 overrides all of them (`parallel/answers.py`).
What the engine itself asks is in `core/placements.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.extension import Extension, register
from ..core.placements import Placements, placements as placements


class AllPlacements(Placements):
    """The answers without shardings: values are nowhere in particular, and all types fit."""

    # Types

    def type_sharding(self, aval: Any) -> Any:
        """The sharding that a type shows: the one that it states, or one that says nothing."""
        return None

    def manual_axes(self, aval: Any) -> Any:
        """The axes of a `shard_map` along which values of this type differ, or are to be summed."""
        return None

    def memory_space(self, aval: Any) -> Any:
        """The kind of memory that values of this type are in."""
        return None

    def sharding_of(self, aval: Any) -> Any:
        """The sharding that a type states; `None` if it states none."""
        return None

    def struct_format(self, struct: Any) -> Any:
        """The layout and the sharding of a `ShapeDtypeStruct`."""
        return None

    def struct_sharding(self, sharding: Any, axes: Any, shape: tuple) -> Any:
        """The sharding of a `ShapeDtypeStruct` of this shape. It and `axes`, the manual axes, are
        checked."""
        return sharding

    def struct_placement(self, struct: Any) -> Any:
        """The placement in the type of an array like a `ShapeDtypeStruct`."""
        return None

    def hints(self, a: Any, b: Any) -> list[str]:
        """How a value of type `a` can be given the placement of `b`, as "applying …". Empty if it
        need not be."""
        return []

    # Do types fit?

    def tangent_hint(self, wanted: Any, got: Any) -> str:
        """What to do if a linearized function takes the type `wanted`, and the tangent is placed
        otherwise; "" if it fits."""
        return ""

    def cotangent_fits(self, aval: Any, ct: Any) -> bool:
        """Whether the type `ct` is placed as cotangents of values of the type `aval` must be."""
        return True

    # Values

    def tracer_text(self, tracer: Any) -> str | None:
        """What `print` shows for a tracer of a jaxpr; `None` leaves it to the tracer."""
        return None

    def new(self, x: Any, device: Any, like: Any, constrained: bool) -> Any:
        """`x`, a new array, on the device or with the sharding that the user named. If `device` is
        `None`, it is placed like the array `like`, or on the default device. If `constrained`, it
        was made of another array while a function is traced."""
        return x

    # Results with the sharding that the user states

    def bind(self, primitive: Any, args: Sequence, params: dict, sharding: Any) -> Any:
        """The result of a primitive, with this sharding."""
        return primitive.bind(*args, **params)

    def call(self, f: Callable, args: Sequence, kwargs: dict, sharding: Any) -> Any:
        """The results of a function, with this sharding."""
        return f(*args, **kwargs)

    def reshard(self, x: Any, sharding: Any) -> Any:
        """An array, with this sharding."""
        return x

    def filled(self, value: Any, shape: tuple, sharding: Any, like: Any = None) -> Any:
        """An array of this shape with a scalar everywhere: with a sharding, on a device, or placed
        like the type `like`. The scalar itself, if it can be broadcast as always."""
        return value

    def permuted(self, sharding: Any, order: Sequence[int]) -> Any:
        """A sharding for an array whose dimensions are those of another one in this order."""
        return sharding

    # Programs

    def of_jit(self, placement: Any) -> Any:
        """What the user asked for with `in_shardings` and its like, as a hashable object with
        the methods `check_call`, `check_results`, `params`, `of_program` and `placed`."""
        raise NotImplementedError("Shardings of jitted functions come with chapter 14.")

    def jit_params(self) -> dict:
        """More parameters of an equation of `jit`, which tell in what context it was traced."""
        return {}

    def part_lowered(self, ctx: Any, part: Any, whole: Any) -> Any:
        """Rows, or one row, of a lowered array of the type `whole`, placed as that array is."""
        return part

    def formats(self, program: Any) -> tuple[Sequence, Sequence, Any]:
        """The formats of a compiled program's arguments and results, and that of an unused
        argument."""
        raise NotImplementedError("Formats and shardings of programs come with chapter 14.")

    def check_arguments(self, program: Any, args: Sequence) -> None:
        """Raise ValueError if an argument is not where a `Compiled` program needs it."""


class NoShardings(Extension):
    """Arrays have no shardings."""

    placements = AllPlacements()


register(NoShardings())
