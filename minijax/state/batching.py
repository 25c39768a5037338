"""Chapter 15: reading and writing the references of all examples at once.

    vmap (ref[i] = x)   =   ref[iota, i] = x

A batch of references is one reference with a dimension more. If each example has an index of its
own, the indices of all examples become an array, and beside it stands the number of each example.
If all examples have the same index, the new dimension is selected whole.

What has no such index reads the contents of all examples, works on them, and writes them back: a
view of several steps, and a slice that starts elsewhere in each example.

The counterparts in JAX are the batching rules of `jax/_src/state/primitives.py`.
"""

import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..core.batching import WithTrace, batch_subtrace, matchaxis, moveaxis, primitive_batchers
from ..core.core import typeof
from ..lax.dynamic_slices import SLICES, Slice
from ..lax.shaping import broadcast_in_dim, broadcasted_iota, transpose
from . import checks
from .indexing import EXAMPLE, OWN, Indices, accumulate, broadcast_to_p, read, strided, write
from .primitives import addupdate_p, freeze_p, get_p, swap_p

# ----------------------------------------------------------------------------------------------
# The index of all examples


class BatchedIndex(NamedTuple):
    """What selects a part of the reference of each example.

    Attributes:
      dim: where the examples are in the selected part.
      permutation: how to transpose this part, so that each example's is what its index selects.
    """

    tree: Indices
    operands: list
    dim: int
    permutation: tuple[int, ...]

    def example_parts(self, selected: Any) -> Any:
        """The parts of the examples, from the selected part."""
        return transpose(selected, self.permutation)

    def selected(self, parts: Any) -> Any:
        """The selected part, from the parts of the examples."""
        return transpose(parts, tuple(map(int, np.argsort(self.permutation))))


def batched_index(size: int, ref_dim: int | None, tree: Indices, operands: Sequence,
                  dims: Sequence) -> BatchedIndex | None:
    """The index of `size` examples; `None` if there is no such index."""
    if len(tree) != 1:
        return None
    (index,) = tree
    operand = iter(zip(operands, dims))
    pairs: list[Any] = [None if isinstance(e, builtins.slice) else next(operand) for e in index]
    if any(isinstance(e, Slice) and pair[1] is not None for e, pair in zip(index, pairs)):
        return None
    places = [i for i, e in enumerate(index) if not isinstance(e, SLICES)]
    shape = max((_shape_of_one(*pairs[i]) for i in places), key=len, default=())
    if ref_dim is not None and not shape and all(dim is None for dim in dims):
        return _of_whole_dim(size, ref_dim, index, operands)
    for i in places:
        x, dim = pairs[i]
        pairs[i] = _spread(x, dim, size, shape), None
    entries = [*index] if shape or strided(index) else [*map(_of_one_box, index)]
    new_places = places
    if ref_dim is not None:
        pairs.insert(ref_dim, (broadcasted_iota(np.int32, (size, *shape), 0), None))
        entries.insert(ref_dim, EXAMPLE)
        new_places = [i for i, e in enumerate(entries) if not isinstance(e, SLICES)]
    dim, permutation = _arrangement(places, new_places, len(entries), len(shape))
    return BatchedIndex((tuple(entries),), [pair[0] for pair in pairs if pair], dim, permutation)


def _shape_of_one(x, dim) -> tuple[int, ...]:
    """The shape of an operand of one example."""
    return tuple(n for i, n in enumerate(np.shape(x)) if i != dim)


def _of_whole_dim(size, ref_dim, index, operands) -> BatchedIndex:
    """The index that selects the whole of the new dimension."""
    kept = [isinstance(entry, SLICES) for entry in index]
    index = (*index[:ref_dim], slice(0, size, 1), *index[ref_dim:])
    return BatchedIndex((index,), [*operands], sum(kept[:ref_dim]), tuple(range(sum(kept) + 1)))


def _spread(x, dim, size, shape):
    """An operand as an array for all examples, which are its first dimension. A number that is the
    same for all examples stays a number."""
    own = _shape_of_one(x, dim)
    if dim is None and not own:
        return x
    if dim is None:
        return broadcast_in_dim(x, (size, *shape), range(1, len(shape) + 1))
    x = moveaxis(x, dim, 0)
    return x if own == shape else broadcast_in_dim(x, (size, *shape), (0,))


def _of_one_box(entry):
    """An entry of an index that selects one box of each example."""
    if isinstance(entry, builtins.slice):
        return entry
    return replace(entry, start=OWN) if isinstance(entry, Slice) else OWN


