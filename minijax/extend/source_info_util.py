"""The public names of `jax.extend.source_info_util`: where equations come from, their scopes."""

# chapter 1
from .. import source as _source

# chapter 5
from ..text.scopes import NameStack
from ..source import SourceInfo
from ..text.locations import exclude_from_user_code as _exclude_from_user_code, new_source_info

import contextlib as _contextlib


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one scope, or of none.

    >>> from minijax.extend import source_info_util
    >>> source_info_util.new_name_stack("outer").extend("inner")
    outer/inner
    """
    return NameStack((name,) if name else ())


def current() -> SourceInfo:
    """The place of the user's code that is running, or whose equation is interpreted."""
    return new_source_info(_source.source.names)


def current_name_stack() -> NameStack:
    """The named scopes around this."""
    return NameStack(_source.source.names)


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """A place as text: "file.py:12:4 (function)"."""
    return str(source_info)


@_contextlib.contextmanager
def set_name_stack(name_stack):
    """A context with these named scopes."""
    outside, _source.source.names = _source.source.names, tuple(name_stack)
    try:
        yield
    finally:
        _source.source.names = outside


def reset_name_stack():
    """A context without named scopes."""
    return set_name_stack(NameStack())


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
    source = _source.source
    outside, source.location = source.location, traceback or source.location
    try:
        with set_name_stack(source.names if name_stack is None else name_stack):
            yield
    finally:
        source.location = outside


def register_exclusion(path: str) -> None:
    """Do not count the files of this path (a file, or a folder) as the user's code."""
    _exclude_from_user_code(path)
