"""Chapter 14: operations whose result lies as the user says, by `out_sharding=`.

    dot_general(x, w, …, out_sharding=P("x", None))    where rules would have to guess, or refuse

Such an operation has a primitive of its own. It has the name of the usual one and a parameter more,
which states the sharding of the result. Transposes need them too: the cotangent of an operand of
`dot_general` is another `dot_general`, which lies as the operand does.

Any other function is called with all axes of type `Auto`, and its result is resharded.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.batching import WithTrace, moveaxis, primitive_batchers, shifted_dims
from ...core.core import Primitive, state, typeof
from ...core.forward import Zero, defbilinear_jvp
from ...core.lowering import Value, lowering_rules, register_lowering
from ...core.primitives import (
    broadcast_in_dim_p,
    convert,
    dot_general_p,
    reduce_sum_p,
    reshape_p,
    transpose,
)
from ...core.transposition import is_undefined_primal, primitive_transposes
from ...lax.families import deflinear2
from ...lax.out_shardings import cotangent_aval
from ...lax.shaping import converted_on, iota_p
from ...remat.policies import products
from ...runtime.dispatch import apply_primitive
from ...source import fun_name
from ..meshes.mesh import AbstractMesh
from ..meshes.partition_spec import PartitionSpec
from ..meshes.sharding import NamedSharding
from ..types.placement import explicit_mesh_of, sharding_of_type, sums_of, with_sharding
from ..types.sharding_rules import stated
from ..types.unreduced import sums_of_stated
from .explicit_axes import auto_axes, checked_sharding, explicit_sharding, reshard
from .program_places import is_abstract
from .reshard import bind_reshard, lower_stated, with_batch_entry

with_parameter: dict[Primitive, Primitive] = {}  # the usual primitive -> the one with a parameter
_PARAMETERS: dict[Primitive, str] = {}  # its name
_SUMS = {dot_general_p, reduce_sum_p}  # those that can leave a sum over devices to be made


def _make(base: Primitive, parameter: str) -> Primitive:
    primitive = with_parameter[base] = Primitive(base.name)
    _PARAMETERS[primitive] = parameter
    stated.add(primitive)

    def split(params):
        return params[parameter], {name: x for name, x in params.items() if name != parameter}

    @primitive.def_abstract_eval
    def result_type(*avals, **params):
        sharding, others = split(params)
        unreduced, reduced = sums_of_stated(base.name, avals, others, sharding.spec)
        spec = sharding.spec.update(unreduced=unreduced, reduced=reduced)
        return with_sharding(base.abstract_eval(*avals, **others), sharding.update(spec=spec))

    def lower(ctx, *operands, **params):
        sharding, others = split(params)
        out = lowering_rules[base](ctx, *operands, **others)
        of_summands = any(sums_of(x.aval)[0] for x in operands)
        out = Value(out.name, out.aval.update(placement=None))
        return lower_stated(ctx, out, sharding, of_summands or base in _SUMS)

    primitive.def_impl(functools.partial(apply_primitive, primitive))
    register_lowering(primitive, lower)
    return primitive


def bind_stated(base: Primitive, args: Sequence, params: dict, sharding: NamedSharding) -> Any:
    """The result of a primitive, which has this sharding."""
    primitive = with_parameter[base]
    return primitive.bind(*args, **params, **{_PARAMETERS[primitive]: sharding})


def _mesh_of(*values) -> AbstractMesh | None:
    """The mesh with axes of type Explicit of which the types of values speak, if one does."""
    avals = [x.aval if is_undefined_primal(x) else typeof(x) for x in values if type(x) is not Zero]
    return next((mesh for aval in avals if (mesh := explicit_mesh_of(aval)) is not None), None)


def _back_to(x: Any, mesh: AbstractMesh) -> NamedSharding:
    """The sharding of the cotangent of an operand."""
    return sharding_of_type(cotangent_aval(x.aval), mesh)


def transposed(primitive: Primitive, ct: Any, operands: Sequence, params: dict) -> Any:
    """The cotangents of the operands, placed as these are, where types speak of a mesh."""
    mesh = _mesh_of(ct, *operands)
    return NotImplemented if mesh is None else _BACK[primitive](mesh, ct, *operands, **params)


# ----------------------------------------------------------------------------------------------
# Reshape, broadcast and sums: the cotangent lies as the operand does


reshape_with_sharding_p = _make(reshape_p, "sharding")
broadcast_with_sharding_p = _make(broadcast_in_dim_p, "sharding")
sum_with_sharding_p = _make(reduce_sum_p, "out_sharding")


def _reshape_back(mesh, ct, x, *, new_sizes, dimensions, sharding=None):
    if dimensions is not None:  # the rule of the core, on cotangents that all devices hold
        shape = [x.aval.shape[d] for d in dimensions]
        back = _back_to(x, mesh)
        whole = back.update(spec=back.spec.update([None] * len(shape)))
        ct = bind_stated(reshape_p, [ct], {"new_sizes": tuple(shape), "dimensions": None}, whole)
        return [transpose(ct, np.argsort(dimensions).tolist())]
    params = {"new_sizes": x.aval.shape, "dimensions": None}
    return [bind_stated(reshape_p, [ct], params, _back_to(x, mesh))]


def _sum_back(mesh, ct, x, *, axes, out_sharding=None):
    kept = tuple([d for d in range(x.aval.ndim) if d not in axes])
    params = {"shape": x.aval.shape, "broadcast_dimensions": kept}
    return [bind_stated(broadcast_in_dim_p, [ct], params, _back_to(x, mesh))]


def _broadcast_back(mesh, ct, x, *, sharding, **params):
    return primitive_transposes[broadcast_in_dim_p](ct, x, **params)


for _base, _back in ((reshape_p, _reshape_back), (reduce_sum_p, _sum_back),
                     (broadcast_in_dim_p, _broadcast_back)):
    _primitive = with_parameter[_base]
    deflinear2(_primitive, lambda ct, x, _back=_back, **params: _back(
        next(p for p in params.values() if isinstance(p, NamedSharding)).mesh, ct, x, **params))


def _batch_broadcast(trace, args, dims, *, shape, broadcast_dimensions, sharding):
    x = moveaxis(args[0], dims[0], 0)
    params = {"shape": (typeof(x).shape[0], *shape),
              "broadcast_dimensions": (0, *shifted_dims(broadcast_dimensions, 0))}
    sharding = with_batch_entry(sharding, trace, x, 0, 0)
    return bind_stated(broadcast_in_dim_p, [x], params, sharding), 0


def _batch_reshape(trace, args, dims, *, new_sizes, dimensions, sharding):
    x = moveaxis(args[0], dims[0], 0)
    order = None if dimensions is None else (0, *shifted_dims(dimensions, 0))
    params = {"new_sizes": (typeof(x).shape[0], *new_sizes), "dimensions": order}
    return bind_stated(reshape_p, [x], params, with_batch_entry(sharding, trace, x, 0, 0)), 0


def _batch_sum(trace, args, dims, *, axes, out_sharding):
    x = moveaxis(args[0], dims[0], 0)
    return bind_stated(reduce_sum_p, [x], {"axes": shifted_dims(axes, 0)},
                       with_batch_entry(out_sharding, trace, x, 0, 0)), 0


def _batched_by(rule: Callable, primitive: Primitive) -> None:
    def if_batched(trace, args, dims, **params):
        if all(d is None for d in dims):
            return primitive.bind(*args, **params), None
        return rule(trace, args, dims, **params)

    primitive_batchers[primitive] = WithTrace(if_batched)


_batched_by(_batch_broadcast, broadcast_with_sharding_p)
_batched_by(_batch_reshape, reshape_with_sharding_p)
_batched_by(_batch_sum, sum_with_sharding_p)

_make(iota_p, "sharding")

# ----------------------------------------------------------------------------------------------
# Products of matrices

dot_with_sharding_p = _make(dot_general_p, "out_sharding")
defbilinear_jvp(dot_with_sharding_p)
products.add(dot_with_sharding_p)


def _dot_back_lhs(mesh, ct, x, y, *, dimension_numbers, swapped=False, out_sharding=None, **params):
    """As the rule of the core, with the sharding of the operand."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_free = [d for d in range(x.aval.ndim) if d not in (*x_contract, *x_batch)]
    y_free = [d for d in range(typeof(y).ndim) if d not in (*y_contract, *y_batch)]
    batch = tuple(range(len(x_batch)))
    start = len(batch) if swapped else len(batch) + len(x_free)
    numbers = (tuple(range(start, start + len(y_free))), tuple(y_free)), (batch, y_batch)
    contracted = [x_contract[y_contract.index(d)] for d in sorted(y_contract)]
    order = [*x_batch, *x_free, *contracted]
    sharding = _back_to(x, mesh)
    spec = sharding.spec.update([sharding.spec.partitions[d] for d in order])
    sharding = sharding.update(spec=spec)
    out = bind_stated(dot_general_p, [ct, y], {"dimension_numbers": numbers, **params}, sharding)
    out = transpose(out, np.argsort(order).tolist())
    return convert(out, x.aval.dtype, typeof(out).weak_type)


