"""Check one exercise in a process of its own: `python -m learning.run 2.1 answers.py 60`.

The last argument is the time limit in seconds. Exit codes: 0 right, 1 not right (what is wrong is
printed), 2 the file cannot be run. The verdict is also the last line, after a word that the caller
sends as the first line of the input: an answer that ends the process gives no verdict.
"""

from __future__ import annotations

import builtins
import contextlib
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np

from . import catalog, checking
from .checking import OutOfTime, Wrong, line_in_the_readers_file


def main(number: str, answers: str, seconds: str = "0") -> int:
    """Load the answers and check them within the time limit (0: no limit)."""
    exercise = catalog.exercises(catalog.chapter_of(number))[number]
    path = Path(answers).resolve()
    _set_alarm(float(seconds))
    modules = checking, catalog, builtins, np, sys.modules[exercise.check.__module__]
    checker = [(module, dict(vars(module))) for module in modules]
    try:
        with _closed(catalog.solutions(number), path):
            given = vars(catalog.load(path))
    except OutOfTime as error:
        print(f"{error}{line_in_the_readers_file(error)}")
        return 2
    except Exception as error:
        print(_explained(error, path))
        return 2
    try:
        _check_unchanged(checker)
        exercise.run(given)
        _check_unchanged(checker)
    except OutOfTime as error:
        print(f"{error}{line_in_the_readers_file(error)}")
        return 1
    except Wrong as wrong:
        print(wrong)
        return 1
    except NotImplementedError as error:
        print(error if error.args else "nothing yet: the stub is still there")
        return 1
    except Exception as error:
        print(_explained(error, path))
        return 1
    return 0


def _check_unchanged(checker: list[tuple[ModuleType, dict]]) -> None:
    """Raise `Wrong` if the reader's code has changed what checks it."""
    for module, before in checker:
        changed = [name for name, x in before.items() if vars(module).get(name) is not x]
        if changed:
            raise Wrong(f"your code changes {module.__name__}.{changed[0]}, which the check uses")


@contextlib.contextmanager
def _closed(path: Path, answers: Path) -> Iterator[None]:
    """A file that the answers may not open: those of others. (The file itself is ours to check.)"""
    closed = [str(path)] * (path != answers)

    def refuse(event, arguments):
        if event == "open" and closed and str(arguments[0]).endswith(closed[0]):
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


if __name__ == "__main__":
    word = sys.stdin.readline().strip()
    code = main(*sys.argv[1:])
    print(word, code, sep="\n", flush=True)
    sys.exit(code)
