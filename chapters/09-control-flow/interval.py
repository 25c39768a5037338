"""Interval arithmetic: the range of a function's results, from the ranges of its arguments.

A whole transformation. The trace says what happens to an interval in a primitive, and how a plain
value is written as an interval. Its base class enters `jit`, `checkpoint`, branches, loops and
functions with rules of their own.
"""

import functools
import itertools

from minijax import lax, tree_util
from minijax.core.core import current_trace, new_trace
from minijax.lax.control_flow.parts import PartsTrace


class IntervalTrace(PartsTrace):
    """A value is the list of its least and its greatest value, or of the one that is possible."""

    def widen(self, parts, n):
        return [parts[0]] * n if len(parts) == 1 else parts

    def apply(self, primitive, values, params):
        """Exact for an elementwise function that rises or falls in each of its arguments: its
        extremes are at the corners. So are those of sums, and of whatever moves elements."""
        corners = [primitive.bind(*corner, **params) for corner in itertools.product(*values)]
        if primitive.multiple_results:
            return [_range(outs) for outs in zip(*corners)]
        return _range(corners)


def _range(outs):
    return [functools.reduce(lax.min, outs), functools.reduce(lax.max, outs)]


def interval(fun):
    """`fun` as a function of pairs (least, greatest) that returns pairs."""
    def fun_of_intervals(*intervals):
        trace = IntervalTrace(current_trace())
        with new_trace(trace):
            out = fun(*[trace.box(list(ends)) for ends in intervals])
            return tree_util.tree_map(lambda x: tuple(trace.widen(trace.unbox(x), 2)), out)

    return fun_of_intervals
