"""Chapter 14: how collectives are said in StableHLO.

The devices of a mesh are numbered in the order of `mesh.devices`, whatever their ids: those are
the *partitions* of the program. A collective along some axes of the mesh is done by several groups
of them at once: in a group are those that differ in their place along these axes only.

    mesh x=2, y=3:    0 1 2        along x:  [0, 3] [1, 4] [2, 5]
                      3 4 5        along y:  [0, 1, 2] [3, 4, 5]
"""

import itertools
import math

import numpy as np

from ...core.core import ShapedArray
from ...core.lowering import (
    Body,
    Value,
    compare,
    lowering_rules,
    register_lowering,
    tensor_type,
    typed_text,
    with_shape,
)
from ...core.primitives import add_p, reduce_sum_p
from ...lax import elementwise, reductions
from ...lax.elementwise import max_p
from ...lax.families import emit_region
from ...lax.reductions import reduce_max_p
from ...lax.selection import emit_select
from ..types.stablehlo import manual_context, mesh_symbol
from ..types.varying_axes import axis_tuple
from . import primitives
from .exchanges import senders

# ----------------------------------------------------------------------------------------------
# Who takes part


def _mesh_shape(ctx: Body, names: tuple) -> dict:
    """The sizes of the axes of the mesh, by name.

    Raises:
      NameError: a name is not that of an axis around.
    """
    mesh, _ = manual_context(ctx)
    shape = {} if mesh is None else mesh.shape
    for name in names:
        if name not in shape:
            raise NameError(f"unbound axis name: {name}. It is to be compiled for "
                            + (f"a mesh with the axes {list(shape)}." if shape else "one device."))
    return shape


def _replica_groups(ctx: Body, axis_name, groups=None) -> list[list[int]]:
    """The partitions that do it together."""
    names = axis_tuple(axis_name)
    shape = _mesh_shape(ctx, names)
    order = [*(name for name in shape if name not in names), *names]
    partitions = np.arange(math.prod(shape.values())).reshape(*shape.values())
    partitions = partitions.transpose([[*shape].index(name) for name in order])
    all_groups = partitions.reshape(-1, math.prod(shape[name] for name in names)).tolist()
    if groups is None:
        return all_groups
    return [[members[i] for i in group] for members in all_groups for group in groups]


def _groups_text(groups: list[list[int]]) -> str:
    """An attribute; groups that are smaller than others are filled up with -1."""
    rows = [*zip(*itertools.zip_longest(*groups, fillvalue=-1))]
    return f"replica_groups = dense<{[[*row] for row in rows]}> : {_index_type(rows)}"


def _index_type(rows) -> str:
    return f"tensor<{len(rows)}x{len(rows[0])}xi64>"


# One channel is enough for all: XLA gives each collective its own.
_CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
_GLOBAL = "use_global_device_ids"


def _collective(ctx: Body, name: str, x: Value, out: ShapedArray, *attributes: str,
                region: str = "") -> Value:
    if 0 in out.shape:  # nothing to send; XLA refuses to gather it
        return ctx.constant(0, out)
    text = f'"stablehlo.{name}"({x.name}) <{{{", ".join([_CHANNEL, *attributes])}}}>{region}'
    return ctx.op(f"{text} : ({x.type}) -> {tensor_type(out)}", out)


def _reducer(ctx: Body, primitive, aval: ShapedArray) -> str:
    """The operation that combines two elements, as a region."""
    names, lines = emit_region(ctx, lowering_rules[primitive], [with_shape(aval, ())] * 2)
    return "\n".join([f" ({{\n    ^bb0({names}):", *lines, "    })"])


# ----------------------------------------------------------------------------------------------
# Reductions


def _all_reduce(ctx, x, combine, axis_name, groups=None):
    who = _groups_text(_replica_groups(ctx, axis_name, groups))
    return _collective(ctx, "all_reduce", x, x.aval, who, _GLOBAL,
                       region=_reducer(ctx, combine, x.aval))


def _reduction(combine, reducer):
    def rule(ctx, x, *, axes, axis_index_groups=None):
        names = tuple(axis for axis in axes if not primitives.is_positional(axis))
        if len(names) < len(axes):
            dims = tuple(filter(primitives.is_positional, axes))
            x = lowering_rules[reducer](ctx, x, axes=dims)
        return _all_reduce(ctx, x, combine, names, axis_index_groups) if names else x

    return rule


register_lowering(primitives.psum_p, _reduction(add_p, reduce_sum_p))
register_lowering(primitives.psum_invariant_p, lowering_rules[primitives.psum_p])
register_lowering(primitives.unreduced_psum_p, lowering_rules[primitives.psum_p])
register_lowering(primitives.pmax_p, _reduction(max_p, reduce_max_p))
register_lowering(primitives.pmin_p, _reduction(elementwise.min_p, reductions.reduce_min_p))


def _lower_scatter(ctx, x, *, axis_name, scatter_dimension, axis_size, tiled,
                   axis_index_groups=None):
    (out,) = ctx.avals_out
    shape = list(x.aval.shape)
    shape[scatter_dimension] //= axis_size
    who = _groups_text(_replica_groups(ctx, axis_name, axis_index_groups))
    part = _collective(ctx, "reduce_scatter", x, with_shape(x.aval, tuple(shape)), who,
                       f"scatter_dimension = {scatter_dimension} : i64", _GLOBAL,
                       region=_reducer(ctx, add_p, x.aval))
    return part if tiled else ctx.op(typed_text("reshape", [part], out), out)


