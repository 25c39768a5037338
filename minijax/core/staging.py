"""Chapter 5: how does a Python function become a jaxpr?

    trace_to_jaxpr : (a → (b, static)) → types of a → (jaxpr of (a → b), static)

`DynamicJaxprTrace` computes nothing. It writes down each primitive as an equation, and its tracers
stand for the variables. Each tracer has a type, but no value. Python's own loops, conditions and
dictionaries run once, at trace-time, and do not appear in the jaxpr.

`jvp_jaxpr` and `batch_jaxpr` transform a whole jaxpr: they trace the transformed function of it.

In JAX: the second half of `jax/_src/interpreters/partial_eval.py`.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from .. import settings
from ..checks import staging as checks
from ..source import SourceInfo, own_source, source, user_location
from . import dtypes
from .array import Array, as_array
from .batching import batch_subtrace, matchaxis, unmapped_aval
from .core import RuleTable, ShapedArray, Trace, Tracer, new_trace, state, typeof
from .extension import hooks
from .forward import Zero, instantiate_zeros, jvpfun
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun, typed_scalar
from .primitives import constant, convert_element_type_p
from .util import merge_lists, partition_list, split_list

# ----------------------------------------------------------------------------------------------
# Writing equations down.


class JaxprBuilder:
    """A jaxpr in the making: the equations so far, and the constants in them.

    The first `n_outside` names of the name stack belong to the surroundings, so equations leave
    them out.
    """

    __slots__ = ("invars", "eqns", "_constants", "n_outside")

    def __init__(self, n_outside: int = 0):
        self.n_outside = n_outside
        self.invars: list[Var] = []
        self.eqns: list[JaxprEqn] = []
        self._constants: dict[int, tuple[Var, Any]] = {}  # by `id`; the value stays alive here

    def new_invar(self, aval: ShapedArray) -> Var:
        var = Var(aval)
        self.invars.append(var)
        return var

    def constant(self, x) -> Atom:
        """An atom for a value from outside: a literal for a scalar, or else a variable."""
        aval = typeof(x)
        if isinstance(x, (np.ndarray, np.generic, int, float, complex)) and not aval.ndim:
            value = typed_scalar(x, aval) if aval.weak_type else aval.dtype.type(x)
            return Literal(value, aval)
        known = self._constants.get(id(x))
        if known is None:
            known = self._constants[id(x)] = (Var(aval), x)
        return known[0]

    def add_eqn(self, primitive, invars: list[Atom], params: dict, location=None) -> Any:
        """Append an equation, and return its new variable or the list of them."""
        for stage_operands in hooks.stage_operands:
            invars = stage_operands(self, primitive, invars, params)
        out_aval = primitive.out_aval(tuple([v.aval for v in invars]), params)
        out: Any = [*map(Var, out_aval)] if primitive.multiple_results else Var(out_aval)
        outvars = out if primitive.multiple_results else [out]
        info = SourceInfo(location, source.names[self.n_outside:])
        self.eqns.append(JaxprEqn(primitive, invars, outvars, params, info))
        return out

    def build(self, outvars: Sequence[Atom], debug_info=None, copy=True) -> ClosedJaxpr:
        """The finished jaxpr. Unless `copy`, NumPy arrays among its constants are not copied."""
        constants = self._constants.values()
        constvars = [var for var, _ in constants]
        jaxpr = Jaxpr(constvars, self.invars, outvars, self.eqns, debug_info=debug_info)
        return ClosedJaxpr(jaxpr, [owned(x) if copy else x for _, x in constants])


def owned(x):
    """A value that its owner cannot change. (An array of dtype `float0` has no contents.)"""
    return as_array(x) if isinstance(x, np.ndarray) and x.itemsize else x


# ----------------------------------------------------------------------------------------------
# The trace.


class DynamicJaxprTracer(Tracer):
    """A variable (or a literal) of a jaxpr in the making."""

    __slots__ = ("atom", "location")

    _trace: DynamicJaxprTrace
    aval = property(attrgetter("atom.aval"))

    def __init__(self, trace: DynamicJaxprTrace, atom: Atom, location=None):
        self._trace, self.atom, self.location = trace, atom, location


class DynamicJaxprTrace(Trace):
    """Staging: every primitive becomes an equation."""

    __slots__ = ("builder", "debug_info")

    def __init__(self, debug_info: Any = None):
        super().__init__(None)
        self.staging = True
        self.builder = JaxprBuilder()
        self.debug_info = debug_info

    def new_arg(self, aval: ShapedArray) -> DynamicJaxprTracer:
        return DynamicJaxprTracer(self, self.builder.new_invar(aval))

    def literal(self, value, aval):
        if not aval.weak_type and typeof(value) is aval:
            return DynamicJaxprTracer(self, self.builder.constant(value))
        # The literal must have this type when the jaxpr is evaluated.
        value = typed_scalar(value, aval) if aval.weak_type else Array(value, aval)
        return DynamicJaxprTracer(self, Literal(value, aval))

    def atom(self, x) -> Atom:
        """The variable of a tracer of this trace, or a constant for another value."""
        if isinstance(x, DynamicJaxprTracer) and x._trace is self:
            return x.atom
        if isinstance(x, Tracer):  # of another trace
            if (drop_dead_code := unchecked_constants.value) is not None:
                drop_dead_code_at_end(self, drop_dead_code)
            else:
                checks.outer_tracer(self, x, shapes_only.value)
        return self.builder.constant(x)

    def process_primitive(self, primitive, args, params):
        rule = staging_rules.get(primitive)
        if rule is not None:
            return rule(self, args, params)
        return self.default_process_primitive(primitive, args, params)

    def default_process_primitive(self, primitive, args, params):
        """Write down one equation."""
        location = user_location()
        out = self.builder.add_eqn(primitive, [*map(self.atom, args)], params, location)
        if primitive.multiple_results:
            return [DynamicJaxprTracer(self, var, location) for var in out]
        return DynamicJaxprTracer(self, out, location)


# Primitives that are not staged as one equation: (trace, args, params) -> result(s).
staging_rules: dict[Any, Callable] = RuleTable()


def _stage_conversion(trace, args, params):
    """The conversion of a literal is a literal. A conversion to the same type is left out."""
    atom = trace.atom(args[0])
    if (params["new_dtype"], params["weak_type"]) == (atom.aval.dtype, atom.aval.weak_type):
        return args[0] if isinstance(args[0], Tracer) else DynamicJaxprTracer(trace, atom)
    if type(atom) is not Literal:
        return trace.default_process_primitive(convert_element_type_p, args, params)
    return constant(atom.val, params["new_dtype"], params["weak_type"])


staging_rules[convert_element_type_p] = _stage_conversion


def trace_to_jaxpr(fun: Callable, in_avals: Sequence[ShapedArray],
                   debug_info: Any = None,
                   copy_constants: bool = True) -> tuple[ClosedJaxpr, Any]:
    """Trace `fun` at arguments of these types: the jaxpr, and the static result.

    `fun` takes arrays. It returns a list of arrays, and anything that is known at trace-time.

    The constants of the jaxpr are the arrays that `fun` closed over, including the tracers of
    outer traces. NumPy arrays are copied, because their contents can change. With
    `copy_constants=False` they stay the same objects, for callers that recognise them by `id`.
    """
    trace = DynamicJaxprTrace(debug_info)
    with new_trace(trace), own_source():
        outvars, static = _traced_results(trace, fun, in_avals)
    closed = trace.builder.build(outvars, debug_info, copy_constants)
    return _finished(closed, trace), static


def _finished(closed: ClosedJaxpr, trace: DynamicJaxprTrace) -> ClosedJaxpr:
    """The jaxpr of a trace that has ended, without dead code that must not be kept."""
    if (drop_dead_code := _with_dead_code.pop(trace, None)) is not None:
        closed = drop_dead_code(closed)
        if any(isinstance(x, Tracer) for x in closed.consts):  # is it live in the outer jaxpr?
            bottom = state.trace
            while bottom.parent is not None:
                bottom = bottom.parent
            drop_dead_code_at_end(bottom, drop_dead_code)
    checks.leaks(trace)
    checks.well_typed(closed)
    return closed


def _traced_results(trace: DynamicJaxprTrace, fun: Callable, in_avals: Sequence):
    """The atoms of what `fun` returns for new arguments, and its static result."""
    outs, static = fun(*map(trace.new_arg, in_avals))
    checks.traced_results(outs, trace.debug_info, typeof)
    return [trace.atom(out) for out in outs], static


def jaxpr_of(fun: Callable, in_avals: Sequence[ShapedArray], debug_info: Any = None,
             copy_constants: bool = True) -> ClosedJaxpr:
    """`trace_to_jaxpr` for a function that returns a list of arrays, and nothing static."""
    return trace_to_jaxpr(lambda *args: (fun(*args), None), in_avals, debug_info,
                          copy_constants)[0]


# ----------------------------------------------------------------------------------------------
# Values of other traces as constants.

# While it is set, no tracer of another trace is refused. Dead code may read such a tracer. So a
# trace that meets one removes its dead code when it ends, and the setting is the function for that.
unchecked_constants = settings.State("", None, lambda drop_dead_code: drop_dead_code, "")

# While it is true, jaxprs are traced only for the types of their results, and never run. So tracers
# that would otherwise be refused may be constants of these jaxprs.
shapes_only = settings.State("", False, bool, "")

_with_dead_code: weakref.WeakKeyDictionary[Trace, Callable] = weakref.WeakKeyDictionary()


def drop_dead_code_at_end(trace: Trace, drop_dead_code: Callable) -> None:
    """When `trace` ends, `drop_dead_code` will be applied to its jaxpr."""
    if trace.staging:
        _with_dead_code[trace] = drop_dead_code


# ----------------------------------------------------------------------------------------------
# Types of arguments.


def shaped_abstractify(x) -> ShapedArray:
    """The type of an argument, which may be any object with `shape` and `dtype`."""
    if isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "aval") or not hasattr(x, "dtype"):
        return typeof(x)
    dtype = dtypes.canonicalize_dtype(x.dtype, allow_extended_dtype=True)
    weak_type, placement = getattr(x, "weak_type", False), getattr(x, "placement", None)
    return ShapedArray(x.shape, dtype, weak_type, placement)


# ----------------------------------------------------------------------------------------------
# Transformations of whole jaxprs, for the rules of primitives that contain jaxprs.


def weakref_cache(call: Callable, is_valid: Callable = lambda result: True) -> Callable:
    """Remember the results of `call(x, *hashable)` as long as `x` lives.

    `x` is a jaxpr or a function. An `x` without hash or weak references is not remembered.
    `is_valid(result)` says whether an older result may still be used.
    """
    @functools.wraps(call)
    def cached(x, *args):
        cache = settings.cache_of(x, call)
        key = (args, settings.trace_context(), *state.axis_sizes.items())
        result = cache.get(key)
        if result is None or not is_valid(result):
            result = cache[key] = call(x, *args)
        return result

    return cached


@weakref_cache
def jvp_jaxpr(jaxpr: ClosedJaxpr, nonzeros: tuple, instantiate: tuple):
    """The jaxpr that maps primals and nonzero tangents to primals and nonzero tangents.

    Args:
      nonzeros: for each argument, whether the new jaxpr takes its tangent.
      instantiate: for each result, whether its tangent must be a result even if it is zero.

    Returns:
      the new `ClosedJaxpr`, and for each result whether its tangent is among the new results.
    """
    def jvp_fun(*args):
        primals, nonzero_tangents = split_list(args, [len(nonzeros)])
        zeros = map(Zero.from_primal_value, partition_list(nonzeros, primals)[0])
        tangents = merge_lists(nonzeros, zeros, nonzero_tangents)
        outs, out_tangents = jvpfun(jaxpr_as_fun(jaxpr), primals, tangents)
        nonzeros_out = tuple([type(t) is not Zero or force
                              for t, force in zip(out_tangents, instantiate)])
        kept = partition_list(nonzeros_out, out_tangents)[1]
        return [*outs, *map(instantiate_zeros, kept)], nonzeros_out

    tangent_avals = [a.to_tangent_aval() for a in partition_list(nonzeros, jaxpr.in_avals)[1]]
    return trace_to_jaxpr(jvp_fun, [*jaxpr.in_avals, *tangent_avals], jaxpr.debug_info)


@weakref_cache
def batch_jaxpr(jaxpr: ClosedJaxpr, axis_data, in_dims: tuple, out_dims: tuple | None = None):
    """The jaxpr with a batch dimension in some arguments and results.

    Args:
      in_dims: for each argument the position of its batch dimension, or `None`.
      out_dims: the positions wanted in the results, or `None` for any.

    Returns:
      the new `ClosedJaxpr`, and the positions of the batch dimensions in its results.
    """
    def batched_fun(*args):
        outs, dims = batch_subtrace(jaxpr_as_fun(jaxpr), axis_data, in_dims, args)
        if out_dims is None:
            return outs, tuple(dims)
        return [*map(functools.partial(matchaxis, axis_data), dims, out_dims, outs)], out_dims

    in_avals = [unmapped_aval(axis_data.size, d, aval, axis_data.placement)
                for d, aval in zip(in_dims, jaxpr.in_avals)]
    return trace_to_jaxpr(batched_fun, in_avals, jaxpr.debug_info)
