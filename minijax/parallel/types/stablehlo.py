"""Chapter 14: StableHLO modules for several devices.

Such a module has a list of devices, declares their mesh at its head, and states the sharding of
each argument. If a function in it is the body of a `shard_map`, its `context` is the mesh and the
manual axes (see `core/lowering.py:Body`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.core import ShapedArray
from ...core.jaxpr import JaxprEqn
from ...core.lowering import Body, Value
from ...runtime.modules import ProgramBody, ProgramModule
from ..meshes.mesh import AbstractMesh, Mesh
from ..meshes.partition_spec import P
from ..meshes.sharding import NamedSharding, Sharding, quoted, sdy_mesh, sdy_sharding
from .placement import entries_of, mesh_of, says_split, sharding_of_type, split_over, sums_of


class PartitionedBody(ProgramBody):
    """A function of such a module. The results of `@main` lie as the program's results are to.

    Each unreduced result of an operation gets a constraint that says it is unreduced.
    """

    module: PartitionedModule  # type: ignore[assignment]

    def rule_of(self, eqn: JaxprEqn) -> Callable:
        rule, avals = super().rule_of(eqn), [v.aval for v in eqn.outvars]
        if eqn.primitive.name in _LOOPS:
            _check_loop(eqn)
        return _of_summands(rule, eqn, avals) if any(map(_summed_mesh, avals)) else rule

    def text(self, arguments: Sequence[str], results: Sequence[Value], visibility: str) -> str:
        if visibility != "public":
            return super().text(arguments, results, visibility)
        results = self.module.results_placed(self, results)
        text = super().text(arguments, results, visibility)
        said = self.module.result_attributes()
        if not any(said):
            return text
        types = [f"{x.type} {{{words}}}" if words else x.type for x, words in zip(results, said)]
        plain = f") -> ({', '.join(x.type for x in results)}) {{\n"
        return text.replace(plain, f") -> ({', '.join(types)}) {{\n", 1)


class PartitionedModule(ProgramModule):
    """A module that XLA splits into one program for each of the `devices`."""

    body_class = PartitionedBody

    def __init__(self, name: str, devices: Sequence):
        super().__init__(name)
        self.devices = devices
        self.symbols: dict[str, str] = {}  # what is declared at the head -> its name

    @property
    def attributes(self) -> str:  # type: ignore[override]
        return f"mhlo.num_partitions = {len(self.devices)} : i32, mhlo.num_replicas = 1 : i32"

    def results_placed(self, ctx: Body, results: Sequence) -> Sequence:
        """The results of `@main` with constraints."""
        return results

    def result_attributes(self) -> list[str]:
        """What the module says of each result besides its type."""
        return []

    def declare(self, name: str, text: str) -> str:
        """The symbol of what is declared as `text`, once, at the head of the module."""
        if text not in self.symbols:
            self.symbols[text] = self.unique(name)
        return self.symbols[text]

    def head(self) -> list[str]:
        declared = [f"  {text.replace('@', '@' + name, 1)}" for text, name in self.symbols.items()]
        return [*super().head(), *declared]


def devices_of_module(ctx: Body) -> Sequence:
    """The devices that run the module, if there are several; otherwise nothing."""
    return ctx.module.devices if isinstance(ctx.module, PartitionedModule) else ()


def manual_context(ctx: Body) -> tuple[Any, tuple]:
    """The mesh of the `shard_map` around a function, or `None`, and the manual axes."""
    return ctx.context or (None, ())  # type: ignore[return-value]


def mesh_symbol(module: Any, mesh: Mesh | AbstractMesh, devices: Any = None) -> str:
    """The symbol of a mesh, which is declared at the module's head."""
    return module.declare("mesh", f"sdy.mesh @ = {sdy_mesh(mesh, devices)}")


def constraint(ctx: Body, x: Value, sharding: Sharding, mesh: Mesh | AbstractMesh) -> Value:
    """A line that says how a value lies, in the words of a mesh."""
    symbol = mesh_symbol(ctx.module, mesh, devices_of_module(ctx))
    text = sdy_sharding(sharding, x.aval.ndim, symbol).removeprefix("#sdy.sharding")
    return ctx.op(f"sdy.sharding_constraint {x.name} {text} : {x.type}", x.aval)


def open_constraint(ctx: Body, x: Value, sharding: NamedSharding) -> Value:
    """A line that says how explicit axes split a value. The compiler may use the others, too."""
    mesh, spec = sharding.mesh, sharding.spec
    symbol = mesh_symbol(ctx.module, mesh, devices_of_module(ctx))
    dims = [", ".join([*map(quoted, spec.axes_of(d)), "?"]) for d in range(x.aval.ndim)]
    unused = [quoted(name) for name in mesh.explicit_axes if name not in spec.all_axes()]
    whole = f", replicated={{{', '.join(unused)}}}" if unused else ""
    where = f"<@{symbol}, [{', '.join(f'{{{dim}}}' for dim in dims)}]{whole}>"
    return ctx.op(f"sdy.sharding_constraint {x.name} {where} : {x.type}", x.aval)


