"""Solutions of chapter 14."""

from __future__ import annotations

import numpy as np

from minijax import lax, numpy as jnp


def ring_sum(parts, send):
    """First each sum is collected on its way around the ring, then it goes around once more."""
    n = len(parts)
    own = [list(part) for part in parts]
    for step in range(n - 1):
        received = send([own[i][(i - step) % n] for i in range(n)])
        for i in range(n):
            own[i][(i - step - 1) % n] += received[i]
    for step in range(n - 1):  # device i has the sum number i + 1
        received = send([own[i][(i + 1 - step) % n] for i in range(n)])
        for i in range(n):
            own[i][(i - step) % n] = received[i]
    return own


def before_me(x, axis_name):
    """All values, with those of the others on the right taken as zero."""
    everything = lax.all_gather(x, axis_name)
    before = jnp.arange(lax.axis_size(axis_name)) < lax.axis_index(axis_name)
    return (everything * before.reshape(-1, *[1] * x.ndim)).sum(0)


def block_of(shape, mesh, spec, place):
    """The coordinates are the digits of the block's number."""
    blocks = []
    for d, size in enumerate(shape):
        entry = spec[d] if d < len(spec) else None
        number, count = 0, 1
        for name in () if entry is None else entry if isinstance(entry, tuple) else (entry,):
            number = number * mesh[name] + place[name]
            count *= mesh[name]
        blocks.append((number * size // count, (number + 1) * size // count))
    return tuple(blocks)


def _received(x, d, size, perm):
    """The values are added to zeros, at the places of the receivers."""
    senders, receivers = np.array(perm, np.int32).reshape(-1, 2).T
    sent = jnp.moveaxis(x, d, 0)
    return jnp.moveaxis(jnp.zeros_like(sent).at[receivers].add(sent[senders]), 0, d)


def split_weights(w1, w2, n):
    """Columns of the first, rows of the second: hidden units stay together."""
    return (jnp.stack(jnp.split(w1, n, axis=1)), jnp.stack(jnp.split(w2, n, axis=0)))


def two_layers(x, w1, w2):
    """The maximum looks at one hidden unit at a time. Only the last sum is over all devices."""
    return lax.psum(jnp.maximum(x @ w1, 0.0) @ w2, "part")
