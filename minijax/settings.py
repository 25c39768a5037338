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
from collections.abc import Callable
from typing import Any

_UNSET: Any = object()
_TRUE_WORDS = ("y", "yes", "t", "true", "on", "1")
_FALSE_WORDS = ("n", "no", "f", "false", "off", "0")


_changes = 0  # of all settings, in all threads
_overrides_in_force = 0  # in all threads
common_context: int | None = None  # the answer of `trace_context` if it is the same in all threads
changes_lock = threading.RLock()


def count_change() -> None:
    """Note that a setting has changed."""
    global _changes, common_context
    with changes_lock:
        _changes += 1
        common_context = None


class _Overrides(threading.local):
    """This thread's values of the settings that it overrides."""

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
                 context_default: Any = _UNSET) -> None:
        self.name, self.parse, self.context_default = name, parse, context_default
        self.__doc__ = help
        self.process_value = value
        self.overridden = 0  # how many overrides are in force, in all threads
        # Callables `(value, begins)`, called when a value begins and ends to be in force somewhere.
        self.watchers: list[Callable[[Any, bool], None]] = []

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
        """Set this thread's value, or unset it if `value` is `_UNSET`; returns what it was."""
        values = overrides.values
        previous = values.pop(self, _UNSET)
        if value is not _UNSET:
            values[self] = value
        global _overrides_in_force
        more = (value is not _UNSET) - (previous is not _UNSET)
        with changes_lock:
            self.overridden += more
            _overrides_in_force += more
        return previous

    def watched_by(self, watcher: Callable[[Any, bool], None]) -> None:
        """Call `watcher(value, begins)` from now on, also for the value in force now."""
        self.watchers.append(watcher)
        watcher(self.value, True)

    def _tell(self, value: Any, begins: bool) -> None:
        for watcher in self.watchers:
            watcher(value, begins)

    def __call__(self, new_val: Any = _UNSET) -> Override:
        if new_val is _UNSET:
            new_val = self.context_default
        if new_val is _UNSET:
            short_name = self.name.removeprefix("jax_")
            raise TypeError(f"Context manager for {short_name} config option requires an argument: "
                            f"the new value, as in `with {short_name}(value):`.")
        return Override(self, self._parsed(new_val))

    def _parsed(self, value: Any) -> Any:
        """The value as it is kept; a refusal names the setting."""
        try:
            return self.parse(value)
        except (TypeError, ValueError) as error:
            if self.name.removeprefix("jax_") in str(error):
                raise error.with_traceback(None) from None  # the user is not shown our frames
            raise type(error)(f"{self.name}: {error}") from None

    def set_process_value(self, new_value: Any) -> None:
        """Sets the value that every thread without an override sees."""
        new_value = self._parsed(new_value)
        old_value, self.process_value = self.process_value, new_value
        self._tell(old_value, False)
        self._tell(new_value, True)
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
        self.state._tell(self.value, True)
        count_change()

    def __exit__(self, *exc_info: object) -> None:
        self.state.override(self.saved.pop())
        self.state._tell(self.value, False)
        count_change()

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Used as a decorator: every call of ``fun`` runs under the override."""
        @functools.wraps(fun)
        def with_override(*args: Any, **kwargs: Any) -> Any:
            with Override(self.state, self.value):
                return fun(*args, **kwargs)
        return with_override


# ----------------------------------------------------------------------------------------------
# What a setting accepts: one parser a kind. Environment variables give strings.


def truth_of_word(word: str, name: str) -> bool:
    """Reads a boolean environment variable."""
    if word.lower() in _TRUE_WORDS:
        return True
    if word.lower() in _FALSE_WORDS:
        return False
    raise ValueError(f"invalid truth value {word!r} for environment {name.upper()!r}; "
                     f"use one of {', '.join(_TRUE_WORDS + _FALSE_WORDS)}.")


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


# ----------------------------------------------------------------------------------------------
# Making settings

states: dict[str, State] = {}  # all settings, by name


def define(name: str, default: Any, parse: Callable[[Any], Any], help: str,
           from_env: Callable[[str], Any] = str, context_default: Any = _UNSET) -> State:
    """Makes the setting ``name``; its environment variable is the name in capitals.

    Raises:
      ValueError: there is such a setting, or the environment has a wrong value for it.
    """
    if name in states:
        raise ValueError(f"Config option {name} already defined: keep the object that its first "
                         "definition returned.")
    word = os.environ.get(name.upper())
    try:
        value = parse(default if word is None else from_env(word))
    except ValueError as error:
        raise ValueError(f"The environment variable {name.upper()}={word}: {error}") from None
    states[name] = State(name, value, parse, help, context_default)
    return states[name]


def bool_state(name: str, help: str, default: bool = False) -> State:
    """Makes a setting that is true or false."""
    return define(name, default, bool, help, context_default=True,
                   from_env=lambda word: truth_of_word(word, name))


def choice_state(name: str, choices: tuple[str | None, ...], default: str | None,
                 help: str) -> State:
    """Makes a setting with a few possible values."""
    return define(name, default, functools.partial(parse_choice, choices), help)


# ----------------------------------------------------------------------------------------------
# The settings of the engine

enable_x64 = bool_state(
    "jax_enable_x64",
    "Whether 64-bit dtypes exist; when off, they are read as their 32-bit counterparts.")
disable_jit = bool_state(
    "jax_disable_jit",
    "Whether `jit` steps aside, so that every operation runs eagerly and can be inspected.")
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
numpy_rank_promotion = choice_state(
    "jax_numpy_rank_promotion", ("allow", "warn", "raise"), "allow",
    "What happens when broadcasting joins arrays of different rank.")
numpy_dtype_promotion = define(
    "jax_numpy_dtype_promotion", "standard", functools.partial(parse_word, ("standard", "strict")),
    "'standard' promotes along JAX's lattice; 'strict' refuses to mix strong dtypes.")
traceback_filtering = choice_state(
    "jax_traceback_filtering",
    ("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"), "auto",
    "How minijax's own frames are kept out of tracebacks; 'off' shows them.")

# ----------------------------------------------------------------------------------------------
# What traces depend on

# The settings that change what tracing a function gives. Later rooms add theirs.
traced_settings = [enable_x64, disable_jit, numpy_rank_promotion, numpy_dtype_promotion]


def add_traced(*more: State) -> None:
    """From now on, functions are traced again where one of these settings has another value."""
    traced_settings.extend(more)
    count_change()


class _TraceContext(threading.local):
    """How many changes had been made when a thread last asked `trace_context`, and its answer."""

    answer: tuple[int, int] = (-1, 0)


_trace_context = _TraceContext()
contexts: dict[tuple[Any, ...], int] = {}  # values of `traced_settings` -> their number
_new_numbers = itertools.count()


def trace_context() -> int:
    """A number for the values of `traced_settings`: a part of every cache key.

    Every call of a jitted function needs it, so the answer is kept until some setting changes.
    """
    if common_context is not None:
        return common_context
    changes, number = _trace_context.answer
    if changes != _changes or not _overrides_in_force:
        changes = _changes
        values = [state.value for state in traced_settings]
        while values[-1] is None:  # a setting that is added later changes nothing while it is None
            values.pop()
        number = contexts.setdefault(tuple(values), next(_new_numbers))
        _trace_context.answer = changes, number
        _share(changes, number)
    return number


def _share(changes: int, number: int) -> None:
    """Keep the answer for all threads, if it is still right and none has settings of its own."""
    global common_context
    with changes_lock:
        if changes == _changes and not _overrides_in_force:
            common_context = number
