"""Interval arithmetic: the range of a function's results, from the ranges of its arguments.

A whole transformation. The trace says what happens to an interval in a primitive, and how a plain
value is written as an interval. Its base class enters `jit`, `checkpoint`, branches, loops and
functions with rules of their own.
"""

import functools
import itertools

import minijax as jax
from minijax.core.core import current_trace, new_trace
from minijax.lax.control_flow.parts import PartsTrace

# Each of these rises or falls in each of its arguments, or moves elements: so its extremes are at
# the corners. The range of others, `sin` or a comparison, takes more thought.
MONOTONE = """add sub mul max min neg exp log tanh sqrt reduce_sum reduce_max reduce_min cumsum
    convert_element_type broadcast_in_dim reshape squeeze transpose concatenate split slice pad rev
    gather dynamic_slice dynamic_update_slice add_any copy""".split()


class IntervalTrace(PartsTrace):
    """A value is the list of its least and its greatest value, or of the one that is possible."""

    def widen(self, parts, n):
        return [parts[0]] * n if len(parts) == 1 else parts

    def apply(self, primitive, values, params):
        """The extremes of the results at the corners."""
        if primitive.name == "dot_general" and min(map(len, values)) == 1:
            return _weighted_sum(primitive, *values, params)
        is_odd_power = primitive.name == "integer_pow" and params["y"] > 0 and params["y"] % 2
        if primitive.name not in MONOTONE and not is_odd_power:
            raise NotImplementedError(f"the range of {primitive} over an interval")
        corners = [primitive.bind(*corner, **params) for corner in itertools.product(*values)]
        if primitive.multiple_results:
            return [_range(outs) for outs in zip(*corners)]
        return _range(corners)


def _weighted_sum(primitive, x, y, params):
    """A sum of products with plain weights. A negative weight exchanges the ends."""
    (low, high), (weight,) = (x, y) if len(y) == 1 else (y, x)
    up, down = jax.numpy.maximum(weight, 0), jax.numpy.minimum(weight, 0)

    def dot(ends, weight):
        return primitive.bind(*((ends, weight) if len(y) == 1 else (weight, ends)), **params)

    return [dot(low, up) + dot(high, down), dot(high, up) + dot(low, down)]


def _range(outs):
    return _floats([functools.reduce(jax.lax.min, outs), functools.reduce(jax.lax.max, outs)])


def _floats(ends):
    """The ends of an interval, which must be floats: an index or a boolean jumps in between."""
    if not jax.dtypes.issubdtype(jax.typeof(ends[0]).dtype, jax.numpy.floating):
        raise NotImplementedError(f"an interval of {jax.typeof(ends[0])}")
    return ends


def interval(fun):
    """`fun` as a function of pairs (least, greatest) that returns pairs."""
    def fun_of_intervals(*intervals):
        trace = IntervalTrace(current_trace())
        with new_trace(trace):
            out = fun(*[trace.box(_floats(list(ends))) for ends in intervals])
            return jax.tree.map(lambda x: tuple(trace.widen(trace.unbox(x), 2)), out)

    return fun_of_intervals
