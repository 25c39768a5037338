"""Chapter 9: how does a new transformation enter calls, branches and loops?

Many transformations represent a value by several arrays of its type: interval arithmetic by its two
ends, Taylor mode by the coefficients of a polynomial. `PartsTrace` is the base class for their
traces. It enters everything that contains a function by the table `enter_rules`:

    enter : (trace, values, **params) → values          a value is the list of its parts

`jit` and its like have one rule in common, and each primitive of this chapter has its own. So a
subclass says only what happens to a value in an ordinary primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.calls import JaxprCall, rule_for_calls
from ...core.core import (
    Primitive,
    RuleTable,
    Trace,
    Tracer,
    new_trace,
    set_current_trace,
    state,
    typeof,
)
from ...core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from ...core.primitives import convert
from ...core.staging import trace_to_jaxpr, weakref_cache
from ...core.util import split_list


class PartsTracer(Tracer):
    """A value that is represented by several arrays of its type."""

    __slots__ = ("parts",)

    def __init__(self, trace: PartsTrace, parts: list):
        self._trace, self.parts = trace, parts

    @property
    def aval(self):
        return typeof(self.parts[0])


class PartsTrace(Trace):
    """A transformation that represents a value by a list of arrays: an interval by its ends, a
    polynomial by its coefficients. One array is a value that the transformation does not change.

    A subclass says in `apply` what a primitive does, and in `widen` how a value is written with
    more parts. Its further arguments, the `settings`, are hashable. Branches and loops decide by
    the first parts.
    """

    __slots__ = ("settings",)
    rules: dict[Primitive, Callable] = {}  # those which are preferred to `enter_rules`

    def __init__(self, parent: Trace, *settings):
        super().__init__(parent)
        self.settings = settings

    def apply(self, primitive: Primitive, values: list[list], params: dict) -> list:
        """The parts of the result of a primitive, or a list of parts if it has several results."""
        raise NotImplementedError

    def widen(self, parts: list, n: int) -> list:
        """The same value as `n` parts, which are not fewer."""
        raise NotImplementedError

    def unbox(self, x) -> list:
        return x.parts if isinstance(x, PartsTracer) and x._trace is self else [x]

    def box(self, parts: list):
        return parts[0] if len(parts) == 1 else PartsTracer(self, parts)

    def process_primitive(self, primitive, args, params):
        values = [*map(self.unbox, args)]
        changes = any(len(parts) > 1 for parts in values)
        rule = (changes and self.rules.get(primitive)) or enter_rules.get(primitive)
        if rule:
            out = self.in_parent(rule, self, values, **params)
        elif changes:
            out = self.in_parent(self.apply, primitive, values, params)
        else:
            return self.in_parent(primitive.bind, *args, **params)
        return [*map(self.box, out)] if primitive.multiple_results else self.box(out)

    def call(self, fun: Callable, values: Sequence[list]) -> list[list]:
        """The values of a flat function that may close over tracers of this trace."""
        with set_current_trace(self):
            return [*map(self.unbox, fun(*map(self.box, values)))]

    @classmethod
    def run(cls, fun: Callable, values: Sequence[list], *settings) -> list[list]:
        """The values of a flat function, in a new trace."""
        trace = cls(state.trace, *settings)
        with new_trace(trace):
            return [*map(trace.unbox, fun(*map(trace.box, values)))]

    def transform(self, jaxpr: ClosedJaxpr, in_counts, out_counts=None):
        """The jaxpr of the parts of its arguments, and the numbers of parts of its results.

        The arguments have so many parts. If `out_counts` are given, the results are widened.
        """
        return _parts_jaxpr(jaxpr, type(self), self.settings, tuple(in_counts), out_counts)


@weakref_cache
def _parts_jaxpr(jaxpr, trace_type, settings, in_counts, out_counts):
    def of_parts(*parts):
        outs = trace_type.run(jaxpr_as_fun(jaxpr), grouped(parts, in_counts), *settings)
        if out_counts is not None:
            widen = trace_type(state.trace, *settings).widen
            outs = [[_as_type(x, aval) for x in widen(parts, n)]
                    for parts, n, aval in zip(outs, out_counts, jaxpr.out_avals)]
        return flat(outs), tuple(map(len, outs))

    avals = [aval for aval, n in zip(jaxpr.in_avals, in_counts) for _ in range(n)]
    return trace_to_jaxpr(of_parts, avals, jaxpr.debug_info)


def _as_type(x, aval):
    return x if typeof(x) == aval else convert(x, aval.dtype, aval.weak_type)


def flat(values: Sequence[list]) -> list:
    """The parts of all values, one after the other."""
    return [x for parts in values for x in parts]


def grouped(parts: Sequence, counts: Sequence[int]) -> list[list]:
    """The inverse of `flat`, for values of so many parts."""
    return split_list(parts, counts)[:-1]


# primitive -> (trace, values, **params) -> values: how a `PartsTrace` enters the functions that a
# primitive calls.
enter_rules: dict[Primitive, Callable] = RuleTable()


@rule_for_calls(enter_rules)
def _enter_call(call: JaxprCall, trace: PartsTrace, values, **params):
    counts = [*map(len, values)]
    with call.inside(params):
        jaxpr, out_counts = trace.transform(params[call.jaxpr_param], counts)
    new_params = call.params(params, jaxpr, _sources(counts), _sources(out_counts))
    return grouped(call.primitive.bind(*flat(values), **new_params), out_counts)


def _sources(counts) -> list[int]:
    """For each part the position of its value."""
    return [i for i, n in enumerate(counts) for _ in range(n)]
