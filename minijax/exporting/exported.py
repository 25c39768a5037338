"""Chapter 16: `export`, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from .. import settings
from ..core.api import vjp
from ..core.boundary import api_boundary
from ..core.core import ShapedArray
from ..core.effects import is_ordered
from ..core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from ..core.jit import places_of
from ..core.lowering import lower_jaxpr
from ..core.tree import PyTreeDef
from ..runtime import load
from ..runtime.devices import default_backend
from ..runtime.jit import UNSPECIFIED, PjitFunction, jit
from ..runtime.platforms import canonical_platform, lowered_for
from ..runtime.stages import CallInfo
from ..runtime.structs import ShapeDtypeStruct
from .modules import ExportedModule
from .solving import check_scopes_of_arguments
from .values import closes_over_values, with_sizes
from .words import on_words

minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10


def default_export_platform() -> str:
    """The platform that functions are exported for by default: where this process runs.

    >>> from minijax import export
    >>> export.default_export_platform()
    'cpu'
    """
    return canonical_platform(default_backend())


class DisabledSafetyCheck:
    """A check that `export`, or the call of what it returns, leaves out.

    `platform()` lets a function run on other platforms than those it was exported for.
    `custom_call(target)` lets it call a function outside of StableHLO that may change.
    """

    __slots__ = ("_impl",)

    def __init__(self, _impl: str):
        self._impl = _impl

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """The check that a function runs where it was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """The check that the function of this name stays as it is."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The name of the function that may be called, if this is about one."""
        kind, _, target = self._impl.partition(":")
        return target if kind == "custom_call" and target else None

    def __repr__(self):
        return self._impl

    def __eq__(self, other):
        return isinstance(other, DisabledSafetyCheck) and self._impl == other._impl

    def __hash__(self):
        return hash(self._impl)


@dataclass(frozen=True)
class Exported:
    """A function as StableHLO, with all that a caller needs to know.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: the pytrees of (args, kwargs), and of the result.
      in_avals, out_avals: the types of their leaves. Sizes can be unknown, such as `b` or `2*b`.
      nr_devices: how many devices the module is for.
      platforms: those it can run on. If they are several, the module takes the number of its
        platform as a first argument.
      ordered_effects, unordered_effects: what it does besides computing its results.
      disabled_safety_checks: the checks that were left out.
      mlir_module_serialized: the module, a portable artifact.
      calling_convention_version: how the module takes its arguments.
      module_kept_var_idx: the numbers of the arguments that it takes; it does without the others.
      uses_global_constants: whether sizes are unknown, or platforms are several.
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple
    out_tree: PyTreeDef
    out_avals: tuple
    _has_named_shardings: bool
    _in_named_shardings: tuple
    _out_named_shardings: tuple
    in_shardings_hlo: tuple
    out_shardings_hlo: tuple
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: tuple
    unordered_effects: tuple
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    mlir_module_serialized: bytes
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    _get_vjp: Callable[[Exported], Exported] | None

    def __str__(self):
        return f"Exported(fun_name={self.fun_name}, ...)"

    def mlir_module(self, serialized: bool = True) -> Any:
        """The module, as text, or as MLIR's object if not `serialized`."""
        portable = load("minijax.runtime.portable")
        read = portable.module_text if serialized else portable.deserialize
        return read(self.mlir_module_serialized)

    def in_shardings_jax(self, mesh: Any) -> tuple:
        """The shardings of the arguments on a mesh; `None` where the module does not say."""
        return tuple(on_mesh(sharding, mesh) for sharding in self._in_named_shardings)

    def out_shardings_jax(self, mesh: Any) -> tuple:
        """The shardings of the results on a mesh; `None` where the module does not say."""
        return tuple(on_mesh(sharding, mesh) for sharding in self._out_named_shardings)

    def has_vjp(self) -> bool:
        """Whether the function has a derivative."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The derivative: from all arguments, and a cotangent for each result, to the cotangents
        of the arguments, as flat lists.

        Raises:
          ValueError: it was not stored with the function.
        """
        if self._get_vjp is None:
            raise ValueError(f"No VJP is available: {self.fun_name} was stored without its "
                             "derivative. Store it by serialize(vjp_order=1).")
        return self._get_vjp(self)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, in JAX's format, from which `deserialize` makes it again.

        Args:
          vjp_order: how many derivatives are stored with it. With 1, the function that is made
            again has a gradient.

        Raises:
          ValueError: a pytree has a node of a class that is not registered for this; or fewer
            derivatives exist.
        """
        from .serialization import serialize

        return serialize(self, vjp_order)

    @api_boundary
    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, also within other functions that are transformed.

        Args:
          *args, **kwargs: pytrees as those that it was exported for.

        Raises:
          ValueError: they have other structures, shapes or dtypes; or it was exported for another
            platform.
        """
        from .calling import call_exported

        return call_exported(self)(*args, **kwargs)


