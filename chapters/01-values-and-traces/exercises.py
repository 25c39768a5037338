"""Exercises of chapter 1: fill in the stubs, then `python -m minijax learn check 1.1`."""

from __future__ import annotations


def count_primitives(f, *args):
    """1.1: how often each primitive is applied while `f(*args)` runs: a dict, from name to number.

    The result of `f` is not asked for. Afterwards the trace that was current is so again.
    """
    raise NotImplementedError


def bind(self, *args, **params):
    """1.2: `Primitive.bind`; `self` is the primitive."""
    raise NotImplementedError


def outer_shape(x, y):
    """1.3: the shape rule of a primitive `outer`: two vectors, all products of their elements.

    `x` and `y` are `ShapedArray`s. The primitive is as strict as the others: it raises `TypeError`
    unless both are vectors, and of one element type.
    """
    raise NotImplementedError


def depth(f, *args):
    """1.4: the length of the longest chain of primitives from an input of `f` to its result.

    0 if the result is an input, or depends on none. `f` returns one array or number. It may call
    `depth` itself.
    """
    raise NotImplementedError


def expand_ellipsis(entries, ndim):
    """1.5: the entries of an index (a tuple) with `...` written out as full slices, as a list.

    Without `...` the full slices go to the end. `None` stands for a new dimension. Raise
    `IndexError` if there is more than one `...`, or more entries than the `ndim` dimensions.
    """
    raise NotImplementedError


def least_upper_bound(mode, x64, nodes):
    """1.6: the lowest type that all the types in the frozenset `nodes` can be promoted to.

    The lattice is `minijax.core.dtypes.PROMOTIONS`, or `PROMOTIONS_32_BITS` if 64-bit types are
    disabled. `_upper_bounds(lattice)`, of the same module, says for each type which types are above
    it, itself included. Whether the types may be promoted, `minijax.checks.dtypes` decides: call
    its `promotion(bound, nodes, mode)`, where `bound` is the type found, or `None`.
    """
    raise NotImplementedError
