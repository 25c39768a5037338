"""The switches of minijax: one `State` for each setting, and what traces depend on.

A setting has a value for the whole process, and each thread may override it for the length of
a ``with`` block.  Reading ``state.value`` looks for an override only while some thread has one.

    >>> import minijax as jax
    >>> jax.config.jax_enable_x64
    False
    >>> with jax.enable_x64(True):
    ...     jax.config.jax_enable_x64
    True

This file has the settings that the engine reads. Every other room defines its own, beside the code
that reads them. ``jax.config``, which finds a setting by its name, is in `compat/config.py`.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

UNSET: Any = object()


_changes = 0  # of all settings, in all threads
changes_lock = threading.RLock()


def count_change() -> None:
    """Note that a setting has changed."""
    global _changes
    with changes_lock:
        _changes += 1


class _Overrides(threading.local):
    """This thread's values of the settings that it overrides, and its answer of `trace_context`,
    with the number of changes that had been made before."""

    context: tuple[int, int] = (-1, 0)

    def __init__(self) -> None:
        self.values: dict[State, Any] = {}


overrides = _Overrides()


class State:
    """One setting: ``state.value`` reads it, ``with state(new):`` overrides it in this thread.

    Args:
      name: its name in `config`; empty for a setting that only `with` sets.
      value: the value of the process.
      parse: checks a new value, and returns what is stored.
      help: what the setting does.
      context_default: the value of ``with state():``.
    """

    def __init__(self, name: str, value: Any, parse: Callable[[Any], Any], help: str,
                 context_default: Any = UNSET) -> None:
        self.name, self.parse, self.context_default = name, parse, context_default
        self.__doc__ = help
        self.process_value = value
        self.overridden = 0  # how many overrides are in force, in all threads

    @property
    def __name__(self) -> str:
        return self.name.removeprefix("jax_")

    @property
    def value(self) -> Any:
        """The value in this thread."""
        if not self.overridden:
            return self.process_value
        return overrides.values.get(self, self.process_value)

    def override(self, value: Any) -> Any:
        """Set this thread's value, or take it back if `value` is `UNSET`; returns what it was."""
        previous = overrides.values.pop(self, UNSET)
        if value is not UNSET:
            overrides.values[self] = value
        with changes_lock:
            self.overridden += (value is not UNSET) - (previous is not UNSET)
        count_change()
        return previous

    def __call__(self, new_val: Any = UNSET) -> Override:
        if new_val is UNSET:
            new_val = self.context_default
        if new_val is UNSET:
            raise TypeError(f"Context manager for {self.__name__} config option requires an "
                            f"argument: the new value, as in `with {self.__name__}(value):`.")
        return Override(self, self._parsed(new_val))

    def _parsed(self, value: Any) -> Any:
        """The value as it is kept; a refusal names the setting."""
        try:
            return self.parse(value)
        except (TypeError, ValueError) as error:
            if self.__name__ in str(error):
                raise error.with_traceback(None) from None  # the user is not shown our frames
            raise type(error)(f"{self.name}: {error}") from None

    def set_process_value(self, new_value: Any) -> None:
        """Sets the value that every thread without an override sees."""
        self.process_value = self._parsed(new_value)
        count_change()

    def __bool__(self) -> bool:
        raise TypeError("bool() not supported for instances of type 'State' "
                        "(did you mean to use 'State.value' instead?)")

    def __repr__(self) -> str:
        return f"<State {self.name}={self.value!r}>"