def _dot_back(mesh, ct, x, y, *, dimension_numbers, **params):
    if is_undefined_primal(x):
        return [_dot_back_lhs(mesh, ct, x, y, dimension_numbers=dimension_numbers, **params), None]
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    swapped = ((y_contract, x_contract), (y_batch, x_batch))
    return [None, _dot_back_lhs(mesh, ct, y, x, dimension_numbers=swapped, swapped=True, **params)]


def _stated_dot_back(ct, x, y, *, out_sharding, **params):
    return _dot_back(out_sharding.mesh, ct, x, y, **params)


_BACK: dict[Primitive, Callable] = {
    reshape_p: _reshape_back, reduce_sum_p: _sum_back, dot_general_p: _dot_back}
primitive_transposes[dot_with_sharding_p] = _stated_dot_back


def _batch_dot(trace, args, dims, *, dimension_numbers, out_sharding, **params):
    """If both are batched, one more batch dimension; if one is, one more of its free dimensions."""
    contract, batch = (tuple(map(shifted_dims, pair, dims)) for pair in dimension_numbers)
    if None not in dims:
        batch, out_dim = tuple((d, *others) for d, others in zip(dims, batch)), 0
    else:
        free = [(i, d) for i, x in enumerate(args) for d in range(typeof(x).ndim)
                if d not in contract[i] + batch[i]]
        batched = 0 if dims[1] is None else 1
        out_dim = len(batch[0]) + free.index((batched, dims[batched]))
    x, d = next((x, d) for x, d in zip(args, dims) if d is not None)
    params["dimension_numbers"] = contract, batch
    sharding = with_batch_entry(out_sharding, trace, x, d, out_dim)
    return bind_stated(dot_general_p, args, params, sharding), out_dim


