"""`python -m minijax run script.py`: a program written for JAX, on minijax."""

import argparse
import os
import runpy
import sys

from ..compat import alias
from .errors import Failure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command: which program to run."""
    parser.add_argument("-m", action="store_true", dest="is_module",
                        help="what follows names a module, not a file")
    parser.add_argument("program", metavar="SCRIPT", help="a Python program, with its arguments")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def check_program(options: argparse.Namespace) -> None:
    """Raise `Failure` if there is no such file."""
    if not (options.is_module or os.path.exists(options.program)):
        raise Failure(f"there is no file {options.program}")


def run(options: argparse.Namespace) -> int:
    """Run the program in this process, in which `import jax` gives minijax."""
    check_program(options)
    alias.install()
    sys.argv = [options.program, *options.arguments]
    if options.is_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.program)))
        runpy.run_path(options.program, run_name="__main__")
    return 0
