"""Chapter 6: the stages of `jit`, one at a time: trace, lower, compile, run.

    f.trace(*args)  →  Traced  →  .lower()  →  Lowered  →  .compile()  →  Compiled

Each stage shows what it holds: the jaxpr, the StableHLO text, the optimised program with its costs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..core.array import Array
from ..core.boundary import api_boundary, public
from ..core.core import Tracer
from ..core.jaxpr import ClosedJaxpr
from ..core.jit import Program, Spec, compile_module, jit_p, kept_program, lower
from ..core.lowering import LoweredModule
from ..core.staging import shaped_abstractify
from ..core.tree import PyTreeDef, tree_flatten
from ..pytree.differences import equality_errors_pytreedef
from ..pytree.names import arg_names
from ..pytree.paths import keystr
from . import xla
from .devices import default_backend
from .modules import asked
from .placements import placements
from .platforms import canonical_platform
from .settings import no_execution
from .structs import ShapeDtypeStruct, stated_axes


class CallInfo(NamedTuple):
    """What all stages know of a call: the function, its program, and the pytrees around it."""

    fun: Any
    spec: Spec
    jaxpr: ClosedJaxpr
    in_tree: PyTreeDef  # of (args, kwargs), without static arguments
    out_tree: PyTreeDef
    places: Any  # chapter 14: of the arguments on devices, or `None`
    closed: tuple = ()  # what the function closes over, and the jaxpr takes first: references

    @property
    def in_avals(self) -> Sequence[Any]:
        """The types of the arguments."""
        return self.jaxpr.in_avals[len(self.closed):]


class Stage:
    """What `Traced`, `Lowered` and `Compiled` have in common."""

    def __init__(self, info: CallInfo):
        self._info = info

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of (args, kwargs)."""
        return self._info.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result."""
        return self._info.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments: a pair (args, kwargs) of pytrees."""
        return self.in_tree.unflatten(self._info.in_avals)

    @property
    def args_info(self) -> Any:
        """For each argument its type and whether it is donated: a pair (args, kwargs)."""
        donated = asked(self._info.spec).donated_invars[len(self._info.closed):]
        from .arguments import ArgInfo  # wanted by few

        infos = map(ArgInfo, self._info.in_avals, donated)
        return self.in_tree.unflatten(list(infos))

    @property
    def out_info(self) -> Any:
        """The result as a pytree of `ShapeDtypeStruct`s. Weak types are lost in lowering."""
        outs = self._info.jaxpr.out_avals
        placement = asked(self._info.spec).placement
        shardings = getattr(placement, "out_shardings", ()) or [None] * len(outs)
        return self.out_tree.unflatten(
            [ShapeDtypeStruct(a.shape, a.dtype,
                              weak_type=a.weak_type and isinstance(self, Traced),
                              sharding=sharding or self._stated_sharding(a),
                              manual_axis_type=stated_axes(a))
             for a, sharding in zip(outs, shardings)]
        )

    def _stated_sharding(self, aval: Any) -> Any:
        """The sharding that the type of a result states. Once the program is lowered, it is over
        the program's devices."""
        sharding, places = placements().sharding_of(aval), self._info.places
        if sharding is None or places is None or isinstance(self, Traced):
            return sharding
        return places.on_devices(sharding)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The numbers of the leaves among the arguments that are donated."""
        donated_invars = asked(self._info.spec).donated_invars[len(self._info.closed):]
        return tuple(i for i, donated in enumerate(donated_invars) if donated)


class Traced(Stage):
    """A function traced at arguments of certain types: a jaxpr.

    >>> jax.jit(lambda x: 2 * x).trace(1.0).jaxpr
    { lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }
    """

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The jaxpr. The references that the function closes over are its constants."""
        closed, jaxpr = self._info.closed, self._info.jaxpr
        if not closed:
            return jaxpr
        n, inner = len(closed), jaxpr.jaxpr
        return ClosedJaxpr(inner.replace(constvars=[*inner.invars[:n], *inner.constvars],
                                         invars=inner.invars[n:]), [*closed, *jaxpr.consts])

    @property
    def out_avals(self) -> Any:
        """The types of the result: a pytree."""
        return self.out_tree.unflatten(self._info.jaxpr.out_avals)

    @property
    def lojax(self) -> Traced:
        """The stage whose jaxpr is of arrays only, which is this one."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run what was traced.

        Raises:
          TypeError: the arguments do not have the structure and types of those it was traced for.
        """
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(_other_structure(self.in_tree, in_tree))
        avals = [*map(shaped_abstractify, leaves)]
        if any((a.shape, a.dtype) != (b.shape, b.dtype)
               for a, b in zip(avals, self._info.in_avals)):
            raise TypeError(f"The function was traced for arguments of types "
                            f"{[*self._info.in_avals]}, and called with {avals}.")
        leaves = [*self._info.closed, *leaves]
        return self.out_tree.unflatten(jit_p.bind(
            *leaves, jaxpr=self._info.jaxpr, name=self.fun_name, inline=False, keep_unused=False,
            donated_invars=(False,) * len(leaves)))

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self._info.spec.name

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Translate the jaxpr to StableHLO.

        Args:
          lowering_platforms: the platforms that the module is for, such as "cpu"; by default the
            one that the process runs on, which is the only one.

        Raises:
          NotImplementedError: a primitive has no lowering rule, or the platform is another one.
          TypeError: the platforms are not a tuple.
        """
        if lowering_platforms and not _is_own_platform(lowering_platforms):
            raise NotImplementedError(
                f"lower: minijax lowers for {default_backend()!r}, the platform that the process "
                f"runs on; got lowering_platforms={lowering_platforms!r}.")
        info, spec = self._info, self._info.spec
        if info.places is not None:
            return Lowered(info, info.places.lower(info.jaxpr, spec))
        return Lowered(info, lower(info.jaxpr, spec))


def _is_own_platform(platforms: Sequence[str]) -> bool:
    if not isinstance(platforms, tuple):
        raise TypeError(f"lower: lowering_platforms must be a tuple of names, got {platforms!r}, "
                        "an unhashable type or a string.")
    return platforms == (canonical_platform(default_backend()),)


def not_executed(what: str) -> RuntimeError:
    """The error where the setting `no_execution` is on."""
    return RuntimeError(f"{what} was to be executed, but the setting no_execution forbids it. Call "
                        "it outside of `with jax.no_execution():`.")


def _other_structure(compiled_for: PyTreeDef, given: PyTreeDef) -> str:
    differences = [
        f"    * at {('args', 'kwargs')[path[0].idx]}{keystr(path[1:])}, seen "
        f"{seen.removeprefix('a ')} but now given {now.removeprefix('a ')}, so "
        + why.partition(":")[0]
        for path, seen, now, why in equality_errors_pytreedef(compiled_for, given)]
    return "\n".join([
        "Function compiled with input pytree does not match the input pytree it was called with. "
        f"There are {len(differences)} mismatches, including:", *differences])


_LOCATION = r'(?m) loc\("[^"\n]*"\)$'


class Lowered(Stage):
    """A function translated to StableHLO, for arguments of certain types.

    >>> print(jax.jit(lambda x: 2 * x).lower(1.0).as_text())
    module @jit__lambda ...
    """

    def __init__(self, info: CallInfo, module: LoweredModule):
        super().__init__(info)
        self._module = module

    @public
    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text.

        Args:
          dialect: "stablehlo" (or `None`), or "hlo" for XLA's own language.
          debug_info: note at each operation which equation it came from.

        Raises:
          ValueError: there is no such dialect.
        """
        if dialect == "hlo":
            return xla("compiler").hlo_before_compiling(self._module.text, debug_info)
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"unknown dialect: {dialect}, expected 'stablehlo' or 'hlo'")
        if debug_info:
            return self._module.text
        text = re.sub(_LOCATION, "", self._module.text)
        return xla("compiler").canonical_text(text, self._result_names())

    def _result_names(self) -> Sequence[str]:
        """`result['a'][0]` and so on: what the results of the module are of the function's."""
        info = self._info.jaxpr.debug_info
        return getattr(info, "result_paths", None) or ()

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program as an object of MLIR's ("stablehlo" or `None`) or of XLA's ("hlo").

        Raises:
          ValueError: there is no such dialect.
        """
        if dialect not in (None, "stablehlo", "hlo"):
            raise ValueError(f"unknown dialect: {dialect}, expected 'stablehlo' or 'hlo'")
        return xla("compiler").compiler_ir(self._module.text, dialect)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the cost of a run, before any optimisation: "flops" and so on."""
        return xla("compiler").cost_before_compiling(self._module.text)

    @public
    def compile(self, compiler_options: dict | None = None) -> Compiled:
        """Compile the program.

        Args:
          compiler_options: values of XLA flags by name, as "xla_cpu_enable_fast_math".

        Raises:
          JaxRuntimeError: an option does not exist, or XLA fails.
        """
        info = self._info
        if not isinstance(compiler_options, Mapping | None):
            raise TypeError("compile: compiler_options must be a dictionary of XLA flags by name, "
                            f"got {compiler_options!r}.")
        if not compiler_options:  # a call of the jitted function runs the same program
            return Compiled(info, kept_program(
                info.jaxpr, info.spec, info.places, lambda: self._module))
        options = {**dict(info.spec.options), **compiler_options}
        compile = compile_module if info.places is None else info.places.compile
        return Compiled(info, compile(self._module, info.jaxpr, options))


