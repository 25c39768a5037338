"""Chapter 14: a call of a jitted function that says how its arguments and results are to lie.

Under a transformation, such a call is an equation with shardings among its parameters:

    b = jit[in_shardings=(P('x'),) jaxpr={ … } out_shardings=(P(),)] a

Lowered, each is a constraint on an operand or result. Evaluated, the call runs like one outside of
transformations: arguments that lie nowhere in particular are placed, and committed ones must lie as
is said. Tangents and cotangents take the entries of their primals (`runtime/jit.py`).
"""

from collections.abc import Sequence
from typing import Any

from ... import settings
from ...compat import optional
from ...core.array import Array
from ...core.core import ShapedArray, params_rules, typeof
from ...core.extension import Extension, register
from ...core.jaxpr import eval_jaxpr
from ...core.jit import Spec, jit_p, program_of
from ...core.staging import batch_jaxpr, shaped_abstractify
from ...runtime.jit_equations import UNSPECIFIED
from ...runtime.modules import Asked
from ...runtime.structs import ShapeDtypeStruct
from ..meshes.mesh import no_mesh
from ..meshes.partition_spec import UNCONSTRAINED, P
from ..meshes.sharding import NamedSharding, Sharding, is_unreduced, tile_assignment
from .program_places import ToBePlaced, Wanted, committed_sharding, is_abstract
from .sharding_constraint import check_fits, check_spmd_name, lower_sharding

PARAMS = ("in_shardings", "out_shardings", "device")


# ----------------------------------------------------------------------------------------------
# The parameters that JAX lists


def listed_params(params: dict) -> dict:
    """The parameters of a call with all of JAX's: shardings, layouts, a mesh, XLA's flags."""
    jaxpr = params["jaxpr"]
    sides = (("in", len(jaxpr.in_avals)), ("out", len(jaxpr.out_avals)))
    nothing = {f"{side}_{what}": (entry,) * n for side, n in sides
               for what, entry in (("shardings", UNSPECIFIED), ("layouts", None))}
    flags = {"compiler_options_kvs": params.get("options", ()), "ctx_mesh": no_mesh}
    return nothing | flags | {k: x for k, x in params.items() if k not in ("device", "options")}


_ONLY_LISTED = ("compiler_options_kvs", "in_layouts", "out_layouts")


def own_params(params: dict) -> dict:
    """The parameters of a call in JAX's form, without those that ask for nothing."""
    own = {k: x for k, x in params.items() if k not in _ONLY_LISTED}
    if params["compiler_options_kvs"]:
        own["options"] = params["compiler_options_kvs"]
    if getattr(own.get("ctx_mesh"), "empty", True):
        own.pop("ctx_mesh", None)
    entries = [x for name in PARAMS[:-1] for x in own.get(name, ())]
    if any(entry is not UNSPECIFIED for entry in entries):
        return {"device": None} | own
    return {k: x for k, x in own.items() if k not in PARAMS}


params_rules[jit_p] = optional.Rule("compiler_options_kvs", own_params, listed_params)


def said(entry: Any) -> Sharding | None:
    """An entry of the parameters as a sharding, or `None`."""
    return None if entry is UNSPECIFIED else entry


def check_possible(sharding: Sharding, aval: ShapedArray, what: str) -> None:
    """Raise ValueError unless a sharding cuts arrays of a type into equal parts."""
    check_fits(sharding, aval, f"jit's {what}s, of shape {aval.shape},")
    sharding.shard_shape(aval.shape)


# ----------------------------------------------------------------------------------------------
# Evaluation


def as_if_placed(x: Any, sharding: Sharding | None) -> Any:
    """An argument, or its type as it will lie.

    Raises:
      ValueError: it is committed to another place.
    """
    if sharding is None:
        return x
    aval = shaped_abstractify(x)
    check_possible(sharding, aval, "argument")
    _check_place(x, sharding)
    kind = ToBePlaced if committed_sharding(x) is None else ShapeDtypeStruct
    return kind(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)


