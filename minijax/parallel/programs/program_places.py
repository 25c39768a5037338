"""Chapter 14: one program, many devices.

Computation follows data: the devices of a program are those of its committed arguments and of the
meshes that its jaxpr names, and all of these must agree. The module states the sharding of each
argument in Shardy's language,

    sdy.mesh @mesh = <["x"=4, "y"=2]>
    func.func @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) …

and XLA turns it into one program that every device runs (*single program, multiple data*). Where a
device needs data of another, XLA inserts a collective. It also chooses the results' shardings,
which are read from the compiled program.
"""

import threading
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

from ...checks.jit import donations
from ...core.core import ShapedArray
from ...core.dtypes import ExtendedDType, float0
from ...core.extension import Extension, register
from ...core.jaxpr import ClosedJaxpr, Jaxpr, jaxprs_in_params
from ...core.jit import Program, Spec, lower
from ...core.lowering import LoweredModule, lower_jaxpr, used_variables
from ...runtime import timed, xla
from ...runtime.effect_sets import ordered_effects, shardable_ordered_effects
from ...runtime.modules import asked
from ...runtime.platforms import canonical_platform, lowered_for, platforms
from ...runtime.structs import ShapeDtypeStruct
from ..meshes.layouts import Format
from ..meshes.memory_spaces import is_elsewhere
from ..meshes.mesh import AbstractMesh, Mesh, concrete_mesh
from ..meshes.partition_spec import P
from ..meshes.sharding import NamedSharding, Sharding, is_unreduced, sdy_sharding
from ..types.placement import entries_of, mesh_of, sharding_of_type
from ..types.stablehlo import (
    PartitionedModule,
    as_summands,
    constraint,
    devices_of_module,
    manual_context,
    mesh_symbol,
    open_constraint,
)
from .eager_operations import default_device
from .placed_array import PlacedArray
from .placed_program import PlacedProgram, in_host_memory

# ----------------------------------------------------------------------------------------------
# Where a program runs


class Wanted(NamedTuple):
    """What `jit` was asked for: a device, or how the results are to lie."""

    device: Any = None
    out_shardings: tuple[Sharding | None, ...] = ()
    mesh: Mesh | None = None  # that of `with mesh:`, around a call of `pjit`


class Places(NamedTuple):
    """The devices of a program, and the shardings of its arguments and results (`None`: XLA
    chooses).

    XLA's choices are expressed by the axes of `mesh`: that of an argument, if one is on a mesh
    already. Results are `committed` if the user chose the devices.
    """

    devices: tuple[Any, ...]
    shardings: tuple[Sharding | None, ...]
    out_shardings: tuple[Sharding | None, ...]
    mesh: Mesh | None
    committed: bool
    arrays: bool = True
    typed: tuple[bool, ...] = ()  # which results lie as their types say
    named: bool = False  # whether the user named the device, so that arguments are brought there
    stated: AbstractMesh | None = None  # the mesh of results whose types name none: that in force

    def lower(self, jaxpr: ClosedJaxpr, spec: Spec) -> LoweredModule:
        """The module of a jaxpr, which says how the arguments lie."""
        with lowering.of(self), _for_platform(self.devices[0]):
            spec = self._within_memories(jaxpr, spec)
            if len(self.devices) == 1:
                return lower(jaxpr, spec)
            _check_not_ordered(jaxpr)
            partitioned = _ModuleOfPlaces(jaxpr, spec, self)
            with timed("jaxpr_to_mlir_module", f"jit({spec.name})", jaxpr.in_avals):
                module = lower_jaxpr(jaxpr, spec.name, spec.keep_unused, partitioned)
        donated_invars = asked(spec).donated_invars
        donated = tuple(i for i in module.kept if donated_invars and donated_invars[i])
        return module._replace(donated=donated)

    def _within_memories(self, jaxpr, spec):
        """The spec of a program, without donations of a type that no result in the same memory
        has."""
        if not any(map(is_elsewhere, (*self.shardings, *self.out_shardings))):
            return spec
        free = Counter([(x.shape, x.dtype, is_elsewhere(where))
                        for x, where in zip(jaxpr.out_avals, self.out_shardings)])
        donated, refused = [], []
        for i, (x, given) in enumerate(zip(jaxpr.in_avals, asked(spec).donated_invars)):
            key = x.shape, x.dtype, is_elsewhere(self.shardings[i])
            donated.append(given and free[key] > 0)
            free[key] -= donated[-1]
            refused += [i] * (given and not donated[-1])
        donations(jaxpr, refused)
        return spec._replace(more=asked(spec)._replace(donated_invars=tuple(donated)))

    def on_devices(self, sharding: NamedSharding) -> NamedSharding:
        """A sharding over an abstract mesh like that of the program, over its devices."""
        same = self.mesh is not None and sharding.mesh is self.mesh.abstract_mesh
        return sharding.update(mesh=self.mesh) if same else sharding

    def compile(self, module: LoweredModule, jaxpr: ClosedJaxpr, options: dict) -> Program:
        """The program of a module."""
        with timed("backend_compile", f"jit({module.fun_name})"):
            return PlacedProgram(module, jaxpr, options, self)


