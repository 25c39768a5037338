"""Chapter 14: how are the results of an operation split, if types say how its operands are?

One table: from the name of a primitive to `(avals, params, outs) → entries`, where `outs` are the
types of the results without shardings. Most rules are rows of a family. If data would have to move
between devices, or if there is more than one good answer, the rule raises a `ShardingTypeError`.
Then the user says what is wanted, by `out_sharding=` or `reshard`.

A type that no axis splits stands for an array that all devices hold, so it fits any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.core import Primitive, ShapedArray
from ...core.extension import Extension, register, remove
from ...custom_rules.vjp import custom_lin_p
from ...errors import ShardingTypeError
from ..meshes.mesh import AbstractMesh, abstract_mesh, get_abstract_mesh, is_foreign
from .placement import (
    Entries,
    Placement,
    entries_of,
    in_space,
    mesh_of,
    says_split,
    space_of,
    split_over,
    stated_placement,
    sums_of,
    with_sums,
)
from .unreduced import sums_of_results

Avals = Sequence[ShapedArray]
Rule = Callable[[Avals, dict, Avals], Any]  # returns entries for all results, or a list of them

sharding_rules: dict[str, Rule] = {}

# Primitives whose shape rules find the shardings of results, from a parameter.
stated: set[Primitive] = {custom_lin_p}


def rows(names: str, rule: Rule) -> None:
    """Give all these primitives one rule."""
    for name in names.split():
        sharding_rules[name] = rule


def given_placement(sharding: Any, shape: tuple) -> Placement | None:
    """`Placements.stated`."""
    return sharding if isinstance(sharding, Placement) else stated_placement(sharding, shape)


def cotangent_fits(aval: ShapedArray, ct: ShapedArray) -> bool:
    """`Placements.cotangent_fits`, of types with shardings."""
    if not aval.ndim and ct.placement is None:
        return True  # a number, as `grad` passes it
    off_mesh = mesh_of(aval) is None or mesh_of(ct) is None  # then it need not be split alike
    same = (off_mesh and not any(sums_of(aval))) or entries_of(aval) == entries_of(ct)
    return same and sums_of(aval) == sums_of(ct)[::-1]


def tangent_hint(wanted: ShapedArray, got: ShapedArray) -> str:
    """`Placements.tangent_hint`, of types with shardings."""
    if mesh_of(wanted) is None or mesh_of(got) is None or entries_of(wanted) == entries_of(got):
        return ""
    return "Reshard the tangent, by `jax.sharding.reshard`."


def join_shardings(primitive: Primitive, avals: Avals, params: dict, out: Any) -> Any:
    """`Placements.join`, of types with shardings: those of results follow from those of operands.
    """
    meshes = dict.fromkeys([mesh for aval in avals if (mesh := mesh_of(aval)) is not None])
    if not meshes:
        return _with_manual_sums(primitive, avals, params, out)
    if primitive in stated:
        return out
    mesh = _one_mesh(meshes)
    if mesh is None or not any(map(says_split, avals)):
        return _on_mesh(primitive, out, mesh)
    rule = sharding_rules.get(primitive.name)
    if rule is None:
        raise ShardingTypeError(
            f"sharding rule for {primitive} is not implemented, for {_texts(avals)}. Call it "
            "in a function decorated by `jax.sharding.auto_axes`.")
    outs = [*out] if primitive.multiple_results else [out]
    entries = rule(avals, params, outs)
    each = entries if isinstance(entries, list) else [entries] * len(outs)
    sums = sums_of_results(primitive.name, avals, params, len(outs))
    outs = [_split(primitive, avals, *one, mesh) for one in zip(outs, each, sums, strict=True)]
    return outs if primitive.multiple_results else outs[0]


def _one_mesh(meshes):
    """The mesh of the result of operands on these meshes; `None` if the compiler has all of them in
    hand.

    Raises:
      ValueError: there are several, and the user has axes of one in hand.
    """
    mesh, *others = meshes
    if not others:
        return mesh
    if all(mesh.are_all_axes_auto for mesh in meshes):
        return None
    if mesh.manual_axes or any(other.manual_axes for other in others):
        (mesh,) = [mesh for mesh in meshes if mesh.manual_axes]
        return mesh  # `shard_map` closes over the other values
    raise ValueError(f"Mesh for all inputs should be equal. Got one mesh: {mesh} and another mesh: "
                     f"{others[0]}. Bring the arrays to one mesh, by `jax.device_put`.")


def _on_mesh(primitive, out, mesh):
    """The types of results on a mesh, none of whose axes splits them."""
    if primitive.multiple_results:
        return [split_over(aval, (), mesh) for aval in out]
    return split_over(out, (), mesh)


def join_memories(primitive: Primitive, avals: Avals, params: dict, out: Any) -> Any:
    """`Placements.join`, of types in a memory: the operands that are not numbers must be in the
    same, and so are the results."""
    if not any(map(space_of, avals)) or not _has_rule(primitive):
        return out
    of = avals[:1] if primitive.name.startswith("scatter") else avals
    first, *others = [aval for aval in of if aval.ndim] or [avals[0]]
    for other in others:
        if space_of(other) is not space_of(first):
            raise ValueError(f"memory_space of all inputs passed to `{primitive}` must be the "
                             f"same. Got one operand with type: {first.str_short()} and "
                             f"another operand with type: {other.str_short()}. Bring them to "
                             "one memory, by `jax.device_put`.")
    space = space_of(first) if first.ndim else None
    if primitive.multiple_results:
        return [in_space(aval, space) for aval in out]
    return in_space(out, space)


def memory_hint(a: ShapedArray, b: ShapedArray) -> str:
    """How a value of type `a` gets to the memory of `b`; "" if it need not, or cannot."""
    apart = space_of(a) is not space_of(b) and space_of(b) is None
    return "applying `jax.device_put(..., jax.memory.Space.Device)`" if apart else ""


def _has_rule(primitive):
    """Whether the types of a primitive's results follow from those of its operands here."""
    apart = primitive.name in ("device_put", "optimization_barrier") or primitive in stated
    return primitive.name in sharding_rules and not apart


