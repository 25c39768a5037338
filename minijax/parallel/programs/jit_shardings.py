"""Chapter 14: `jit` with `in_shardings` and `out_shardings`.

Outside of other transformations, arguments that lie nowhere in particular are placed, and committed
ones must lie as is said. XLA is told how the results are to lie. Under another transformation, the
shardings are parameters of the equation (`nested_jit.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...core.boundary import api_boundary
from ...core.jit import JitFunction
from ...core.traced import Call, Tracing
from ...core.tree import PyTreeDef, tree_flatten
from ...runtime import xla
from ...runtime.jit import JitPlacement, PjitFunction, jit
from ...runtime.jit_equations import UNSPECIFIED
from ..meshes import mesh as meshes
from ..meshes.layouts import AUTO, Format, Layout, default_format, sharding_of_format
from ..meshes.mesh import Mesh
from ..meshes.partition_spec import P
from ..meshes.sharding import Sharding, SingleDeviceSharding
from .nested_jit import as_if_placed, check_possible
from .placed_array import PlacedArray
from .placed_program import PlacedProgram
from .program_places import Wanted
from .sharding_constraint import check_entries, check_no_manual_axis, flat_shardings


class EnteredPlacement(JitPlacement):
    """What the user asked for with the arguments of `pjit`."""


class Shardings(NamedTuple):
    """The same in a hashable form: part of the caches' keys."""

    ins: tuple | None  # leaves and structure of a prefix of the arguments; `None`: nothing was said
    outs: tuple | None
    entered: bool  # whether the mesh of lone specs is that of `with mesh:`, as for `pjit`
    device: Any

    def mesh(self) -> Mesh:
        """The mesh that bare specs refer to; an empty mesh by default."""
        around = meshes.entered_mesh if self.entered else meshes.concrete_mesh
        return around.value or meshes.no_mesh

    def says_something(self) -> bool:
        """Whether there is a device or a sharding. A prefix of `None`s asks for nothing."""
        entries = [x for said in self[:2] if said for x in said[0]]
        return self.entered or self.device is not None or any(x is not None for x in entries)

    def check_call(self, call: Call) -> None:
        """Refuse arguments that do not lie, or are not passed, as is asked for."""
        if self.device is not None and not self.mesh().empty:
            raise ValueError("Mesh context manager should not be used with jit when backend or "
                             "device is also specified as an argument to jit.")
        names = [*call.kwargs, *(place for place, *_ in call.statics if isinstance(place, str))]
        if names and self.ins is not None:
            raise ValueError("jit with in_shardings takes positional arguments only, but "
                             f"{', '.join(names)} came by keyword.")

    def check_results(self, tracing: Tracing) -> None:
        """Refuse shardings that the results cannot have."""
        for sharding, aval in zip(self._out_shardings(tracing.out_tree), tracing.jaxpr.out_avals,
                                  strict=True):
            if sharding is not None:
                check_possible(sharding, aval, "result")

    def _in_shardings(self, in_tree: PyTreeDef) -> list[Sharding | None]:
        """For each leaf of the arguments how it is to lie."""
        if self.ins is not None:
            in_tree, _ = in_tree.children()  # there are no keywords
        return self._flat("in_shardings", in_tree, self.ins, tupled_args=True)

    def _out_shardings(self, out_tree: PyTreeDef) -> list[Sharding | None]:
        """For each leaf of the result how it is to lie."""
        return self._flat("out_shardings", out_tree, self.outs)

    def _flat(self, argument, tree, said, tupled_args=False):
        if said is None:
            return [None] * tree.num_leaves
        (leaves, prefix), mesh = said, self.mesh()
        if self.entered and not mesh.empty:
            leaves = [P() if entry is None else entry for entry in leaves]
        flat = flat_shardings(f"jit: {argument}", tree, prefix.unflatten(leaves), mesh, tupled_args)
        for sharding in flat:
            check_no_manual_axis(sharding, f"jit: {argument}")
        return flat

    def params(self, call: Call, tracing: Tracing) -> dict[str, Any]:
        """Parameters of the primitive. Those of a device are there for readers of jaxprs: arguments
        are brought to the device, wherever they are."""
        closed = len(tracing.outer_tracers)
        ins, outs = self._in_shardings(call.in_tree), self._out_shardings(tracing.out_tree)
        for sharding, aval in zip(ins, tracing.jaxpr.in_avals[closed:]):
            if sharding is not None:
                check_possible(sharding, aval, "argument")
        if self.device is not None:
            here = SingleDeviceSharding(self.device)
            ins, outs = [here] * len(ins), [here] * len(outs)
        return {
            "in_shardings": (UNSPECIFIED,) * closed + tuple(map(_entry, ins)),
            "out_shardings": tuple(map(_entry, outs)),
            "device": self.device,
        }

    def of_program(self, tracing: Tracing) -> Wanted:
        """What the program depends on."""
        outs = tuple(self._out_shardings(tracing.out_tree))
        around = self.mesh() if self.entered and not self.mesh().empty else None
        return Wanted(self.device, outs, around)

    def placed(self, call: Call) -> list:
        """The arguments as the program gets them."""
        return [*map(as_if_placed, call.leaves, self._in_shardings(call.in_tree))]


