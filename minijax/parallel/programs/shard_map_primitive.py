"""Chapter 14: the primitive `shard_map`, with its rules.

    shard_map[check_vma in_specs jaxpr mesh newly_manual_axes out_specs] *args  →  *results

The specs say how arguments are cut and how results are put together. In between, each device
computes with its own parts, and gets those of others by collectives only:

    args ── cut by in_specs ──>  jaxpr on device 0  ── put together by out_specs ──> results
                          └───>  jaxpr on device 1  ──┘
                          └───>  …

The rules are those of `jit`, applied to the jaxpr of one device, except that each new argument and
result also needs a spec. The axes of the mesh over which the function is mapped are *manual*: their
names are in scope. If some are left to the compiler, an inner `shard_map` may take those.
"""

import contextlib
import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

from ...checks.typecheck import check_jaxpr
from ...core.batching import AxisData, primitive_batchers
from ...core.calls import around, batcher, call_rules
from ...core.core import Primitive, ShapedArray, state, typeof
from ...core.dtypes import float0
from ...core.forward import Zero
from ...core.jaxpr import ClosedJaxpr, Var, checks_inside, custom_typechecks, jaxpr_as_fun
from ...core.partial_eval import (
    dce_rules,
    default_partial_eval,
    partial_eval_jaxpr,
    partial_eval_rules,
)
from ...core.staging import batch_jaxpr, jaxpr_of, trace_to_jaxpr, weakref_cache
from ...core.transposition import (
    UndefinedPrimal,
    backward_pass,
    is_undefined_primal,
    nonzero_avals,
    primitive_transposes,
)
from ...core.util import merge_lists, partition_list, split_list
from ...lax.control_flow.common import evaluate_compiled, same_type
from ...lax.shaping import expand_dims, squeeze
from ...remat import choose_inside, choose_saved
from ...runtime.settings import check_vma as tracking_vma
from ...settings import Override
from ..collectives.reductions import psum
from ..meshes.mesh import AbstractMesh, AxisType, Mesh, abstract_mesh
from ..meshes.partition_spec import P, PartitionSpec
from ..meshes.sharding import NamedSharding
from ..types import varying_operands as vma_calls  # noqa: F401  (tells calls what varies)
from ..types.placement import (
    along,
    entries_of,
    mesh_of,
    placement,
    split_over,
    sums_of,
    varying_axes,
    with_sums,
)
from ..types.spmd_axes import axes_of_batch, axes_of_batches
from ..types.varying_axes import operands_apart
from .eager_operations import sees_to_places
from .placed_array import Place, PlacedArray

# ----------------------------------------------------------------------------------------------
# The scope of a body: over which axes of which mesh it is mapped, and what its types speak of