def on_mesh(sharding: Any, mesh: Any) -> Any:
    """A sharding on an abstract mesh, on a mesh of the same axes."""
    if sharding is None:
        return None
    given, own = mesh.abstract_mesh, sharding.mesh
    if (given.shape, given.axis_types) != (own.shape, own.axis_types):
        raise ValueError(f"NamedSharding new mesh {mesh} does not match the mesh used for export "
                         f"{own}.")
    return sharding.update(mesh=mesh)


# ----------------------------------------------------------------------------------------------
# export


@api_boundary
def export(fun_jit: Callable, *, platforms: Sequence[str] | None = None,
           disabled_checks: Sequence[DisabledSafetyCheck] = (),
           _override_lowering_rules: Any = None) -> Callable[..., Exported]:
    """Makes of a jitted function one that is stored, and called in other processes.

    Args:
      fun_jit: what `jit` returned, or a function of `jax.numpy`.
      platforms: those that the function will run on, of "cpu", "cuda", "rocm" and "tpu"; by
        default, that of this process.
      disabled_checks: checks to leave out.

    Returns:
      a function of the arguments that `fun_jit` takes, or of `ShapeDtypeStruct`s, that returns an
      `Exported`.

    Raises:
      ValueError: `fun_jit` is not jitted.
      ValueError (when called): it calls a function that is not in StableHLO and may change.
      NotImplementedError (when called): it calls Python, or is to run on another platform and uses
        what only this machine's has.

    >>> from minijax import export
    >>> exported = export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((2,), "float32"))
    >>> exported.in_avals
    (ShapedArray(float32[2]),)
    >>> export.deserialize(exported.serialize()).call(np.zeros(2, "float32"))
    Array([0., 0.], dtype=float32)
    """
    if not isinstance(fun_jit, PjitFunction) and _is_ours(fun_jit):
        fun_jit = jit(fun_jit)
    if not isinstance(fun_jit, PjitFunction):
        raise ValueError(
            f"Function to be exported must be the result of `jit` but is: {fun_jit}")
    if _override_lowering_rules is not None:
        raise NotImplementedError(
            "export: `_override_lowering_rules` is private to JAX. Give a primitive its rule by "
            "`interpreters.mlir.register_lowering`.")
    wanted = None if platforms is None else tuple(platforms)

    def do_export(*args: Any, **kwargs: Any) -> Exported:
        names = wanted or (default_export_platform(),)
        is_own = names == (default_export_platform(),)
        name = getattr(fun_jit, "__name__", "a function")
        check_scopes_of_arguments(args, kwargs, f" when exporting {name}")
        with lowered_for(None if is_own else names):
            traced = fun_jit.trace(*args, **kwargs)
            info = _on_abstract_meshes(traced._info, fun_jit, args, kwargs)
            return _export_traced(info, names, tuple(disabled_checks))

    return do_export


def _is_ours(fun) -> bool:
    """Whether it is a function of the library, which in JAX is jitted: `jnp.sin`."""
    package = __package__.partition(".")[0]
    return callable(fun) and str(getattr(fun, "__module__", "")).startswith(f"{package}.numpy")


def _on_abstract_meshes(info, fun_jit, args, kwargs):
    """What is known of a call, with the places that shardings over abstract meshes say."""
    placed = fun_jit._placed(fun_jit._call(args, kwargs))
    if _has_references(info):
        info = _discharged(info, placed)
    asked = [info.spec.placement, *(getattr(x, "sharding", None) for x in placed
                                    if isinstance(x, ShapeDtypeStruct)),
             *(aval.placement for aval in info.jaxpr.out_avals)]
    if info.places is not None or not any(x is not None for x in asked):
        return info
    return info._replace(places=for_several_devices().abstract_places(
        info.jaxpr, info.spec, [*info.closed, *placed]))


def _has_references(info) -> bool:
    return info.places is not None and not hasattr(info.places, "devices")


def _discharged(info, placed):
    """What is known of a call of a function that makes references, with its program without them.

    Raises:
      NotImplementedError: it takes references, or closes over some.
    """
    from ..state.discharge import discharge

    _check_closed(info)
    if not all(isinstance(aval, ShapedArray) for aval in info.jaxpr.in_avals):
        raise NotImplementedError("export: the function takes references. Pass it arrays, and "
                                  "return them.")
    pure = discharge(info.jaxpr)
    places = places_of(pure, info.spec, [*info.closed, *placed])
    return info._replace(jaxpr=pure, places=places)


