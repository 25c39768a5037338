"""Chapter 11: how to compute with known values while a function is being traced."""

from __future__ import annotations

import contextlib

from ..core.core import Trace, Tracer, eval_trace, set_current_trace, state


class _FoldingTrace(Trace):
    """Computes operations on known values now, and leaves the others to the trace around."""

    __slots__ = ()

    def __init__(self, parent: Trace):
        super().__init__(parent)
        self.staging = False

    def process_primitive(self, primitive, args, params):
        trace = self.parent if any(isinstance(x, Tracer) for x in args) else eval_trace
        with set_current_trace(trace):
            return trace.process_primitive(primitive, args, params)


def ensure_compile_time_eval() -> contextlib.AbstractContextManager:
    """A context in which operations on concrete values are computed at once, even under `jit`.

    Operations on traced values are traced, as they are outside.

    >>> with ensure_compile_time_eval():
    ...     n = int(jnp.sum(jnp.arange(3)))
    """
    return set_current_trace(_FoldingTrace(state.trace))
