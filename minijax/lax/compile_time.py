"""Chapter 11: how to compute with known values while a function is being traced."""

import contextlib
import operator
from collections.abc import Callable

from .. import errors
from ..checks.core import escaped
from ..core import later
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


def eval_context() -> contextlib.AbstractContextManager:
    """A context in which everything is computed at once, and traced values are refused."""
    return set_current_trace(eval_trace)


def concrete_or_error(force: Callable | None, value, context: str = ""):
    """`value` made concrete by `force` (`int`, `operator.index`, … or `None`: as an array).

    Raises:
      ConcretizationTypeError: `value` is a tracer of unknown contents.
    """
    if isinstance(value, Tracer):
        tracer, value = value, value.concrete_value()
        if value is None:
            escaped(tracer)
            raise errors.ConcretizationTypeError(tracer, context)
    return value if force is None else force(value)


def dimension_or_error(size, context: str = ""):
    """A size as an int.

    Raises:
      ConcretizationTypeError: it is a tracer of unknown contents.
      TypeError: it is no integer.
    """
    return concrete_or_error(operator.index, size, context)


def ensure_known(value, context: str = ""):
    """`value` itself, with its derivative, once it is clear that its contents are known."""
    concrete_or_error(None, value, context)
    return value


def is_concrete(x) -> bool:
    """Whether the contents of `x` are known now."""
    return not isinstance(x, Tracer) or x.concrete_value() is not None


later.update(concrete_or_error=concrete_or_error, eval_context=eval_context,
             is_concrete=is_concrete, max_dim=max, min_dim=min)
