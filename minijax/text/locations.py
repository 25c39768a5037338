"""Where in the user's code something came from, for messages and warnings."""

import functools
import itertools
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType

from ..source import (
    SourceInfo,
    in_stdlib,
    innermost_function,
    is_library_file,
    is_user_file,
    library_paths,
    user_location,
)

_HELPERS = ("numpy", "scipy", "jaxlib", "ml_dtypes", "opt_einsum")


@functools.cache
def is_helper_file(filename: str) -> bool:
    """Whether a file belongs to Python's standard library, or to a package that minijax calls."""
    return in_stdlib(filename) or any(
        f"-packages{os.sep}{name}{os.sep}" in filename for name in _HELPERS)


def exclude_from_user_code(path: str) -> None:
    """Count a file, or a folder, as library code. Libraries that are built on minijax call this."""
    library_paths.append(path)
    _forget()


def count_as_user_code(path: str) -> None:
    """Undo `exclude_from_user_code`."""
    library_paths[:] = [other for other in library_paths if other != path]
    _forget()


def _forget() -> None:
    is_library_file.cache_clear()
    is_user_file.cache_clear()


def is_user_frame(frame: FrameType) -> bool:
    """Whether a frame is of the user's code."""
    return is_user_file(frame.f_code.co_filename)


def is_user_function(fun: Callable) -> bool:
    """Whether a function is of the user's code, or of no known place."""
    code = getattr(innermost_function(fun), "__code__", None)
    return code is None or is_user_file(code.co_filename)


def format_location(location: tuple[CodeType, int] | None) -> str:
    """``"file.py:12 (function)"``; empty when the location is unknown."""
    if location is None:
        return ""
    code, lasti = location
    positions = next(itertools.islice(code.co_positions(), lasti // 2, None), (None,))
    return f"{short_path(code.co_filename)}:{positions[0]} ({code.co_name})"


def source_text(info: SourceInfo) -> str:
    """`file.py:12:4 (function)`, as JAX prints it, with the column counted from 0."""
    if info.location is None:
        return "unknown"
    code, lasti = info.location
    positions = next(itertools.islice(code.co_positions(), lasti // 2, None))
    return f"{code.co_filename}:{positions[0]}:{positions[2]} ({code.co_qualname})"


def short_path(filename: str) -> str:
    """The path as the user would type it: relative to the working directory if it is inside."""
    return filename.removeprefix(os.getcwd() + os.sep)


def new_source_info(names: tuple = ()) -> SourceInfo:
    """The user's line that is running now."""
    return SourceInfo(user_location(), names)


def user_frame_summary() -> str:
    """``"file.py:12 (function)"`` of the innermost frame of the user's code; may be empty."""
    return format_location(user_location())


def user_stacklevel() -> int:
    """The ``stacklevel`` with which the caller's warning points at the user's code."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and not is_user_file(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level
