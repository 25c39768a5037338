"""Chapter 14: how are the results of an operation split, if types say how its operands are?

One table: from the name of a primitive to `(avals, params, outs) → entries`, where `outs` are the
types of the results without shardings. Most rules are rows of a family. If data would have to move
between devices, or if there is more than one good answer, the rule raises a `ShardingTypeError`.
Then the user says what is wanted, by `out_sharding=` or `reshard`.

A type that no axis splits stands for an array that all devices hold, so it fits any other.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.core import Primitive, ShapedArray
from ...custom_rules.vjp import custom_lin_p
from ...errors import ShardingTypeError
from ..meshes.mesh import AbstractMesh
from ..meshes.partition_spec import axes_of_entry
from .placement import Entries, entries_of, mesh_of, says_split, texts

Avals = Sequence[ShapedArray]
Rule = Callable[[Avals, dict, Avals], Any]  # returns entries for all results, or a list of them

sharding_rules: dict[str, Rule] = {}

# Primitives whose shape rules find the shardings of results, from a parameter.
stated: set[Primitive] = {custom_lin_p}


def rows(names: str, rule: Rule) -> None:
    """Give all these primitives one rule."""
    for name in names.split():
        sharding_rules[name] = rule


def refused(what: str, advice: str) -> ShardingTypeError:
    """An error in JAX's words, which programs print, with what to do as a note."""
    error = ShardingTypeError(what)
    error.add_note(advice)
    return error


def _parts(entry: Any, mesh: AbstractMesh | None) -> int:
    """Into how many parts an entry cuts a dimension."""
    assert mesh is not None, "a dimension is split over a mesh"
    return math.prod(mesh.shape[name] for name in axes_of_entry(entry))


def without(items: Sequence, dims: Sequence[int]) -> tuple:
    """The items of the other dimensions."""
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
                                f"{texts(avals)}. Reshard one, by `jax.sharding.reshard`.")
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
            raise ShardingTypeError(f"{which}: {texts(avals)}. Reshard some of them, by "
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
                                f"sharding, got {texts(avals[:2])}. Reshard one of them, by "
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
    return [without(entries_of(aval), params["axes"]) for aval in avals[:len(outs)]]


rows("broadcast_in_dim", _broadcast_in_dim)
rows("broadcast_to", lambda avals, params, outs:
     (None,) * (outs[0].ndim - avals[0].ndim) + entries_of(avals[0]))
rows("reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or reduce_xor argmax argmin",
     reduced)
rows("reduce", lambda avals, params, outs: reduced(avals, {"axes": params["dimensions"]}, outs))
rows("squeeze", lambda avals, params, outs: without(entries_of(avals[0]), params["dimensions"]))
rows("transpose", lambda avals, params, outs:
     tuple([entries_of(avals[0])[d] for d in params["permutation"]]))


def _stack(avals, params, outs):
    entries, axis = _same_sharding(avals, params, outs), params["axis"]
    return (*entries[:axis], None, *entries[axis:])


def _unstack(avals, params, outs):
    _whole("unstack operand cannot be sharded on the unstacking axis", avals[0], params["axis"])
    return without(entries_of(avals[0]), [params["axis"]])


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
                                    f"{x_spec} and {y_spec}. The operands are {texts(avals)}. "
                                    "Reshard one, by `jax.sharding.reshard`.")
    if any(None not in (x_dims[i], y_dims[j]) for i, j in zip(x_contract, y_contract)):
        raise refused(
            "Contracting dimensions are sharded and it is ambiguous how the output should be "
            "sharded. Please specify the output sharding via the `out_sharding` parameter. Got "
            f"lhs_contracting_spec={tuple([x_dims[i] for i in x_contract])} and "
            f"rhs_contracting_spec={tuple([y_dims[j] for j in y_contract])}",
            f"The operands of dot_general are {texts(avals)}.")
    return (*[x_dims[i] for i in x_batch], *without(x_dims, (*x_contract, *x_batch)),
            *without(y_dims, (*y_contract, *y_batch)))


rows("dot_general", _dot_general)


def _convolution(avals, params, outs):
    x, kernel = avals
    feature = params["dimension_numbers"].lhs_spec[1]
    if says_split(kernel) or entries_of(x)[feature] is not None:
        raise ShardingTypeError(f"conv_general_dilated of {texts(avals)}: the kernel and the "
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
    names, mesh = [name for entry in middle for name in axes_of_entry(entry)], mesh_of(x)
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
                                    f"{texts(avals)}. Reshard one, by `jax.sharding.reshard`.")
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
        raise ShardingTypeError(f"triangular_solve of {texts(avals)}: batch dimensions must have "
                                "the same sharding, and contracted ones must not be split. "
                                "Reshard an operand, by `jax.sharding.reshard`.")
    own = (row, column)[transposed] if left else (row, column)[not transposed]
    return (*x_batch, own, y_column) if left else (*x_batch, y_row, own)


rows("triangular_solve", _triangular_solve)

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
