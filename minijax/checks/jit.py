"""Chapter 6: what `jit` refuses, and the names by which its messages call arguments."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..text.locations import user_stacklevel

if TYPE_CHECKING:
    from ..core.jaxpr import ClosedJaxpr


def comparable_statics(error: Exception) -> None:
    """Raise ValueError if a look-up failed because `__eq__` of a static argument did."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_name != "__eq__":
        frame = frame.tb_next
    if frame is not None:
        names, values = frame.tb_frame.f_code.co_varnames, frame.tb_frame.f_locals
        types = " and ".join(str(type(values[name])) for name in names[:2])
        raise ValueError(
            "static arguments should be comparable using __eq__. Compiled programs are looked up "
            f"by them, but when objects of types {types} were compared, this error was raised: "
            f"{type(error).__name__}: {error}") from error


def have_values(jaxpr: ClosedJaxpr, args: Sequence[Any], without_value: Sequence[int],
                passed: Collection) -> None:
    """Raise TypeError if the program is `passed` the variable of an argument of those
    `without_value`, or it stands for a reference: a program writes the contents of all
    references."""
    for i in without_value:
        if not (args[i].is_ref or jaxpr.jaxpr.invars[i] in passed):
            continue
        names = jaxpr.jaxpr.debug_info and jaxpr.jaxpr.debug_info.arg_names
        number = i - len(args) + len(names or ())  # values that were closed over come first
        if number < 0:
            raise TypeError(
                "A ShapeDtypeStruct does not have a value and cannot be used as a constant in a "
                "JAX function. Pass an array, or read only its shape and dtype.")
        shape = jaxpr.in_avals[i].str_short(short_dtypes=False)
        raise TypeError(
            f"Argument '{names[number]}' of shape {shape} of type {type(args[i])} is "
            "not a valid JAX type. It has no value, and the function reads it: pass an array, or "
            "call .lower or .eval_shape.")


def not_static_and_donated(static: Sequence[int], donated: Sequence[int]) -> None:
    """Raise ValueError if an argument of a call is both static and donated."""
    if not set(static).isdisjoint(donated):
        raise ValueError(
            f"`static_argnums` {sorted(static)} and `donate_argnums` {sorted(donated)} cannot "
            "intersect: arguments are both static and donated.")


def compiler_options(word: str) -> None:
    """Raise ValueError if a string given as `compiler_options` is not the one that means something.
    """
    if word != "autotune":
        raise ValueError("compiler_options must be a dictionary of XLA flags by name, or "
                         f'"autotune"; got {word!r}.')


def donations(jaxpr: ClosedJaxpr, not_donated: Sequence[int]) -> None:
    """Warn of donated arguments whose memory no result can take."""
    if not_donated:
        types = ", ".join(jaxpr.in_avals[i].str_short(short_dtypes=False) for i in not_donated)
        warnings.warn(
            f"Some donated buffers were not usable: {types}.\nNo result has the same shape and "
            "dtype, so their memory cannot be used again (chapter 6 of the book).",
            stacklevel=user_stacklevel(),
        )


def options_of_whole_programs(params: Mapping[str, Any]) -> None:
    """Raise ValueError if a function within another program has options for the compiler."""
    if options := params.get("options"):
        raise ValueError("`compiler_options` can only be passed to top-level `jax.jit`. Got "
                         f"compiler_options={dict(options)} specified on a nested jit with name: "
                         f"{params['name']}. Give them to the outer jit.")
