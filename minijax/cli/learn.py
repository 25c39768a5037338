"""`python -m minijax learn`: the exercises of the book."""

import argparse
import os
from pathlib import Path

from .book import chapters
from .errors import Failure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = "Lists the exercises, if no action is given."
    parser.set_defaults(folder=Path(), progress=None, seconds=60.0)
    _add_places(parser)
    _add_time_limit(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    start = actions.add_parser("start", help="write the stubs of all exercises into a folder")
    start.add_argument("target", type=Path, metavar="FOLDER")
    for name, words in (("check", "check an exercise"),
                        ("watch", "check it at each save; without a number, one after another")):
        action = actions.add_parser(name, help=words)
        action.add_argument("number", metavar="NUMBER", help="for example 2.3",
                            nargs="?" if name == "watch" else None)
        action.add_argument("--answers", type=Path, metavar="FILE",
                            help="your file (default: the chapter's file in your folder)")
        _add_places(action)
        _add_time_limit(action)
    for name, words in (("hint", "show the next hint"), ("solution", "show the solution")):
        action = actions.add_parser(name, help=words)
        action.add_argument("number", metavar="NUMBER")
        _add_places(action)
        if name == "solution":
            action.add_argument("--anyway", action="store_true", help="though it is not solved yet")


def _add_places(parser):
    # These options are also options of an action, so they may stand after it. An action without
    # them must not overwrite what stood before it: SUPPRESS is no default at all.
    parser.add_argument("--folder", type=Path, default=argparse.SUPPRESS, metavar="FOLDER",
                        help="your folder, which `learn start` made (default: this one)")
    parser.add_argument("--progress", type=Path, default=argparse.SUPPRESS, metavar="FILE",
                        help="where to keep what is solved (default: minijax-progress.json there)")


def _add_time_limit(parser):
    parser.add_argument("--seconds", type=float, default=argparse.SUPPRESS, metavar="N",
                        help="the time limit for your code (default: 60)")


def learn(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    chapters()
    from learning import command

    stored = options.progress or os.environ.get("MINIJAX_PROGRESS")
    progress = command.Progress(Path(stored) if stored else options.folder / command.PROGRESS)
    try:
        if options.action == "start":
            return command.start(options.target)
        if options.action == "check":
            file = command.answers_file(options.number, options.answers, options.folder)
            return command.check(options.number, file, progress, options.seconds)
        if options.action == "watch":
            return command.watch(options.number, options.answers, options.folder, progress,
                                 options.seconds)
    except FileNotFoundError as error:
        raise Failure(str(error)) from None
    if options.action == "hint":
        return command.hint(options.number, progress)
    if options.action == "solution":
        return command.solution(options.number, options.anyway, progress)
    return command.show_list(progress)
