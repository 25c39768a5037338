"""Chapter 5: when is a function traced, and when is an older trace good enough?

    TracedFunction : (a → b) → signature of a → jaxpr

A function is traced once for each signature: the structure of its arguments, the avals of their
leaves, the values of the static ones, and the settings that tracing obeys. `make_jaxpr`,
`eval_shape` and `jit` of one function find the same traces. The cache is weak: traces live as long
as the function.

In JAX: `jax/_src/interpreters/partial_eval.py`, `jax/_src/pjit.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import settings
from ..checks import staging as checks
from ..runtime import timed
from ..source import fun_name
from .api_util import flatten_fun, positive_argnums, split_statics, with_statics
from .array import Array
from .core import ShapedArray, Tracer, state
from .extension import hooks
from .jaxpr import ClosedJaxpr, convert_constvars_jaxpr
from .staging import jaxpr_of, shaped_abstractify
from .tree import PyTreeDef, tree_flatten, tree_structure
from .util import split_list


class Options(NamedTuple):
    """How a function is jitted; part of the caches' keys. `more` belongs to `runtime/jit.py`."""

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    more: Any = None


class Call(NamedTuple):
    """The arguments of one call, taken apart."""

    args: tuple  # the traced arguments
    kwargs: dict
    statics: tuple  # (position or name, value, type of the value) for each static argument
    leaves: list  # of (args, kwargs)
    in_tree: PyTreeDef


class Tracing(NamedTuple):
    """A traced function: its jaxpr, and the structure of its result.

    `outer_tracers` are the values that the function closed over, if one of them is not an array: it
    may be a tracer of an outer trace. They are the jaxpr's first arguments.
    """

    jaxpr: ClosedJaxpr
    out_tree: PyTreeDef
    outer_tracers: tuple


def by_place(statics: tuple) -> dict[int | str, Any]:
    """The static arguments of a `Call` by position or name."""
    return {place: value for place, value, _ in statics}


class TracedFunction:
    """A function and its traces. `jit` makes it one that can be called."""

    __slots__ = ("_fun", "_options", "_traces")

    def __init__(self, fun: Callable, options: Options):
        self._fun, self._options = fun, options
        self._traces = settings.cache_of(fun, options)

    def jaxpr(self, args: tuple, kwargs: dict) -> tuple[ClosedJaxpr, PyTreeDef]:
        """The program, with all that the function closed over as constants, and the structure of
        the result."""
        call = self._call(args, kwargs)
        jaxpr, out_tree, outside = self._traced(call)
        if outside:
            constvars, invars = split_list(jaxpr.jaxpr.invars, [len(outside)])
            jaxpr = ClosedJaxpr(jaxpr.jaxpr.replace(constvars=constvars, invars=invars), outside)
        checks.constants_apart(jaxpr, call.leaves)
        return jaxpr, out_tree

    def _call(self, args, kwargs) -> Call:
        args, kwargs, statics = self._split(args, kwargs)
        return Call(args, kwargs, statics, *tree_flatten((args, kwargs)))

    def _split(self, args, kwargs) -> tuple[tuple, dict, tuple]:
        """Separate the static arguments from the others."""
        numbers = static_positions(self._options.static_argnums, len(args))
        args, kwargs, statics = split_statics(
            args, kwargs, numbers, self._options.static_argnames)
        return args, kwargs, tuple([(place, x, type(x)) for place, x in statics.items()])

    def _traced(self, call: Call) -> Tracing:
        """The function traced at the types of these arguments."""
        checks.static_arguments(call.statics)
        in_avals = self._in_avals(call)
        axes = tuple(state.axis_sizes.items())
        key = (call.in_tree, settings.trace_context(), call.statics, axes, *in_avals)
        tracing = self._traces.get(key)
        if tracing is None:
            checks.may_trace(self._fun, call, key, self._traces, tree_structure)
            tracing = self._trace(call, in_avals)
            if not any(isinstance(x, Tracer) for x in tracing.outer_tracers):  # others next time
                tracing = settings.remember(self._traces, key, tracing)
        return tracing

    def _in_avals(self, call: Call) -> list[ShapedArray]:
        """The types of the traced arguments.

        Raises:
          TypeError, OverflowError: an argument is not an array or a number, or it is too large; the
            message names it.
        """
        try:
            in_avals = [*map(shaped_abstractify, call.leaves)]
        except (TypeError, AttributeError, OverflowError):
            checks.traced_arguments(self._fun, call, shaped_abstractify)
            raise
        checks.arguments_apart(in_avals, self._fun, call)
        return in_avals

    def _trace(self, call: Call, in_avals: Sequence) -> Tracing:
        """Trace the function at arguments of these types."""
        fun, statics = self._fun, by_place(call.statics)
        flat_fun, out_tree = flatten_fun(with_statics(fun, statics), call.in_tree)
        info = None
        for debug_info in hooks.debug_info:
            info = debug_info("jit", fun, call.in_tree, statics, out_tree)
        with timed("jaxpr_trace", fun_name(fun)):
            jaxpr = jaxpr_of(flat_fun, in_avals, info)
        if all(isinstance(c, (Array, np.ndarray)) and not isinstance(c, Tracer)
               for c in jaxpr.consts):
            return Tracing(jaxpr, out_tree(), ())
        lifted = ClosedJaxpr(convert_constvars_jaxpr(jaxpr.jaxpr))
        return Tracing(lifted, out_tree(), tuple(jaxpr.consts))


@functools.lru_cache
def static_positions(argnums: tuple[int, ...], num_args: int) -> tuple[int, ...]:
    """`argnums` as positions among so many arguments, in ascending order."""
    return tuple(sorted(positive_argnums(argnums, num_args, drop_too_large=True)))
