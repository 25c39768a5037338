"""Public functions that are made from others, and their names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..core.boundary import api_boundary
from ..source import wraps


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


def named_after(transformation: str, fun: Callable) -> Callable[[Callable], Callable]:
    """A decorator for a public function that is made from `fun`: it has a name like `make_jaxpr(f)`
    in the module `jax`, which tools that know JAX's functions compare with."""

    def decorate(wrapper):
        name = getattr(fun, "__name__", type(fun).__name__)
        wraps(fun)(wrapper)
        wrapper.__name__ = f"{transformation}({name})"
        wrapper.__qualname__ = f"{transformation}({getattr(fun, '__qualname__', name)})"
        wrapper.__module__ = "jax"
        return api_boundary(wrapper)

    return decorate
