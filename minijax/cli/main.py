"""Reads the command line and runs a command.

Exit codes: 0 all is well, 1 something failed, 2 the arguments are wrong.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from . import launch as launching, learn as learning, run as running
from .errors import Failure

EXAMPLES = """\
for example:
  {0} jaxpr minijax.numpy:mean --args 'f32[3]'   a function as a program
  {0} learn start my-folder                      the book's exercises, with a checker
  {0} run script.py                              a program that says `import jax`
"""


def program() -> str:
    """How the user has called us: by the installed command, or by Python."""
    return "minijax" if Path(sys.argv[0]).stem == "minijax" else "python -m minijax"


class Parser(argparse.ArgumentParser):
    """A parser whose error message is one line; argparse would print the usage with it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (try: {self.prog} --help)\n")


def build_parser() -> Parser:
    """All commands with their options."""
    parser = Parser(prog=program(), description="minijax: JAX, rebuilt to be read.",
                    epilog=EXAMPLES.format(program()),
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    tour = commands.add_parser("tour", help="watch derivatives, batching and a network that learns")
    tour.add_argument("--output", type=Path, default=Path("build/tour"), metavar="FOLDER",
                      help="where the pictures go (default: build/tour)")

    jaxpr = commands.add_parser("jaxpr", help="print a function as a jaxpr")
    jaxpr.add_argument("target", metavar="MODULE:FUNCTION", help="for example minijax.numpy:mean")
    jaxpr.add_argument("--args", nargs="*", default=[], metavar="EXPRESSION", dest="arguments",
                       help="an argument each: a Python expression, in which np, jnp and jax are "
                            "known, and shapes like f32[3,4]")
    jaxpr.add_argument("--mesh", metavar="AXES",
                       help="a mesh, as x=4,y=2; shapes can be split over its axes, as f32[8@x,2]")

    explain = commands.add_parser("explain", help="say of each equation of a function where it "
                                                  "comes from, what it costs and gives")
    explain.add_argument("target", metavar="FILE.py:FUNCTION",
                         help="the function, or MODULE:FUNCTION; the file may say `import jax`")
    explain.add_argument("--args", nargs="*", default=[], metavar="EXPRESSION", dest="arguments",
                         help="an argument each, as for `jaxpr`; a shape like f32[3,4] is an array "
                              "of random numbers")
    for name, what in (("vmap", "batch it over all its arguments"),
                       ("grad", "its gradient by the first argument"), ("jit", "jit it")):
        explain.add_argument(f"--{name}", action="append_const", const=name,
                             dest="transformations", help=f"{what}; in the order that you give")
    explain.add_argument("-o", "--output", type=Path, metavar="PAGE",
                         help="write a page to this file instead of printing")

    theatre = commands.add_parser("theatre", help="write a page that plays a run of a function, "
                                                  "step by step")
    theatre.add_argument("target", metavar="MODULE:FUNCTION", help="the function to run")
    theatre.add_argument("--args", nargs="*", default=[], metavar="EXPRESSION", dest="arguments",
                         help="an argument each, as for `jaxpr`; a shape like f32[3,4] is an array "
                              "of ones")
    theatre.add_argument("--grad", action="store_true", help="run the gradient of the function")
    theatre.add_argument("--output", type=Path, default=Path("theatre.html"), metavar="FILE",
                         help="the page (default: theatre.html)")

    learn = commands.add_parser("learn", help="the exercises of the book: list and check them")
    learning.add_arguments(learn)

    launch = commands.add_parser("launch", help="run a program in several processes that compute "
                                                "together")
    launching.add_arguments(launch)

    run = commands.add_parser("run", help="run a program written for JAX: `import jax` gives "
                                          "minijax")
    running.add_arguments(run)

    commands.add_parser("doctor", help="say what is installed and whether XLA works")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    options = build_parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a log that cannot hold a ✓ gets a ?
    try:
        code = run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # what a shell says of a program that such a pipe ended


def run(options: argparse.Namespace) -> int:
    """Run one command; return the exit code."""
    # Each command is imported when it is asked for: the doctor must run where the tour cannot.
    try:
        if options.command == "tour":
            from .tour import tour

            return tour(options.output)
        if options.command == "jaxpr":
            from .jaxpr import print_jaxpr

            return print_jaxpr(options.target, options.arguments, options.mesh)
        if options.command == "explain":
            from .explain import explain_function

            return explain_function(options)
        if options.command == "theatre":
            from .theatre import write_theatre

            return write_theatre(options.target, options.arguments, options.grad, options.output)
        if options.command == "learn":
            return learning.learn(options)
        if options.command == "launch":
            return launching.launch(options)
        if options.command == "run":
            return running.run(options)
        from .doctor import doctor

        return doctor()
    except Failure as failure:
        print(f"{program()} {options.command}: error: {failure}", file=sys.stderr)
        return failure.exit_code
    except KeyboardInterrupt:
        return 130
