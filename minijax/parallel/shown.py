"""Chapter 14: what a `print` in the body of a `shard_map` shows: the values on all devices.

A body is traced, and then compiled as a whole. If no other transformation is in force, the
arguments are known while the body is traced. Then the equations so far can be evaluated up to the
value that is printed.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..core.core import eval_trace, set_current_trace
from ..core.dtypes import ExtendedDType
from ..core.extension import Extension, register
from ..core.jaxpr import jaxpr_as_fun
from ..core.staging import DynamicJaxprTrace, DynamicJaxprTracer, trace_to_jaxpr
from ..lax.shaping import expand_dims
from .vma import varying


class _Given(threading.local):
    """The arguments of the `shard_map` that is being called now."""

    args: Sequence | None = None


_given = _Given()


@contextlib.contextmanager
def given(args: Sequence) -> Iterator[None]:
    """A `with` block in which a `shard_map` is called with these arguments."""
    _given.args = args
    try:
        yield
    finally:
        _given.args = None


def take_given() -> Sequence | None:
    """The arguments, once: an inner `shard_map` is called with other ones."""
    args, _given.args = _given.args, None
    return args


# The traces of bodies whose arguments are known: from a trace to the axes that are mapped over, and
# the function that evaluates a jaxpr at the arguments.
_evaluators: weakref.WeakKeyDictionary[DynamicJaxprTrace, tuple] = weakref.WeakKeyDictionary()


def show_values(trace: DynamicJaxprTrace, axes: tuple, evaluate: Callable) -> None:
    """Let tracers of the body's trace be shown as values.

    `evaluate` computes the result of a jaxpr of the body's arguments, split over all the `axes`
    that are mapped over.
    """
    _evaluators[trace] = axes, evaluate


def _shown(tracer: DynamicJaxprTracer) -> str | None:
    axes, evaluate = _evaluators[tracer._trace]
    so_far = tracer._trace.builder.build([tracer.atom])

    def value(*shards):
        (x,) = jaxpr_as_fun(so_far)(*shards)
        return [expand_dims(varying(x, axes), (0,))]

    jaxpr = trace_to_jaxpr(value, so_far.in_avals)
    with set_current_trace(eval_trace):
        whole = evaluate(jaxpr)
    if not whole.is_fully_addressable:  # other processes have some
        return None
    devices, blocks = whole.sharding.mesh.devices, np.asarray(whole)
    names = f"({', '.join(map(str, axes))},)"
    return "\n".join(f"On {device} at mesh coordinates {names} = {place}:\n{block}\n"
                     for (place, device), block in zip(np.ndenumerate(devices), blocks))


class ShownValues(Extension):
    """Tracers of a body whose arguments are known print as values."""

    def tracer_text(self, tracer):
        if tracer._trace not in _evaluators or isinstance(tracer.aval.dtype, ExtendedDType):
            return None
        return _shown(tracer)


register(ShownValues())
