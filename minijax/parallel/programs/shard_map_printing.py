"""Chapter 14: what a `print` in the body of a `shard_map` shows: the values on all devices.

A body is traced, and then compiled as a whole. If no other transformation is in force, the
arguments are known while the body is traced. Then the equations so far can be evaluated up to the
value that is printed.
"""

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...core.core import eval_trace, set_current_trace
from ...core.dtypes import ExtendedDType
from ...core.jaxpr import ClosedJaxpr, Jaxpr, jaxpr_as_fun
from ...core.staging import DynamicJaxprTrace, DynamicJaxprTracer, jaxpr_of
from ...lax.shaping import expand_dims
from ..types.varying_axes import varying


class _Current(threading.local):
    """The arguments of the `shard_map` that is being called now, outside of transformations."""

    args: Sequence | None = None


_current = _Current()


@contextlib.contextmanager
def given(args: Sequence) -> Iterator[None]:
    """A `with` block in which a `shard_map` is called with these arguments."""
    _current.args = args
    try:
        yield
    finally:
        _current.args = None


def take_given() -> Sequence | None:
    """The arguments, once: an inner `shard_map` is called with others."""
    args, _current.args = _current.args, None
    return args


# The traces of bodies whose arguments are known: from a trace to the axes that are mapped over, and
# the function that evaluates a jaxpr at the arguments.
_evaluators: weakref.WeakKeyDictionary[DynamicJaxprTrace, tuple] = weakref.WeakKeyDictionary()


def show_values(trace: DynamicJaxprTrace, axes: tuple, evaluate: Callable) -> None:
    """Let tracers of the body's trace be shown as values.

    `evaluate` computes the result of a jaxpr at the arguments, split over all the `axes` that are
    mapped over.
    """
    _evaluators[trace] = axes, evaluate


def _values(tracer: DynamicJaxprTracer) -> Any:
    """The values on all devices, stacked; `None` if they are not known to this process."""
    axes, evaluate = _evaluators[tracer._trace]
    so_far = tracer._trace.builder.build([tracer.atom])
    so_far = ClosedJaxpr(_without_prints(so_far.jaxpr), so_far.consts)

    def value(*shards):
        (x,) = jaxpr_as_fun(so_far)(*shards)
        return [expand_dims(varying(x, axes), (0,))]

    jaxpr = jaxpr_of(value, so_far.in_avals)
    with set_current_trace(eval_trace):
        whole = evaluate(jaxpr)
    return whole if whole.is_fully_addressable else None


def _without_prints(jaxpr: Jaxpr) -> Jaxpr:
    """A jaxpr that computes the same values. The whole body prints, when it runs."""
    eqns = [eqn for eqn in jaxpr.eqns if eqn.outvars or not eqn.effects]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, eqns, None, jaxpr.debug_info)


def tracer_text(tracer: DynamicJaxprTracer) -> str | None:
    """`Placements.tracer_text`: tracers of a body whose arguments are known print as values."""
    known = tracer._trace in _evaluators and not isinstance(tracer.aval.dtype, ExtendedDType)
    whole = _values(tracer) if known else None
    if whole is None:
        return None
    axes = _evaluators[tracer._trace][0]
    devices, blocks = whole.sharding.mesh.devices, np.asarray(whole)
    names = f"({', '.join(map(str, axes))},)"
    return "\n".join(f"On {device} at mesh coordinates {names} = {place}:\n{block}\n"
                     for (place, device), block in zip(np.ndenumerate(devices), blocks))
