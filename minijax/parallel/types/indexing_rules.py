"""Chapter 14: how are the results of `gather` and `scatter` split? (Rows of `sharding_rules.py`.)

Dimensions of the operand are taken whole, or cut into; batch dimensions belong to both the operand
and the indices. Only dimensions that are not cut into may be split.
"""

from ...errors import ShardingTypeError
from .placement import entries_of, texts
from .sharding_rules import rows, without


def _gather(avals, params, outs):
    (x, indices), numbers = avals, params["dimension_numbers"]
    dims, index_dims = entries_of(x), [*entries_of(indices)]
    cut = [d for d in numbers.start_index_map if params["slice_sizes"][d] != x.shape[d]]
    pairs = [*zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims)]
    if any(dims[d] for d in cut) or any(without(index_dims, [j for _, j in pairs])):
        raise _moves("gather", avals)
    for d, j in pairs:
        index_dims[j] = _one_of("gather", avals, dims[d], index_dims[j])
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    taken, others = iter(without(dims, gone)), iter(index_dims)
    return tuple([next(taken if d in numbers.offset_dims else others) for d in range(outs[0].ndim)])


def _scatter(avals, params, outs):
    x, indices, updates = avals
    numbers, dims = params["dimension_numbers"], [*entries_of(x)]
    index_dims, update_dims = map(entries_of, avals[1:])
    window = numbers.update_window_dims
    gone = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    places = [d for d in range(updates.ndim) if d not in window]  # those of the indices, in order
    batch = [*zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims)]
    free = [j for j in range(indices.ndim - 1) if j not in [j for _, j in batch]]
    if (any(dims[d] for d in numbers.inserted_window_dims) or index_dims[-1] is not None
            or any(index_dims[j] or update_dims[places[j]] for j in free)):
        raise _moves("scatter", avals)
    for d, j in batch:
        said = _one_of("scatter", avals, index_dims[j], update_dims[places[j]])
        dims[d] = _one_of("scatter", avals, dims[d], said)
    for d, u in zip([d for d in range(x.ndim) if d not in gone], window):
        if x.shape[d] != updates.shape[u] and (dims[d] or update_dims[u]):
            raise _moves("scatter", avals)
        dims[d] = _one_of("scatter", avals, dims[d], update_dims[u])
    return tuple(dims)


def _one_of(name, avals, *entries):
    """The one entry that says something."""
    said = {entry for entry in entries if entry is not None}
    if len(said) > 1:
        raise _moves(name, avals)
    return said.pop() if said else None


def _moves(name, avals):
    way = "get" if name == "gather" else "set/add/mul/..."
    return ShardingTypeError(f"Use `.at[...].{way}(out_sharding=)` to say how the result of the "
                             f"{name} is sharded: {texts(avals)} do not tell, or data would have "
                             "to move between devices. Or reshard an operand.")


rows("gather", _gather)
rows("scatter scatter-add scatter-sub scatter-mul scatter-min scatter-max", _scatter)
