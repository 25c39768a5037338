"""The command `learn`: list, check, watch, hint, solution."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from . import catalog
from .checking import Exercise

SECONDS = 120  # that a check may take


class Progress:
    """What the reader has solved, and which hints were asked for, in a file of their choosing."""

    def __init__(self, path: Path):
        self.path = path
        stored = json.loads(path.read_text()) if path.exists() else {}
        self.solved: list[str] = stored.get("solved", [])
        self.hints: dict[str, int] = stored.get("hints", {})

    def save(self) -> None:
        """Write the file anew, whole or not at all."""
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"solved": sorted(self.solved), "hints": self.hints}, indent=1))
        new.replace(self.path)


def show_list(progress: Progress) -> int:
    """All exercises, and which are solved."""
    found = catalog.exercises()
    for number, exercise in found.items():
        mark = "✓" if number in progress.solved else "·"
        hole = "  (hole)" if exercise.hole else ""
        print(f"  {mark} {number:5} {exercise.title}{hole}")
    solved = sum(number in progress.solved for number in found)
    print(f"{solved} of {len(found)} solved. Next: python -m minijax learn check NUMBER")
    return 0


def check(number: str, answers: Path | None, progress: Progress) -> int:
    """Check one exercise and say what came out."""
    exercise = _find(number)
    if exercise is None:
        return 2
    path = answers or catalog.stubs(number)
    code, said = run(number, path)
    if code:
        print(f"✗ {number} {exercise.title}\n{textwrap.indent(said, '  ')}\n  your file: {path}")
        return 1
    print(f"✓ {number} {exercise.title}")
    if number not in progress.solved:
        progress.solved.append(number)
        progress.save()
    return 0


def run(number: str, path: Path) -> tuple[int, str]:
    """Check in a process of its own, so that nothing of it stays; exit code and output."""
    paths = [str(catalog.CHAPTERS), str(catalog.CHAPTERS.parent)]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    try:
        done = subprocess.run([sys.executable, "-m", "learning.run", number, str(path)],
                              env=variables, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return 1, f"no answer within {SECONDS} seconds: is there a loop that does not end?"
    return done.returncode, (done.stdout + done.stderr).rstrip()


def watch(number: str, answers: Path | None, progress: Progress) -> int:
    """Check again each time the file is saved, until the exercise is solved."""
    if _find(number) is None:
        return 2
    path = answers or catalog.stubs(number)
    seen = None
    while True:
        now = path.stat().st_mtime_ns
        if now != seen:
            seen = now
            if check(number, answers, progress) == 0:
                return 0
            print("  waiting for the file to be saved … (Ctrl-C ends)", flush=True)
        time.sleep(0.3)


def hint(number: str, progress: Progress) -> int:
    """The next hint; after the last one, all of them again."""
    exercise = _find(number)
    if exercise is None:
        return 2
    count = min(progress.hints.get(number, 0) + 1, len(exercise.hints))
    progress.hints[number] = count
    progress.save()
    for i, text in enumerate(exercise.hints[:count], start=1):
        print(f"hint {i} of {len(exercise.hints)}: {text}")
    return 0


def solution(number: str, anyway: bool, progress: Progress) -> int:
    """The solution, once the exercise is solved, or if the reader insists."""
    exercise = _find(number)
    if exercise is None:
        return 2
    if number not in progress.solved and not anyway:
        print(f"{number} is not solved yet. To see the solution all the same: "
              f"python -m minijax learn solution {number} --anyway")
        return 1
    text = catalog.solutions(number).read_text()
    for node in ast.parse(text).body:
        names = {getattr(node, "name", None)} | {
            target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)}
        if names & set(exercise.answers):
            print(ast.get_source_segment(text, node), end="\n\n")
    return 0


def _find(number: str) -> Exercise | None:
    found = catalog.exercises()
    if number not in found:
        print(f"there is no exercise {number}; there are: {', '.join(found)}")
    return found.get(number)
