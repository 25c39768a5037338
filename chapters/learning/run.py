"""Check one exercise in a process of its own: `python -m learning.run 2.1 answers.py 60`.

The last argument is the time limit in seconds. Exit codes: 0 right, 1 not right (what is wrong is
printed), 2 the file cannot be run. The verdict is also the last line, after a word that the caller
sends as the first line of the input: an answer that ends the process gives no verdict.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import catalog, checking
from .checking import OutOfTime, Wrong, line_in_the_readers_file


def main(number: str, answers: str, seconds: str = "0") -> int:
    """Load the answers and check them within the time limit (0: no limit)."""
    exercise = catalog.exercises(catalog.chapter_of(number))[number]
    path, run = Path(answers).resolve(), exercise.run
    _set_alarm(float(seconds))
    modules = (checking, catalog, builtins, np, sys.modules[__name__],
               sys.modules[exercise.check.__module__])
    before = _contents(modules)

    def unchanged():
        """Raise `Wrong` if the reader's code has changed what checks it."""
        for (name, what), x in _contents(modules).items():
            if any(now is not then for now, then in zip(x, before.get((name, what), x))):
                raise Wrong(f"your code changes {name}.{what}, which the check uses")

    loaded = False
    try:
        with _closed(catalog.solutions(number), path):
            given = vars(catalog.load(path))
            loaded = True
            unchanged()
            run(given)
            unchanged()
    except OutOfTime as error:
        print(f"{error}{line_in_the_readers_file(error)}")
    except Wrong as wrong:
        print(wrong)
    except NotImplementedError as error:
        stub = loaded and not error.args
        print("nothing yet: the stub is still there" if stub else
              error if loaded else _explained(error, path))
    except Exception as error:
        print(_explained(error, path))
    else:
        return 0
    return 1 if loaded else 2


def _contents(modules: tuple[ModuleType, ...]) -> dict[tuple[str, str], tuple]:
    """Of each name of a module, and of its classes' own names: the object and its code."""
    found = {}
    for module in modules:
        for name, x in [*vars(module).items()]:
            found[module.__name__, name] = _with_code(x)
            if isinstance(x, type) and x.__module__ == module.__name__:
                found |= {(module.__name__, f"{name}.{part}"): _with_code(y)
                          for part, y in [*vars(x).items()]}
    return found


def _with_code(x: Any) -> tuple:
    return x, getattr(x, "__code__", None)


@contextlib.contextmanager
def _closed(path: Path, answers: Path) -> Iterator[None]:
    """A file that the answers may not open, nor what Python compiles of it. (That file is no secret
    if it has the answers to check.)"""
    closed = [path.parent] * (path != answers)

    def refuse(event, arguments):
        if not closed or event != "open" or not isinstance(arguments[0], str | bytes):
            return
        file = Path(os.path.realpath(os.fsdecode(arguments[0])))
        if file.name.partition(".")[0] == path.stem and closed[0] in file.parents:
            raise PermissionError(f"{path.name} has the solutions. `learn solution` shows them.")

    sys.addaudithook(refuse)
    yield
    closed.clear()


def _set_alarm(seconds):
    """Raise `OutOfTime` where the program is after so many seconds, on systems with signals."""

    def ring(signal_number, frame):
        raise OutOfTime(f"no result within {seconds:g} seconds")

    if seconds and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _explained(error, path):
    """The error, and where it passed through the reader's file."""
    frames = traceback.extract_tb(error.__traceback__)
    readers = [frame for frame in frames if frame.filename == str(path)]
    lines = [*traceback.format_exception_only(error), *traceback.format_list(readers)]
    if not readers and not isinstance(error, SyntaxError):
        lines = ["with your answer in place, the library fails:\n", *lines,
                 *traceback.format_list(frames[-1:])]
    return "".join(lines).rstrip()


def _tell(arguments: list[str]) -> int:
    """Check, and then read the word, which the reader's code is not to find in the input."""
    question, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    code = main(*arguments)
    print(os.read(question, 100).decode().strip(), code, sep="\n", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(_tell(sys.argv[1:]))