class ForeignOperands(Extension):
    """Refuses operands on another mesh than the one in force. Registered while there is one."""

    def stage_operands(self, builder, primitive, invars, params):
        for v in invars:
            mesh = mesh_of(v.aval)
            if mesh is not None and is_foreign(mesh) and primitive.name in sharding_rules:
                raise ValueError(f"For primitive {primitive}, context mesh {get_abstract_mesh()} "
                                 f"should match the aval mesh {mesh} for shape "
                                 f"{v.aval.str_short()}. Bring the array to the context mesh, by "
                                 "`jax.device_put`.")
        return invars


_foreign_operands = ForeignOperands()


def _watch(mesh: AbstractMesh | None, begins: bool) -> None:
    if mesh is not None and not (mesh.empty or mesh.manual_axes):
        (register if begins else remove)(_foreign_operands)


abstract_mesh.watchers.append(_watch)


def _with_manual_sums(primitive, avals, params, out):
    """The types of results inside `shard_map`, with their unreduced and reduced axes."""
    if not any(map(any, map(sums_of, avals))):
        return out
    outs = [*out] if primitive.multiple_results else [out]
    sums = sums_of_results(primitive.name, avals, params, len(outs))
    outs = [with_sums(aval, *own) for aval, own in zip(outs, sums)]
    return outs if primitive.multiple_results else outs[0]


def _split(primitive, avals, aval, entries, sums, mesh):
    """The type of a result, unless an axis would split two of its dimensions."""
    names = [name for entry in entries for name in _names(entry)]
    out = split_over(aval, entries, mesh, *sums)
    if len(names) > len(set(names)):
        raise _refused(f"{primitive} operation with inputs: {_texts(avals)} produces an illegally "
                       f"sharded result: {out.str_short(True)}",
                       "Reshard an operand, by `jax.sharding.reshard`.")
    return out


def _refused(what: str, advice: str) -> ShardingTypeError:
    """An error in JAX's words, which programs print, with what to do as a note."""
    error = ShardingTypeError(what)
    error.add_note(advice)
    return error


def _texts(avals: Avals) -> str:
    return ", ".join(aval.str_short(True) for aval in avals)


def _names(entry: Any) -> tuple:
    """The axes of an entry."""
    return () if entry is None else entry if isinstance(entry, tuple) else (entry,)


def _parts(entry: Any, mesh: AbstractMesh | None) -> int:
    """Into how many parts an entry cuts a dimension."""
    assert mesh is not None, "a dimension is split over a mesh"
    return math.prod(mesh.shape[name] for name in _names(entry))


