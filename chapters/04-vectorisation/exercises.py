"""Exercises of chapter 4: fill in the stubs, then `python -m minijax learn check 4.1`."""

from __future__ import annotations


def moved_axis(axis, batch_dim):
    """4.1: which axis of the whole array is `axis` of one example."""
    raise NotImplementedError


def outer_rule(args, dims):
    """4.2: the batching rule of `outer`, which makes x[i] * y[j] of two vectors.

    `args` are two arrays, `dims` their batch dimensions; either may be `None`, not both. Return the
    result, and its batch dimension. The primitive itself is for vectors only. Of use:
    `bdim_at_front(x, dim, size)` of `minijax.core.batching`, which brings the batch to the front,
    or makes one if `dim` is `None`; `mul(x, y)` and `expand_dims(x, (d,))` of `minijax.lax`, the
    latter for a new dimension d of size 1. `minijax.typeof(x).shape` is the shape of an array.
    """
    raise NotImplementedError


def loop_map(f, in_axes, *args):
    """4.3: what vmap(f, in_axes)(*args) gives, by a Python loop over the examples.

    `in_axes` is a tuple with an int or `None` for each argument; f returns one array.
    """
    raise NotImplementedError


def moveaxis(x, source, destination):
    """4.4: `x` with dimensions moved: `source[i]` becomes dimension `destination[i]` of the result.

    Both are ints, or both are tuples of the same length, counted from the front. The other
    dimensions stay in their order. If all are in their places, return `x` itself. Of use:
    `transpose(x, permutation)` of `minijax.lax`, where `permutation[i]` says which dimension of x
    is dimension i of the result; `minijax.typeof(x).ndim`.
    """
    raise NotImplementedError


def process_primitive(self, primitive, args, params):
    """4.5: how `BatchTrace` (which is `self`) processes a primitive, even one without a rule.

    If there is no rule, do the examples one by one: take the operands of example i out of the
    batched values, bind the primitive, and stack up the results along a new first dimension.

    `self.to_batch_info(x)` gives the value behind `x` and its batch dimension, or `x` and `None`;
    `BatchTracer(self, value, dim)` is the box (of `minijax.core.batching`, as are `moveaxis` and
    `primitive_batchers`, whose rules are called with values, dims and params). `self.parent` is the
    trace below, `self.in_parent(f, *args, **params)` calls f with it as the current one, and
    `self.axis_data.size` is the number of examples. It is enough to know rules that are functions.
    `x[i]` is a row of an array; `expand_dims(x, (0,))` and `concatenate(arrays, 0)` are in
    `minijax.lax`. If `primitive.multiple_results`, a rule and `bind` give lists.
    """
    raise NotImplementedError


def pairwise(f):
    """4.6: `f` of all pairs, in tiny: row i, column j of `pairwise(f)(xs, ys)` is f(xs[i], ys[j]).

    Call `f` only once, so write no loop. From `tiny`: `vmap(f, in_axes)`, where `in_axes` is a
    tuple with 0 for each argument that is batched, and `None` for each that is not.
    """
    raise NotImplementedError
