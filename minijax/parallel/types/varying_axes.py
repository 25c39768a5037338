"""Chapter 14: named axes in types: over which of them a value varies.

Inside `shard_map` every device of a mesh has its own copy of a value, and copies may differ. With
`check_vma=True` the type states along which axes of the mesh they may ("varying manual axes"):

    f32[2]            the same on all devices: invariant
    f32[2]{V:x}       differs along x, and is the same along all other axes
    f32[2]{V:(x,y)}   differs along both

The operands of an operation must vary along the same axes. So an operand that varies along fewer
goes through `pvary` first. It moves no data and only changes the type, but derivatives need it: the
cotangent of a value that all devices share is the sum of the cotangents from all of them. In types,
`pvary` goes from invariant to varying, so its transpose goes from varying to invariant. That is a
sum:

    transpose(pvary) = psum_invariant        transpose(psum_invariant) = pvary
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ...core.batching import WithTrace, primitive_batchers
from ...core.boundary import public
from ...core.core import Primitive, RuleTable, ShapedArray, state, typeof
from ...core.extension import Extension, register, remove
from ...core.lowering import register_lowering
from ...core.tree import tree_map
from ...custom_rules.calls import call_p, closed_call_p
from ...custom_rules.vjp import custom_lin_p
from ...lax.control_flow.axes import axis_size
from ...remat import optimization_barrier_p
from ...runtime import settings
from ..meshes.mesh import abstract_mesh
from .placement import along, mesh_of, sums_of, varying_axes, with_sums


class Collective(Primitive):
    """A primitive that speaks of axes by name.

    Its types depend on what is in scope, so they are found anew each time; its shape rule says
    over which axes its result varies.
    """

    def __init__(self, name: str):
        super().__init__(name, memoize_avals=False)

    def impl(self, *args, **params):
        """There is but one value here, and no axis along which there could be others."""
        names = axis_tuple(params.get("axes", params.get("axis_name")))
        check_names(names)
        raise NameError(f"{self.name} over {names}: nothing is mapped along this axis here.")


def axis_tuple(axis_name: Hashable | Sequence[Hashable]) -> tuple:
    """One name, or several, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def check_names(axes: tuple) -> None:
    """Raise a `NameError` unless all names are in scope. (An int counts a dimension.)"""
    for axis in axes:
        if not isinstance(axis, int):
            axis_size(axis)


def in_scope_order(axes) -> tuple:
    """The names in the order in which they came into scope: that of the mesh."""
    return tuple(name for name in state.axis_sizes if name in axes)


def of_mesh(axes) -> frozenset:
    """Those of the names that types speak of: axes of a mesh, and not of a `vmap`."""
    mesh = abstract_mesh.value
    return frozenset(() if mesh is None else mesh.manual_axes).intersection(axes)


# ----------------------------------------------------------------------------------------------
# pvary


def _pvary_type(x, *, axes):
    check_names(axes)
    _check_no_sums("pvary", x, axes)
    if not varying_axes(x).isdisjoint(axes):
        raise ValueError(f"pvary makes an invariant value a varying one, but along {axes} "
                         f"{x.str_short(True)} varies already.")
    return along(x, varying_axes(x).union(axes))


def _check_no_sums(name, x, axes):
    if not sums_of(x)[0].union(sums_of(x)[1]).isdisjoint(axes):
        raise ValueError(f"{name} over {axes} is not for unreduced or reduced values, got "
                         f"{x.str_short(True)}. Use `jax.lax.psum` or `jax.lax.pcast` first.")


def _no_mesh(x, *, axes):
    raise ValueError(f"pvary over {axes} is about the devices of a mesh: call it in `shard_map`.")


def _pvary_batch(trace, args, dims, *, axes):
    """Along an axis of `vmap` no type says what varies."""
    rest = tuple(axis for axis in axes if axis != trace.axis_data.name)
    return (pvary_p.bind(*args, axes=rest) if rest else args[0]), dims[0]


pvary_p = Collective("pvary")
pvary_p.def_abstract_eval(_pvary_type)
pvary_p.def_impl(_no_mesh)
primitive_batchers[pvary_p] = WithTrace(_pvary_batch)
register_lowering(pvary_p, lambda ctx, x, *, axes: x)


def varying(x, axes):
    """`x` as a value that varies along `axes` at least, where types speak of it."""
    if not settings.check_vma.value:
        return x
    missing = of_mesh(axes) - varying_axes(typeof(x))
    return pvary_p.bind(x, axes=in_scope_order(missing)) if missing else x


