"""Chapter 9: `map`, a function of each element of a sequence, one after the other."""

from collections.abc import Callable
from typing import Any

from ...core.api import vmap
from ...core.boundary import api_boundary
from ...core.core import typeof
from ...core.tree import tree_flatten, tree_map
from ...pytree.arguments import argument_avals
from ...pytree.names import leaf_names
from .. import cutting, shaping
from .common import BodyOf
from .scan import scan, scan_length, scan_loop


@api_boundary
def map(f: Callable, xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` of each element of `xs` along the leading axis, one after the other, stacked.

    Args:
      f: a function of pytrees of arrays that returns one.
      xs: a pytree of arrays with one size of leading axis.
      batch_size: how many elements to compute at once, by `vmap`; 0 means all. The last batch may
        be smaller.

    Raises:
      ValueError: there are no `xs`, or they differ in the sizes of their leading axes; or
        `batch_size` is negative.

    >>> map(lambda x: x * x, jnp.arange(4))
    Array([0, 1, 4, 9], dtype=int32)
    """
    if batch_size is None:
        body = BodyOf("map", f, lambda f, _, x: ((), f(x)), lambda path: (0, path[1:]))
        return scan_loop("map", body, (), xs)[1]
    leaves, tree = tree_flatten(xs)
    argument_avals(leaves, "map", lambda: leaf_names("xs", xs))
    size = scan_length(tree, leaves, None, "map")
    if not hasattr(batch_size, "__index__"):
        raise TypeError(f"map: batch_size must be an integer or None, got {batch_size!r}.")
    if batch_size < 0:
        raise ValueError(f"map got a negative `batch_size`: {batch_size}.")
    n_batches, n_rest = divmod(size, batch_size) if batch_size else (0, size)
    if not n_batches:
        return vmap(f)(xs)
    batches = tree_map(lambda x: _reshape_leading(_rows(x, 0, size - n_rest), 1,
                                                  (n_batches, batch_size)), xs)
    rest = tree_map(lambda x: _rows(x, size - n_rest, size), xs) if n_rest else None
    ys = scan(lambda _, x: ((), vmap(f)(x)), (), batches)[1]
    more = vmap(f)(rest) if n_rest else None
    ys = tree_map(lambda y: _reshape_leading(y, 2, (size - n_rest,)), ys)
    return tree_map(lambda *parts: cutting.concatenate(parts, 0), ys, more) if n_rest else ys


def _rows(x, start, stop):
    shape = typeof(x).shape
    return cutting.slice(x, (start, *(0 for _ in shape[1:])), (stop, *shape[1:]))


def _reshape_leading(x, n, sizes):
    """`x` with its first `n` dimensions reshaped to `sizes`."""
    return shaping.reshape(x, (*sizes, *typeof(x).shape[n:]))
