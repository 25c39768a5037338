"""Exercises of chapter 4: fill in the stubs, then `python -m minijax learn check 4.1`."""

from __future__ import annotations


def moved_axis(axis, batch_dim):
    """4.1: which axis of the whole array is `axis` of one example."""
    raise NotImplementedError


def outer_rule(args, dims):
    """4.2: the batching rule of `outer`, which makes x[i] * y[j] of two vectors.

    `args` are two arrays, `dims` their batch dimensions; either may be `None`, not both. Return the
    result, and its batch dimension. Use `lax`; `outer_p.bind` is for vectors only.
    """
    raise NotImplementedError


def loop_map(f, in_axes, *args):
    """4.3: what vmap(f, in_axes)(*args) gives, by a Python loop over the examples.

    `in_axes` is a tuple with an int or `None` for each argument; f returns one array.
    """
    raise NotImplementedError


def moveaxis(x, source, destination):
    """4.4: `x` with one dimension moved; both counted from the front. Do nothing if it is there."""
    raise NotImplementedError


def process_primitive(self, primitive, args, params):
    """4.5: how `BatchTrace` (which is `self`) processes a primitive.

    It is enough to know the table `primitive_batchers`.
    """
    raise NotImplementedError