def _for_platform(device):
    """A context for the platform of a device, if it is not the default one."""
    name = canonical_platform(getattr(device, "platform", "cpu"))
    return nullcontext() if name == platforms()[0] else lowered_for(name)


def _check_not_ordered(jaxpr):
    ordered = [effect for effect in ordered_effects.filter_in(jaxpr.effects)
               if not shardable_ordered_effects.contains(effect)]
    if ordered:
        raise ValueError("The following ordered effects are not supported for more than 1 "
                         f"device: {ordered}")


class _ModuleOfPlaces(PartitionedModule):
    """The module of a program, which says how its arguments and results lie."""

    def __init__(self, jaxpr: ClosedJaxpr, spec: Spec, places: Places):
        super().__init__(f"jit_{spec.name}", places.devices)
        self.jaxpr, self.spec, self.places = jaxpr, spec, places
        self.results: list[Any] = [*zip(jaxpr.out_avals, places.out_shardings, places.typed)]

    def argument_attributes(self, i: int) -> list[str]:
        attributes, sharding = [], self.places.shardings[i]
        donated_invars = asked(self.spec).donated_invars
        if donated_invars and donated_invars[i]:
            attributes.append("jax.buffer_donor = true")
        if isinstance(sharding, NamedSharding):
            attributes.append(self._sharding_attribute(sharding, self.jaxpr.in_avals[i]))
        return attributes

    def _sharding_attribute(self, sharding, aval):
        symbol = mesh_symbol(self, sharding.mesh, self.devices)
        return f"sdy.sharding = {sdy_sharding(sharding, aval.ndim, symbol)}"

    def results_placed(self, ctx: Any, results: Sequence) -> list:
        """The results, constrained to lie as their types say. If the user gave a sharding, an
        attribute has it already, unless the value becomes summands."""
        return [self._as_typed(ctx, x, aval, sharding) if typed else
                as_summands(ctx, x, sharding, sharding.mesh) if is_unreduced(sharding) else x
                for x, (aval, sharding, typed) in zip(results, self.results)]

    def _as_typed(self, ctx, x, aval, sharding):
        if isinstance(sharding, NamedSharding):
            return constraint(ctx, x, sharding, sharding.mesh)
        own = mesh_of(aval) or self.places.stated
        stated = None if sharding is not None else _stated_part(aval, own, self.places.mesh)
        if stated is None:
            return x
        if None not in stated.spec.partitions:
            return constraint(ctx, x, stated, stated.mesh)
        return open_constraint(ctx, x, stated)

    def result_attributes(self) -> list[str]:
        """How the results lie, if the user said it, or if they are unreduced."""
        return [self._sharding_attribute(sharding, aval)
                if sharding is not None and (is_unreduced(sharding) or not typed) else ""
                for aval, sharding, typed in self.results]


class _Lowering(threading.local):
    """What this thread is lowering a program for."""

    places: Places | None = None

    @contextmanager
    def of(self, places: Places) -> Iterator[None]:
        """A context in which a program for these places is lowered."""
        self.places, outer = places, self.places
        try:
            yield
        finally:
            self.places = outer


lowering = _Lowering()


