"""Solutions of chapter 12."""

from __future__ import annotations

import itertools

from minijax import lax, numpy as jnp


def pair_without_join(above):
    """All pairs, with the miniature's test."""

    def reachable(t):
        return {t}.union(*map(reachable, above[t]))

    for a, b in itertools.combinations(sorted(above), 2):
        common = reachable(a) & reachable(b)
        if common and not any(common <= reachable(t) for t in common):
            return a, b
    return None


def gradient_subscripts(subscripts, which):
    """The result and the operand change places."""
    inputs, result = subscripts.split("->")
    names = inputs.split(",")
    return f"{result},{names[1 - which]}->{names[which]}"


def lookup(table, ids):
    """Index vectors of one entry, windows of one row."""
    numbers = lax.GatherDimensionNumbers((ids.ndim,), (0,), (0,))
    places = lax.expand_dims(ids, [ids.ndim])
    return lax.gather(table, places, numbers, (1, table.shape[1]), mode="fill", fill_value=0)


def expand_ellipsis(entries, ndim):
    """Full slices for the dimensions that no entry uses, at the first ellipsis."""
    at = next((i for i, entry in enumerate(entries) if entry is Ellipsis), len(entries))
    before = list(entries[:at])
    after = [slice(None) if entry is Ellipsis else entry for entry in entries[at + 1:]]
    given = sum(entry is not None for entry in before + after)
    if given > ndim:
        raise IndexError(f"Too many indices: array is {ndim}-dimensional, but {given} were indexed")
    return [*before, *[slice(None)] * (ndim - given), *after]


def compress(x, mask, size, fill_value):
    """Count the true entries up to each element; what is not wanted goes outside."""
    places = jnp.where(mask, jnp.cumsum(mask) - 1, size)
    return jnp.full(size, fill_value, x.dtype).at[places].set(x, mode="drop")