def _without(items: Sequence, dims: Sequence[int]) -> tuple:
    return tuple([item for d, item in enumerate(items) if d not in dims])


# ----------------------------------------------------------------------------------------------
# Elementwise: dimensions of size 1 and scalars take the sharding of their neighbours.


def broadcast(avals: Avals, params: dict, outs: Avals) -> Entries:
    """For each dimension what the operands agree on."""
    arrays = [aval for aval in avals if aval.ndim]
    pairs = zip(*[zip(aval.shape, entries_of(aval)) for aval in arrays])
    return tuple([_agreed([*pair], avals) for pair in pairs])


def _agreed(dims, avals):
    """The one entry among (size, entry) of operands. The others must say nothing."""
    said = {entry for _, entry in dims if entry is not None}
    if len(said) > 1:
        raise ShardingTypeError("There are incompatible shardings for broadcasting, which split "
                                f"one dimension over {', '.join(map(repr, said))}: "
                                f"{_texts(avals)}. Reshard one, by `jax.sharding.reshard`.")
    return said.pop() if said else None


rows("""
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clz
    complex conj convert_element_type copy cos cosh digamma div eq eq_to erf erf_inv erfc exp exp2
    expm1 floor ge gt igamma igamma_grad_a igammac imag integer_pow is_finite le le_to lgamma log
    log1p logistic lt lt_to max min mul mulhi name ne neg nextafter not or polygamma
    population_count pow random_gamma_grad random_gamma_grad_by_a real reduce_precision
    regularized_incomplete_beta rem round rsqrt shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh threefry2x32 xor zeta
    """, broadcast)


def alike(which: str) -> Rule:
    """The operands that are arrays must have one sharding, which is that of the result."""

    def rule(avals, params, outs):
        said = {entries_of(aval) for aval in avals if says_split(aval) and aval.ndim}
        if len(said) > 1:
            raise ShardingTypeError(f"{which}: {_texts(avals)}. Reshard some of them, by "
                                    "`jax.sharding.reshard`.")
        return next(iter(said), ())

    return rule


_same_sharding = alike("All operands should have the same sharding. Got")


def _select(avals, params, outs):
    alike("select cases must have the same shardings, got")(avals[1:], params, outs)
    return alike("select `which` must be scalar or have the same sharding as cases, got")(
        avals, params, outs)


rows("select_n", _select)
rows("concatenate", _same_sharding)


def _dynamic_update_slice(avals, params, outs):
    """An update on all devices does not fit an operand that is split, nor the other way round."""
    x, update = map(entries_of, avals[:2])
    if x != update:
        raise ShardingTypeError("dynamic_update_slice operand sharding must be equal to update "
                                f"sharding, got {_texts(avals[:2])}. Reshard one of them, by "
                                "`jax.sharding.reshard`.")
    return x


rows("dynamic_update_slice", _dynamic_update_slice)


def as_operand(i: int) -> Rule:
    """The sharding of operand `i`."""
    return lambda avals, params, outs: entries_of(avals[i])


rows("rev inspect_sharding", as_operand(0))
rows("clamp", as_operand(1))
rows("optimization_barrier device_put", lambda avals, params, outs: [*map(entries_of, avals)])

# ----------------------------------------------------------------------------------------------
# Dimensions that come and go


def _broadcast_in_dim(avals, params, outs):
    source = dict(zip(params["broadcast_dimensions"], entries_of(avals[0])))
    return tuple([source.get(d) for d in range(outs[0].ndim)])


def reduced(avals: Avals, params: dict, outs: Avals) -> list[Entries]:
    """The operands without the dimensions over which they are reduced."""
    return [_without(entries_of(aval), params["axes"]) for aval in avals[:len(outs)]]


rows("broadcast_in_dim", _broadcast_in_dim)
rows("broadcast_to", lambda avals, params, outs:
     (None,) * (outs[0].ndim - avals[0].ndim) + entries_of(avals[0]))
rows("reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or reduce_xor argmax argmin",
     reduced)
rows("reduce", lambda avals, params, outs: reduced(avals, {"axes": params["dimensions"]}, outs))
rows("squeeze", lambda avals, params, outs: _without(entries_of(avals[0]), params["dimensions"]))
rows("transpose", lambda avals, params, outs:
     tuple([entries_of(avals[0])[d] for d in params["permutation"]]))


