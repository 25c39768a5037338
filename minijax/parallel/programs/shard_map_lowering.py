"""Chapter 14: the lowering of `shard_map` to Shardy, the sharding dialect of XLA.

    %3 = sdy.manual_computation(%1, %2) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}]>]
             out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%a: tensor<2xf32>, …) {
      …
      sdy.return %b : tensor<2xf32>
    } : (tensor<8xf32>, …) -> tensor<2xf32>

The region cannot refer to values outside of it: constants and tokens of effects are operands.
"""

import re

from ...core.lowering import Body, Value, register_lowering, tensor_type
from ...lax.control_flow.tokens import TOKEN, inline_with_token, ordered_token, set_token
from ...runtime.effect_sets import is_ordered
from ...runtime.modules import ProgramBody, nested
from ..meshes.partition_spec import P
from ..meshes.sharding import NamedSharding, quoted, sdy_sums
from ..types.stablehlo import devices_of_module, manual_context, mesh_symbol
from .shard_map_primitive import Scope, inside, shard_map_p


def _lower(ctx, *operands, jaxpr, in_specs, out_specs, **params):
    scope = Scope(**params)
    axes = scope.in_order(scope.newly_manual_axes)
    mesh, manual_axes = manual_context(ctx)
    manual = mesh or scope.mesh, (*manual_axes, *axes)
    if scope.size(axes) == 1:
        return _in_place(ctx, jaxpr, operands, scope, manual)
    if len(devices_of_module(ctx)) != scope.mesh.size:
        raise ValueError(f"shard_map over {scope.mesh}: which devices are those? Pass a Mesh, put "
                         "one in force by `jax.set_mesh`, or pass arguments that lie on one.")
    body = ctx.module.region_class(ctx.module, "", "shard_map", manual)
    body.enclosing = nested(ctx.scope, "shard_map")
    ordered, avals, inline = is_ordered(jaxpr.effects), jaxpr.in_avals, ProgramBody.inline
    if ordered:
        avals, inline = [*avals, TOKEN], inline_with_token
        operands, out_specs = [*operands, ordered_token(ctx)], (*out_specs, P())
    args = [Value(f"%arg{i}", aval) for i, aval in enumerate(avals)]
    with inside(scope._replace(check_vma=False)):  # the types are checked
        outs = inline(body, jaxpr, args)
    results = _manual_computation(ctx, body, args, operands, outs, scope, in_specs, out_specs)
    if ordered:
        *results, token = results
        set_token(ctx, token)
    return results


def _in_place(ctx, jaxpr, operands, scope, manual):
    """There is one shard of everything, the whole."""
    outside, ctx.context = ctx.context, manual
    with inside(scope._replace(check_vma=False)):
        outs = ctx.inline(jaxpr, operands)
    ctx.context = outside
    return outs


def _manual_computation(ctx, body, args, operands, outs, scope, in_specs, out_specs):
    """Append the operation whose region is `body`, a function from `args` to `outs`."""
    names = ", ".join(x.name for x in outs)  # may write a constant: before those are listed
    tail = f"    sdy.return {names} : {_types(outs)}" if outs else "    sdy.return"
    constants = [f"    {name} = {text}" for text, name in body.constants.items()]
    args = [*args, *body.hoisted.values()]
    operands = [*operands, *ctx.hidden_operands(body)]
    symbol = mesh_symbol(ctx.module, manual_context(body)[0])
    whole = [x.aval if x.aval is TOKEN else scope.unshard_aval(spec, x.aval)
             for spec, x in zip(out_specs, outs)]
    head = f"({', '.join(f'{x.name}: {x.type}' for x in args)}) {{"
    region = _renamed("\n".join([head, *constants, *body.lines, tail]), ctx)
    axes = ", ".join(map(quoted, scope.in_order(scope.newly_manual_axes)))
    return ctx.ops(
        f"sdy.manual_computation({', '.join(x.name for x in operands)}) "
        f"in_shardings=[{_shardings(symbol, scope, in_specs, operands)}] "
        f"out_shardings=[{_shardings(symbol, scope, out_specs, outs)}] "
        f"manual_axes={{{axes}}} {region}\n"
        f"    }} : ({_types(operands)}) -> ({', '.join(map(tensor_type, whole))})", whole)


def _renamed(text: str, ctx: Body) -> str:
    """The text with names that the function around does not have."""
    return re.sub(r"%(?=\w)", f"%shard{ctx.fresh()[1:]}_", text)


def _types(values) -> str:
    return ", ".join(x.type for x in values)


def _shardings(symbol, scope, specs, values) -> str:
    """Specs in Shardy's notation. XLA may split further along the axes that are left to it. Values
    without a spec, tokens and constants, are whole on each device."""
    more = ["?"] * (len(scope.newly_manual_axes) < len(scope.mesh.axis_names))
    texts = []
    for i, x in enumerate(values):
        spec = specs[i] if i < len(specs) else P()
        dims = [", ".join([*map(quoted, spec.axes_of(d)), *more]) for d in range(len(x.aval.shape))]
        sums = sdy_sums(NamedSharding(scope.mesh, P(unreduced=spec.unreduced)))
        texts.append(f"<@{symbol}, [{', '.join(f'{{{dim}}}' for dim in dims)}]{sums}>")
    return ", ".join(texts)


register_lowering(shard_map_p, _lower)
