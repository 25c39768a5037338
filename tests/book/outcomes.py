"""Runs every exercise with its stub, its solution, and a copy of the library: prints what came out.

In a process of its own, as `learn check` runs an exercise.
"""

from __future__ import annotations

import json
import traceback

from learning import catalog
from learning.checking import Exercise, Wrong, in_place, locate


def outcome(exercise: Exercise, answers: dict) -> str:
    """`right`, `wrong`, `stub`, or the traceback of an error in the check itself."""
    try:
        exercise.run(answers)
    except Wrong:
        return "wrong"
    except NotImplementedError as error:
        return "stub" if not error.args else traceback.format_exc()
    except Exception:
        return traceback.format_exc()
    return "right"


def calls_by_the_library(exercise: Exercise, answers: dict) -> int:
    """How often the library calls what stands in the hole while the check runs."""
    answer, count = answers[exercise.answers[0]], 0

    def counted(*args, **kwargs):
        nonlocal count
        count += 1
        return answer(*args, **kwargs)

    with in_place(exercise.hole, counted):
        exercise.check(answer)
    return count


def main() -> None:
    """Print the outcomes as JSON."""
    found = {}
    for number, exercise in catalog.exercises().items():
        solution = vars(catalog.load(catalog.solutions(number)))
        found[number] = {"stub": outcome(exercise, vars(catalog.load(catalog.stubs(number)))),
                         "solution": outcome(exercise, solution)}
        if exercise.hole and found[number]["solution"] == "right":
            copy = {exercise.answers[0]: locate(exercise.hole)[2]}
            found[number]["copy"] = outcome(exercise, copy)
            found[number]["calls"] = calls_by_the_library(exercise, solution)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