def _stack(avals, params, outs):
    entries, axis = _same_sharding(avals, params, outs), params["axis"]
    return (*entries[:axis], None, *entries[axis:])


def _unstack(avals, params, outs):
    _whole("unstack operand cannot be sharded on the unstacking axis", avals[0], params["axis"])
    return _without(entries_of(avals[0]), [params["axis"]])


def _whole(what: str, aval: ShapedArray, axis: int) -> None:
    """Raise an error if an operand is split along an axis that the operation needs whole."""
    if entries_of(aval)[axis] is not None:
        raise ShardingTypeError(f"{what}: dimension {axis} of {aval.str_short(True)} is split. "
                                "Reshard it, by `jax.sharding.reshard`.")


def along_axis(name: str, parameter: str) -> Rule:
    """An operation along one dimension, which must not be split; the others stay as they are."""
    same = alike(f"Arguments to {name} must have equal shardings, got")

    def rule(avals, params, outs):
        arrays = [aval for aval in avals if says_split(aval) and aval.ndim]
        for aval in arrays:
            _whole(f"Arguments to {name} must be unsharded over the dimension along which it runs",
                   aval, params[parameter])
        return same(avals, params, outs)

    return rule


rows("stack", _stack)
rows("unstack", _unstack)
for _name in "cumsum cumprod cummax cummin cumlogsumexp".split():
    rows(_name, along_axis(_name, "axis"))
rows("sort", along_axis("sort", "dimension"))


def _top_k(avals, params, outs):
    _whole("The input should be unsharded over the axis along which to compute the top_k values",
           avals[0], params["axis"])
    return entries_of(avals[0])


rows("top_k", _top_k)


def _tile(avals, params, outs):
    for d, times in enumerate(params["reps"]):
        if times != 1:
            _whole("Operand cannot be sharded on a dimension where the tiling is non-trivial",
                   avals[0], d)
    return entries_of(avals[0])


rows("tile", _tile)


def resized(name: str) -> Rule:
    """The sharding of the first operand, which must also divide the new sizes."""

    def rule(avals, params, outs):
        aval, entries, mesh = avals[0], entries_of(avals[0]), mesh_of(avals[0])
        for out in outs:
            for n, new, entry in zip(aval.shape, out.shape, entries):
                if entry is not None and n != new and new % _parts(entry, mesh):
                    raise ShardingTypeError(
                        f"{name} on sharded dims where out dim ({new}) is not divisible by mesh "
                        f"axes ({_parts(entry, mesh)}) with spec ({entry}) is not implemented: "
                        f"from {aval.str_short(True)} to {out.str_short(True)}. Reshard the "
                        "operand, by `jax.sharding.reshard`.")
        return entries

    return rule


for _name in "dynamic_slice split fft".split():
    rows(_name, resized(_name))
rows("slice", resized("slicing"))
rows("pad", resized("padding"))
rows("reduce_window reduce_window_sum reduce_window_max reduce_window_min",
     resized("reduce_window"))


def _select_and_gather_add(avals, params, outs):
    entries = alike("select_and_gather_add tangents and operand shardings must match, got")(
        avals, params, outs)
    resized("reduce_window")(avals[1:], params, outs)
    return entries


rows("select_and_gather_add", _select_and_gather_add)
rows("select_and_scatter_add select_and_scatter", lambda avals, params, outs:
     entries_of(avals[1 if outs[0].shape == avals[1].shape else 0]))


def _bitcast(avals, params, outs):
    """A narrower element type adds a dimension at the end, and a wider one takes it away."""
    (x,), (out,) = avals, outs
    if out.ndim < x.ndim:
        _whole("bitcast_convert_type to a wider type joins the elements of the last dimension",
               x, x.ndim - 1)
    return (*entries_of(x)[:out.ndim], *[None] * (out.ndim - x.ndim))


rows("bitcast_convert_type", _bitcast)

# ----------------------------------------------------------------------------------------------
# Products