def lower_for(info: CallInfo, platforms: tuple[str, ...]) -> tuple:
    """A traced function for some platforms: its jaxpr, its places, its module while it was being
    written, and the finished one."""
    jaxpr, spec = with_sizes(info.jaxpr, info.spec, info.closed)
    _check_exportable(info, jaxpr, platforms)
    spec, places = _donating(spec, platforms), _places(info)
    lowered_jaxpr = on_words(jaxpr)
    module = _module(lowered_jaxpr, spec, platforms, info.in_tree, places)
    with nullcontext() if places is None else for_several_devices().lowering.of(places):
        lowered = lower_jaxpr(lowered_jaxpr, spec.name, spec.keep_unused or module.is_symbolic,
                              module)
    return jaxpr, places, module, lowered


def _export_traced(info, platforms, disabled_checks) -> Exported:
    jaxpr, places, module, lowered = lower_for(info, platforms)
    if module.for_compiler and platforms != (default_export_platform(),):
        raise ValueError(callback_message(platforms))
    if module.for_compiler:
        raise NotImplementedError(
            "serialization of host_callbacks is not yet implemented: the function calls Python. "
            "Export it without callbacks and `debug.print`.")
    try:
        artifact = load("minijax.runtime.portable").serialize(lowered.text)
    except Exception as error:
        if not module.is_symbolic:
            raise
        raise NotImplementedError(
            "export: the function has an operation that minijax cannot write for sizes that are "
            f"not known. Export it for sizes that are known. {error}") from None
    _check_calls(lowered.text, platforms, disabled_checks)
    ins, outs = no_ins, no_outs = (None,) * len(jaxpr.in_avals), (None,) * len(jaxpr.out_avals)
    if places is not None:
        ins, outs = for_several_devices().kept_shardings(places, jaxpr, lowered.kept)
    return Exported(
        info.spec.name, info.in_tree, tuple(jaxpr.in_avals), info.out_tree, tuple(jaxpr.out_avals),
        True, ins, outs, no_ins, no_outs, 1 if places is None else len(places.devices), platforms,
        (), tuple(jaxpr.effects), disabled_checks, artifact, _calling_convention_version(),
        lowered.kept, module.polymorphic, lambda exported: _export_vjp(exported, jaxpr, places))


def for_several_devices() -> Any:
    """Chapter 14's part, which functions for the default device, and their calls, do without."""
    from . import partitioned

    return partitioned


def callback_message(platforms: tuple[str, ...]) -> str:
    """The error for a function that calls Python, on platforms that this process does not run."""
    other = next(name for name in platforms if name != default_export_platform())
    return (f"the platform for the specified backend {default_backend()} is different from the "
            f"lowering platform {other}: the function calls Python. Leave that out.")


def _places(info) -> Any:
    """Where the function runs, without what is said of the sizes that it closes over."""
    places = info.places
    return places and places._replace(shardings=places.shardings[len(info.closed):],
                                      in_layouts=places.in_layouts[len(info.closed):])


def _module(jaxpr, spec, platforms, tree, places) -> ExportedModule:
    """The empty module."""
    if places is None:
        return ExportedModule(jaxpr, spec, platforms, tree)
    for_several_devices().check_memories(places, jaxpr)
    if len(places.devices) == 1:
        return ExportedModule(jaxpr, spec, platforms, tree)
    return for_several_devices().PartitionedExport(jaxpr, spec, platforms, tree, places)


_DONATING = ("cpu", "cuda", "rocm", "tpu", "neuron")


def _donating(spec, platforms):
    """How the function is called: without donations, if no platform has them.

    Raises:
      NotImplementedError: arguments are donated, and only some of the platforms can use them.
    """
    able = [platform for platform in platforms if platform in _DONATING]
    if len(able) == len(platforms) or not any(spec.donated_invars):
        return spec
    if able:
        raise NotImplementedError(
            "In multi-platform lowering either all or no lowering platforms should support "
            f"donation. Lowering for {platforms} of which only {able} support donation. Export the "
            "function without `donate_argnums`.")
    return spec._replace(donated_invars=(False,) * len(spec.donated_invars))


def _calling_convention_version() -> int:
    version = settings.export_calling_convention_version.value
    least, most = (minimum_supported_calling_convention_version,
                   maximum_supported_calling_convention_version)
    if not least <= version <= most:
        raise ValueError(f"The requested export calling convention version {version} is outside "
                         f"the range of supported versions [{least}..{most}]")
    return version


