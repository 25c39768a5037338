"""What `jax._src.source_info_util` has besides its public names: the user's frames."""

from __future__ import annotations

# chapter 5
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from minijax.source import SourceInfo


class Frame(NamedTuple):
    """A place in a file of the user's."""

    file_name: str
    function_name: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int


def user_frames(traceback: SourceInfo | None) -> Iterator[Frame]:
    """The user's frames of `source_info.traceback`. Only the innermost one is kept here."""
    if traceback is not None and traceback.location is not None:
        code, lasti = traceback.location
        position = next(itertools.islice(code.co_positions(), lasti // 2, None))
        line, end_line, column, end_column = (number or 0 for number in position)
        yield Frame(code.co_filename, code.co_qualname, line, column, end_line, end_column)


def user_frame(traceback: SourceInfo | None) -> Frame | None:
    """The innermost of the user's frames."""
    return next(user_frames(traceback), None)
