"""Check one exercise in a process of its own: `python -m learning.run 2.1 answers.py`.

Exit codes: 0 right, 1 not right (what is wrong is printed), 2 the file cannot be run.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from . import catalog
from .checking import Wrong


def main(number: str, answers: str) -> int:
    """Load the answers and check them."""
    exercise = catalog.exercises(catalog.chapter_of(number))[number]
    try:
        given = vars(catalog.load(Path(answers).resolve()))
    except Exception:
        print(_without_our_frames())
        return 2
    try:
        exercise.run(given)
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


def _without_our_frames():
    """The traceback from the reader's file on."""
    lines = traceback.format_exc().splitlines()
    ours = [i for i, line in enumerate(lines) if "/learning/" in line or "importlib" in line]
    return "\n".join(lines[(ours[-1] + 2 if ours else 0):])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