def _check_place(x, sharding):
    """Raise ValueError if `x` is committed to something else, or in another memory."""
    given = x.sharding if isinstance(x, Array) else committed_sharding(x)
    if given is None:
        return
    ndim = len(x.shape)
    if sharding.memory_kind not in (None, given.memory_kind):
        raise ValueError("Memory kinds passed to jax.jit does not match memory kind on the "
                         f"respective arg. Got jit memory kind: {sharding.memory_kind}, arg memory "
                         f"kind: {given.memory_kind} for arg type: {typeof(x).str_short(False)}. "
                         "Move it with jax.device_put.")
    if committed_sharding(x) is None:
        return
    if (is_unreduced(given) != is_unreduced(sharding)  # devices do not matter
            or tile_assignment(given, ndim) != tile_assignment(sharding, ndim)):
        raise ValueError("Sharding passed to jit does not match the sharding on the respective "
                         f"arg. Got jit sharding: {sharding}, arg sharding: {given} for arg type: "
                         f"{typeof(x).str_short(False)}. Move it with jax.device_put, or leave "
                         "out in_shardings.")


def _evaluate(_, *args, **params):
    if settings.disable_jit.value:
        return eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *args)
    return _run(*args, **params)


def _run(*args, jaxpr, in_shardings, out_shardings, device, ctx_mesh=None, donated_invars=(),
         inline=False, **options):
    """Run the program of a call."""
    placed, wanted = args, Wanted(device)
    if device is None:
        placed = tuple(map(as_if_placed, args, map(said, in_shardings)))
        wanted = Wanted(out_shardings=tuple(map(said, out_shardings)))
    return program_of(jaxpr, Spec(**options, more=Asked(donated_invars, wanted)), placed)(args)


# ----------------------------------------------------------------------------------------------
# Batching


def _batch(_, trace, args, dims, **params):
    """A batch dimension is whole, or split over `spmd_axis_name`."""
    _check_batched(params)
    jaxpr, out_dims = batch_jaxpr(params["jaxpr"], trace.axis_data, tuple(dims))
    name = trace.axis_data.spmd_name
    if params["device"] is None:
        params["in_shardings"] = _all_batched(params["in_shardings"], dims, jaxpr.in_avals, name)
        params["out_shardings"] = _all_batched(params["out_shardings"], out_dims, jaxpr.out_avals,
                                               name)
    return jit_p.bind(*args, **params | {"jaxpr": jaxpr}), out_dims


def _check_batched(params):
    if not all(isinstance(aval, ShapedArray) for aval in params["jaxpr"].in_avals):
        raise NotImplementedError("vmap of a function that takes references and is jitted with "
                                  "shardings: jit the result of vmap instead.")


def _all_batched(shardings, dims, avals, spmd_name) -> tuple:
    return tuple([entry if d is None or entry is UNSPECIFIED else
                  _batched(entry, d, spmd_name) for entry, d in zip(shardings, dims)])


def _batched(sharding, d, spmd_name):
    check_spmd_name(sharding, spmd_name)
    if not isinstance(sharding, NamedSharding) or spmd_name is None and (
            sharding.is_fully_replicated):
        return sharding
    whole = UNCONSTRAINED if is_abstract(sharding) else None
    entries = [*sharding.spec.with_entry(d, whole if spmd_name is None else spmd_name).partitions]
    while entries and entries[-1] is None:
        entries.pop()
    return sharding.update(spec=P(*entries))


# ----------------------------------------------------------------------------------------------
# Lowering


def _lower(rule, ctx, *xs, **params):
    said = {name: params.pop(name) for name in PARAMS}
    outs = rule(ctx, *_constrained(ctx, xs, said["in_shardings"]), **params)
    return _constrained(ctx, outs, said["out_shardings"])


def _constrained(ctx, xs: Sequence, shardings: Sequence) -> list:
    return [x if sharding is UNSPECIFIED else lower_sharding(ctx, x, sharding)
            for x, sharding in zip(xs, shardings, strict=True)]


# ----------------------------------------------------------------------------------------------
# The extension

_rules = {"evaluation": _evaluate, "batching": _batch, "lowering": _lower}


class CallsWithShardings(Extension):
    """A call of a jitted function with shardings among its parameters has these rules."""

    def rule_of_call(self, kind, primitive, rule, /, *args, **params):
        own = _rules.get(kind) if primitive is jit_p and "in_shardings" in params else None
        return rule(*args, **params) if own is None else own(rule, *args, **params)


register(CallsWithShardings())