def program_places(jaxpr: ClosedJaxpr, spec: Spec, args: Sequence) -> Places | None:
    """Where a program for these arguments runs; `None` if nothing is to be minded.

    Arguments may be `ShapeDtypeStruct`s with a sharding.

    Raises:
      ValueError: arguments, or shardings in the program, are on different devices.
    """
    if any(effect.is_discharged for effect in jaxpr.effects):
        return None  # chapter 15 calls this again, with a program without references
    wanted = asked(spec).placement or Wanted()
    if wanted.device is not None:
        nowhere = (None,) * len(args), (None,) * len(jaxpr.out_avals), None
        return Places((wanted.device,), *nowhere, committed=True, named=True)
    read, named = _summary(jaxpr)
    shardings = tuple([committed_sharding(x) if i in read or spec.keep_unused else None
                       for i, x in enumerate(args)])
    others = [*named, *wanted.out_shardings, *([wanted.mesh] if wanted.mesh else [])]
    if concrete_mesh.value is not None and not concrete_mesh.value.empty:
        others.append(concrete_mesh.value)
    chosen = [x for x in (*shardings, *others) if x is not None and not is_abstract(x)]
    if not chosen and (stated := _stated_mesh(jaxpr)) is not None:
        chosen = others = _meshes_of_unread(args, stated)
    if chosen:
        devices = _common_devices(jaxpr, spec, shardings, others)
    elif (device := default_device()) is not None or any(map(in_host_memory, jaxpr.out_avals)):
        devices = (device or xla().default_device(),)
    else:
        return None
    meshes = [x if isinstance(x, Mesh) else getattr(x, "mesh", None) for x in chosen]
    mesh = next((mesh for mesh in meshes if mesh is not None), None)
    outs = (tuple([_concrete(x, mesh) for x in wanted.out_shardings])
            or (None,) * len(jaxpr.out_avals))
    typed = tuple([said is None for said in outs])
    stated = None if concrete_mesh.value is None else concrete_mesh.value.abstract_mesh
    outs = tuple([_of_type(aval, mesh_of(aval) or stated, mesh)
                  if said is None and type(aval) is ShapedArray else said
                  for said, aval in zip(outs, jaxpr.out_avals)])
    arrays = any(type(x) is not ToBePlaced for x, known in zip(args, shardings) if known)
    return Places(devices, shardings, outs, mesh, bool(chosen), arrays, typed, stated=stated)


def _stated_mesh(jaxpr):
    """The mesh that the type of a result names, or `None`."""
    meshes = (mesh_of(aval) for aval in jaxpr.out_avals if type(aval) is ShapedArray)
    return next((mesh for mesh in meshes if mesh is not None), None)


def _meshes_of_unread(args, stated):
    """The meshes like the `stated` one of arguments that the program does not read."""
    shardings = map(committed_sharding, args)
    meshes = [x.mesh for x in shardings if isinstance(x, NamedSharding) and not is_abstract(x)]
    return [mesh for mesh in meshes if mesh.shape_tuple == stated.shape_tuple]


def _stated_part(aval, stated, mesh):
    """What a type states of a sharding, if other axes of the mesh are the compiler's."""
    if mesh is None or not aval.size or isinstance(aval.dtype, ExtendedDType):
        return None
    if stated is None or not stated.explicit_axes or stated.shape_tuple != mesh.shape_tuple:
        return None
    return NamedSharding(mesh.update(axis_types=stated.axis_types), P(*entries_of(aval)))


def _of_type(aval, stated, mesh):
    """The sharding that the type of a result states, if it states all of it."""
    if mesh is None or not mesh.axis_names or isinstance(aval.dtype, ExtendedDType):
        return None
    if stated is None or aval.dtype == float0 or not aval.size or stated.size != mesh.size:
        return None
    if not stated.are_all_axes_explicit:
        return None
    devices = mesh.devices.reshape(stated.axis_sizes)  # the program may have changed the mesh
    return sharding_of_type(aval, stated).update(
        mesh=Mesh(devices, stated.axis_names, stated.axis_types))


class ToBePlaced(ShapeDtypeStruct):
    """The type of an argument that lies nowhere in particular yet."""


def committed_sharding(x) -> Sharding | None:
    """The sharding of an argument that the user has placed, else `None`."""
    if type(x) is PlacedArray:
        return x.sharding if x.committed else None
    if not isinstance(x, ShapeDtypeStruct) or x.sharding is None:
        return None
    x.sharding.shard_shape(x.shape)  # must be possible in equal parts
    return x.sharding


class PlacedPrograms(Extension):
    """Programs run where their arguments lie. It costs nothing once a program is compiled."""

    def program_places(self, jaxpr, spec, args):
        return program_places(jaxpr, spec, args)


register(PlacedPrograms())


def is_abstract(x: Mesh | Sharding) -> bool:
    """Whether it speaks of no devices."""
    return isinstance(getattr(x, "mesh", x), AbstractMesh)


