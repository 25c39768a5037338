"""What a traced function, its arguments and its results are called in messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class DebugInfo:
    """The names of a traced function, its arguments and its results, for messages.

    `arg_names` and `result_paths` may be functions that make the names. They are called when the
    names are needed.
    """

    __slots__ = ("traced_for", "func_src_info", "_arg_names", "_result_paths")
    _fields = ("traced_for", "func_src_info", "arg_names", "result_paths")

    def __init__(self, traced_for="", func_src_info="", arg_names=(), result_paths=()):
        self.traced_for, self.func_src_info = traced_for, func_src_info
        self._arg_names, self._result_paths = arg_names, result_paths

    @property
    def arg_names(self) -> tuple[str, ...]:
        if callable(self._arg_names):
            self._arg_names = self._arg_names()
        return self._arg_names

    @property
    def result_paths(self) -> tuple[str, ...] | None:
        if callable(self._result_paths):
            self._result_paths = self._result_paths()
        return self._result_paths

    @property
    def func_name(self) -> str:
        return self.func_src_info.split(" ")[0]

    @property
    def func_filename(self) -> str | None:
        """The file in which the function is; `None` for one that is not of Python."""
        return self.func_src_info.partition(" at ")[2].rpartition(":")[0] or None

    @property
    def func_lineno(self) -> int | None:
        """The line at which the function begins."""
        line = self.func_src_info.partition(" at ")[2].rpartition(":")[2]
        return int(line) if line else None

    def __iter__(self):
        return (getattr(self, name) for name in self._fields)

    def _replace(self, **changes: Any) -> DebugInfo:
        """A copy with other fields, as of a named tuple."""
        return DebugInfo(**dict(zip(self._fields, self)) | changes)

    def with_unknown_names(self) -> DebugInfo:
        return self._replace(arg_names=None, result_paths=None)

    def safe_arg_names(self, expected_count: int) -> tuple[str, ...]:
        """The names of the arguments; empty ones if they are not known."""
        return self._safe(self.arg_names, expected_count)

    def safe_result_paths(self, expected_count: int) -> tuple[str, ...]:
        return self._safe(self.result_paths, expected_count)

    def _safe(self, names: Sequence[str] | None, expected_count: int) -> tuple[str, ...]:
        if names is None:
            return ("",) * expected_count
        assert len(names) == expected_count, (
            f"{self} names {len(names)} values, but there are {expected_count}.")
        return tuple(names)

    def __repr__(self):
        return (f"DebugInfo(traced_for={self.traced_for!r}, func_src_info={self.func_src_info!r}, "
                f"arg_names={self.arg_names!r}, result_paths={self.result_paths!r})")
