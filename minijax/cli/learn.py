"""`python -m minijax learn`: the exercises of the book."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .errors import Failure

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--progress", type=Path, metavar="FILE",
                        default=Path(os.environ.get("MINIJAX_PROGRESS", "minijax-progress.json")),
                        help="where to keep what is solved (default: minijax-progress.json here)")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for name, words in (("check", "check an exercise"), ("watch", "check it at each save")):
        action = actions.add_parser(name, help=words)
        action.add_argument("number", metavar="NUMBER", help="for example 2.3")
        action.add_argument("--answers", type=Path, metavar="FILE",
                            help="your file (default: the chapter's exercises.py)")
    for name, words in (("hint", "show the next hint"), ("solution", "show the solution")):
        action = actions.add_parser(name, help=words)
        action.add_argument("number", metavar="NUMBER")
        if name == "solution":
            action.add_argument("--anyway", action="store_true", help="though it is not solved yet")


def learn(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    if not (CHAPTERS / "learning").is_dir():
        raise Failure("the exercises need a checkout of the repository (chapters/ is missing)", 1)
    sys.path.insert(0, str(CHAPTERS))
    from learning import command

    progress = command.Progress(options.progress)
    if options.action == "check":
        return command.check(options.number, options.answers, progress)
    if options.action == "watch":
        return command.watch(options.number, options.answers, progress)
    if options.action == "hint":
        return command.hint(options.number, progress)
    if options.action == "solution":
        return command.solution(options.number, options.anyway, progress)
    return command.show_list(progress)
