"""Chapter 1: the settings as flags of absl, for programs that read their command lines with it.

absl is no requirement of minijax: it is imported when a program calls one of these methods.
"""

from __future__ import annotations

import functools
import sys
from itertools import takewhile
from typing import Any

from ..core.core import install_methods
from ..settings import Config, State, parse_choice, states


def config_with_absl(self: Config) -> None:
    """Make each setting a flag of absl. `app.run` sets those on the command line."""
    from absl import app, flags
    for name, state in states.items():
        _define(flags, name, state)
    app.call_after_init(lambda: self.complete_absl_config(flags))


def _define(flags: Any, name: str, state: State) -> None:
    value, text = state.process_value, state.__doc__
    parse = state.parse
    if isinstance(parse, functools.partial) and parse.func is parse_choice:
        choices = [choice for choice in parse.args[0] if choice is not None]
        flags.DEFINE_enum(name, value, choices, text)
    else:
        defines = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer, float: flags.DEFINE_float}
        defines.get(type(value), flags.DEFINE_string)(name, value, text)


def complete_absl_config(self: Config, absl_flags: Any) -> None:
    """Set the settings whose flags stand on the command line.

    Args:
      absl_flags: the module `absl.flags`, whose flags are parsed.
    """
    for name in states:
        if name in absl_flags.FLAGS and absl_flags.FLAGS[name].present:
            self.update(name, absl_flags.FLAGS[name].value)


@functools.cache
def _parse_once(config: Config) -> None:
    from absl import flags
    arguments = takewhile(lambda argument: argument != "--", sys.argv)
    config.config_with_absl()
    flags.FLAGS(["", *(x for x in arguments if x.startswith("--jax"))], known_only=True)
    config.complete_absl_config(flags)


def parse_flags_with_absl(self: Config) -> None:
    """Read the arguments of the command line that begin with ``--jax``, once in a process."""
    _parse_once(self)


install_methods({"config_with_absl": config_with_absl, "complete_absl_config": complete_absl_config,
                 "parse_flags_with_absl": parse_flags_with_absl}, Config)
