"""The extension points at which public functions of arrays get their fast paths."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .core.extension import Extension, hooks, point

MANY = 2**16  # elements: for a function of fewer, a program has to be called often to pay
Function = TypeVar("Function", bound=Callable)


@point
def public_function(self, function: Any) -> Any:
    """A public function of arrays: `function`, or a faster one with the same results."""
    return function


@point
def unary_function(self, primitive: Any, function: Any) -> Any:
    """A function that binds `primitive` to an array of its dtypes as it is: `function`, or a faster
    one with the same results."""
    return function


@point
def staged_function(self, function: Any, static: Any) -> Any:
    """A function that is one equation when it is traced: `function`, or a faster one with the same
    results. `static` has the names or the positions of its parameters that are no arrays."""
    return function


@point
def compiled_function(self, function: Any) -> Any:
    """A function that is always compiled, before it is: `function`, or another one to compile."""
    return function


@point
def compiled_call(self, call: Any, jitted: Any) -> Any:
    """A function that calls what `jitted()` returns, a jitted function, when nothing is traced:
    `call`, or a faster one with the same results."""
    return call


class FastFunctions(Extension):
    """Gives public functions their fast paths.

    Args:
      fast: for a function's qualified name, what makes a faster function of it.
    """

    def __init__(self, fast: Mapping[str, Callable[[Callable], Callable]]):
        self._fast = fast

    def public_function(self, function):
        fast = self._fast.get(function.__qualname__)
        return function if fast is None else functools.wraps(function)(fast(function))


# primitive: its evaluation rule, and whether that calls the NumPy rule for operands of these types
on_numpy_if: dict[Any, tuple[Callable, Callable[..., bool]]] = {}


def with_fast_path(function: Function) -> Function:
    """Decorator: `function`, or the faster one that an extension has for it."""
    for faster in hooks.public_function:
        function = faster(function)
    return function


def with_fast_evaluation(primitive: Any, function: Function) -> Function:
    """`function`, which binds `primitive` to an array of its dtypes, or a faster one."""
    for faster in hooks.unary_function:
        function = faster(primitive, function)
    return function


def repeatable(*static: str) -> Callable[[Callable], Callable]:
    """Decorator for a function that is not staged: an extension may run repeated calls faster.

    Args:
      static: the names of the parameters that are no arrays.
    """
    def decorate(function: Callable) -> Callable:
        for faster in hooks.staged_function:
            function = faster(function, {*static})
        return function

    return decorate