def _dot_general(avals, params, outs):
    """Batch dimensions, then the free ones of both. A sum over a split dimension of both operands
    could be left on all devices, or be split: only the user knows."""
    (x_contract, y_contract), (x_batch, y_batch) = params["dimension_numbers"]
    x_dims, y_dims = map(entries_of, avals)
    for kind, x_paired, y_paired in (
            ("lhs batch dimensions and rhs batch dimensions to have the", x_batch, y_batch),
            ("contracting dimensions to have", x_contract, y_contract)):
        x_spec, y_spec = tuple(x_dims[i] for i in x_paired), tuple(y_dims[j] for j in y_paired)
        if any(None not in pair and pair[0] != pair[1] for pair in zip(x_spec, y_spec)):
            raise ShardingTypeError(f"dot_general requires {kind} consistent sharding, got "
                                    f"{x_spec} and {y_spec}. The operands are {_texts(avals)}. "
                                    "Reshard one, by `jax.sharding.reshard`.")
    if any(None not in (x_dims[i], y_dims[j]) for i, j in zip(x_contract, y_contract)):
        raise _refused(
            "Contracting dimensions are sharded and it is ambiguous how the output should be "
            "sharded. Please specify the output sharding via the `out_sharding` parameter. Got "
            f"lhs_contracting_spec={tuple([x_dims[i] for i in x_contract])} and "
            f"rhs_contracting_spec={tuple([y_dims[j] for j in y_contract])}",
            f"The operands of dot_general are {_texts(avals)}.")
    return (*[x_dims[i] for i in x_batch], *_without(x_dims, (*x_contract, *x_batch)),
            *_without(y_dims, (*y_contract, *y_batch)))


rows("dot_general", _dot_general)


def _convolution(avals, params, outs):
    x, kernel = avals
    feature = params["dimension_numbers"].lhs_spec[1]
    if says_split(kernel) or entries_of(x)[feature] is not None:
        raise ShardingTypeError(f"conv_general_dilated of {_texts(avals)}: the kernel and the "
                                "features must not be split. Please specify the output sharding "
                                "via `out_sharding`.")
    return resized("conv_general_dilated")(avals, params, outs)


rows("conv_general_dilated", _convolution)

# ----------------------------------------------------------------------------------------------
# Reshape: one dimension may be split into several, or several may be merged into one.


def _reshape(avals, params, outs):
    (x,), (out,) = avals, outs
    old, new, entries = x.shape, out.shape, entries_of(x)
    if [n for n in old if n != 1] == [n for n in new if n != 1]:
        kept = iter([entry for n, entry in zip(old, entries) if n != 1])
        return tuple([None if n == 1 else next(kept) for n in new])
    start = _equal(old, new)
    end = _equal(old[start:][::-1], new[start:][::-1])
    middle, sizes = entries[start:len(old) - end], new[start:len(new) - end]
    if 1 not in (len(middle), len(sizes)) or any(middle) and params["dimensions"] is not None:
        raise _unclear(x, new)
    if not any(middle):
        inside = (None,) * len(sizes)
    else:
        inside = _shared_out(x, middle, new, sizes)
    return (*entries[:start], *inside, *entries[len(old) - end:])


def _equal(old: Sequence[int], new: Sequence[int]) -> int:
    """How many of the first sizes are equal."""
    pairs = enumerate(zip(old, new))
    return next((i for i, (n, m) in pairs if n != m), min(len(old), len(new)))


def _shared_out(x, middle, new, sizes):
    """The axes of the old dimensions, shared out to the new ones; the first cut most coarsely."""
    last = max(i for i, entry in enumerate(middle) if entry is not None)
    if None in middle[:last]:
        raise _unclear(x, new)
    names, mesh = [name for entry in middle for name in _names(entry)], mesh_of(x)
    inside = []
    for n in sizes:
        taken = []
        while n > 1 and names:
            n, rest = divmod(n, mesh.shape[names[0]])
            if rest:
                raise _unclear(x, new)
            taken.append(names.pop(0))
        inside.append(tuple(taken))
    if names:
        raise _unclear(x, new)
    return inside


def _unclear(x, new):
    return ShardingTypeError("This reshape is not supported, since it does not say how the result "
                             "is sharded. Please specify the sharding of the output via "
                             f"`out_sharding`. Got operand type: {x.str_short(True)}, new sizes: "
                             f"{tuple(new)}.")


rows("reshape", _reshape)

# ----------------------------------------------------------------------------------------------
# Linear algebra: batch dimensions only