register_lowering(primitives.reduce_scatter_p, _lower_scatter)
register_lowering(primitives.unreduced_reduce_scatter_p, _lower_scatter)


# ----------------------------------------------------------------------------------------------
# Messages


def _lower_gather(ctx, x, *, all_gather_dimension, axis_name, axis_size, tiled,
                  axis_index_groups=None):
    (out,) = ctx.avals_out
    if not tiled:
        shape = list(x.aval.shape)
        shape.insert(all_gather_dimension, 1)
        slab = with_shape(x.aval, tuple(shape))
        x = ctx.op(typed_text("reshape", [x], slab), slab)
    who = _groups_text(_replica_groups(ctx, axis_name, axis_index_groups))
    return _collective(ctx, "all_gather", x, out, f"all_gather_dim = {all_gather_dimension} : i64",
                       who, _GLOBAL)


def _lower_exchange(ctx, x, *, axis_name, split_axis, concat_axis, axis_index_groups, tiled):
    (out,) = ctx.avals_out
    groups = _replica_groups(ctx, axis_name, axis_index_groups)
    count = len(groups[0])
    if any(len(group) != count for group in groups):
        raise ValueError(f"all_to_all: the groups must have one size, got {axis_index_groups}.")
    if count == 1:
        return x
    return _collective(ctx, "all_to_all", x, out, f"concat_dimension = {concat_axis} : i64",
                       _groups_text(groups), f"split_count = {count} : i64",
                       f"split_dimension = {split_axis} : i64")


def _lower_permute(ctx, x, *, axis_name, perm):
    groups = [sorted(group) for group in _replica_groups(ctx, axis_name)]
    pairs = [[group[sender], group[receiver]] for group in groups
             for receiver, sender in senders(perm, len(group)).items()]
    if not pairs:
        return ctx.constant(0, x.aval)
    return _collective(ctx, "collective_permute", x, x.aval,
                       f"source_target_pairs = dense<{pairs}> : {_index_type(pairs)}")


def _lower_broadcast(ctx, x, *, axis_name, source):
    """All but the source give zeros, and then the sum is the source's. (XLA has an operation for
    this, but not on CPUs.)"""
    here = compare(ctx, "EQ", _flat_index(ctx, axis_tuple(axis_name)), ctx.constant(source, _INDEX))
    zeros = ctx.constant(0, x.aval)
    combine = max_p if x.aval.dtype == np.bool_ else add_p
    return _all_reduce(ctx, emit_select(ctx, here, x, zeros), combine, axis_name)


register_lowering(primitives.all_gather_p, _lower_gather)
register_lowering(primitives.all_gather_invariant_p, _lower_gather)
register_lowering(primitives.all_gather_reduced_p, _lower_gather)
register_lowering(primitives.all_to_all_p, _lower_exchange)
register_lowering(primitives.ppermute_p, _lower_permute)
register_lowering(primitives.pbroadcast_p, _lower_broadcast)


# ----------------------------------------------------------------------------------------------
# The own place

_INDEX = ShapedArray((), np.int32)


def _lower_index(ctx, *, axis_name):
    """From the number of the partition, as one counts hours from seconds.

    In a program that is only partly manual there is no such number: the rest has to be made manual
    for a moment.
    """
    shape = _mesh_shape(ctx, (axis_name,))
    names, sizes = [*shape], [*shape.values()]
    place = names.index(axis_name)
    whole_mesh, manual_axes = manual_context(ctx)
    rest = [name for name in names if name not in manual_axes]
    if not rest:
        return _index_of_partition(ctx, math.prod(sizes[place + 1 :]), sizes[place])
    outside, ctx.lines = ctx.lines, []
    index = _index_of_partition(ctx, math.prod(sizes[place + 1 :]), sizes[place])
    lines, ctx.lines = ctx.lines, outside
    axes = ", ".join(f'"{name}"' for name in rest)
    mesh = mesh_symbol(ctx.module, whole_mesh)
    head = (f"sdy.manual_computation() in_shardings=[] out_shardings=[<@{mesh}, []>] "
            f"manual_axes={{{axes}}} () {{")
    tail = f"    sdy.return {index.name} : {index.type}\n    }} : () -> {index.type}"
    return ctx.op("\n".join([head, *lines, tail]), _INDEX)


def _index_of_partition(ctx, stride, size):
    unsigned = ShapedArray((), np.uint32)
    kind = tensor_type(unsigned)

    def op(text):
        return ctx.op(f"stablehlo.{text} : {kind}", unsigned)

    number = op("partition_id")
    number = op(f"divide {number.name}, {op(f'constant dense<{stride}>').name}")
    number = op(f"remainder {number.name}, {op(f'constant dense<{size}>').name}")
    return ctx.op(typed_text("convert", [number], _INDEX), _INDEX)


def _flat_index(ctx, names):
    """The place along several axes, the first of which counts slowest."""
    shape = _mesh_shape(ctx, names)
    index = _lower_index(ctx, axis_name=names[0])
    for name in names[1:]:
        size, inner = ctx.constant(shape[name], _INDEX), _lower_index(ctx, axis_name=name)
        scaled = ctx.op(f"stablehlo.multiply {index.name}, {size.name} : {index.type}", _INDEX)
        index = ctx.op(f"stablehlo.add {scaled.name}, {inner.name} : {index.type}", _INDEX)
    return index


register_lowering(primitives.axis_index_p, _lower_index)
