"""A trace that evaluates, and writes down what is applied: what staging would make equations of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from minijax.core.core import Trace, eval_trace, set_current_trace


class Recorder(Trace):
    """Evaluates, and keeps the names of the primitives in order."""

    def __init__(self) -> None:
        super().__init__(eval_trace)
        self.names: list[str] = []

    def process_primitive(self, primitive: Any, args: Any, params: Any) -> Any:
        """The primitive's own result."""
        self.names.append(primitive.name)
        return primitive.impl(*args, **params)


def applied(f: Callable, *args: Any) -> tuple[Counter[str], Any]:
    """How often each primitive is applied when `f` is called, and what `f` returns."""
    recorder = Recorder()
    with set_current_trace(recorder):
        out = f(*args)
    return Counter(recorder.names), out