def _check_closed(info):
    if info.closed and not closes_over_values(info.jaxpr, info.closed):
        raise NotImplementedError("export: the function closes over references. Pass it arrays, "
                                  "and return them.")


def _check_exportable(info, jaxpr, platforms):
    _check_closed(info)
    if _has_references(info):
        raise NotImplementedError("lower: the function has references, and is to be lowered for "
                                  f"{platforms}. Export it for them.")
    if is_ordered(jaxpr.effects) and platforms != (default_export_platform(),):
        raise ValueError(callback_message(platforms))
    if is_ordered(jaxpr.effects):
        raise NotImplementedError("export: the function has effects in an order, "
                                  f"{[*map(str, jaxpr.effects)]}. Export it without them.")


# Functions outside of StableHLO that are promised to stay, by the beginnings of their names.
_STABLE = """lapack_ blas_ cu_lu_ cusolver_ hip_lu_ hipsolver_ cusparse_gtsv2_ffi Sharding SPMD
    annotate_device_placement cu_threefry2x32_ffi hip_threefry2x32_ffi ApproxTopK AllocateBuffer
    stablehlo.dynamic_ shape_assertion""".split()
_ON_ALL_PLATFORMS = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "ApproxTopK",
                     "annotate_device_placement", "shape_assertion"}


def _check_calls(text: str, platforms, disabled_checks):
    """Refuse functions outside of StableHLO that may change, or that a platform has not."""
    if "custom_call" not in text:
        return
    allowed = {check.is_custom_call() for check in disabled_checks}
    calls = load("minijax.runtime.portable").custom_calls(text)
    changing = [op for target, op in calls
                if not target.startswith(tuple(_STABLE)) and not {target, "ALL"} & allowed]
    if changing:
        raise ValueError(
            "Cannot serialize code with custom calls whose targets have no compatibility "
            "guarantees. Name those that you know to stay in `disabled_checks`, by "
            "DisabledSafetyCheck.custom_call(target). Examples are:\n" + "\n".join(changing))
    check_platforms({target for target, _ in calls} - allowed, platforms, "ALL" in allowed)


# The solvers of platforms, by the beginnings of their names. They stand in the branch for theirs.
_SOLVERS = {"lapack_": "cpu", "tridiagonal_solve_perturbed_ffi": "cpu", "cusolver_": "cuda",
            "cuhybrid_": "cuda", "cusparse_": "cuda", "cu_": "cuda"}


def check_platforms(own: set[str], platforms: tuple[str, ...], unchecked: bool = False) -> None:
    """Raise NotImplementedError if these functions outside of StableHLO are for this process's
    platform only, and others are asked for."""
    solvers = tuple(name for name, platform in _SOLVERS.items() if platform in platforms)
    own = {target for target in own - _ON_ALL_PLATFORMS if not target.startswith(solvers)}
    if own and not unchecked and set(platforms) != {default_export_platform()}:
        raise NotImplementedError(
            f"The function calls {sorted(own)}, which is for {default_export_platform()} only, "
            f"and is to run on {platforms}. Export or lower it on a machine of that platform.")


# ----------------------------------------------------------------------------------------------
# The derivative


def _export_vjp(exported: Exported, jaxpr: ClosedJaxpr, places: Any) -> Exported:
    """Export the derivative of an exported function, whose jaxpr and places are given. Arguments
    and their cotangents lie alike, and so do results and theirs."""
    fun, count = jaxpr_as_fun(jaxpr), len(exported.in_avals)

    def fun_vjp_jax(*args_and_out_cts_flat_jax):
        args = args_and_out_cts_flat_jax[:count]
        _, pullback = vjp(lambda *xs: list(fun(*xs)), *args)
        return pullback([*args_and_out_cts_flat_jax[count:]])

    avals = [*exported.in_avals, *(aval.to_tangent_aval() for aval in exported.out_avals)]
    ins, outs = ((), ()) if places is None else (places.shardings, places.out_shardings)
    jitted = jit(fun_vjp_jax)
    if any(x is not None for x in (*ins, *outs)):
        entries = [UNSPECIFIED if x is None else x for x in (*ins, *outs)]
        jitted = jit(fun_vjp_jax, in_shardings=tuple(entries),
                     out_shardings=tuple(entries[:len(ins)]))
    return export(jitted, platforms=exported.platforms,
                  disabled_checks=exported.disabled_safety_checks)(*avals)
