"""The weaver: makes the book's pages of the chapters' text, the library's lines and real runs.

A chapter is Markdown. Two kinds of fenced blocks mean more than they say: a `listing` names lines
of the library, which the weaver shows as they stand; a `python` block is run, and the `text` block
after it holds what it printed. Nothing is shown that is not so: a name that is gone, an output that
has changed, a warning, an exception nobody announced: each of them ends the build.
"""

import os
import sys

if "minijax" not in sys.modules:  # chapter 14 runs on eight devices
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")


class WeaveError(Exception):
    """The book says something that is not so. `where` is `file:line`, for the author to click."""

    def __init__(self, where: str, message: str):
        super().__init__(f"{where}: {message}")
        self.where = where
