"""What `checkpoint` refuses, and in which words."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ConcretizationTypeError


def prevent_cse(value) -> None:
    """Raise `TypeError` unless it is a bool or a sequence."""
    if not isinstance(value, (bool, Sequence)):
        raise TypeError("prevent_cse must be a bool or tuple of bools, got "
                        f"type(prevent_cse)={type(value)}")


def policy(value) -> None:
    """A policy can be called."""
    if value is not None and not callable(value):
        raise TypeError("checkpoint: policy must be a function, such as one of "
                        f"jax.checkpoint_policies, got {value!r}.")


def static_argnums(numbers, num_args: int) -> None:
    """Raise unless they are a tuple of positions of arguments."""
    if type(numbers) is not tuple:
        raise TypeError("the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be "
                        f"an int or a tuple of ints, but got value {numbers!r}")
    if not all(-num_args <= i < num_args for i in numbers):
        raise ValueError(
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer "
            "values greater than or equal to `-len(args)` and less than `len(args)`, but got "
            f"{numbers}, while `len(args)` = {num_args}")


def answers(values: Sequence) -> None:
    """Raise `ValueError` unless the policies answered with bools."""
    if not all(isinstance(value, bool) for value in values):
        raise ValueError("The return value of the policies should be a boolean. Got: "
                         f"{values[0]} and {values[1]}.")


def traced_argument(error: Exception) -> None:
    """Add advice to the error of a function whose traced argument decides what it does."""
    if isinstance(error, ConcretizationTypeError):
        error.add_note("If an argument of a function under `checkpoint` decides what the function "
                       "does, mark it by `static_argnums`.")
