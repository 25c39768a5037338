"""The object ``jax.config``: the settings by their names, for programs and for command lines."""

import functools
import sys
from itertools import takewhile
from typing import Any

from ..core.boundary import public
from ..settings import State, add_traced, check_tracer_leaks, enable_x64, parse_choice, states

checking_leaks = functools.partial(check_tracer_leaks, True)


def _hashable(value: Any) -> Any:
    hash(value)
    return value


def make_user_context(default_value: Any = None) -> State:
    """A value of your own on which traces depend: where it differs, functions are traced again.

    Args:
      default_value: anything with a hash.

    Raises:
      TypeError: it has none.

    >>> scale = jax.make_user_context(1)
    >>> f = jax.jit(lambda x: x * scale.value)
    >>> with scale(3):
    ...     print(f(2.0))
    6.0
    >>> print(f(2.0))
    2.0
    """
    context = State("", _hashable(default_value), _hashable, "A value of the user's own.")
    add_traced(context)
    return context


class Config:
    """The object ``minijax.config``: reads and sets the settings by name.

    ``config.jax_enable_x64`` is a value; ``config.enable_x64`` is the `State` behind it.

        >>> import minijax as jax
        >>> jax.config.update("jax_numpy_rank_promotion", "warn")
        >>> jax.config.jax_numpy_rank_promotion
        'warn'
        >>> jax.config.update("jax_numpy_rank_promotion", "allow")
    """

    __slots__ = ()

    @public
    def update(self, name: str, value: Any) -> None:
        """Sets a setting for the whole process.

        Args:
          name: the setting, as ``"jax_enable_x64"``.
          value: its new value.
        Raises:
          AttributeError: there is no such setting.
          ValueError, TypeError: the setting does not accept this value.
        """
        _lookup(name).set_process_value(value)

    @public
    def read(self, name: str) -> Any:
        """Reads a setting that has no context manager (as in JAX, only ``jax_enable_x64``).

        Raises:
          AttributeError: there is no such setting, or it is to be read as an attribute.
        """
        state = _lookup(name)
        if state is not enable_x64:
            raise AttributeError("For flags with a corresponding contextmanager, read their value "
                                 f"via e.g. `config.{name}` rather than `config.read({name!r})`.")
        return state.value

    def config_with_absl(self) -> None:
        """Make each setting a flag of absl. `app.run` sets those on the command line."""
        from absl import app, flags  # no requirement of minijax: programs that call this have it
        for name, state in states.items():
            _define_flag(flags, name, state)
        app.call_after_init(lambda: self.complete_absl_config(flags))

    def complete_absl_config(self, absl_flags: Any) -> None:
        """Set the settings whose flags stand on the command line.

        Args:
          absl_flags: the module `absl.flags`, whose flags are parsed.
        """
        for name in states:
            if name in absl_flags.FLAGS and absl_flags.FLAGS[name].present:
                self.update(name, absl_flags.FLAGS[name].value)

    def parse_flags_with_absl(self) -> None:
        """Read the arguments of the command line that begin with ``--jax``, once in a process."""
        _parse_flags_once(self)

    @property
    def values(self) -> dict[str, Any]:
        """All settings and their values, as this thread sees them."""
        return {name: state.value for name, state in states.items()}

    @property
    def x64_enabled(self) -> bool:
        return enable_x64.value

    @public
    def __getattr__(self, name: str) -> Any:
        if name in states:
            return states[name].value
        if "jax_" + name in states:
            return states["jax_" + name]
        raise AttributeError(f"'Config' object has no attribute {name!r}{_known_names(name)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"config.{name} cannot be assigned; "
                             f"use config.update({name!r}, {value!r}).")

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *states]


def _define_flag(flags: Any, name: str, state: State) -> None:
    value, text, parse = state.process_value, state.__doc__, state.parse
    if isinstance(parse, functools.partial) and parse.func is parse_choice:
        choices = [choice for choice in parse.args[0] if choice is not None]
        flags.DEFINE_enum(name, value, choices, text)
    else:
        defines = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer, float: flags.DEFINE_float}
        defines.get(type(value), flags.DEFINE_string)(name, value, text)


@functools.cache
def _parse_flags_once(config: Config) -> None:
    from absl import flags
    arguments = takewhile(lambda argument: argument != "--", sys.argv)
    config.config_with_absl()
    flags.FLAGS(["", *(x for x in arguments if x.startswith("--jax"))], known_only=True)
    config.complete_absl_config(flags)


def _lookup(name: str) -> State:
    try:
        return states[name]
    except KeyError:
        raise AttributeError(f"Unrecognized config option: {name}{_known_names(name)}") from None


def _known_names(name: str) -> str:
    """The option that was meant, if one has nearly this name; else all."""
    import difflib  # wanted by few

    meant = difflib.get_close_matches(f"jax_{name.removeprefix('jax_')}", states, 1, 0.85)
    if meant:
        return f". Did you mean {meant[0]}?"
    return f". The options are: {', '.join(sorted(states))}."


config = Config()