# ----------------------------------------------------------------------------------------------
# Values of which devices hold summands
#
# Shardy takes an operation for one of summands if its result is constrained to be unreduced, even
# if its operands are not. So only results of single operations on summands get that constraint at
# once. Other values are constrained to be whole before: the step between is a conversion, in which
# all devices but one get zeros.

_SINGLE_OPERATIONS = frozenset("""
    add add_any broadcast_in_dim concatenate cond convert_element_type copy dot_general
    dynamic_update_slice iota jit mul optimization_barrier pad reduce_precision reduce_sum reshape
    reshard scan select_n shard_map sharding_constraint slice split squeeze transpose while
    """.split())


_LOOPS = {"scan": ("num_consts",), "while": ("cond_nconsts", "body_nconsts")}


def _check_loop(eqn: JaxprEqn) -> None:
    """Raise an error if a loop reads summands from outside, which XLA takes for copies."""
    name = eqn.primitive.name
    n = sum(eqn.own_params[parameter] for parameter in _LOOPS[name])
    for v in eqn.invars[:n]:
        if _summed_mesh(v.aval):
            raise NotImplementedError(
                f"{name}: the body closes over a value of type {v.aval.str_short(True)}, which is "
                "unreduced, and there is no rule for that. Make it a part of the carry, or make "
                "the sum first, by `jax.sharding.reshard`.")


def _summed_mesh(aval: Any) -> AbstractMesh | None:
    """The mesh of a type whose values are sums over some of its axes."""
    return mesh_of(aval) if type(aval) is ShapedArray and sums_of(aval)[0] else None


def _of_summands(rule: Callable, eqn: JaxprEqn, avals: Sequence) -> Callable:
    """The lowering rule of an equation that has results of which devices hold summands."""
    several, name = eqn.primitive.multiple_results, eqn.primitive.name
    single = name in _SINGLE_OPERATIONS and not (name == "reshape" and eqn.own_params["dimensions"])

    def constrained(ctx, *operands, **params):
        if name == "pad":
            x, padding = operands
            operands = x, _summands_of_scalar(ctx, padding, avals[0])
        outs = rule(ctx, *operands, **params)
        placed = [_placed(ctx, x, aval, single) for x, aval in zip(outs if several else [outs],
                                                                   avals)]
        return placed if several else placed[0]

    return constrained


def _placed(ctx, x, aval, single):
    mesh = _summed_mesh(aval)
    if mesh is None:
        return x
    sharding = sharding_of_type(aval, mesh)
    x = Value(x.name, aval if single else x.aval.update(placement=None))
    return as_summands(ctx, x, sharding, mesh)


def as_summands(ctx: Body, x: Value, sharding: NamedSharding, mesh: Mesh | AbstractMesh) -> Value:
    """A value of which devices hold summands, as the sharding says. What is split already over
    these axes stays where it is, among zeros."""
    if not sharding.spec.unreduced <= sums_of(x.aval)[0]:
        entries = entries_of(x.aval) if says_split(x.aval) else None
        plain = sharding.spec.update(entries, unreduced=sums_of(x.aval)[0])
        x = constraint(ctx, x, sharding.update(spec=plain), mesh)
    x = constraint(ctx, x, sharding, mesh)
    return Value(x.name, split_over(x.aval, entries_of(x.aval), mesh.abstract_mesh,
                                    sharding.spec.unreduced))


def _summands_of_scalar(ctx, x, aval):
    """A number as summands, for an operation on values of a type."""
    mesh = _summed_mesh(aval)
    assert mesh is not None
    spec = P(unreduced=sums_of(aval)[0])
    return as_summands(ctx, Value(x.name, x.aval), NamedSharding(mesh, spec), mesh)


# Rows of arrays of summands are summands.


def part_lowered(ctx: Body, part: Value, whole: ShapedArray) -> Value:
    """`Placements.part_lowered`."""
    mesh = _summed_mesh(whole)
    if mesh is None or not devices_of_module(ctx):
        return part
    entries = entries_of(whole)[whole.ndim - part.aval.ndim:]
    aval = split_over(part.aval, entries, mesh, sums_of(whole)[0])
    return _placed(ctx, part, aval, True)


def add_host_callback(ctx: Body, function: Callable) -> int:
    """Add a Python function that the program calls; returns its number. XLA keeps it alive."""
    assert isinstance(ctx.module, ProgramModule)
    callbacks = ctx.module.for_compiler.setdefault("host_callbacks", [])
    callbacks.append(function)
    return len(callbacks) - 1