class Override:
    """``with Override(state, value):`` sets a thread's value and restores the previous."""

    __slots__ = ("state", "value", "saved")

    def __init__(self, state: State, value: Any) -> None:
        self.state, self.value = state, value
        self.saved: list[Any] = []  # a stack, so that one override may be entered twice

    def __enter__(self) -> None:
        self.saved.append(self.state.override(self.value))

    def __exit__(self, *exc_info: object) -> None:
        self.state.override(self.saved.pop())

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Used as a decorator: every call of ``fun`` runs under the override."""
        @functools.wraps(fun)
        def with_override(*args: Any, **kwargs: Any) -> Any:
            with Override(self.state, self.value):
                return fun(*args, **kwargs)
        return with_override


# ----------------------------------------------------------------------------------------------
# The settings of the engine


def parse_choice(choices: tuple[str | None, ...], value: Any) -> Any:
    if value is not None and not isinstance(value, str) or value not in choices:
        raise ValueError(f"new enum value must be in {list(choices)}, "
                         f"got {value} of type {type(value)}.")
    return value


def parse_word(choices: tuple[str, ...], value: Any) -> Any:
    """`parse_choice`, where any value but a string is an error of type."""
    if not isinstance(value, str):
        raise TypeError(f"the new value must be one of {list(choices)}, got {value!r}.")
    return parse_choice(choices, value)


enable_x64 = State(
    "jax_enable_x64", False, bool,
    "Whether 64-bit dtypes exist; when off, they are read as their 32-bit counterparts.", True)
disable_jit = State(
    "jax_disable_jit", False, bool,
    "Whether `jit` steps aside, so that every operation runs eagerly and can be inspected.", True)
numpy_dtype_promotion = State(
    "jax_numpy_dtype_promotion", "standard", functools.partial(parse_word, ("standard", "strict")),
    "'standard' promotes along JAX's lattice; 'strict' refuses to mix strong dtypes.")

# ----------------------------------------------------------------------------------------------
# What traces depend on

# The settings that change what tracing a function gives. Later rooms add theirs.
traced_settings = [enable_x64, disable_jit, numpy_dtype_promotion]


def add_traced(*more: State) -> None:
    """From now on, functions are traced again where one of these settings has another value."""
    traced_settings.extend(more)
    count_change()


contexts: dict[tuple[Any, ...], int] = {}  # values of `traced_settings` -> their number
_new_numbers = itertools.count()


def trace_context() -> int:
    """A number for the values of `traced_settings`: a part of every cache key.

    Every call of a jitted function needs it, so each thread keeps its answer until some setting
    changes.
    """
    changes, number = overrides.context
    if changes != _changes:
        changes = _changes
        values = [state.value for state in traced_settings]
        while values[-1] is None:  # a setting that is added later changes nothing while it is None
            values.pop()
        number = contexts.setdefault(tuple(values), next(_new_numbers))
        overrides.context = changes, number
    return number


# ----------------------------------------------------------------------------------------------
# What is kept of traces. A signal handler may call a traced function, too: the lock is reentrant.

_CACHE_LIMIT = 4096
traces: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def cache_of(owner: Any, key: Any) -> dict:
    """The dictionary that belongs to `owner` and `key` as long as `owner` lives."""
    try:
        with changes_lock:
            return traces.setdefault(owner, {}).setdefault(key, {})
    except TypeError:  # `owner` has no hash, or takes no weak references
        return {}


def remember(cache: dict, key: Any, value: Any) -> Any:
    """Enter `value`, unless another thread was faster; returns the entry."""
    with changes_lock:
        if len(cache) >= _CACHE_LIMIT:
            cache.clear()
        return cache.setdefault(key, value)


def clear_caches() -> None:
    """Forget all that was traced and compiled: each function is traced again when it is called.

    If you change a rule in a table, the table calls this. Call it yourself after a change that no
    table sees, such as that of a global variable which a rule reads.

    >>> jax.clear_caches()
    """
    with changes_lock:
        contexts.clear()  # so all keys are new: what another thread traces now is not found, either
        count_change()
        caches = [*traces.data.values()]  # type: ignore[attr-defined]  # a list: it may grow now
        for cache in [cache for of_owner in caches for cache in [*of_owner.values()]]:
            cache.clear()


# ----------------------------------------------------------------------------------------------
# Settings by name, and in the environment. Environment variables give strings.

_TRUE_WORDS = ("y", "yes", "t", "true", "on", "1")
_FALSE_WORDS = ("n", "no", "f", "false", "off", "0")


def truth_of_word(word: str, name: str) -> bool:
    """Reads a boolean environment variable."""
    if word.lower() in _TRUE_WORDS:
        return True
    if word.lower() in _FALSE_WORDS:
        return False
    raise ValueError(f"invalid truth value {word!r} for environment {name.upper()!r}; "
                     f"use one of {', '.join(_TRUE_WORDS + _FALSE_WORDS)}.")


class WatchedState(State):
    """A setting that can be watched."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Callables `(value, begins)`, called when a value begins and ends to be in force: that of
        # the process, or that of a thread.
        self.watchers: list[Callable[[Any, bool], None]] = []

    def watched_by(self, watcher: Callable[[Any, bool], None]) -> None:
        """Call `watcher(value, begins)` from now on, also for the value in force now."""
        self.watchers.append(watcher)
        watcher(self.value, True)

    def override(self, value: Any) -> Any:
        previous = super().override(value)
        self._tell(previous, value)
        return previous

    def set_process_value(self, new_value: Any) -> None:
        previous = self.process_value
        super().set_process_value(new_value)
        self._tell(previous, self.process_value)

    def _tell(self, old_value: Any, new_value: Any) -> None:
        for watcher in self.watchers:
            for value, begins in ((old_value, False), (new_value, True)):
                if value is not UNSET:
                    watcher(value, begins)