def varies(x, axes: tuple, name: str) -> bool:
    """Whether `x` varies along these axes.

    Raises:
      ValueError: along some of them it does, along others not.
    """
    states = {axis in varying_axes(typeof(x)) for axis in of_mesh(axes)}
    if len(states) > 1:
        raise ValueError(f"{name} over {axes}: {typeof(x).str_short(True)} varies along some of "
                         "these axes only.")
    return True in states


@public
def pcast(x: Any, axis_name: Hashable | Sequence[Hashable], *, to: str) -> Any:
    """The same values, in a type that says another thing of an axis.

    Nothing is moved, on no device:

        device       0    1    2                    0    1    2
        before       a    a    a   : f32[]          after  a    a    a   : f32[]{V:i}

    Backwards, the cotangents of the devices are summed into the one of the shared value. Where
    types say nothing of axes (`check_vma=False`) the result of a cast to "varying" is `x` itself.

    Args:
      x: a pytree of arrays.
      axis_name: an axis of the mesh, or a tuple of them.
      to: "varying", from invariant or reduced values; "reduced", from invariant ones: their
        cotangents are unreduced; "unreduced", from varying ones: they are summands.

    Raises:
      ValueError: outside of `shard_map`, or `to` is unknown, or there is no such cast of `x`.
      TypeError: `axis_name` is a set, which has no order.

    >>> mesh = jax.make_mesh((1,), ("i",))
    >>> f = lambda w: jax.grad(lambda w: w * 3.0)(jax.lax.pcast(w, "i", to="varying"))[None]
    >>> jax.shard_map(f, mesh=mesh, in_specs=jax.P(), out_specs=jax.P("i"))(2.0).tolist()
    [3.0]
    """
    if isinstance(axis_name, (set, frozenset)):
        raise TypeError(f"pcast: axis_name must be a tuple or a str, got {axis_name}.")
    axes = axis_tuple(axis_name)
    if not axes:
        return x
    if to not in ("varying", "reduced", "unreduced"):
        raise ValueError(f"pcast: `to` must be 'varying', 'reduced' or 'unreduced', got {to!r}.")
    return tree_map(lambda leaf: _cast_leaf(leaf, axes, to), x)


def _cast_leaf(x, axes, to):
    now = state_along(typeof(x), of_mesh(axes), "pcast")
    if (now, to) in casts:
        return casts[now, to].bind(x, axes=in_scope_order(axes) or axes)
    if (now, to) != ("invarying", "varying"):
        raise ValueError(f"pcast: along {axes} {typeof(x).str_short(True)} is {now}, and there is "
                         f"no cast from there to {to}.")
    if not settings.check_vma.value and state.axis_sizes.keys() >= set(axes):
        return x
    return pvary_p.bind(x, axes=in_scope_order(axes) or axes)


# ----------------------------------------------------------------------------------------------
# Unreduced and reduced values: casts between the four states of a type along an axis


def _states(aval):
    unreduced, reduced = sums_of(aval)
    return {"varying": varying_axes(aval), "unreduced": unreduced, "reduced": reduced}


def state_along(aval: ShapedArray, axes, name: str) -> str:
    """What a type says of values along axes: one of the states, or "invarying".

    Raises:
      ValueError: it says different things of them.
    """
    found = {next((kind for kind, names in _states(aval).items() if axis in names), "invarying")
             for axis in axes}
    if len(found) > 1:
        raise ValueError(f"{name} over {axes}: {aval.str_short(True)} has several states along "
                         f"these axes: {', '.join(sorted(found))}.")
    return found.pop() if found else "invarying"


def in_state(aval: ShapedArray, axes, kind: str) -> ShapedArray:
    """The same type, in another state along some axes."""
    states = {name: names.difference(axes) for name, names in _states(aval).items()}
    if kind != "invarying":
        states[kind] = states[kind].union(axes)
    out = along(aval, states["varying"])
    return with_sums(out, states["unreduced"], states["reduced"])


def in_state_only(name: str, source: str, target: str, rule: Callable) -> Callable:
    """The type rule of an operation that takes values from one state to another along axes, where
    `rule` finds the type without states."""
    def type_rule(x, **params):
        axes = axis_tuple(params.get("axes", params.get("axis_name")))
        check_names(axes)
        if (now := state_along(x, axes, name)) != source:
            raise ValueError(f"{name} over {axes} is for {source} values, but {x.str_short(True)} "
                             f"is {now} along these axes.")
        return in_state(rule(x, **params), axes, target)

    return type_rule


def _make_cast(name, source, target):
    primitive = Collective(name)
    primitive.def_abstract_eval(in_state_only(name, source, target, lambda x, *, axes: x))
    primitive.def_impl(_no_mesh)
    primitive_batchers[primitive] = WithTrace(lambda trace, args, dims, *, axes:
                                              (primitive.bind(*args, axes=axes), dims[0]))
    register_lowering(primitive, lambda ctx, x, *, axes: x)
    return primitive


