"""What `jax._src.config` has besides the settings: flags, and settings by name."""

from __future__ import annotations

# chapter 1
import os
from typing import Any

from .. import settings
from ..settings import config

update = config.update
config_states = settings._states


def parse_flags_with_absl() -> None:
    """`jax.config.parse_flags_with_absl()`."""
    config.parse_flags_with_absl()


def _read(name: str) -> Any:
    """The value that a setting has in the process."""
    return settings._lookup(name).get_global()


def bool_env(varname: str, default: bool) -> bool:
    """The truth value of an environment variable."""
    word = os.environ.get(varname)
    return default if word is None else settings._truth_of_word(word, varname)


def int_env(varname: str, default: int) -> int:
    """The number in an environment variable."""
    return int(os.environ.get(varname, default))


class Flag:
    """A value of the process with a name. Only its `value` is read."""

    def __init__(self, name: str, default: Any, help: str = ""):
        self._name, self.value, self.__doc__ = name, default, help


bool_flag = int_flag = float_flag = string_flag = Flag