def known_by_name(state: State, from_env: Callable[[str], Any] = str) -> State:
    """Lets `config` find the setting by its name, and reads its environment variable, the name in
    capitals.

    Raises:
      ValueError: there is such a setting, or the environment has a wrong value for it.
    """
    name = state.name
    if name in states:
        raise ValueError(f"Config option {name} already defined: keep the object that its first "
                         "definition returned.")
    word = os.environ.get(name.upper())
    try:
        if word is not None:
            state.process_value = state.parse(from_env(word))
    except ValueError as error:
        raise ValueError(f"The environment variable {name.upper()}={word}: {error}") from None
    states[name] = state
    return state


def define(name: str, default: Any, parse: Callable[[Any], Any], help: str,
           from_env: Callable[[str], Any] = str, context_default: Any = UNSET) -> Any:
    """Makes the setting ``name``."""
    return known_by_name(WatchedState(name, parse(default), parse, help, context_default), from_env)


def bool_state(name: str, help: str, default: bool = False) -> Any:
    """Makes a setting that is true or false."""
    return define(name, default, bool, help, context_default=True,
                  from_env=lambda word: truth_of_word(word, name))


def part_of_traces(state: State) -> Any:
    """The setting, on which traces depend from now on."""
    add_traced(state)
    return state


def choice_state(name: str, choices: tuple[str | None, ...], default: str | None,
                 help: str) -> Any:
    """Makes a setting with a few possible values."""
    return define(name, default, functools.partial(parse_choice, choices), help)


states: dict[str, State] = {}  # all settings, by name
_of_the_engine = [known_by_name(numpy_dtype_promotion)] + [
    known_by_name(state, functools.partial(truth_of_word, name=state.name))
    for state in (enable_x64, disable_jit)]

# ----------------------------------------------------------------------------------------------
# The settings of the checks

enable_checks = bool_state(
    "jax_enable_checks",
    "Whether every jaxpr is type-checked when it has been traced.")
no_tracing = bool_state(
    "jax_no_tracing",
    "Whether it is an error that a jitted function has to be traced.")
check_tracer_leaks = bool_state(
    "jax_check_tracer_leaks",
    "Whether a trace that ends while a tracer of it is still alive raises an error.")
explain_cache_misses = bool_state(
    "jax_explain_cache_misses",
    "Whether it is logged why a jitted function is traced, and traced again.")
numpy_rank_promotion = part_of_traces(choice_state(
    "jax_numpy_rank_promotion", ("allow", "warn", "raise"), "allow",
    "What happens when broadcasting joins arrays of different rank."))
traceback_filtering = choice_state(
    "jax_traceback_filtering",
    ("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"), "auto",
    "How minijax's own frames are kept out of tracebacks; 'off' shows them.")
