"""What `jax._src.util` has besides the functions of `minijax.util`."""

from __future__ import annotations

# chapter 1
import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from minijax._src._names import canonicalize_axis
from minijax.settings import trace_context


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


flatten = concatenate


def unflatten(xs: Iterable, ns: Sequence[int]) -> list[list]:
    """`xs` in lists of `ns` elements, which use all of it."""
    rest = iter(xs)
    lists = [[next(rest) for _ in range(n)] for n in ns]
    assert not [*rest], "the lengths leave elements over"
    return lists


def canonicalize_axis_tuple(axis: int | Sequence[int] | None, ndim: int,
                            allow_duplicate: bool = False) -> tuple[int, ...]:
    """The axes as nonnegative numbers; `None` stands for all."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, Sequence) else (axis,)
    numbers = tuple(canonicalize_axis(d, ndim) for d in axes)
    if not allow_duplicate and len(set(numbers)) < len(numbers):
        raise ValueError(f"repeated axis: {numbers}")
    return numbers


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


def curry(f: Any) -> Any:
    """A function that takes its first arguments now, and the others later."""
    return functools.wraps(f)(functools.partial(functools.partial, f))


def wrap_name(transform_name: str, name: str) -> str:
    """`transform(name)`"""
    return f"{transform_name}({name})"


class Hashable:
    """A value with a hash of its own choice. Equal ones have equal values."""

    def __init__(self, val: Any, hash: int | None = None):
        self.val, self.hash = val, hash

    def __hash__(self) -> int:
        return hash(self.val) if self.hash is None else self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.val == other.val


class Unhashable:
    """A value that has no hash."""

    def __init__(self, val: Any):
        self.val = val

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and self.val == other.val

    __hash__ = None  # type: ignore[assignment]


class HashableFunction:
    """A function that equals another one of the same code, with the same `closure`."""

    def __init__(self, f: Callable, closure: Any):
        self.f, self.closure = f, closure

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashableFunction) and (
            self.f.__code__ == other.f.__code__ and self.closure == other.closure)

    def __hash__(self) -> int:
        return hash((self.f.__code__, self.closure))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)


def cache(max_size: int | None = 4096, trace_context_in_key: bool | Callable = True
          ) -> Callable:
    """Decorator: keep the results of a function; by default, one for each value of the settings.

    `max_size` is how many are kept.
    """
    def decorate(f: Callable) -> Callable:
        cached = functools.lru_cache(max_size)(lambda context, *args, **kwargs: f(*args, **kwargs))

        @functools.wraps(f)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            context = trace_context() if trace_context_in_key else None
            return cached(context, *args, **kwargs)

        wrapper.cache_clear, wrapper.cache_info = (  # type: ignore[attr-defined]
            cached.cache_clear, cached.cache_info)
        return wrapper

    return decorate


memoize = cache(max_size=None)


class _CacheInfo(NamedTuple):
    hits: int
    misses: int
    maxsize: int | None
    currsize: int


class weakref_lru_cache:
    """`call`, whose results are kept as long as its first argument is alive.

    Args:
      call: a function whose arguments have hashes.
      maxsize: how many results are kept.
      trace_context_in_key: whether the settings that tracing depends on are part of the key.
    """

    def __init__(self, call: Callable, maxsize: int | None = 2048,
                 trace_context_in_key: bool = True, explain: Any = None):
        functools.update_wrapper(self, call)
        self._call, self._maxsize, self._in_context = call, maxsize, trace_context_in_key
        self.cache_clear()

    def __call__(self, first: Any, *args: Any, **kwargs: Any) -> Any:
        context = trace_context() if self._in_context else None
        key = (weakref.ref(first, self._forget), context, args, tuple(kwargs.items()))
        with self._lock:
            if key in self._results:
                self._hits += 1
                return self._results[key]
            self._misses += 1
        out = self._call(first, *args, **kwargs)
        with self._lock:
            self._results[key] = out
            if self._maxsize is not None and len(self._results) > self._maxsize:
                del self._results[next(iter(self._results))]
        return out

    def _forget(self, ref: weakref.ref) -> None:
        with self._lock:
            for key in [key for key in self._results if key[0] is ref]:
                del self._results[key]

    def evict_weakref(self, first: Any) -> None:
        """Forget the results for this first argument."""
        with self._lock:
            for key in [key for key in self._results if key[0]() == first]:
                del self._results[key]

    def cache_clear(self) -> None:
        """Forget all results."""
        self._lock, self._results = threading.RLock(), {}  # type: ignore[var-annotated]
        self._hits = self._misses = 0

    def cache_keys(self) -> list:
        """The keys of the results that are kept."""
        return [*self._results]

    def cache_info(self) -> _CacheInfo:
        """How often results were found, and how many there are."""
        return _CacheInfo(self._hits, self._misses, self._maxsize, len(self._results))


# chapter 4
