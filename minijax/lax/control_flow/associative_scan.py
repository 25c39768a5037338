"""Chapter 9: `associative_scan`, all prefixes of a sequence in a logarithmic number of steps.

It is not a primitive, but is written with operations that have all rules.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.boundary import api_boundary
from ...core.core import typeof
from ...core.primitives import canonical_axis, constant
from ...core.tree import tree_flatten
from ...pytree.paths import keystr, leaf_paths
from .. import bitwise, cutting, elementwise as lax, shaping


@api_boundary
def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """`[a, fn(a, b), fn(fn(a, b), c), …]` for `elems = [a, b, c, …]`, where `fn` is associative.

    Args:
      fn: `(x, y) -> z`, functions of pytrees like `elems`, each of which holds any number of
        elements along `axis`: `fn` works on all of them at once (if need be, by `vmap`).
      elems: a pytree of arrays with one size of the dimension `axis`.
      reverse: whether to begin at the end: `[…, fn(fn(z, y), x), fn(z, y), z]`.
      axis: the dimension along which the elements lie; negative counts from the end.

    Returns:
      a pytree like `elems`.

    Raises:
      TypeError: `fn` is not callable.
      ValueError: the arrays differ in size along `axis`, or have no such dimension.

    >>> associative_scan(jnp.add, jnp.arange(4))
    Array([0, 1, 3, 6], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"lax.associative_scan: fn argument should be callable. Got {fn!r}.")
    leaves, tree = tree_flatten(elems)
    if not leaves:
        raise IndexError("lax.associative_scan: elems must have at least one array, got none.")
    axis = canonical_axis(axis, leaves[0].ndim)
    _check_sizes(tree, leaves, axis)

    def combine(xs, ys):
        outs = tree_flatten(fn(tree.unflatten(xs), tree.unflatten(ys)))[0]
        shapes = [typeof(x).shape for x in outs]
        if shapes != [typeof(x).shape for x in xs]:
            kind = ValueError if len(outs) > len(xs) else IndexError
            raise kind("lax.associative_scan: fn must return arrays of the shapes of its first "
                       f"argument, {[typeof(x).shape for x in xs]}, got {shapes}.")
        return outs

    if reverse:
        leaves = [shaping.rev(x, (axis,)) for x in leaves]
    outs = _prefixes(combine, leaves, axis)
    return tree.unflatten([shaping.rev(x, (axis,)) for x in outs] if reverse else outs)


def _check_sizes(tree, leaves, axis):
    if len({x.shape[axis] for x in leaves}) > 1:
        sizes = ", ".join(f"elems{keystr(path)} of type {typeof(x).str_short(True)}"
                          for path, x in zip(leaf_paths(tree), leaves))
        raise ValueError("Array inputs to associative_scan must have the same first dimension, or "
                         f"size along axis {axis}. (saw: {sizes})")


def _prefixes(combine: Callable, xs: Sequence, axis: int) -> list:
    """Neighbours are combined into pairs; the prefixes of those are every second prefix.

    One more step makes the others of them. (Blelloch, "Prefix sums and their applications", 1990;
    for one array, and known operations, `running` in chapter 2 is the same.)
    """
    n = xs[0].shape[axis]
    if n < 2:
        return list(xs)
    take = functools.partial(_take, axis=axis)
    odd = _prefixes(combine, combine(take(xs, 0, -1, 2), take(xs, 1, None, 2)), axis)
    before = take(odd, 0, -1) if n % 2 == 0 else odd
    even = combine(before, take(xs, 2, None, 2))
    even = [cutting.concatenate(pair, axis) for pair in zip(take(xs, 0, 1), even)]
    return [_interleave(*pair, axis) for pair in zip(even, odd)]


def _take(xs, start, stop, stride=1, *, axis):
    return [cutting.slice_in_dim(x, start, stop, stride, axis) for x in xs]


def _interleave(x, y, axis):
    """The elements of `x` and `y` in turn; `x` may have one more."""
    n, m = x.shape[axis], y.shape[axis]
    add = bitwise.bitwise_or if x.dtype == np.bool_ else lax.add
    return add(_spread(x, axis, 0, int(n == m)), _spread(y, axis, 1, int(n > m)))


def _spread(x, axis, before, after):
    """`x` with a zero between any two elements, and so many at its ends."""
    config = [(0, 0, 0)] * x.ndim
    config[axis] = (before, after, 1)
    return cutting.pad(x, constant(0, x.dtype), config)