def _without_layouts(entries: Any) -> Any:
    """Entries of `in_shardings` or `out_shardings`, each format as its sharding."""
    leaves, tree = tree_flatten(entries, is_leaf=lambda x: x is None)
    if alone := [x for x in leaves if isinstance(x, Layout) or x is AUTO]:
        raise ValueError(f"jit takes no layouts without shardings: wrap {alone[0]} in a Format, "
                         "and pass that.")
    return tree.unflatten([sharding_of_format(x, "jit: an argument or result") for x in leaves])


def _hashable(entries: Any, argument: str, entered: bool) -> tuple | None:
    check_entries(entries, argument)
    if entries is UNSPECIFIED or entries is None and not entered:
        return None
    leaves, tree = tree_flatten(entries, is_leaf=lambda x: x is None)
    return tuple(leaves), tree


def _entry(sharding):
    """An entry of the parameters."""
    return UNSPECIFIED if sharding is None else sharding


def shardings_of_jit(placement: JitPlacement) -> Shardings:
    """`Placements.of_jit`: the hashable form of what the user asked for.

    Raises:
      ValueError: a device is given besides, or a spec leaves a dimension to the compiler.
      TypeError: an entry is not a sharding.

    >>> mesh = jax.make_mesh((1,), ("x",))
    >>> sharding = jax.NamedSharding(mesh, jax.P("x"))
    >>> jax.jit(lambda: jnp.zeros(4), out_shardings=sharding)().sharding.spec
    P('x',)
    """
    ins, outs, device, backend = placement
    entered = isinstance(placement, EnteredPlacement)
    ins = tuple(ins) if isinstance(ins, list) else ins
    if backend is not None and device is not None:
        raise ValueError(f"jit: can't specify both a device and a backend for jit, got {device=} "
                         f"and {backend=}. The device says the backend.")
    if backend is not None:
        device = xla().devices(backend)[0]
    shardings = Shardings(_hashable(_without_layouts(ins), "in_shardings", entered),
                          _hashable(_without_layouts(outs), "out_shardings", entered),
                          entered, device)
    if device is not None and (shardings.ins is not None or shardings.outs is not None):
        name = "in_shardings" if shardings.ins is not None else "out_shardings"
        raise ValueError("If backend or device is specified on jit, then "
                         f"{name} should not be specified.")
    return shardings


def program_formats(program: Any) -> tuple[Sequence, Sequence, Format]:
    """`Placements.formats`."""
    in_avals, out_avals = [program.in_avals[i] for i in program.kept], program.out_avals
    if isinstance(program, PlacedProgram):
        ins, outs = program.in_shardings, program.out_shardings
    else:
        here = SingleDeviceSharding(xla().default_device())
        ins, outs = [here] * len(in_avals), [here] * len(out_avals)
    return ([*map(default_format, in_avals, ins)], [*map(default_format, out_avals, outs)],
            Format())


def check_arguments(program: Any, args: Sequence) -> None:
    """`Placements.check_arguments`."""
    if isinstance(program, PlacedProgram) and program.takes_all:
        return
    placed = [type(x := args[i]) is PlacedArray and x.committed for i in program.kept]
    ins = program_formats(program)[0] if any(placed) else []
    for i, sharding in zip(program.kept, [x.sharding for x in ins]):
        x = args[i]
        if type(x) is PlacedArray and x.committed and not x.sharding.is_equivalent_to(
                sharding, x.ndim):
            raise ValueError("Computation was compiled for input shardings that disagree with "
                             "the shardings of arguments passed to it. Here are the "
                             f"mismatches: argument number {i} was compiled for {sharding}, "
                             f"and called with {x.sharding}. Move it with jax.device_put.")


@api_boundary
def pjit(fun: Callable, in_shardings: Any = UNSPECIFIED, out_shardings: Any = UNSPECIFIED,
         static_argnums: Any = None, static_argnames: Any = None, donate_argnums: Any = None,
         donate_argnames: Any = None, keep_unused: bool = False, device: Any = None,
         backend: str | None = None, inline: bool = False,
         compiler_options: dict[str, Any] | str | None = None) -> JitFunction:  # fmt: skip
    """`jit` by its old name, which JAX advises against; lone specs are of the mesh of `with mesh:`.

    Args:
      fun, in_shardings, out_shardings, static_argnums, static_argnames, donate_argnums,
      donate_argnames, keep_unused, device, backend, inline, compiler_options: as for `jax.jit`,
        except that in `in_shardings` and `out_shardings`, if there is a mesh, `None` is `P()`.

    Returns:
      the compiled function.

    Raises:
      what `jax.jit` raises.

    >>> from minijax.experimental.pjit import pjit
    >>> pjit(lambda x: x + 1)(2)
    Array(3, dtype=int32, weak_type=True)
    """
    jitted = jit(fun, static_argnums=static_argnums, static_argnames=static_argnames,
                 donate_argnums=donate_argnums, donate_argnames=donate_argnames,
                 keep_unused=keep_unused, device=device, backend=backend, inline=inline,
                 compiler_options=compiler_options)  # fmt: skip
    wanted = shardings_of_jit(EnteredPlacement(in_shardings, out_shardings, device, backend))
    options = jitted._options
    return PjitFunction(fun, options._replace(more=options.more._replace(placement=wanted)))
