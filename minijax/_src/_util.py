"""What `jax._src.util` has besides the functions of `minijax.util`."""

from __future__ import annotations

# chapter 1
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import fun_name, wraps


def unzip3(triples: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple, tuple, tuple]:
    """Three tuples: of the first, the second and the third parts."""
    first, second, third = [], [], []
    for x, y, z in triples:
        first.append(x)
        second.append(y)
        third.append(z)
    return tuple(first), tuple(second), tuple(third)


def concatenate(xs: Iterable[Sequence]) -> list:
    """The elements of sequences."""
    return [x for x_list in xs for x in x_list]


def tuple_insert(t: tuple, idx: int, val: Any) -> tuple:
    """`t` with `val` at `idx`."""
    return *t[:idx], val, *t[idx:]


def tuple_delete(t: tuple, idx: int) -> tuple:
    """`t` without its element `idx`."""
    return *t[:idx], *t[idx + 1:]


def tuple_update(t: tuple, idx: int, val: Any) -> tuple:
    """`t` with `val` for its element `idx`."""
    return *t[:idx], val, *t[idx + 1:]


def subvals(lst: Sequence, replace: Iterable[tuple[int, Any]]) -> tuple:
    """`lst` with other values at some positions."""
    values = [*lst]
    for i, value in replace:
        values[i] = value
    return tuple(values)


def foreach(f: Callable, *args: Iterable) -> None:
    """Call `f` with the elements of sequences of one length."""
    for xs in zip(*args, strict=True):
        f(*xs)


def set_module(module: str) -> Callable:
    """Decorator: say that a function or a class is from another module."""
    def decorate(thing):
        thing.__module__ = module
        return thing

    return decorate


def curry(f: Any) -> Any:
    """A function that takes its first arguments now, and the others later."""
    return functools.wraps(f)(functools.partial(functools.partial, f))


# chapter 4
from ..core.batching import moveaxis
