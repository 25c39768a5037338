"""Chapter 14: what a `print` in the body of a `shard_map` shows: the values on all devices.

A body is traced, and then compiled as a whole. If no other transformation is in force, the
arguments are known while the body is traced. Then the equations so far can be evaluated up to the
value that is printed, or up to one that is the same on all devices and decides a Python `if`.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.array import Array, as_array
from ...core.core import Tracer, eval_trace, set_current_trace
from ...core.dtypes import ExtendedDType
from ...core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxpr_as_fun, jaxprs_in_params, no_effects
from ...core.staging import DynamicJaxprTrace, DynamicJaxprTracer, jaxpr_of
from ...core.tree import tree_flatten
from ...lax.shaping import expand_dims
from ...runtime import settings
from ..types.placement import varying_axes
from ..types.varying_axes import varying


class Given(NamedTuple):
    """A call of a `shard_map`.

    It is `eager` if no transformation is in force. If Python may take branches by the values of the
    arguments (`may_decide`), the traced body is good for this call only.
    """

    args: Sequence
    eager: bool
    may_decide: bool

    def values(self) -> list | None:
        """The arguments' leaves without tangents; `None` if a transformation hides some."""
        return _without_tangents(tree_flatten(self.args)[0])


def _without_tangents(values: Sequence) -> list | None:
    known = [x.concrete_value() if isinstance(x, Tracer) else x for x in values]
    is_hidden = [x is None and y is not None for x, y in zip(known, values)]
    return None if any(is_hidden) else known


class Decides(BaseException):
    """Raised where Python would take a branch by a value, but the traced body would be kept."""


class _Current(threading.local):
    """The `shard_map` that is being called now."""

    call: Given | None = None


_current = _Current()


@contextlib.contextmanager
def given(call: Given) -> Iterator[None]:
    """A `with` block in which a `shard_map` is called like this."""
    _current.call = call
    try:
        yield
    finally:
        _current.call = None


def take_given() -> Given | None:
    """The call, once: an inner `shard_map` is called with other arguments."""
    call, _current.call = _current.call, None
    return call


# The traces of bodies whose arguments are known: from a trace to the axes that are mapped over, the
# function that evaluates a jaxpr at the arguments, and the call.
_evaluators: weakref.WeakKeyDictionary[DynamicJaxprTrace, tuple] = weakref.WeakKeyDictionary()


def show_values(trace: DynamicJaxprTrace, axes: tuple, evaluate: Callable, call: Given) -> None:
    """Let tracers of the body's trace be shown as values.

    `evaluate` computes the result of a jaxpr at the leaves of the arguments, split over all the
    `axes` that are mapped over.
    """
    _evaluators[trace] = axes, evaluate, call


def _values(tracer: DynamicJaxprTracer) -> Any:
    """The values on all devices, stacked; `None` if they are not known, or not to this process."""
    axes, evaluate, call = _evaluators[tracer._trace]
    so_far = tracer._trace.builder.build([tracer.atom])
    so_far = ClosedJaxpr(_without_prints(so_far.jaxpr), so_far.consts)
    leaves, consts = call.values(), _without_tangents(so_far.consts)
    if leaves is None or consts is None:
        return None
    so_far = ClosedJaxpr(so_far.jaxpr, consts)

    def value(*shards):
        (x,) = jaxpr_as_fun(so_far)(*shards)
        return [expand_dims(varying(x, axes), (0,))]

    jaxpr = jaxpr_of(value, so_far.in_avals)
    with set_current_trace(eval_trace):
        whole = evaluate(jaxpr, leaves)
    return whole if whole.is_fully_addressable else None


_PRINTS = "debug_print", "debug_callback"


def _without_prints(jaxpr: Jaxpr) -> Jaxpr:
    """A jaxpr that computes the same values. The whole body prints, when it runs."""
    if not jaxpr.effects:
        return jaxpr
    eqns = [_eqn_without_prints(eqn) for eqn in jaxpr.eqns if eqn.primitive.name not in _PRINTS]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, eqns, None, jaxpr.debug_info)


def _eqn_without_prints(eqn: JaxprEqn) -> JaxprEqn:
    inner = [*jaxprs_in_params(eqn.own_params)]
    if not eqn.effects or not inner:
        return eqn
    left = no_effects.union(*[_without_prints(jaxpr).effects for jaxpr in inner])
    gone = no_effects.union(*[jaxpr.effects for jaxpr in inner]) - left
    params = {name: _param_without_prints(x) for name, x in eqn.own_params.items()}
    return eqn.replace(params=params, effects=eqn.effects - gone)


def _param_without_prints(x: Any) -> Any:
    if isinstance(x, ClosedJaxpr):
        return ClosedJaxpr(_without_prints(x.jaxpr), x.consts)
    if isinstance(x, Jaxpr):
        return _without_prints(x)
    return tuple(map(_param_without_prints, x)) if isinstance(x, tuple) else x


def _shown(tracer: DynamicJaxprTracer) -> str | None:
    whole = _values(tracer)
    if whole is None:
        return None
    axes = _evaluators[tracer._trace][0]
    devices, blocks = whole.sharding.mesh.devices, np.asarray(whole)
    names = f"({', '.join(map(str, axes))},)"
    return "\n".join(f"On {device} at mesh coordinates {names} = {place}:\n{block}\n"
                     for (place, device), block in zip(np.ndenumerate(devices), blocks))


def tracer_text(tracer: DynamicJaxprTracer) -> str | None:
    """`Placements.tracer_text`: tracers of a body whose arguments are known print as values."""
    is_shown = _is_known(tracer) and _evaluators[tracer._trace][2].eager
    return _shown(tracer) if is_shown else None


def _is_known(tracer):
    return tracer._trace in _evaluators and not isinstance(tracer.aval.dtype, ExtendedDType)


def known_value(tracer: DynamicJaxprTracer) -> Array | None:
    """`Placements.known_value`, if types say that it is the same on all devices."""
    if not _is_known(tracer) or not settings.check_vma.value or varying_axes(tracer.aval):
        return None
    whole = _values(tracer)
    if whole is None:
        return None
    if not _evaluators[tracer._trace][2].may_decide:
        raise Decides
    return as_array(np.asarray(whole)[0])
