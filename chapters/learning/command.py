"""The command `learn`: list, start, check, watch, hint, solution."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import minijax

from . import catalog
from .checking import Exercise

PROGRESS = "minijax-progress.json"
SECONDS = 60.0  # the time limit of a check
GRACE = 5.0  # seconds more, after which the process is killed
LONGEST = 100_000  # characters that a check may print


class Progress:
    """What the reader has solved, and which hints were asked for, in a file of their choosing."""

    def __init__(self, path: Path):
        self.path = path
        stored = self._stored() if path.exists() else {}
        self.solved: list[str] = stored.get("solved", [])
        self.hints: dict[str, int] = stored.get("hints", {})

    def _stored(self) -> dict:
        """What the file holds; a damaged file is put aside."""
        try:
            stored = json.loads(self.path.read_text())
            if not ({*map(type, stored.get("solved", []))} <= {str}
                    and {*map(type, stored.get("hints", {}).values())} <= {int}):
                raise ValueError("numbers of exercises are texts, and of hints integers")
            return stored
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            aside = self.path.with_suffix(".damaged")
            self.path.replace(aside)
            print(f"{self.path} is damaged ({error}). It is now {aside.name}; a new one begins.")
            return {}

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
    begin = "" if solved else "To begin: minijax learn start FOLDER. "
    print(f"{solved} of {len(found)} solved. {begin}To check one: minijax learn check NUMBER")
    return 0


def start(folder: Path) -> int:
    """Write the stubs of all chapters into the reader's folder. Files that exist stay."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chapter in catalog.chapter_folders():
        number = f"{chapter}.1"
        target = folder / catalog.readers_file(number)
        if not target.exists():
            shutil.copyfile(catalog.stubs(number), target)
            written.append(target.name)
    progress = folder / PROGRESS
    if not progress.exists():
        Progress(progress).save()
    kept = len(catalog.chapter_folders()) - len(written)
    print(f"{len(written)} files written to {folder}" + f", {kept} were there already" * bool(kept))
    first = next(iter(catalog.exercises()))
    print(f"Next: cd {folder}, open {catalog.readers_file(first)}, and run: minijax learn watch")
    return 0


def check(number: str, file: Path, progress: Progress, seconds: float = SECONDS) -> int:
    """Check one exercise and print what came out."""
    exercise = _find(number)
    if exercise is None:
        return 2
    code, said = run(number, file, seconds)
    if code:
        print(f"✗ {number} {exercise.title}\n{textwrap.indent(said, '  ')}\n  your file: {file}")
        return 1
    print(f"✓ {number} {exercise.title}")
    if number not in progress.solved:
        progress.solved.append(number)
        progress.save()
    return 0


def answers_file(number: str, answers: Path | None, folder: Path) -> Path:
    """The file with the reader's answer: `answers`, or else the copy in the reader's folder.

    In a checkout, the chapter's own `exercises.py` will do.

    Raises:
      FileNotFoundError: there is no such file.
    """
    if _find(number) is None:
        raise FileNotFoundError(f"no file has an exercise {number}")
    path = answers or folder / catalog.readers_file(number)
    if not path.is_file() and answers is None and not catalog.is_installed():
        path = catalog.stubs(number)
    if not path.is_file():
        start_it = "" if answers else "; `minijax learn start FOLDER` writes it"
        raise FileNotFoundError(f"there is no file {path}{start_it}")
    return path


def run(number: str, path: Path, seconds: float = SECONDS) -> tuple[int, str]:
    """Check in a process of its own, so that nothing of it stays; exit code and output.

    It runs without XLA's own log, whose lines would stand among ours. The process ends after the
    time limit, or when it has printed far too much.
    """
    paths = [str(catalog.CHAPTERS), str(Path(minijax.__file__).resolve().parents[1])]
    process = subprocess.Popen(
        [sys.executable, "-m", "learning.run", number, str(path), str(seconds)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8",
                          "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True)  # a group of its own, whose processes are ended together
    assert process.stdin is not None and process.stdout is not None
    word = secrets.token_hex(8)  # the reader's code does not know it
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(f"{word}\n".encode())
    # The process stops by itself. This one is for a system without alarms, or a call that hangs.
    killer = threading.Timer(seconds + GRACE, _end, [process])
    killer.start()
    try:
        said = process.stdout.read(LONGEST).decode(errors="replace").rstrip()
        if process.stdout.peek(1):  # type: ignore[attr-defined]
            _end(process)
            return 1, f"{said[:2000]}\n… your code prints more than {LONGEST:,} characters"
        code = process.wait()
        late = not killer.is_alive()
        before, _, verdict = said.rpartition(word)
    finally:
        killer.cancel()
        _end(process)
    if late:
        said = f"{said}\nno result within {seconds:g} seconds: is there a loop that does not end?"
    elif word not in said or verdict.split() != [str(code)]:
        code, said = 1, f"{said}\nyour code ended the process, before the check was done"
    else:
        said = before
    return code, said.strip("\n")


def _end(process):
    """End a process and those that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def watch(number: str | None, answers: Path | None, folder: Path, progress: Progress,
          seconds: float = SECONDS) -> int:
    """Check again at each save, until the exercise is solved; without a number, one by one."""
    wanted = [number] if number else [n for n in catalog.exercises() if n not in progress.solved]
    for exercise in wanted:
        file = answers_file(exercise, answers, folder)
        for _ in saves(file):
            if check(exercise, file, progress, seconds) == 0:
                break
            print(f"  waiting for {file.name} to be saved … (Ctrl-C ends)", flush=True)
    print("All solved." if number is None else f"{number} is solved.")
    return 0


def saves(path: Path, pause: float = 0.3) -> Iterator[None]:
    """Now, and each time that the file has been saved. An editor may remove it for a moment."""
    seen = None
    while True:
        with contextlib.suppress(FileNotFoundError):
            now = path.stat()
            if (state := (now.st_mtime_ns, now.st_size, now.st_ino)) != seen:
                seen = state
                yield
        time.sleep(pause)


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
              f"minijax learn solution {number} --anyway")
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