def _concrete(sharding, mesh):
    """A sharding whose mesh has devices: those of `mesh`, if it is an abstract one."""
    if sharding is None or not is_abstract(sharding):
        return sharding
    return sharding.update(mesh=mesh)


def _common_devices(jaxpr, spec, shardings, others) -> tuple:
    """The devices of all shardings and meshes, which have the same order for all."""
    claims = [(x, who) for who, x in enumerate((*shardings, *others))
              if x is not None and not is_abstract(x)]
    first, *rest = [(devices_of(x), who) for x, who in claims]
    for other in rest:
        if other[0] != first[0]:
            error = ValueError(
                "Received incompatible devices for jitted computation. Got "
                f"{_claim(jaxpr, spec.name, *first)} and {_claim(jaxpr, spec.name, *other)}")
            error.add_note("Bring the arguments to the same devices with `jax.device_put`.")
            raise error
    return first[0]


def devices_of(place: Mesh | Sharding) -> tuple:
    """The devices of a mesh or sharding, in order."""
    return place.device_assignment if isinstance(place, Mesh) else place._device_assignment


# What users call where an operator binds a primitive, and its parameters.
_OPERATORS = {
    "add": "add x y", "sub": "subtract x y", "mul": "multiply x y", "div": "true_divide x1 x2",
    "lt": "less x y", "le": "less_equal x y", "gt": "greater x y", "ge": "greater_equal x y",
    "eq": "equal x y", "ne": "not_equal x y", "and": "bitwise_and x y", "or": "bitwise_or x y",
    "xor": "bitwise_xor x y", "shift_left": "left_shift x y", "max": "maximum x y",
    "shift_right_arithmetic": "right_shift x1 x2", "min": "minimum x y", "pow": "power x1 x2",
    "dot_general": "matmul a b", "atan2": "arctan2 x1 x2",
}


def _claim(jaxpr, function, devices, who) -> str:
    """`who` numbers the arguments, and then what else there is."""
    ids = [device.id for device in devices]
    where = f"with device ids {ids} on platform {devices[0].platform.upper()}"
    if who >= len(jaxpr.in_avals):
        return f"a sharding in {function} {where}"
    names = jaxpr.jaxpr.debug_info.arg_names if jaxpr.jaxpr.debug_info else ()
    name = names[who] if who < len(names) else f"number {who}"
    if name == f"args[{who}]" and function in _OPERATORS:
        function, *names = _OPERATORS[function].split()
        name = names[who]
    kind = jaxpr.in_avals[who].str_short(short_dtypes=False)
    return f"argument {name} of {function} with shape {kind} and {where}"


_summaries: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _summary(jaxpr: ClosedJaxpr) -> tuple[frozenset[int], tuple[Mesh | Sharding, ...]]:
    """The numbers of the arguments that a program reads, and the meshes and shardings that its
    equations name, each once."""
    if jaxpr not in _summaries:
        inner = jaxpr.jaxpr
        used = used_variables(inner)
        read = frozenset(i for i, v in enumerate(inner.invars) if v in used)
        _summaries[jaxpr] = read, tuple(dict.fromkeys(_find_shardings(inner)))
    return _summaries[jaxpr]


# The parameters that are tuples of shardings.
_SEVERAL = {"device_put": ("devices",), "jit": ("in_shardings", "out_shardings")}
# A callback's sharding names a device that has to run the program already.
_NO_PLACES = ("pure_callback", "io_callback")


def _find_shardings(jaxpr: Jaxpr | ClosedJaxpr) -> Iterator[Mesh | Sharding]:
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if eqn.primitive.name in _NO_PLACES:
            continue
        several = [x for name in _SEVERAL.get(eqn.primitive.name, ())
                   for x in eqn.own_params.get(name, ())]
        for value in (*eqn.own_params.values(), *several):
            value = value.sharding if isinstance(value, Format) else value
            if isinstance(value, Sharding) or isinstance(value, Mesh) and not value.empty:
                yield value
        for inner in jaxprs_in_params(eqn.own_params):
            yield from _find_shardings(inner)


def on_all_devices(ctx, values: list) -> list:
    """Values that one of several devices has, which all may need."""
    if not devices_of_module(ctx) or manual_context(ctx)[0]:
        return values
    mesh = lowering.places.mesh  # type: ignore[union-attr]
    assert mesh is not None
    return [constraint(ctx, x, NamedSharding(mesh, P()), mesh) for x in values]

