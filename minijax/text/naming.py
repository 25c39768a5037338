"""Public functions that are made from others, and their names."""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any


def named(name: str, module: str | None = None, /, **words: str) -> Callable:
    """A decorator for a function of a table: it gets the name of its row, and its documentation
    the row's words, and `name`."""
    def decorate(function):
        function.__name__ = function.__qualname__ = name
        function.__module__ = module or function.__module__
        doc = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = doc.format(name=name, **words) + "\n"
        return function

    return decorate


def renamed(fun: Any, name: str, module: str | None = None) -> Any:
    """The Python function `fun` under another name of its own, for JAX's synonyms.

    `pickle` finds it by that name in `module`; by default in the module of `fun`.
    """
    other = FunctionType(fun.__code__, fun.__globals__, name, fun.__defaults__, fun.__closure__)
    functools.update_wrapper(other, fun)
    other.__kwdefaults__ = fun.__kwdefaults__
    other.__name__ = other.__qualname__ = name
    other.__module__ = module or fun.__module__
    return other
