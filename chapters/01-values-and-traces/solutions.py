"""Solutions of chapter 1."""

from __future__ import annotations

import collections
import itertools

from minijax.core.core import (
    ShapedArray,
    Trace,
    Tracer,
    current_trace,
    new_trace,
    set_current_trace,
    typeof,
)
from minijax.errors import UnexpectedTracerError


class CountingTrace(Trace):
    """Counts, and leaves the work to the trace below."""

    def __init__(self, parent):
        super().__init__(parent)
        self.counts = collections.Counter()

    def process_primitive(self, primitive, args, params):
        self.counts[primitive.name] += 1
        with set_current_trace(self.parent):
            return primitive.bind(*args, **params)


def count_primitives(f, *args):
    """The trace is current while f runs."""
    with new_trace(CountingTrace(current_trace())) as trace:
        f(*args)
    return dict(trace.counts)


def bind(self, *args, **params):
    """Collect the stack, look at the arguments, ask the current trace."""
    stack, trace = [], current_trace()
    while trace is not None:
        stack.append(trace)
        trace = trace.parent
    for x in args:
        if isinstance(x, Tracer) and x._trace not in stack:
            raise UnexpectedTracerError(f"{self.name} got a value of a trace that has ended")
    return stack[0].process_primitive(self, args, params)


def outer_shape(x, y):
    """Check, check, shape, weakness."""
    if x.ndim != 1 or y.ndim != 1:
        raise TypeError(f"outer wants two vectors, got {x.str_short(True)} and {y.str_short(True)}")
    if x.dtype != y.dtype:
        raise TypeError(f"outer wants one element type, got {x.dtype.name} and {y.dtype.name}")
    return ShapedArray((*x.shape, *y.shape), x.dtype, x.weak_type and y.weak_type)


class DepthTracer(Tracer):
    """A value, and the length of the longest chain to it."""

    def __init__(self, trace, value, depth):
        self._trace, self.value, self.depth = trace, value, depth

    @property
    def aval(self):
        return typeof(self.value)


class DepthTrace(Trace):
    """One more than the deepest argument; what has no box of ours does not count."""

    def unbox(self, x):
        """The value and its depth, `None` for what depends on no input."""
        if isinstance(x, DepthTracer) and x._trace is self:
            return x.value, x.depth
        return x, None

    def process_primitive(self, primitive, args, params):
        opened = [self.unbox(x) for x in args]
        depths = [depth for _, depth in opened if depth is not None]
        with set_current_trace(self.parent):
            out = primitive.bind(*(value for value, _ in opened), **params)
        if not depths:
            return out
        box = lambda x: DepthTracer(self, x, 1 + max(depths))
        return list(map(box, out)) if primitive.multiple_results else box(out)


def depth(f, *args):
    """Box the inputs at depth 0, run, open the result."""
    with new_trace(DepthTrace(current_trace())) as trace:
        out = f(*(DepthTracer(trace, x, 0) for x in args))
        return trace.unbox(out)[1] or 0


def one_slice(n, first, second):
    """A range can be sliced. A stop below 0 would count from the end: it is None."""
    chosen = range(n)[first][second]
    if not chosen:
        return slice(0, 0)
    return slice(chosen.start, chosen.stop if chosen.stop >= 0 else None, chosen.step)


def ambiguous_pair(lattice):
    """All upper bounds of each type, then all pairs."""

    def above(node):
        return {node}.union(*map(above, lattice[node]))

    bounds = {node: above(node) for node in lattice}
    for a, b in itertools.combinations(lattice, 2):
        common = bounds[a] & bounds[b]
        if common and not any(common <= bounds[node] for node in common):
            return a, b
    return None


def largest(f, *args):
    """A trace that passes everything on, and looks at the results."""
    from tiny import Trace, set_current_trace, state

    class Largest(Trace):
        found = 0.0

        def process_primitive(self, primitive, args, params):
            with set_current_trace(self.parent):
                out = primitive.bind(*args, **params)
            self.found = max(self.found, abs(out))
            return out

    trace = Largest(state.trace)
    with set_current_trace(trace):
        f(*args)
    return trace.found