_batched_by(_batch_dot, dot_with_sharding_p)

# ----------------------------------------------------------------------------------------------
# The parameter `out_sharding` of public functions


def _says_nothing(sharding: Any) -> bool:
    """Whether it is the sharding of an array on no mesh, as `typeof(x).sharding` shows it."""
    return isinstance(sharding, NamedSharding) and sharding.mesh.empty


def bind(primitive: Primitive, args: Sequence, params: dict, sharding: Any) -> Any:
    """`Placements.bind`."""
    if _says_nothing(sharding):
        return primitive.bind(*args, **params)
    aval = primitive.abstract_eval(*map(typeof, args), **params)
    sharding = checked_sharding(sharding, aval, f"{primitive}: out_sharding")
    if primitive in with_parameter:
        return bind_stated(primitive, args, params, sharding)
    return bind_reshard(primitive.bind(*args, **params), sharding)


def call(f: Callable, args: Sequence, kwargs: dict, sharding: Any) -> Any:
    """`Placements.call`."""
    if _says_nothing(sharding):
        return f(*args, **kwargs)
    sharding = explicit_sharding(sharding, f"{fun_name(f)}: out_sharding")
    # Axes of type Manual stay what they are: within a shard_map, no device sees the others.
    names = sharding.mesh.explicit_axes
    return auto_axes(f, axes=names, out_sharding=sharding)(*args, **kwargs)


def resharded(x: Any, sharding: Any) -> Any:
    """`Placements.reshard`."""
    if _says_nothing(sharding):
        return x
    return reshard(x, explicit_sharding(sharding, "out_sharding"))


def permuted(sharding: Any, order: Sequence[int]) -> Any:
    """`Placements.permuted`."""
    if _says_nothing(sharding):
        return sharding
    sharding = explicit_sharding(sharding, "out_sharding")
    entries = sharding.spec.entries(len(order))
    return sharding.update(spec=sharding.spec.update([entries[d] for d in order]))


def filled(value: Any, shape: tuple, sharding: Any, like: Any = None) -> Any:
    """`Placements.filled`."""
    params = {"shape": shape, "broadcast_dimensions": ()}
    if sharding is None:
        return _filled_like(value, params, like)
    if isinstance(sharding, PartitionSpec) or is_abstract(sharding):
        return bind(broadcast_in_dim_p, [value], params, sharding)
    if not state.trace.staging:
        value = convert(value, typeof(value).dtype)
    return converted_on(broadcast_in_dim_p.bind(value, **params), sharding)


def _filled_like(value, params, aval):
    mesh, shape = explicit_mesh_of(aval), params["shape"]
    if mesh is None or shape != aval.shape or not shape:  # `sharded_like` reshards a number
        return value
    return bind_stated(broadcast_in_dim_p, [value], params, sharding_of_type(aval, mesh))
