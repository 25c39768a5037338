"""Chapter 14: sums that are still to be made, in types.

    f32[8]{U:x}    unreduced: each device along x holds a summand, and the value is their sum
    f32[8]{R:x}    reduced: each holds the value, as if a sum had been made

A product of matrices that are split along the contracted dimension needs a sum over devices. The
user can put it off, by `out_sharding=P(unreduced={"x"})`, add several such products up, and make
one sum by `reshard`. Only linear operations can work on summands.

The two kinds are dual: the cotangent of a reduced value is unreduced, and that of an unreduced
value is reduced. So a `reshard` from replicated to reduced, which moves nothing, is transposed to
a sum, and the user chooses by it where the backward pass makes that sum.

One table: from the name of a primitive to `(name, avals, params) → (unreduced, reduced)`, the axes
of its results, or a list with a pair for each of them. Operations without a row refuse both kinds.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ...core.core import ShapedArray
from ...errors import ShardingTypeError
from ..meshes.partition_spec import axes_of_entry
from .placement import entries_of, mesh_of, sums_of, texts, varying_axes

Sums = tuple[frozenset, frozenset]  # unreduced and reduced axes
Rule = Callable[[str, Sequence[ShapedArray], dict], Any]

_NONE: frozenset = frozenset()
_rules: dict[str, Rule] = {}


def sums_of_results(name: str, avals: Sequence[ShapedArray], params: dict, n: int) -> list[Sums]:
    """The unreduced and the reduced axes of each of the `n` results of a primitive.

    Raises:
      NotImplementedError: the operation cannot work on summands.
      ShardingTypeError: operands do not agree.
    """
    if all(sums_of(aval) == (_NONE, _NONE) for aval in avals):
        return [(_NONE, _NONE)] * n
    sums = _rules.get(name, _refused)(name, avals, params)
    return sums if isinstance(sums, list) else [sums] * n


def _rows(names: str, rule: Rule) -> None:
    _rules.update(dict.fromkeys(names.split(), rule))


def _unreduced(aval: ShapedArray) -> frozenset:
    return sums_of(aval)[0]


def _reduced(aval: ShapedArray) -> frozenset:
    return sums_of(aval)[1]


def _refused(name, avals, params):
    raise NotImplementedError(f"{name} of {texts(avals)}: there is no rule for unreduced or "
                              "reduced operands. Reshard them first, by `jax.sharding.reshard`.")


def _check_not_unreduced(name, avals):
    if any(map(_unreduced, avals)):
        raise NotImplementedError(
            f"There is no unreduced rule for {name}, of which an operand is unreduced: "
            f"{texts(avals)}. {name} of a sum is not the sum of {name}. Make the sum first, by "
            "`jax.sharding.reshard`.")


# ----------------------------------------------------------------------------------------------
# Elementwise


def agreed_reduced(name: str, avals: Sequence[ShapedArray]) -> frozenset:
    """The reduced axes of operands that meet. Each operand has them, or sums over them; numbers
    may say nothing, outside of `shard_map`."""
    said = {axes for aval in avals if (axes := _reduced(aval))}
    if len(said) > 1:
        raise ShardingTypeError(f"{name} of {texts(avals)}: the operands are reduced over "
                                "different axes. Reshard one of them.")
    if not said:
        return _NONE
    (axes,) = said
    for aval in avals:
        if not axes.isdisjoint(_split_axes(aval)):
            raise ShardingTypeError(
                f"{name} of {texts(avals)}: an operand is split or varies over axes of "
                f"{set(axes)}, over which another is reduced. Reshard the reduced one.")
        is_number = not aval.ndim and any(mesh_of(other) is not None for other in avals)
        if not is_number and not axes <= _unreduced(aval) | _reduced(aval):
            raise ShardingTypeError(
                f"{name} of {texts(avals)}: an operand is replicated over axes of {set(axes)}, "
                "over which another is reduced. Reshard one of them.")
    return axes


def _split_axes(aval):
    return varying_axes(aval).union(*map(axes_of_entry, entries_of(aval)))


def _elementwise(name, avals, params):
    reduced = agreed_reduced(name, avals)
    _check_not_unreduced(name, avals)
    return _NONE, reduced


def _add(name, avals, params):
    """A sum of summands: all operands are unreduced over the same axes."""
    reduced, said = agreed_reduced(name, avals), {*map(_unreduced, avals)}
    if len(said) > 1:
        which = ("lhs is unreduced while rhs is not", "rhs is unreduced while lhs is not",
                 f"lhs and rhs to `{name}` must be unreduced along the same mesh axes")[
                     2 if all(said) else not _unreduced(avals[0])]
        raise ShardingTypeError(f"{name} of {texts(avals)}: {which}. Make the sum of an unreduced "
                                "operand first, by `jax.sharding.reshard`.")
    return said.pop(), reduced


def _mul(name, avals, params):
    """Summands can be multiplied by a value that all their devices hold."""
    reduced = agreed_reduced(name, avals)
    (x_unreduced, y_unreduced) = map(_unreduced, avals)
    unreduced = x_unreduced or y_unreduced
    if not unreduced:
        return _NONE, reduced
    if x_unreduced and y_unreduced or reduced != unreduced:
        raise ShardingTypeError(
            f"{name} of {texts(avals)}: one operand is unreduced over {set(unreduced)}, so the "
            "other must be reduced over the same axes. Reshard one of them.")
    return unreduced, _NONE


_rows("""
    abs acos acosh and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clz complex conj
    cos cosh digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igammac imag
    is_finite le le_to lgamma log log1p logistic lt lt_to max min mulhi ne neg nextafter
    not or polygamma population_count pow real regularized_incomplete_beta rem round rsqrt
    shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh xor
    zeta
    """, _elementwise)
_rows("add add_any", _add)
_rows("mul", _mul)


def meets_numbers(name: str) -> bool:
    """Whether operands of an operation can be numbers, which then become reduced as the others."""
    return name == "pad" or (_rules.get(name) in (_elementwise, _add, _mul) and name != "add_any")

# ----------------------------------------------------------------------------------------------
# Linear operations of one operand


_rows("""
    broadcast_in_dim convert_element_type copy pad reduce_precision reduce_sum reshape slice split
    squeeze stop_gradient transpose unstack
    """, lambda name, avals, params: sums_of(avals[0]))


def _dynamic_slice(name, avals, params):
    _check_not_unreduced(name, avals[:1])
    return _NONE, _reduced(avals[0])


_rows("dynamic_slice", _dynamic_slice)

# ----------------------------------------------------------------------------------------------
# Several operands that are alike


def _alike(name, avals, params):
    said = {*map(sums_of, avals)}
    if len(said) > 1:
        raise ShardingTypeError(f"{name} of {texts(avals)}: all operands must be unreduced, and "
                                "reduced, over the same axes. Reshard some of them.")
    return said.pop()


_rows("concatenate stack", _alike)
_rows("select_n", lambda name, avals, params: _alike(name, avals[1:], params))
_rows("optimization_barrier device_put", lambda name, avals, params: [*map(sums_of, avals)])
_rows("custom_lin", lambda name, avals, params: [*map(sums_of, params["out_avals"])])
_rows("dynamic_update_slice", lambda name, avals, params: _alike(name, avals[:2], params))


def check_product(avals: Sequence[ShapedArray], unreduced: frozenset = _NONE,
                  contracted: Any = ()) -> None:
    """Raise a ShardingTypeError unless `dot_general` can have a result with `unreduced` axes: those
    that split the contracted dimensions, whose entries in each operand are `contracted`."""
    if any(map(_unreduced, avals)):
        raise ShardingTypeError(f"dot_general of {texts(avals)}: an operand is unreduced. Make "
                                "the sum first, by `jax.sharding.reshard`.")
    if not unreduced:
        return
    names = {name for entry in contracted[0] for name in axes_of_entry(entry)}
    if contracted[0] != contracted[1]:
        raise ShardingTypeError(
            f"dot_general of {texts(avals)}: lhs and rhs contracting dims should be sharded "
            f"identically for a result that is unreduced over {set(unreduced)}, but they are split "
            f"over {contracted[0]} and {contracted[1]}.")
    if names != unreduced:
        raise ShardingTypeError(
            f"dot_general of {texts(avals)}: out_sharding's unreduced axes should be equal to the "
            f"contracting specs, but they are {set(unreduced)}, and the contracted dimensions are "
            f"split over {contracted[0]}.")


def _dot_general(name, avals, params):
    check_product(avals)
    return _NONE, _NONE


_rows("dot_general", _dot_general)

# ----------------------------------------------------------------------------------------------
# Operations whose result has a sharding that the user states


def sums_of_stated(name: str, avals: Sequence[ShapedArray], params: dict, spec: Any) -> Sums:
    """The unreduced and reduced axes of a result that is to lie as `spec` says.

    Raises:
      ShardingTypeError: the operation cannot have such a result.
      NotImplementedError: the result would have to be made of summands.
    """
    return _stated[name](avals, params, spec)


def _stated_product(avals, params, spec):
    contracting = params["dimension_numbers"][0]
    contracted = [tuple(entries_of(aval)[d] for d in dims)
                  for aval, dims in zip(avals, contracting)]
    check_product(avals, spec.unreduced, contracted)
    return spec.unreduced, _NONE


def _stated_sum(avals, params, spec):
    (x,) = avals
    summed = {name for d in params["axes"] for name in axes_of_entry(entries_of(x)[d])}
    if not spec.unreduced <= summed | _unreduced(x):
        raise ShardingTypeError(
            f"reduce_sum of {x.str_short(True)} over {params['axes']}: its result can be unreduced "
            "over axes that split these dimensions, or over which the operand is unreduced, but "
            f"out_sharding has {set(spec.unreduced)}.")
    return spec.unreduced or _unreduced(x), _reduced(x)


def _stated_reshape(avals, params, spec):
    if sums_of(avals[0]) != (spec.unreduced, spec.reduced):
        raise ValueError(f"reshape of {avals[0].str_short(True)}: out_sharding must have the "
                         f"unreduced and reduced axes of the operand, but it is {spec}.")
    return spec.unreduced, spec.reduced


def _stated_any(avals, params, spec):
    return spec.unreduced, spec.reduced


_stated: dict[str, Callable] = {
    "dot_general": _stated_product, "reduce_sum": _stated_sum, "reshape": _stated_reshape,
    "broadcast_in_dim": _stated_any, "iota": _stated_any,
}
