"""Functions that are wrapped in transformations. `minijax.extend.linear_util` shows them.

A *transformation* is a generator function: it is given the arguments, yields those for the wrapped
function (a pair of args and kwargs), is sent its result, and yields its own. A `WrappedFun` is a
function with transformations around it; it runs by `call_wrapped`.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any

from ..core.boundary import public


class StoreException(Exception):
    """The auxiliary output of a transformation was asked for before it ran."""


class WrappedFun:
    """A function with transformations around it.

    Args:
      f: the function inside.
      transforms: what was put around it, the outermost last: (generator function or wrapper, its
        static arguments).
      call: the whole, as a function.
      debug_info: what is known of `f`, for messages.
    """

    __slots__ = ("f", "transforms", "_call", "debug_info", "__weakref__")

    def __init__(self, f: Callable, transforms: tuple, call: Callable, debug_info: Any = None):
        self.f, self.transforms, self._call, self.debug_info = f, transforms, call, debug_info

    @property
    def __name__(self):
        return getattr(self.f, "__name__", "<unnamed wrapped function>")

    def call_wrapped(self, *args, **kwargs):
        """Run it."""
        return self._call(*args, **kwargs)

    __call__ = call_wrapped

    def wrap(self, transform: tuple, call: Callable) -> WrappedFun:
        """The function with one more transformation around it: `call` is then the whole."""
        return WrappedFun(self.f, (*self.transforms, transform), call, self.debug_info)

    def __hash__(self):
        return hash((self.f, self.transforms))

    def __eq__(self, other):
        return isinstance(other, WrappedFun) and (self.f, self.transforms) == (
            other.f, other.transforms)

    def __repr__(self):
        names = [getattr(transform, "__name__", transform) for transform, _ in self.transforms]
        return f"Wrapped function {self.__name__} in {names[::-1]}"


@public
def wrap_init(f: Callable, params: dict | None = None, *, debug_info: Any = None) -> WrappedFun:
    """`f`, ready to be transformed; `params` are keyword arguments that are always given.

    >>> from minijax.extend import linear_util as lu
    >>> lu.wrap_init(lambda x: x + 1).call_wrapped(1)
    2
    """
    if not callable(f):
        raise TypeError(f"wrap_init: expected a function, got {f!r}.")
    return WrappedFun(f, (), functools.partial(f, **params) if params else f, debug_info)


def _run(generator_function, static_args, call, args, kwargs):
    """Run a transformation around a function; returns what it yields at last."""
    generator = generator_function(*static_args, *args, **kwargs)
    inner_args, inner_kwargs = next(generator)
    out = generator.send(call(*inner_args, **inner_kwargs))
    generator.close()
    return out


def _curried(transformation: Callable) -> Callable:
    """`transformation(gen)(fun, *static_args)`, as a decorator of `gen`, or both at once."""
    @functools.wraps(transformation)
    def either(gen, fun=None, *static_args):
        if fun is None:
            return functools.wraps(gen)(functools.partial(transformation, gen))
        return transformation(gen, fun, *static_args)

    return either


@_curried
def transformation(gen, fun: WrappedFun, *static_args) -> WrappedFun:
    """Put a transformation around a function. As a decorator of `gen` it makes a function of
    `fun` and the static arguments, which `gen` gets first.

    >>> from minijax.extend import linear_util as lu
    >>> @lu.transformation
    ... def doubled(*args):
    ...     out = yield args, {}
    ...     yield 2 * out
    >>> doubled(lu.wrap_init(lambda x: x + 1)).call_wrapped(1)
    4
    """
    call = fun.call_wrapped
    return fun.wrap((gen, static_args), lambda *args, **kwargs: _run(
        gen, static_args, call, args, kwargs))


@_curried
def transformation_with_aux(gen, fun: WrappedFun, *static_args):
    """As `transformation`, for one that yields a pair at last: its result and auxiliary data.

    Returns:
      the function, and a function that returns the auxiliary data after it has run.
    """
    call = fun.call_wrapped
    store, read = _store()

    def whole(*args, **kwargs):
        out, aux = _run(gen, static_args, call, args, kwargs)
        store(aux)
        return out

    return fun.wrap((gen, static_args), whole), read


@_curried
def transformation2(gen, fun: WrappedFun, *static_args) -> WrappedFun:
    """As `transformation`, for a plain function `gen(f, *static_args, *args)` that calls `f`."""
    call = fun.call_wrapped
    return fun.wrap((gen, static_args), functools.partial(gen, call, *static_args))


class _Store:
    """What `gen` of `transformation_with_aux2` keeps its auxiliary data in."""

    def __init__(self, store):
        self.store = store


@_curried
def transformation_with_aux2(gen, fun: WrappedFun, *static_args):
    """As `transformation2`, for `gen(f, store, *static_args, *args)`: `store.store(aux)` keeps
    auxiliary data, which the function returned besides the transformed one returns."""
    call = fun.call_wrapped
    store, read = _store()
    whole = functools.partial(gen, call, _Store(store), *static_args)
    return fun.wrap((gen, static_args), whole), read


def _store():
    """A function that keeps a value, and one that returns it."""
    kept: deque = deque(maxlen=1)

    def read():
        if not kept:
            raise StoreException("Store empty: the transformed function has not run yet")
        return kept[0]

    return kept.append, read