preduced_p = _make_cast("preduced", "invarying", "reduced")
vary_unreduced_cast_p = _make_cast("vary_unreduced_cast_p", "varying", "unreduced")
reduced_vary_cast_p = _make_cast("reduced_vary_cast_p", "reduced", "varying")
casts = {("invarying", "reduced"): preduced_p, ("varying", "unreduced"): vary_unreduced_cast_p,
         ("reduced", "varying"): reduced_vary_cast_p}


def as_summands_along(x: Any, axes) -> Any:
    """A varying value as one that is unreduced along these axes, if it is not already."""
    missing = in_scope_order(frozenset(axes) - sums_of(typeof(x))[0])
    return vary_unreduced_cast_p.bind(x, axes=missing) if missing else x


# ----------------------------------------------------------------------------------------------
# Staging


# Primitives whose operands do not meet. (`varying_operands.py` adds those that hold jaxprs.)
operands_apart: set[Primitive] = {optimization_barrier_p, closed_call_p, call_p, custom_lin_p}

# primitive -> from its parameters to the types that its jaxprs take: of the last operands, if not
# of all.
operand_types: dict[Primitive, Callable[[dict], Sequence[ShapedArray]]] = RuleTable()


def _meet(primitive):
    """Whether the operands of a primitive must vary alike, and its results vary as they do."""
    return not (primitive in operands_apart or primitive in operand_types
                or isinstance(primitive, Collective))


def pcast_text(a: ShapedArray, b: ShapedArray) -> str:
    """What makes a value of type `a` vary as `b` does; "" if it does."""
    more = tuple(sorted(varying_axes(b) - varying_axes(a)))
    return f"applying `jax.lax.pcast(..., {more}, to='varying')`" if more else ""


def join_varying(primitive: Primitive, avals: Sequence, params: dict, out: Any) -> Any:
    """`Placements.join`, of values that vary: results vary along all axes along which an operand
    does."""
    if not _meet(primitive):
        return out
    axes = frozenset().union(*map(varying_axes, avals))
    if primitive.multiple_results:
        return [along(aval, axes) for aval in out]
    return along(out, axes)


def varying_tangent_hint(wanted: ShapedArray, got: ShapedArray) -> str:
    """`Placements.tangent_hint`, of values that vary."""
    casts = [f"\n  * {cast} to {what}" for cast, what in (
        (pcast_text(wanted, got), "the primal value passed to `jax.linearize`"),
        (pcast_text(got, wanted), "the tangent value passed to the linearized function"))
        if cast]
    return "\nThis might be fixed by:" + ";".join(casts) if casts else ""


def varying_like(x: Any, aval: ShapedArray) -> Any:
    """`Placements.like`, of values that vary."""
    if not settings.check_vma.value:
        return x
    unreduced, reduced = sums_of(aval)
    if mesh_of(aval) is None and (unreduced or reduced) and not any(sums_of(typeof(x))):
        if unreduced:
            raise NotImplementedError(f"An array like {aval.str_short(True)}, in shard_map: "
                                      "there is no rule for making an unreduced one.")
        x = preduced_p.bind(x, axes=in_scope_order(reduced))
    return varying(x, varying_axes(aval))


class VaryingOperands(Extension):
    """Declares operands to vary as the equation needs it. Registered while any thread traces a
    `shard_map` with `check_vma`."""

    def stage_operands(self, builder, primitive, invars, params):
        if not settings.check_vma.value:  # it is another thread's `shard_map`
            return invars
        types = operand_types.get(primitive)
        if types is not None:
            wanted = types(params)
            first = len(invars) - len(wanted)
            return invars[:first] + [_vary(builder, v, varying_axes(aval))
                                     for v, aval in zip(invars[first:], wanted)]
        if not _meet(primitive):
            return invars
        varying = [varying_axes(v.aval) for v in invars]
        axes = frozenset().union(*varying)
        return [v if own == axes else _vary(builder, v, axes) for v, own in zip(invars, varying)]


_varying_operands = VaryingOperands()


def _vary(builder, v, axes):
    """The operand, declared to vary along these axes at least. (References stay what they are.)"""
    if type(v.aval) is not ShapedArray:
        return v
    missing = in_scope_order(axes - varying_axes(v.aval))
    if missing and sums_of(v.aval)[1] == frozenset(missing):
        return builder.add_eqn(reduced_vary_cast_p, [v], {"axes": missing})
    return builder.add_eqn(pvary_p, [v], {"axes": missing}) if missing else v


def _watch(value: bool, begins: bool) -> None:
    if value:
        (register if begins else remove)(_varying_operands)


settings.check_vma.watchers.append(_watch)