def linalg(*ranks: int) -> Rule:
    """Operands whose last dimensions, so many of each, must not be split; the others are alike."""

    def rule(avals, params, outs):
        batches = []
        for aval, rank in zip(avals, ranks * len(avals)):
            entries, n = entries_of(aval), aval.ndim - rank
            if any(entries[n:]):
                raise ShardingTypeError(f"The input {aval.str_short(True)} must be unsharded on "
                                        "non-batch dimensions. Reshard it, by "
                                        "`jax.sharding.reshard`.")
            batches.append(entries[:n])
        if len(set(batches)) > 1:
            raise ShardingTypeError("All inputs must have the same batch sharding, but got "
                                    f"{_texts(avals)}. Reshard one, by `jax.sharding.reshard`.")
        return [(*batches[0], *[None] * (out.ndim - len(batches[0]))) for out in outs]

    return rule


rows("cholesky eig eigh geqrf geqp3 hessenberg lu qr schur svd", linalg(2))
rows("householder_product", linalg(2, 1))
rows("ormqr", linalg(2, 1, 2))
rows("tridiagonal_solve", linalg(1, 1, 1, 2))
rows("lu_pivots_to_permutation", linalg(1))


def _triangular_solve(avals, params, outs):
    (x, y), left, transposed = avals, params["left_side"], params["transpose_a"]
    (*x_batch, row, column), (*y_batch, y_row, y_column) = entries_of(x), entries_of(y)
    contracted = (row, column)[left ^ transposed], (y_row, y_column)[not left]
    if x_batch != y_batch or any(contracted):
        raise ShardingTypeError(f"triangular_solve of {_texts(avals)}: batch dimensions must have "
                                "the same sharding, and contracted ones must not be split. "
                                "Reshard an operand, by `jax.sharding.reshard`.")
    own = (row, column)[transposed] if left else (row, column)[not transposed]
    return (*x_batch, own, y_column) if left else (*x_batch, y_row, own)


rows("triangular_solve", _triangular_solve)

# ----------------------------------------------------------------------------------------------
# Indexing. Dimensions of the operand are taken whole, or cut into; batch dimensions belong to both
# the operand and the indices. Only dimensions that are not cut into may be split.


def _gather(avals, params, outs):
    (x, indices), numbers = avals, params["dimension_numbers"]
    dims, index_dims = entries_of(x), [*entries_of(indices)]
    cut = [d for d in numbers.start_index_map if params["slice_sizes"][d] != x.shape[d]]
    pairs = [*zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims)]
    if any(dims[d] for d in cut) or any(_without(index_dims, [j for _, j in pairs])):
        raise _moves("gather", avals)
    for d, j in pairs:
        index_dims[j] = _one_of("gather", avals, dims[d], index_dims[j])
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    taken, others = iter(_without(dims, gone)), iter(index_dims)
    return tuple([next(taken if d in numbers.offset_dims else others)
                  for d in range(outs[0].ndim)])


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
                             f"{name} is sharded: {_texts(avals)} do not tell, or data would have "
                             "to move between devices. Or reshard an operand.")


rows("gather", _gather)
rows("scatter scatter-add scatter-sub scatter-mul scatter-min scatter-max", _scatter)

# ----------------------------------------------------------------------------------------------
# Keys


def _keys(avals, params, outs):
    """Each key becomes one or several elements: its dimensions come first."""
    entries = entries_of(avals[0])[:outs[0].ndim]
    return (*entries, *[None] * (outs[0].ndim - len(entries)))


rows("random_wrap random_unwrap random_seed random_split random_clone random_bits", _keys)
rows("random_fold_in random_gamma", broadcast)
rows("rng_bit_generator", lambda avals, params, outs:
     [entries_of(avals[0]), (None,) * outs[1].ndim])

# ----------------------------------------------------------------------------------------------
# References


def _whole_reference(avals, params, outs):
    """What is read and written has the sharding of the contents, all of which it must be."""
    ref = avals[0]
    for part in (*outs, *avals[1:2]):
        if part.shape != ref.shape:
            raise ShardingTypeError("There is no rule for the sharding of a part "
                                    f"{part.str_short(True)} of the contents of "
                                    f"{ref.str_short(True)}. Read or write all of it, "
                                    "as `ref[...]`.")
        if says_split(part) and entries_of(part) != entries_of(ref):
            raise ShardingTypeError(f"{part.str_short(True)} and {ref.str_short(True)} must have "
                                    "the same sharding. Reshard the array, by "
                                    "`jax.sharding.reshard`.")
    return entries_of(ref)


rows("new_ref freeze get swap addupdate", _whole_reference)
