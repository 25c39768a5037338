"""The public names of `jax.extend.source_info_util`: where equations come from, their scopes."""

# chapter 1
from .. import errors as _errors

# chapter 5
from ..errors import SourceInfo, new_source_info

import contextlib as _contextlib


class NameStack(str):
    """The named scopes around an operation, as "outer/inner"."""

    def extend(self, name):
        """With one more scope inside."""
        return NameStack(f"{self}/{name}" if self else name)

    def transform(self, transform_name):
        """Marked as transformed: "transform(outer/inner)"."""
        return NameStack(f"{transform_name}({self})")

    def __add__(self, other):
        return NameStack(f"{str(self)}/{other}" if self and other else str(self) or other)


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one scope, or of none.

    >>> from minijax.extend import source_info_util
    >>> source_info_util.new_name_stack("outer").extend("inner")
    'outer/inner'
    """
    return NameStack(name)


def current() -> SourceInfo:
    """The place of the user's code that is running, or whose equation is interpreted."""
    return new_source_info(_errors.source.name_stack)


def current_name_stack() -> NameStack:
    """The named scopes around this."""
    return NameStack(_errors.source.name_stack)


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """A place as text: "file.py:12:4 (function)"."""
    return str(source_info)


@_contextlib.contextmanager
def set_name_stack(name_stack):
    """A context with these named scopes."""
    outside, _errors.source.name_stack = _errors.source.name_stack, str(name_stack)
    try:
        yield
    finally:
        _errors.source.name_stack = outside


def reset_name_stack():
    """A context without named scopes."""
    return set_name_stack("")


def extend_name_stack(name: str):
    """A context with one more scope inside the others."""
    return set_name_stack(current_name_stack().extend(name))


def transform_name_stack(name: str):
    """A context in which the scopes are marked as transformed."""
    return set_name_stack(current_name_stack().transform(name))


@_contextlib.contextmanager
def user_context(traceback, *, name_stack=None):
    """A context in which operations come from the place `traceback`, a `source_info.location`
    here (`None`: from where they are), and belong to the scopes `name_stack`."""
    source = _errors.source
    outside, source.location = source.location, traceback or source.location
    try:
        with set_name_stack(source.name_stack if name_stack is None else name_stack):
            yield
    finally:
        source.location = outside


def register_exclusion(path: str) -> None:
    """Do not count the files of this path (a file, or a folder) as the user's code."""
    _errors.exclude_from_user_code(path)
