"""Which statements of the library users' programs execute: `python -m tools.used`, or `make used`.

It runs the programs of `USERS`, and any others that are named on the command line. For each file it
prints how many statements it has, how many of them were executed, and how many were not. The files
with the most unreached statements come first.

    python -m tools.used my_program.py other_program.py
    python -m tools.used --lines minijax/lax/sorting.py

`--lines` prints the unreached lines of a file, as the last run found them. Whatever stays unreached
needs a reason: a program that a user could write, and that is not among these.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from coverage import Coverage

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "build" / "used"
SETTINGS = """[run]
source = minijax
data_file = {data}
parallel = true
patch = subprocess
"""
HISTORY = """
from tests.history.outcome import Program, sources
for source in sources():
    Program(source).run()
"""
# Tests whose programs are those of users: of libraries, of authors of primitives, of the book.
TESTS = """tests/users tests/cli/test_cli.py tests/book/test_plays.py
    tests/book/test_tiny.py""".split()
USERS = {
    "the tour": ["-m", "minijax", "tour"],
    "the book's examples, with its toy models": ["-m", "weaver", "check"],
    "the programs of the history test": [str(DATA / "history.py")],
    "the tests that stand for users": ["-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS],
}


class Use(NamedTuple):
    """The statements of a file, and the lines at which unreached ones begin."""

    path: Path
    statements: int
    unreached: list[int]


def run(programs: dict[str, list[str]], data: Path = DATA) -> None:
    """Run programs, each in a Python of its own, and keep the lines that they reach."""
    data.mkdir(parents=True, exist_ok=True)
    for old in data.glob("lines*"):
        old.unlink()
    settings = data / "settings"
    settings.write_text(SETTINGS.format(data=data / "lines"))
    (data / "history.py").write_text(HISTORY)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'site'}", "MINIJAX_ORACLE": "stored",
                                "JAX_PLATFORMS": "cpu"}
    for name, arguments in programs.items():
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            print(f"{name} failed:", done.stdout[-2000:], done.stderr[-2000:], sep="\n")
    measured(data).combine([str(data)])


def measured(data: Path = DATA) -> Coverage:
    """The lines that the last run reached."""
    return Coverage(data_file=str(data / "lines"), config_file=str(data / "settings"))


def uses(files: list[Path], data: Path = DATA) -> list[Use]:
    """What the last run reached of some files; those with the most unreached statements first."""
    lines = measured(data)
    lines.load()
    found = [lines.analysis2(str(path)) for path in files]
    return sorted((Use(path, len(statements), unreached)
                   for path, (_, statements, _, unreached, _) in zip(files, found)),
                  key=lambda use: (-len(use.unreached), use.path))


def show(found: list[Use]) -> None:
    """Print a line for each file, and the sum."""
    print(f"{'unreached':>9} {'statements':>10} {'reached':>8}")
    total = Use(Path("in all"), sum(use.statements for use in found),
                [line for use in found for line in use.unreached])
    for use in (*found, total):
        share = 1 - len(use.unreached) / max(use.statements, 1)
        print(f"{len(use.unreached):9,} {use.statements:10,} {share:8.0%}  {use.path}")


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.used", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="more programs to run")
    parser.add_argument("--lines", type=Path, metavar="FILE", help="print its unreached lines")
    given = parser.parse_args(arguments)
    if given.lines:
        source = given.lines.read_text().splitlines()
        for line in uses([given.lines])[0].unreached:
            print(f"{line:5} {source[line - 1]}")
    else:
        run(USERS | {program: [program] for program in given.programs})
        show(uses([path.relative_to(ROOT) for path in (ROOT / "minijax").rglob("*.py")]))


if __name__ == "__main__":
    main()
