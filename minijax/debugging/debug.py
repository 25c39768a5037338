"""Chapter 15: looking into compiled programs: `print`, `callback`, `breakpoint`.

`debug.print` is a primitive of its own, so that jaxprs show what is printed; it behaves like a
`debug_callback` in every rule.
"""

import builtins
import copy
import string
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.boundary import api_boundary
from ..runtime import logger
from ..source import user_frame
from .callbacks import (
    callback_primitive,
    debug_callback_p,
    debug_effect,
    define_debug_rules,
    ordered_debug_effect,
    split_static_args,
    with_static_args,
)

_INFO = 20  # `logging.INFO`


@api_boundary
def callback(callback: Callable | None = None, *args: Any, ordered: bool = False,
             partitioned: bool = False, **kwargs: Any) -> Any:
    """Call a Python function with the values of arrays, also from compiled programs.

    It changes nothing of what is computed, and every transformation passes it: under `grad` the
    function sees primals, under `vmap` one example after the other.

    Args:
      callback: the function; what it returns is not used. Without it, a function of it and its
        arguments: `callback(ordered=True)(f, x)`.
      *args, **kwargs: pytrees, passed on; leaves that are no arrays are passed as they are.
      ordered: whether the calls have to happen in the order of the program.
      partitioned: whether each device of a jitted function sees its own part of the arrays;
        otherwise one device sees them whole.

    Raises:
      TypeError: `callback` is not callable.

    >>> seen = []
    >>> jax.vmap(lambda x: jax.debug.callback(lambda x: seen.append(int(x)), x))(jnp.arange(3))
    >>> seen
    [0, 1, 2]
    """
    def call(callback, *args, **kwargs):
        if not callable(callback):
            raise TypeError("first argument to jax.debug.callback must be callable, but got an "
                            f"object of type {type(callback)}")
        in_tree, dynamic, static = split_static_args(args, kwargs)
        debug_callback_p.bind(*dynamic, callback=with_static_args(callback, in_tree, static),
                              effect=_effect(ordered), partitioned=partitioned)

    if callback is not None:
        return call(callback, *args, **kwargs)
    return _without_arguments("debug_callback", call, args, kwargs)


def _without_arguments(name, call, args, kwargs):
    if args or kwargs:
        raise TypeError(f"{name} received unexpected arguments in the two-call form: "
                        f"args={args} kwargs={kwargs}")
    return call


def _effect(ordered):
    return ordered_debug_effect if ordered else debug_effect


# ----------------------------------------------------------------------------------------------
# print


class _FormatChecker(string.Formatter):
    """Formats nothing, and raises an error for arguments that the format does not use."""

    def format_field(self, value, format_spec):
        return ""

    def check_unused_args(self, used_args, args, kwargs):
        positional = [x for i, x in enumerate(args) if i not in used_args]
        named = [name for name in kwargs if name not in used_args]
        if positional:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {positional}")
        if named:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {named}. You may be passing an "
                'f-string (f"{x}"), which was formatted while tracing: pass a plain string.')


_checker = _FormatChecker()

debug_print_p = callback_primitive("debug_print")


def _check_format(fmt, args, kwargs) -> None:
    """The errors are Python's, with more to say."""
    try:
        _checker.format(fmt, *args, **kwargs)
    except IndexError:
        raise IndexError(f"jax.debug.print: the format {fmt!r} has more placeholders than the "
                         f"{len(args)} arguments by position.") from None
    except KeyError as error:
        raise KeyError(f"jax.debug.print: the format {fmt!r} has a placeholder {error}, and there "
                       f"is no such argument among {list(kwargs)}.") from None


@api_boundary
def print(fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
          skip_format_check: bool = False, _use_logging: bool = False, **kwargs: Any) -> Any:
    """Print the values of arrays, also from compiled programs.

    Args:
      fmt: a format as for `str.format`, such as "x is {x}". (Not an f-string: that would be
        formatted while the function is traced.) Without it, a function of it and its arguments:
        `print(ordered=True)("x is {}", x)`.
      *args, **kwargs: what to format: pytrees of arrays, and anything else.
      ordered: whether to print in the order of the program.
      partitioned: whether each device of a jitted function sees its own part of the arrays;
        otherwise one device sees them whole.
      skip_format_check: do not check that the format uses all arguments.

    Raises:
      ValueError: the format does not use an argument.
      KeyError, IndexError: the format uses an argument that was not passed.

    >>> jax.debug.print("{} and {x:.2f}", jnp.arange(2), x=0.5)
    [0 1] and 0.50
    """
    def show(fmt, *args, **kwargs):
        if not isinstance(fmt, str):
            raise TypeError(f"jax.debug.print: fmt must be a str, got {fmt!r}.")
        if not skip_format_check:
            _check_format(fmt, args, kwargs)
        has_placeholders = any(field is not None for _, field, *_ in string.Formatter().parse(fmt))
        in_tree, dynamic, static = split_static_args(args, kwargs)
        debug_print_p.bind(
            *dynamic, fmt=fmt, ordered=ordered, partitioned=partitioned, in_tree=in_tree,
            static_args=tuple(static.items()),
            np_printoptions=tuple(np.get_printoptions().items()),
            has_placeholders=has_placeholders,
            logging_record=_logging_record() if _use_logging else None)

    if fmt is not None:
        return show(fmt, *args, **kwargs)
    return _without_arguments("debug_print", show, args, kwargs)


log = partial(print, _use_logging=True)  # to the logger `minijax.debug`, at level INFO


def _logging_record():
    """A record without a message yet, of the user's line."""
    frame = user_frame()
    file, line = (frame.f_code.co_filename, frame.f_lineno) if frame else ("(unknown file)", 0)
    return logger("minijax.debug").makeRecord("minijax.debug", _INFO, file, line, "", (), None)


def _show(fmt, np_printoptions, has_placeholders, logging_record, *args, **kwargs):
    if has_placeholders:
        with np.printoptions(**dict(np_printoptions)):
            message = fmt.format(*args, **kwargs)
    else:
        message = " ".join([fmt, *map(str, args)])
    if logging_record is None:
        builtins.print(f"{message}\n", end="", file=sys.stdout)  # lines of devices do not mix
        return
    record = copy.copy(logging_record)
    record.msg = message
    logger("minijax.debug").handle(record)


def _callback_of(*, fmt, ordered, partitioned, in_tree, static_args, np_printoptions,
                 has_placeholders, logging_record):
    show = partial(_show, fmt, np_printoptions, has_placeholders, logging_record)
    return with_static_args(show, in_tree, dict(static_args)), _effect(ordered)


define_debug_rules(debug_print_p, _callback_of)
