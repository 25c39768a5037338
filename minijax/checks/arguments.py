"""Chapters 3 to 8: which functions and arguments are refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

# ----------------------------------------------------------------------------------------------
# Functions


def check_callable(fun: Any) -> None:
    """Raise TypeError unless `fun` can be traced: it must be a function that runs when called.

    A generator function, or an async one, only makes an object that would run later.
    """
    if isinstance(fun, staticmethod):
        raise TypeError(
            f"staticmethod arguments are not supported, got {fun}. Pass its function."
        )
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r} of type {type(fun).__name__}.")
    if inspect.isgeneratorfunction(fun) or inspect.isasyncgenfunction(fun):
        raise TypeError(
            f"Expected a function, got a generator function: {fun}. "
            "Return the values as a tuple or list instead of yielding them."
        )
    if inspect.iscoroutinefunction(fun):
        raise TypeError(f"Expected a function, got the async function {fun}: it cannot be traced.")


# ----------------------------------------------------------------------------------------------
# Arguments


def are_arrays(where: str, leaves: Sequence[Any], typeof: Callable,
               names: Callable[[], Sequence[str]]) -> None:
    """Raise TypeError for an argument of `where` that is not an array or a number, with its name.
    """
    for i, x in enumerate(leaves):
        try:
            typeof(x)
        except TypeError:
            raise TypeError(f"Argument {x!r} of type {type(x)} is not a valid JAX type: it is the "
                            f"argument {_name(names, i)} of {where}, which must be an array or a "
                            "number.") from None


def check_argnums_passed(argnums: int | Sequence[int], args: Sequence[Any], purpose: str) -> None:
    """Raise TypeError if a call has too few positional arguments for `argnums`.

    `purpose` starts the message: "differentiating with respect to".
    """
    numbers = argnums if isinstance(argnums, Sequence) else (argnums,)
    highest = max(numbers, default=-1)
    if highest >= len(args):
        raise TypeError(
            f"{purpose} argnums={argnums} requires at least {highest + 1} positional arguments to "
            f"be passed by the caller, but got only {len(args)} positional arguments. (Arguments "
            "passed by keyword do not count.)"
        )


# ----------------------------------------------------------------------------------------------
# Static and donated arguments


def donated_by_number(fun: Any, argnames: Any) -> None:
    """Raise ValueError if arguments of a function without a signature are donated by name."""
    if argnames is not None:
        raise ValueError(f"Getting the signature of function {fun} failed. Pass donate_argnums "
                         "instead of donate_argnames.")


def static_and_donated(signature: Signature | None, static: tuple, donated: tuple) -> None:
    """Raise ValueError for an argument that the function does not take, or that is in both.

    `static` and `donated` are pairs (numbers, names).
    """
    if signature is None:
        return
    for (argnums, argnames), what in ((static, "static"), (donated, "donate")):
        _check_argnums(signature, argnums, f"{what}_argnums")
        _check_argnames(signature, argnames, f"{what}_argnames")
    if both := set(static[1]) & set(donated[1]):
        raise ValueError(
            f"static_argnames and donate_argnames cannot intersect, but {sorted(both)} are in "
            "both. A static argument is part of the program: it has no buffer to give away."
        )


def _check_argnums(signature, argnums, what):
    kinds = [param.kind for param in signature.parameters.values()]
    if not argnums or Parameter.VAR_POSITIONAL in kinds:
        return
    count = sum(
        kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds
    )
    if -min(argnums) > count or max(argnums) >= count:
        raise ValueError(
            f"Jitted function has {what}={argnums}, but only accepts {count} positional "
            f"arguments: {signature}."
        )


def _check_argnames(signature, argnames, what):
    kinds = {name: param.kind for name, param in signature.parameters.items()}
    by_keyword = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    takes_any = Parameter.VAR_KEYWORD in kinds.values()
    for name in argnames:
        kind = kinds.get(name, Parameter.VAR_KEYWORD)
        if kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            raise ValueError(f"Jitted function has invalid argnames {{{name!r}}} in {what}: it "
                             f"cannot be passed by keyword to {signature}.")
        if kind not in by_keyword and not takes_any:
            raise ValueError(f"Jitted function has invalid argnames {{{name!r}}} in {what}: it "
                             f"is not an argument of the function {signature}.")


Names = Callable[[], Sequence[str]]


def references_apart(name: str, leaves: Sequence, closed_over: Sequence = (),
                     names: Names = tuple) -> None:
    """Raise `ValueError` if a reference is twice among the values that the function `name` is
    passed or closes over. `names()` are the names of the arguments."""
    avals = [getattr(x, "aval", None) for x in leaves]
    distinct_references(avals, name, leaves, names)
    closed = {id(x) for x in closed_over}
    for i, (aval, x) in enumerate(zip(avals, leaves)):
        if hasattr(aval, "inner_aval") and id(x) in closed:
            raise ValueError(f"when tracing {name}, a mutable array reference of type {aval} was "
                             f"both closed over and passed as the argument {_name(names, i)}. "
                             "Only pass it.")


def distinct_references(avals: Sequence, name: str, leaves: Sequence,
                        names: Names = tuple) -> None:
    """Raise `ValueError` if the same reference is passed twice to the function `name`."""
    seen: dict[int, int] = {}
    for i, (aval, x) in enumerate(zip(avals, leaves)):
        if not hasattr(aval, "inner_aval") or x is aval:  # a type stands for any reference
            continue
        first = seen.setdefault(id(x), i)
        if first != i:
            raise ValueError(
                "only one reference to a mutable array may be passed as an argument to a function, "
                f"but when tracing {name} the mutable array reference of type {aval} appeared at "
                f"both {_name(names, first)} and {_name(names, i)}. Pass it once.")


def _name(names: Names, i: int) -> str:
    """The name of an argument, or its number."""
    known = names()
    return known[i] if i < len(known) else f"argument {i}"