class Compiled(Stage):
    """A compiled program: call it with arguments of exactly the types it was compiled for.

    >>> compiled = jax.jit(lambda x: 2 * x).lower(1.0).compile()
    >>> compiled(3.0)
    Array(6., dtype=float32, weak_type=True)
    """

    def __init__(self, info: CallInfo, program: Program):
        super().__init__(info)
        self._program = program
        self._avals = [*info.in_avals]
        leaves = (0,) * len(self._avals)
        self._takes_leaves = info.in_tree == tree_flatten((leaves, {}))[1]

    def as_text(self) -> str:
        """The optimised program, in HLO."""
        return xla("compiler").hlo_text(self._program.executable)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the cost of a run: "flops", "bytes accessed" …"""
        return xla("compiler").cost_analysis(self._program.executable)

    def memory_analysis(self) -> Any:
        """The memory of a run: `argument_size_in_bytes`, `temp_size_in_bytes` …"""
        return self._program.executable.loaded.get_compiled_memory_stats()

    @property
    def out_info(self) -> Any:
        """The result as a pytree of `ShapeDtypeStruct`s, with its sharding and layout."""
        formats = tree_flatten(self.output_formats)[0]
        return self.out_tree.unflatten([
            ShapeDtypeStruct(a.shape, a.dtype, sharding=where)
            for a, where in zip(self._info.jaxpr.out_avals, formats)])

    @property
    def input_shardings(self) -> Any:
        """The shardings of the arguments: a pair (args, kwargs), with `None` for unused ones."""
        return self.in_tree.unflatten([x.sharding for x in self._inputs()])

    @property
    def output_shardings(self) -> Any:
        """The shardings of the results: a pytree like the result."""
        return self.out_tree.unflatten([x.sharding for x in placements().formats(self._program)[1]])

    @property
    def input_formats(self) -> Any:
        """The layouts and shardings of the arguments: a pair (args, kwargs)."""
        return self.in_tree.unflatten(self._inputs())

    def _inputs(self) -> list:
        """The formats of the arguments. What the function closes over comes before them."""
        ins, _, unused = placements().formats(self._program)
        formats = dict(zip(self._program.kept, ins))
        numbers = range(len(self._info.closed), len(self._program.in_avals))
        return [formats.get(i, unused) for i in numbers]

    @property
    def output_formats(self) -> Any:
        """The layouts and shardings of the results: a pytree like the result."""
        return self.out_tree.unflatten(placements().formats(self._program)[1])

    def runtime_executable(self) -> Any:
        """jaxlib's own object."""
        return self._program.executable.loaded

    @api_boundary
    def __call__(self, *args, **kwargs):
        """Run the program.

        Raises:
          TypeError: the arguments do not have the structure and the types of those it was
            compiled for, or are traced values.
        """
        leaves: Sequence = args
        as_compiled = self._takes_leaves and not kwargs and self._avals == [
            x.aval if type(x) is Array else None for x in args]
        if not as_compiled:
            leaves, in_tree = tree_flatten((args, kwargs))
            self._check(args, kwargs, leaves, in_tree)
        leaves = [*self._info.closed, *leaves]
        if no_execution.value:
            raise not_executed("a compiled function")
        placements().check_arguments(self._program, leaves)
        return self.out_tree.unflatten(self._program(leaves))

    def _check(self, args, kwargs, leaves, in_tree):
        if in_tree != self.in_tree:
            raise TypeError(_other_structure(self.in_tree, in_tree))
        for x in leaves:
            if isinstance(x, Tracer):
                raise TypeError(
                    "Cannot apply JAX transformations to a function lowered and compiled for a "
                    f"particular signature. Detected argument of Tracer type {type(x)}. "
                    "Transform the jitted function itself instead.")
        avals = [*map(shaped_abstractify, leaves)]
        wrong = [i for i, (a, b) in enumerate(zip(avals, self._info.in_avals))
                 if (a.shape, a.dtype) != (b.shape, b.dtype)]
        if wrong:
            raise TypeError(self._mismatch(args, kwargs, avals, wrong))

    def _mismatch(self, args, kwargs, avals, wrong):
        names = arg_names(self._info.fun, args, kwargs)
        lines = [
            f"Argument '{names[i]}' compiled with "
            f"{self._info.in_avals[i].str_short(short_dtypes=False)} and called with "
            f"{avals[i].str_short(short_dtypes=False)}"
            for i in wrong
        ]
        return (
            "Argument types differ from the types for which this computation was compiled. "
            "Perhaps you are calling the compiled executable with a different enable_x64 mode than "
            "when it was AOT compiled? The mismatches are:\n"
            + "\n".join(lines)
        )
