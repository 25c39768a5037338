"""Chapter 14: the type of a result, where types of operands say what they say of a mesh.

`join_shardings` asks the table of `sharding_rules.py` how the axes of type Explicit split the
results, and that of `unreduced.py` over which axes sums are still to be made.
"""

from typing import Any

from ...core.core import Primitive, ShapedArray
from ...core.extension import Extension, register, remove
from ...errors import ShardingTypeError
from ..meshes.mesh import AbstractMesh, abstract_mesh
from ..meshes.mesh_in_force import get_abstract_mesh, is_foreign
from ..meshes.partition_spec import axes_of_entry
from . import indexing_rules  # noqa: F401  (fills the table)
from .placement import (
    Placement,
    entries_of,
    in_space,
    mesh_of,
    says_split,
    space_of,
    split_over,
    stated_placement,
    sums_of,
    texts,
    with_sums,
)
from .sharding_rules import Avals, refused, sharding_rules, stated
from .unreduced import sums_of_results


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
            f"sharding rule for {primitive} is not implemented, for {texts(avals)}. Call it "
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
    names = [name for entry in entries for name in axes_of_entry(entry)]
    out = split_over(aval, entries, mesh, *sums)
    if len(names) > len(set(names)):
        raise refused(f"{primitive} operation with inputs: {texts(avals)} produces an illegally "
                       f"sharded result: {out.str_short(True)}",
                       "Reshard an operand, by `jax.sharding.reshard`.")
    return out
