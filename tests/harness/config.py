"""What `jax._src.config` has besides the settings: flags, and settings by name."""

from __future__ import annotations

# chapter 1
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minijax import settings
from minijax.compat.config import config

update = config.update
config_states = settings.states


def parse_flags_with_absl() -> None:
    """`jax.config.parse_flags_with_absl()`."""
    config.parse_flags_with_absl()


def _read(name: str) -> Any:
    """The value that a setting has in the process."""
    return settings.states[name].process_value


def bool_env(varname: str, default: bool) -> bool:
    """The truth value of an environment variable."""
    word = os.environ.get(varname)
    return default if word is None else settings.truth_of_word(word, varname)


def int_env(varname: str, default: int) -> int:
    """The number in an environment variable."""
    return int(os.environ.get(varname, default))


class Flag:
    """A value of the process with a name. Only its `value` is read."""

    def __init__(self, name: str, default: Any, help: str = ""):
        self._name, self.value, self.__doc__ = name, default, help


bool_flag = int_flag = float_flag = string_flag = Flag


def enum_flag(name: str, default: str, *args: Any, **kwargs: Any) -> Flag:
    """A flag with a few possible values."""
    return Flag(name, default, kwargs.get("help", ""))


# ----------------------------------------------------------------------------------------------
# Settings of a library's own, in the words of JAX's private functions


def _defined(name: str, default: Any, help: str, parse: Callable[[Any], Any],
             from_env: Callable[[str], Any] = str, include_in_jit_key: bool = False,
             include_in_trace_context: bool = False, **unused: Any) -> settings.State:
    """A new setting. If it is part of the key of `jit`, functions are traced for each value."""
    state = settings.define(name, default, parse, help, from_env)
    if include_in_jit_key or include_in_trace_context:
        settings.add_traced(state)
    return state


def _of_types(types: tuple[type, ...], convert: Callable[[Any], Any] = lambda x: x
              ) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if not isinstance(value, types):
            names = " or ".join(kind.__name__ for kind in types)
            raise TypeError(f"new config value must be of type {names}, got {value} of type "
                            f"{type(value)}.")
        return convert(value)

    return parse


def _bool_of(word: str) -> bool:
    return settings.truth_of_word(word, "a setting")


def bool_state(name: str, default: bool, help: str, **options: Any) -> settings.State:
    """A new setting that is true or false."""
    return _defined(name, default, help, bool, _bool_of, **options)


def int_state(name: str, default: int, help: str, **options: Any) -> settings.State:
    """A new setting that is an integer."""
    return _defined(name, default, help, _of_types((int,)), int, **options)


def float_state(name: str, default: float, help: str, **options: Any) -> settings.State:
    """A new setting that is a number."""
    return _defined(name, default, help, _of_types((int, float), float), float, **options)


def string_state(name: str, default: str, help: str, **options: Any) -> settings.State:
    """A new setting that is a string."""
    return _defined(name, default, help, _of_types((str,)), **options)


def optional_string_state(name: str, default: str | None, help: str, **options: Any
                          ) -> settings.State:
    """A new setting that is a string or `None`."""
    return _defined(name, default, help, _of_types((str, type(None))), **options)


def enum_state(name: str, enum_values: Sequence[str], default: str, help: str, **options: Any
               ) -> settings.State:
    """A new setting with a few possible values."""
    return _defined(name, default, help, partial(settings.parse_choice, tuple(enum_values)),
                    **options)


def optional_enum_state(name: str, enum_values: Sequence[str], default: str | None, help: str,
                        **options: Any) -> settings.State:
    """A new setting with a few possible values, or `None`."""
    return enum_state(name, (*enum_values, None), default, help, **options)  # type: ignore


def string_or_object_state(name: str, default: Any, help: str, **options: Any) -> settings.State:
    """A new setting that is anything."""
    return _defined(name, default, help, lambda value: value, **options)


def __getattr__(name: str) -> settings.State:
    """A setting by its name, with or without "jax_"."""
    for full_name in (name, f"jax_{name}"):
        if full_name in settings.states:
            return settings.states[full_name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
