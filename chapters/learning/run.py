"""Check one exercise in a process of its own: `python -m learning.run 2.1 answers.py 60`.

The last argument is the time limit in seconds. Exit codes: 0 right, 1 not right (what is wrong is
printed), 2 the file cannot be run.
"""

from __future__ import annotations

import signal
import sys
import traceback
from pathlib import Path

from . import catalog
from .checking import OutOfTime, Wrong, line_in_the_readers_file


def main(number: str, answers: str, seconds: str = "0") -> int:
    """Load the answers and check them within the time limit (0: there is none)."""
    exercise = catalog.exercises(catalog.chapter_of(number))[number]
    _set_alarm(float(seconds))
    try:
        given = vars(catalog.load(Path(answers).resolve()))
    except OutOfTime as error:
        print(f"{error}{line_in_the_readers_file(error)}")
        return 2
    except Exception:
        print(_without_our_frames())
        return 2
    try:
        exercise.run(given)
    except OutOfTime as error:
        print(f"{error}{line_in_the_readers_file(error)}")
        return 1
    except Wrong as wrong:
        print(wrong)
        return 1
    except NotImplementedError as error:
        print(error if error.args else "nothing yet: the stub is still there")
        return 1
    except Exception:
        print(_without_our_frames())
        return 1
    return 0


def _set_alarm(seconds):
    """Raise `OutOfTime` where the program is after so many seconds, on systems with signals."""

    def ring(signal_number, frame):
        raise OutOfTime(f"no result within {seconds:g} seconds")

    if seconds and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _without_our_frames():
    """The traceback from the reader's file on."""
    lines = traceback.format_exc().splitlines()
    ours = [i for i, line in enumerate(lines) if "/learning/" in line or "importlib" in line]
    return "\n".join(lines[(ours[-1] + 2 if ours else 0):])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
