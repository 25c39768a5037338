"""What a check is made of.

    @exercise("2.1", "The tangent of a product", answers=["product_tangent"], hints=["..."])
    def check(product_tangent):
        compare(product_tangent, expected, cases=[(2.0, 3.0), ...])

The names in `answers` are looked up in the reader's file. With `hole`, the name of a function of
the library, the reader's one answer stands in its place while the check runs.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from minijax import clear_caches


class Wrong(Exception):
    """An answer is wrong; the message says with which input, and what was expected."""


class OutOfTime(BaseException):
    """The time limit is over. No `except Exception` in the reader's code catches this."""


@dataclass(frozen=True)
class Exercise:
    """An exercise: what is asked, the names of the answers, and how they are checked."""

    number: str
    title: str
    answers: tuple[str, ...]
    check: Callable
    hints: tuple[str, ...]
    hole: str | None
    page: bool  # whether the book's page can check it: see `exercise`

    def run(self, answers: dict[str, Any]) -> None:
        """Check the answers.

        Raises:
          Wrong: they are not right yet.
        """
        missing = [name for name in self.answers if name not in answers]
        if missing:
            raise Wrong(f"your file defines no {', '.join(missing)}")
        given = [answers[name] for name in self.answers]
        with in_place(self.hole, given[0]) if self.hole else contextlib.nullcontext():
            self.check(*given)


registered: dict[str, Exercise] = {}


def exercise(number: str, title: str, answers: Sequence[str], hints: Sequence[str] = (),
             hole: str | None = None, page: bool = False) -> Callable:
    """Register the decorated function as the check of an exercise.

    With `page`, the site also checks the exercise, in MicroPython. Such a check uses `compare`,
    `expect`, `Wrong`, `math`, and what it imports itself: tiny, or NumPy's stand-in.
    """

    def register(check: Callable) -> Callable:
        registered[number] = Exercise(number, title, tuple(answers), check, tuple(hints), hole,
                                      page)
        return check

    return register


# ----------------------------------------------------------------------------------------------
# Comparing


def compare(yours: Callable, expected: Callable, cases: Iterable[tuple], what: str = "") -> None:
    """Call both functions with the arguments of each case, the smallest first.

    Raises:
      Wrong: the first case in which they differ.
    """
    for args in cases:
        want = expected(*args)
        try:
            got = yours(*args)
        except (Exception, OutOfTime) as error:
            raise Wrong(_report(what, args, want, _error_line(error))) from error
        if not same(got, want):
            raise Wrong(_report(what, args, want, got))


def _report(what, args, want, got):
    given = ", ".join(map(show, args))
    lines = [f"with {what or 'the arguments'} {given}", f"  it should be  {show(want)}",
             f"  you say       {got if isinstance(got, _Line) else show(got)}"]
    if not isinstance(got, _Line) and _kind(got) != _kind(want):
        lines.append(f"  (that is {_kind(want)}, yours {_kind(got)})")
    return "\n".join(lines)


class _Line(str):
    pass


def _error_line(error):
    if isinstance(error, NotImplementedError) and not error.args:
        return _Line("nothing yet: the stub is still there")
    name = "" if isinstance(error, OutOfTime) else f"{type(error).__name__}: "
    return _Line(f"{name}{error}{line_in_the_readers_file(error)}")


def line_in_the_readers_file(error: BaseException) -> str:
    """` (line 3 of your file)`, if the error passed through it."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__)
             if _is_the_readers(frame.f_globals.get("__name__", ""))]
    return f" (line {lines[-1]} of your file)" if lines else ""


def _is_the_readers(module_name):
    """Of the files that `catalog.load` runs, the checks are ours."""
    return module_name.startswith("learning_") and not module_name.endswith("_checks")


def show(x: Any) -> str:
    """A value on few lines, with its type; a function by its name."""
    if callable(x) and hasattr(x, "__name__"):
        return x.__name__
    return repr(x)


def _kind(x):
    """The type of a value. Any array will do, so of an array only the dtype and the shape."""
    if isinstance(x, np.bool_):
        return "bool"
    is_array = hasattr(x, "dtype") and hasattr(x, "shape")
    return f"{x.dtype}{list(x.shape)}" if is_array else type(x).__name__


def same(got: Any, want: Any) -> bool:
    """Whether two results are alike: structure, shapes, types, and values up to rounding."""
    if isinstance(want, dict):
        return isinstance(got, dict) and got.keys() == want.keys() and all(
            same(got[k], want[k]) for k in want)
    if isinstance(want, list | tuple):
        return type(got) is type(want) and len(got) == len(want) and all(map(same, got, want))
    if want is None or isinstance(want, type):
        return got is want
    if isinstance(want, str):
        return isinstance(got, str) and str.__eq__(got, want)
    if hasattr(want, "shape") and not (hasattr(got, "shape") and got.dtype == want.dtype):
        return False
    try:
        got, want = np.asarray(got), np.asarray(want)
        close = got.shape == want.shape and np.allclose(got, want, 1e-4, 1e-5, equal_nan=True)
        return bool(close)
    except (TypeError, ValueError):
        return type(got) is type(want) and str(got) == str(want)


def expect(condition: Any, message: str) -> None:
    """Raise `Wrong` with the message unless the condition holds."""
    if not condition:
        raise Wrong(message)


# ----------------------------------------------------------------------------------------------
# Holes


@contextlib.contextmanager
def in_place(target: str, answer: Any) -> Iterator[None]:
    """The reader's function in the place of the library's, wherever that has been imported to.

    `target` is a name like `core.transposition.backward_pass` or
    `core.forward.JVPTrace.process_primitive`.
    """
    owner, name, original = locate(target)
    with contextlib.ExitStack() as stack:
        stack.callback(clear_caches)
        if inspect.ismodule(owner):
            for module in _modules_that_hold(name, original):
                stack.enter_context(mock.patch.object(module, name, answer))
        else:
            stack.enter_context(mock.patch.object(owner, name, answer))
        clear_caches()  # of what the library's function has traced
        yield


def locate(target: str) -> tuple[Any, str, Any]:
    """Of a function of the library: the module or class that holds it, its name, and itself."""
    parts = target.split(".")
    for split in range(len(parts) - 1, 0, -1):
        module_name = ".".join(["minijax", *parts[:split]])
        with contextlib.suppress(ModuleNotFoundError, AttributeError):
            module = importlib.import_module(module_name)
            owner = functools.reduce(getattr, parts[split:-1], module)
            return owner, parts[-1], getattr(owner, parts[-1])
    raise LookupError(f"minijax has no {target}")


def _modules_that_hold(name, original):
    modules = [m for key, m in list(sys.modules.items()) if key.partition(".")[0] == "minijax"]
    return [m for m in modules if vars(m).get(name) is original]