def _arrangement(places: Sequence[int], new_places: Sequence[int], ndim: int,
                 rank: int) -> tuple[int, tuple[int, ...]]:
    """Where the examples are in the selected part, and the permutation of a `BatchedIndex`.

    Arrays of an index that stand together put their dimensions where they stand; else in front. An
    array for the examples can part those of the index, which stood together before.
    """
    n_slices = ndim - len(new_places)
    in_order = tuple(range(1 + rank + n_slices))
    if _stand_together(new_places):
        return new_places[0], in_order
    if not _stand_together(places):
        return 0, in_order
    after = 1 + rank + places[0]  # behind these slices, which stand before the index's arrays
    return 0, (0, *in_order[1 + rank:after], *in_order[1:1 + rank], *in_order[after:])


def _stand_together(places: Sequence[int]) -> bool:
    return all(b - a == 1 for a, b in zip(places, places[1:]))


# ----------------------------------------------------------------------------------------------
# The rules


def _index_of(trace, args, dims, tree, n_first) -> BatchedIndex | None:
    """The index for all examples, from the operands of a primitive. Those of the index come after
    the first `n_first`."""
    return batched_index(trace.axis_data.size, dims[0], tree, args[n_first:], dims[n_first:])


def _batch_get(trace, args, dims, *, tree):
    if not tree:
        return get_p.bind(args[0], tree=tree), dims[0]
    index = _index_of(trace, args, dims, tree, 1)
    if index is None:
        return _batch_on_contents(trace, args, dims, lambda x, *rest: [read(x, tree, rest)])
    return index.example_parts(get_p.bind(args[0], *index.operands, tree=index.tree)), index.dim


def _batch_swap(trace, args, dims, *, tree):
    (ref, value, *operands), (dim, value_dim, *operand_dims) = args, dims
    if not tree:
        return swap_p.bind(ref, matchaxis(trace.axis_data, value_dim, dim, value), tree=tree), dim
    index = _index_of(trace, args, dims, tree, 2)
    if index is None:
        old = _batch_get(trace, [ref, *operands], [dim, *operand_dims], tree=tree)
        _batch_write(trace, args, dims, lambda x, value, *rest: [write(x, tree, rest, value)])
        return old
    value = index.selected(matchaxis(trace.axis_data, value_dim, index.dim, value))
    old = swap_p.bind(ref, value, *index.operands, tree=index.tree)
    return index.example_parts(old), index.dim


def _batch_addupdate(trace, args, dims, *, tree):
    (ref, value, *_), (dim, value_dim, *_) = args, dims
    if not tree:
        addupdate_p.bind(ref, matchaxis(trace.axis_data, value_dim, dim, value), tree=tree)
        return [], []
    index = _index_of(trace, args, dims, tree, 2)
    if index is None:
        _batch_write(trace, args, dims, lambda x, value, *rest: [accumulate(x, tree, rest, value)])
        return [], []
    value = index.selected(matchaxis(trace.axis_data, value_dim, index.dim, value))
    addupdate_p.bind(ref, value, *index.operands, tree=index.tree)
    return [], []


def _batch_on_contents(trace, args, dims, fun):
    """The one result of `fun` on the contents of the reference `args[0]` and the others."""
    contents = get_p.bind(args[0], tree=())
    (out,), (dim,) = batch_subtrace(fun, trace.axis_data, dims, [contents, *args[1:]])
    return out, dim


def _batch_write(trace, args, dims, fun):
    """Replace the contents of the reference `args[0]` by what `fun` makes of them."""
    new, dim = _batch_on_contents(trace, args, dims, fun)
    swap_p.bind(args[0], matchaxis(trace.axis_data, dim, dims[0], new), tree=())


def _only_to_batches(operation, rule):
    """A rule that writes to a batch of references. All examples would write to any other one, and
    all but one of these writes would be lost."""

    def batch(trace, args, dims, **params):
        if dims[0] is None:
            raise checks.batched_write(operation, typeof(args[0]))
        return rule(trace, args, dims, **params)

    return WithTrace(batch, always=True)


def _only_if_batched(primitive, rule):
    """A rule that is asked for also in traces with a named axis, where nothing may be batched."""

    def batch(trace, args, dims, **params):
        if any(dim is not None for dim in dims):
            return rule(trace, args, dims, **params)
        out = primitive.bind(*args, **params)
        return out, [] if primitive.multiple_results else None

    return WithTrace(batch)


def _batch_broadcast_to(args, dims, *, shape):
    """The examples in front."""
    (x,), (dim,) = args, dims
    x, new = moveaxis(x, dim, 0), len(shape) + 1 - typeof(x).ndim
    return broadcast_in_dim(x, (typeof(x).shape[0], *shape),
                            (0, *range(new + 1, len(shape) + 1))), 0


primitive_batchers.update({
    broadcast_to_p: _batch_broadcast_to,
    get_p: _only_if_batched(get_p, _batch_get),
    swap_p: _only_to_batches("a set/swap", _batch_swap),
    addupdate_p: _only_to_batches("an addupdate", _batch_addupdate),
    freeze_p: lambda args, dims: (freeze_p.bind(*args), dims[0]),
})