class Scope(NamedTuple):
    """Where a body runs. These are also parameters of the primitive."""

    mesh: Mesh | AbstractMesh
    newly_manual_axes: frozenset
    check_vma: bool

    @property
    def manual_mesh(self) -> AbstractMesh:
        """The mesh inside the body."""
        manual = self.newly_manual_axes.union(self.mesh.manual_axes)
        return _with_manual_axes(self.mesh.abstract_mesh, manual)

    def in_order(self, axes) -> tuple:
        """The axes as the mesh orders them."""
        return tuple(name for name in self.mesh.axis_names if name in axes)

    def size(self, axes) -> int:
        """How many devices there are along these axes."""
        return math.prod(self.mesh.shape[name] for name in axes)

    def shard_aval(self, spec: PartitionSpec, aval: ShapedArray) -> ShapedArray:
        """The type of a shard of an argument."""
        shape = tuple(n // self.size(spec.axes_of(d)) for d, n in enumerate(aval.shape))
        axes = spec.all_axes() if self.check_vma else ()
        aval = along(aval.update(shape=shape), varying_axes(aval).union(axes))
        aval = split_over(aval, entries_of(aval), self.manual_mesh)
        summed = self.check_vma and (spec.unreduced or spec.reduced)
        return with_sums(aval, spec.unreduced, spec.reduced) if summed else aval

    def unshard_aval(self, spec: PartitionSpec, aval: ShapedArray) -> ShapedArray:
        """The type of a result that is made of such shards."""
        shape = tuple(n * self.size(spec.axes_of(d)) for d, n in enumerate(aval.shape))
        entries = [(*spec.axes_of(d), *P(entry).all_axes())
                   for d, entry in enumerate(entries_of(aval))]
        aval = along(aval.update(shape=shape), varying_axes(aval) - self.newly_manual_axes)
        return split_over(aval, entries, self.mesh.abstract_mesh, spec.unreduced, spec.reduced)

    def whole_spec(self, aval: ShapedArray) -> PartitionSpec:
        """A spec under which nothing of a value is lost, wherever it differs between devices."""
        # What differs along other axes, only an outer `shard_map` can put together.
        axes = self.newly_manual_axes - axes_of_batches()
        differing = self.in_order(axes & varying_axes(aval) if self.check_vma else axes)
        unreduced, reduced = sums_of(aval) if mesh_of(aval) is None else ((), ())
        return P(*[differing] * bool(differing), unreduced={*unreduced}, reduced={*reduced})

    def unmentioned(self, spec: PartitionSpec) -> tuple:
        """The axes along which a value with this spec is the same."""
        named = {*spec.all_axes(), *spec.unreduced}
        return self.in_order(self.newly_manual_axes.difference(named))


@functools.lru_cache(256)
def _with_manual_axes(mesh, names):
    return mesh.update_axis_types(dict.fromkeys(names, AxisType.Manual))


@contextlib.contextmanager
def inside(scope: Scope) -> Iterator[None]:
    """Where bodies are traced and transformed: the names of the axes are in scope."""
    mesh, axes, check_vma = scope
    manual = axes.union(mesh.manual_axes)
    outside = state.axis_sizes
    state.axis_sizes = outside | {name: n for name, n in mesh.shape_tuple if name in manual}
    try:
        with tracking_vma(check_vma), Override(abstract_mesh, scope.manual_mesh):
            yield
    finally:
        state.axis_sizes = outside


# ----------------------------------------------------------------------------------------------
# The primitive: types and evaluation


shard_map_p = Primitive("shard_map", multiple_results=True, memoize_avals=False)
operands_apart.add(shard_map_p)
sees_to_places.add(shard_map_p)


@shard_map_p.def_abstract_eval
def _result_types(*avals, jaxpr, in_specs, out_specs, **scope):
    return [*map(Scope(**scope).unshard_aval, out_specs, jaxpr.out_avals)]


def _typecheck(*avals, jaxpr, in_specs, **params):
    """Shards of the operands are what the jaxpr takes."""
    scope = _scope_of(params)
    for spec, aval, wanted in zip(in_specs, avals, jaxpr.in_avals, strict=True):
        if not same_type(scope.shard_aval(spec, aval), wanted):
            raise TypeError(f"shard_map: {aval.str_short(True)}, cut by {spec}, is no "
                            f"{wanted.str_short(True)}")
    with inside(scope):
        check_jaxpr(jaxpr)
    return _result_types(*avals, jaxpr=jaxpr, in_specs=in_specs, **params)


custom_typechecks["shard_map"] = _typecheck
checks_inside.add("shard_map")


@shard_map_p.def_impl
def _evaluate(*args, **params):
    outs = evaluate_compiled(shard_map_p, args, "jaxpr", params)
    return [*map(in_words_of_spec, outs, params["out_specs"])]


def in_words_of_spec(x, spec: PartitionSpec):
    """A result whose sharding reads as its spec in `out_specs`. XLA's name for the same sharding
    lacks axes of one device and dimensions that are not split."""
    if type(x) is not PlacedArray:
        return x
    sharding = x.sharding
    if not isinstance(sharding, NamedSharding) or sharding.spec == spec:
        return x
    sharding = sharding.update(spec=spec)
    if not sharding.is_equivalent_to(x.sharding, x.ndim):
        return x  # other axes of the mesh split it too
    return PlacedArray(x._host, Place(x.aval, sharding, x.committed), x.shards)


# ----------------------------------------------------------------------------------------------
# Forward mode, batching, dead code


def _scope_of(params) -> Scope:
    return Scope(*(params[name] for name in Scope._fields))


def _specs(params, in_sources, out_sources, shared) -> dict:
    """Tangents are cut and put together as their primals are."""
    return {"in_specs": tuple(params["in_specs"][i] for i in in_sources),
            "out_specs": tuple(params["out_specs"][i] for i in out_sources)}


call_rules(shard_map_p, "jaxpr", _specs, lambda params: inside(_scope_of(params)),
           own_rules=(primitive_batchers, partial_eval_rules, primitive_transposes))


def _batch(trace, args, dims, *, jaxpr, in_specs, out_specs, **scope):
    """Each device has all examples; or those of its place along the axis `spmd_axis_name`, or along
    the axes of type Explicit that split the batch."""
    axis_data = trace.axis_data._replace(placement=None)
    names, said = axes_of_batch(trace.axis_data), trace.axis_data.placement
    if said is not None and not scope["newly_manual_axes"].issuperset(names):
        mesh = Scope(**scope).manual_mesh  # within, types split the batch over the other axes
        axis_data = axis_data._replace(placement=placement(frozenset(), said.entries, mesh))
        names = None
    if names is not None:
        _check_unused(names, in_specs + out_specs)
        axis_data = axis_data._replace(size=axis_data.size // Scope(**scope).size(names))
        jaxpr = _of_one_example(jaxpr, names, Scope(**scope))
    with inside(Scope(**scope)):
        new_jaxpr, out_dims = batch_jaxpr(jaxpr, axis_data, tuple(dims), None)
    outs = shard_map_p.bind(
        *args, jaxpr=new_jaxpr,
        in_specs=tuple(_batched_spec(spec, d, names) for spec, d in zip(in_specs, dims)),
        out_specs=tuple(_batched_spec(spec, d, names) for spec, d in zip(out_specs, out_dims)),
        **scope)
    return outs, out_dims


def _of_one_example(jaxpr, names, scope):
    """A body for devices that all have the same example along these axes, in which no equation
    names the axes: a sum over them is a product, since all summands are equal. Afterwards the
    devices can have different examples.

    Raises:
      ValueError: the devices compute different results of one example.
    """
    with inside(scope):
        for name in names:
            axis_data = AxisData(name, scope.size([name]))
            jaxpr, dims = batch_jaxpr(jaxpr, axis_data, (None,) * len(jaxpr.in_avals))
            if any(d is not None for d in dims):
                raise ValueError(f"vmap of shard_map: spmd_axis_name={name!r} splits the batch, "
                                 "but the function differs by device along this axis.")
    return jaxpr


def _batched_spec(spec, d, names):
    """The spec with an entry for the batch dimension."""
    return spec if d is None else spec.with_entry(d, names)


def _check_unused(names, specs):
    for spec in specs:
        if not set(names).isdisjoint(spec.all_axes()):
            raise ValueError(f"vmap spmd_axis_name cannot appear in specs of a shard_map: {names} "
                             f"splits the batch already, and a spec is {spec}.")


primitive_batchers[shard_map_p] = batcher(shard_map_p, _batch)


# ----------------------------------------------------------------------------------------------
# Partial evaluation
#
# What the known part computes for the unknown one, the residuals, has to leave the devices, and to
# come back: they are results of one `shard_map` and arguments of another, whose specs lose nothing.
# To be put side by side they need a dimension, which scalars are given.


class _Split(NamedTuple):
    known: ClosedJaxpr  # from the known arguments to residuals that are new, and known results
    unknown: ClosedJaxpr  # from all residuals and unknown arguments to unknown results
    out_unknowns: tuple[bool, ...]
    sources: list[int]  # of each residual: among known arguments, known results, new ones
    new_specs: list[PartitionSpec]


@weakref_cache
def _split(jaxpr: ClosedJaxpr, unknowns: tuple, scope: Scope) -> _Split:
    known, unknown, out_unknowns, forwarded = partial_eval_jaxpr(
        jaxpr, unknowns, (False,) * len(jaxpr.outvars))
    n_args, n_outs = len(known.invars), out_unknowns.count(False)
    numbers = iter(range(n_outs, len(known.outvars)))
    sources = [n_args + _first(known.outvars, next(numbers)) if i is None else i for i in forwarded]
    new = sorted({i for i in sources if i >= n_args + n_outs})
    sources = [n_args + n_outs + new.index(i) if i in new else i for i in sources]
    new_avals = [known.out_avals[i - n_args] for i in new]

    def known_fun(*args):
        outs = jaxpr_as_fun(known)(*args)
        return [*(_with_dimension(outs[i - n_args]) for i in new), *outs[:n_outs]]

    def unknown_fun(*args):
        residuals, rest = split_list(args, [len(sources)])
        return jaxpr_as_fun(unknown)(*map(_as_type, residuals, unknown.in_avals), *rest)

    given = [*known.in_avals, *known.out_avals[:n_outs], *map(_with_dimension_aval, new_avals)]
    in_avals = [*(given[i] for i in sources), *unknown.in_avals[len(sources):]]
    return _Split(jaxpr_of(known_fun, known.in_avals, jaxpr.debug_info),
                  jaxpr_of(unknown_fun, in_avals, jaxpr.debug_info),
                  out_unknowns, sources, [*map(scope.whole_spec, new_avals)])


def _first(atoms, i) -> int:
    """The first place of the atom that is at `i`."""
    return next(k for k, atom in enumerate(atoms) if atom is atoms[i])


def _with_dimension(x):
    return x if typeof(x).shape else expand_dims(x, (0,))


def _with_dimension_aval(aval):
    return aval if aval.shape else aval.update(shape=(1,))


def _as_type(x, aval):
    return x if typeof(x).ndim == aval.ndim else squeeze(x, (0,))


def _partial_eval(trace, primitive, args, params):
    scope = _scope_of(params)
    unknowns = tuple(map(trace.is_unknown, args))
    with inside(scope):
        split = _split(params["jaxpr"], unknowns, scope)
    known_args, unknown_args = partition_list(unknowns, args)
    known_in_specs, unknown_in_specs = partition_list(unknowns, params["in_specs"])
    known_specs, unknown_specs = partition_list(split.out_unknowns, params["out_specs"])
    outs: list = []
    if split.known.outvars or split.known.effects:
        outs = shard_map_p.bind(*known_args, **params | {
            "jaxpr": split.known, "in_specs": tuple(known_in_specs),
            "out_specs": (*split.new_specs, *known_specs)})
    new, known_outs = split_list(outs, [len(split.new_specs)])
    values = [*known_args, *known_outs, *new]
    specs = [*known_in_specs, *known_specs, *split.new_specs]
    unknown_outs: list = []
    if any(split.out_unknowns) or split.unknown.effects:
        unknown_outs = default_partial_eval(
            trace, shard_map_p, [*(values[i] for i in split.sources), *unknown_args], params | {
                "jaxpr": split.unknown, "out_specs": tuple(unknown_specs),
                "in_specs": (*(specs[i] for i in split.sources), *unknown_in_specs)})
    return merge_lists(split.out_unknowns, known_outs, unknown_outs)


partial_eval_rules[shard_map_p] = around("partial evaluation", shard_map_p, _partial_eval)

# ----------------------------------------------------------------------------------------------
# Under `checkpoint`, the values that the policy saves leave the body as residuals do.


def _choose_in_body(eqn, used, policy):
    """The equation that returns also what is saved, that, and the equation of what has to be done
    again, if anything."""
    params, closed = eqn.own_params, eqn.own_params["jaxpr"]
    scope, jaxpr, n_outs = _scope_of(params), closed.jaxpr, len(eqn.outvars)
    wanted = partition_list(used, jaxpr.outvars)[1]
    eqns, saved, eqns_again = choose_saved(jaxpr, wanted, policy)
    if not saved:
        return eqn, [], eqn
    whole = ClosedJaxpr(jaxpr.replace(eqns=eqns, outvars=[*jaxpr.outvars, *saved]))
    rest = ClosedJaxpr(jaxpr.replace(invars=[*saved, *jaxpr.invars], eqns=eqns_again,
                                     outvars=wanted))

    def whole_fun(*args):
        outs = jaxpr_as_fun(whole)(*args)
        return [*outs[:n_outs], *map(_with_dimension, outs[n_outs:])]

    def rest_fun(*args):
        values, args = split_list(args, [len(saved)])
        return jaxpr_as_fun(rest)(*map(_as_type, values, rest.in_avals), *args)

    avals = [_with_dimension_aval(v.aval) for v in saved]
    specs = tuple(scope.whole_spec(v.aval) for v in saved)
    residuals = [Var(scope.unshard_aval(*pair)) for pair in zip(specs, avals)]
    with inside(scope):
        whole = jaxpr_of(whole_fun, whole.in_avals, jaxpr.debug_info)
        rest = jaxpr_of(rest_fun, [*avals, *closed.in_avals], jaxpr.debug_info)
    again = eqn.replace(
        invars=[*residuals, *eqn.invars], outvars=partition_list(used, eqn.outvars)[1],
        params=params | {"jaxpr": rest, "in_specs": specs + params["in_specs"],
                         "out_specs": tuple(partition_list(used, params["out_specs"])[1])})
    return eqn.replace(
        outvars=[*eqn.outvars, *residuals],
        params=params | {"jaxpr": whole, "out_specs": params["out_specs"] + specs},
    ), residuals, dce_rules[shard_map_p]([True] * len(again.outvars), again)[1]


choose_inside[shard_map_p] = _choose_in_body

# ----------------------------------------------------------------------------------------------
# Transposition
#
# A result that is the same along an axis has one cotangent, which all devices along it get. Where
# types say so, that is all. Where they do not, each device is taken to have made its part of the
# result by itself: so the cotangent is divided among them; and the cotangents of an argument that
# is the same along an axis are summed, as if each of them had used the argument by itself.


def _transpose(cts, *operands, jaxpr, in_specs, out_specs, **params):
    scope = Scope(**params)
    if not scope.check_vma and any(spec.unreduced or spec.reduced for spec in in_specs + out_specs):
        raise NotImplementedError("The transpose of a shard_map of unreduced or reduced values "
                                  "without check_vma. Pass check_vma=True.")
    linear = tuple(map(is_undefined_primal, operands))
    nonzeros = [type(ct) is not Zero for ct in cts]
    if not scope.check_vma:
        cts = [_shared(ct, scope.size(scope.unmentioned(spec))) for ct, spec in zip(cts, out_specs)]
    with inside(scope):
        new_jaxpr, nonzeros_in = _transposed(jaxpr, linear, tuple(nonzeros), in_specs, out_specs,
                                             nonzero_avals(cts), scope)
    known_specs, linear_specs = partition_list(linear, in_specs)
    outs = shard_map_p.bind(
        *partition_list(nonzeros, cts)[1], *partition_list(linear, operands)[0], jaxpr=new_jaxpr,
        in_specs=(*map(_of_cotangents, partition_list(nonzeros, out_specs)[1]), *known_specs),
        out_specs=tuple(map(_of_cotangents, partition_list(nonzeros_in, linear_specs)[1])),
        **params)
    zeros = [Zero(x.aval) for x in operands if is_undefined_primal(x)]
    cts_in = merge_lists(nonzeros_in, partition_list(nonzeros_in, zeros)[0], outs)
    return merge_lists(linear, [None] * (len(linear) - len(cts_in)), cts_in)


def _of_cotangents(spec):
    """The spec of cotangents of values with this spec."""
    return spec.update(unreduced=spec.reduced, reduced=spec.unreduced)


def _shared(ct, n):
    return ct if type(ct) is Zero or n == 1 or typeof(ct).dtype == float0 else ct / n


@weakref_cache
def _transposed(jaxpr, linear, nonzeros, in_specs, out_specs, ct_avals, scope):
    """The body of the transpose, of nonzero cotangents and nonlinear arguments; and for each linear
    argument whether its cotangent is a result."""
    def transposed(*args):
        cts, known = split_list(args, [sum(nonzeros)])
        zeros = [Zero(aval) for aval in partition_list(nonzeros, jaxpr.out_avals)[0]]
        undefined = map(UndefinedPrimal, partition_list(linear, jaxpr.in_avals)[1])
        operands = merge_lists(linear, known, undefined)
        all_cts = merge_lists(nonzeros, zeros, cts)
        cts_in = backward_pass(jaxpr.jaxpr, jaxpr.consts, operands, all_cts)
        cts_in = [_gathered(ct, spec) for ct, spec in zip(cts_in, in_specs) if ct is not None]
        nonzeros_in = [type(ct) is not Zero for ct in cts_in]
        return partition_list(nonzeros_in, cts_in)[1], nonzeros_in

    def _gathered(ct, spec):
        if type(ct) is Zero or scope.check_vma:
            return ct
        axes = scope.unmentioned(spec)
        return psum(ct, axes) if axes else ct

    in_avals = [scope.shard_aval(_of_cotangents(spec), aval)
                for spec, aval in zip(out_specs, ct_avals) if aval is not None]
    in_avals += partition_list(linear, jaxpr.in_avals)[0]
    return trace_to_jaxpr(transposed, in_avals, jaxpr.debug_info)


primitive_transposes[shard_map_p] = _transpose
