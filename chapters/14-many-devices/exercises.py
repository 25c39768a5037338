"""Exercises of chapter 14: fill in the stubs, then `python -m minijax learn check 14.1`."""

from __future__ import annotations

import numpy as np  # noqa: F401  (these are for your answers)

from minijax import lax, numpy as jnp  # noqa: F401


def ring_sum(parts, send):
    """14.1: `psum` by messages around a ring.

    There are n devices, and each has n numbers: `parts[i][k]` is number k of device i. At the end,
    each has all n sums: return a list of n lists. Devices talk by `received = send(messages)`,
    where messages[i] is one number that device i sends to the next device, i + 1 (the last sends
    to device 0). received[i] is what device i gets. Call `send` at most 2 * (n - 1) times. Between
    the calls, a device may use only what it has.
    """
    raise NotImplementedError


def before_me(x, axis_name):
    """14.2: the sum of `x` over all instances with a smaller index along the axis.

    The first instance gets zeros. `x` is a float array of any shape. Of use: `lax.axis_index`,
    `lax.axis_size`, `jnp`, which is `minijax.numpy`, and a collective of `lax`.
    """
    raise NotImplementedError


def block_of(shape, mesh, spec, place):
    """14.3: which part of an array a device has: a (start, stop) for each dimension, as a tuple.

    `mesh` is a dict from the names of its axes to their sizes, in order. `place` is a dict from the
    names to the device's coordinates. `spec` is a tuple with an entry for each dimension: None, a
    name, or a tuple of names, the most significant first. It may have fewer entries than
    there are dimensions; the others are not split. All sizes divide evenly.
    """
    raise NotImplementedError


def _received(x, d, size, perm):
    """14.4: what `ppermute` gives under `vmap`. Dimension `d` of `x` counts the examples.

    There are `size` examples. `perm` is a list of pairs (sender, receiver) of numbers of examples.
    An example that receives nothing gets zeros. `ppermute` refuses two messages to one receiver.
    Your function must allow them: an example that receives from several senders gets the sum.
    Return an array like `x`. `perm` is known when the function is traced, and `x` is not. Of use:
    `jnp.moveaxis(x, source, destination)`, `jnp.zeros_like`, and `y.at[places].add(values)`, which
    adds all values that have one place. `places` may be a NumPy array of integers.
    """
    raise NotImplementedError


def split_weights(w1, w2, n):
    """14.5: the weights of two layers, cut for n devices: a pair of arrays with a leading dimension
    n. Each device gets one n-th of all numbers. n divides the number of hidden units, the columns
    of w1 and the rows of w2.
    """
    raise NotImplementedError


def two_layers(x, w1, w2):
    """14.5: jnp.maximum(x @ W1, 0.0) @ W2, on one device along the axis "part".

    `x` is whole on each device, w1 and w2 are the device's own part of W1 and W2, as
    `split_weights` has cut them. Each device returns the whole result. There may be one collective
    of `lax`, and no more.
    """
    raise NotImplementedError
