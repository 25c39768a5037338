"""Chapter 9: what the loops and branches share.

A control flow primitive holds functions, staged out to jaxprs. Here is how a function becomes one
(`stage`), how jaxprs are brought to take the same arguments and to give the same results, how a
loop's carry is checked, and how such a primitive is evaluated (`evaluate_compiled`).
"""

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ...checks.arguments import references_apart
from ...checks.jaxpr import check_allowed
from ...core import dtypes
from ...core.api_util import flatten_fun_nokwargs
from ...core.array import as_array
from ...core.core import Primitive, ShapedArray, Tracer, state, typeof
from ...core.forward import zeros
from ...core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    convert_constvars_jaxpr,
    jaxpr_as_fun,
)
from ...core.jit import Spec, program_of
from ...core.lowering import Body, Value, tensor_type
from ...core.primitives import convert
from ...core.staging import DynamicJaxprTrace, batch_jaxpr, jaxpr_of, weakref_cache
from ...core.tree import PyTreeDef, tree_structure
from ...core.util import partition_list
from ...errors import JaxprTypeError
from ...pytree.functions import treedef_tuple
from ...pytree.names import traced_info, weak_arg_names
from ...pytree.paths import keystr, leaf_paths
from ...runtime.effect_sets import EffectTypeSet, control_flow_allowed_effects
from ...runtime.platforms import canonical_platform, program_platform
from ...source import fun_sourceinfo
from ...text.debug_info import DebugInfo
from .. import elementwise as lax
from .tokens import with_token

# ----------------------------------------------------------------------------------------------
# Flags


def either(*flags: Sequence[bool]) -> tuple[bool, ...]:
    """The elementwise `or` of sequences of flags."""
    return tuple(map(any, zip(*flags, strict=True)))


def fixpoint(step: Callable[[tuple], Sequence[bool]], start: Sequence[bool]) -> tuple[bool, ...]:
    """The least set of carries that contains `start` and whatever `step` makes of it.

    A loop's output is its next input: a carry that comes out with a tangent (batched, unknown …)
    must go in with one. `step` maps flags of the carries that go in to those that come out.
    """
    flags = tuple(start)
    while (larger := tuple(map(max, flags, step(flags)))) != flags:
        flags = larger
    return flags


# ----------------------------------------------------------------------------------------------
# From functions to jaxprs


class Staged(NamedTuple):
    """A function as a jaxpr whose first arguments are what the function closed over, `consts`."""

    jaxpr: ClosedJaxpr
    consts: tuple
    out_tree: PyTreeDef


_CONTROL_FLOW = {"scan", "cond", "switch", "while_cond", "while_body"}  # others are plain calls


def stage(fun: Callable, in_tree: PyTreeDef, in_avals: Sequence[ShapedArray], what: str) -> Staged:
    """Trace `fun`, whose positional arguments have the structure `in_tree`.

    It is done once for a function and types: the same function is the same jaxpr, so that what
    was derived from it (its JVP, its compiled program) is found again.
    """
    return _stage(fun, in_tree, tuple(in_avals), what)


def _is_alive(staged):
    """Whether all tracers that `staged` closed over belong to traces that have not ended."""
    return all(x._trace.valid for x in staged.consts if isinstance(x, Tracer))


class BodyOf:
    """A loop's body that calls a function of the user's, of which messages speak.

    Args:
      loop: the name of the function that the user called.
      fun: the user's function. It is referred to weakly, if it can be.
      body: takes `fun` and what the loop passes.
      argument: maps the path of a leaf of what the loop passes to the number of the parameter of
        `fun` that the leaf is in, and the path of the leaf in it.
    """

    __slots__ = ("loop", "_fun", "_body", "_argument", "__weakref__")

    def __init__(self, loop: str, fun: Callable, body: Callable, argument: Callable):
        self.loop, self._body, self._argument = loop, body, argument
        try:
            self._fun: Callable = weakref.ref(fun)
        except TypeError:
            self._fun = lambda: fun

    def __call__(self, *args):
        return self._body(self._fun(), *args)

    def debug_info(self, in_tree: PyTreeDef) -> DebugInfo:
        """The names of the user's function, whose arguments are in `in_tree`.

        It does not keep this object alive, since the jaxpr that holds it is cached by the object.
        """
        fun, argument = self._fun, self._argument
        return DebugInfo(self.loop, fun_sourceinfo(fun()), lambda: tuple(
            _name_of(fun(), *argument(path)) for path in leaf_paths(in_tree)))

    def name_of(self, path: Sequence) -> str:
        """The name of a leaf of what the loop passes: `x['w'][0]`."""
        return _name_of(self._fun(), *self._argument(path))


def _name_of(fun, number, rest):
    names = () if fun is None else parameter_names(fun)
    return (names[number] if number < len(names) else f"argument {number}") + keystr(rest)


_NO_KWARGS = tree_structure({})


def check_references(fun: Callable, in_tree: PyTreeDef, leaves: Sequence, what: str,
                     closed_over: Sequence = ()) -> None:
    """Raise `ValueError` if a reference is passed twice to `fun`, or also closed over."""
    if not any(hasattr(getattr(x, "aval", None), "inner_aval") for x in leaves):
        return
    kind = fun.loop if isinstance(fun, BodyOf) else what
    names = (fun.debug_info(in_tree).arg_names if isinstance(fun, BodyOf) else
             weak_arg_names(fun, treedef_tuple([in_tree, _NO_KWARGS]), {})())
    source = fun._fun() if isinstance(fun, BodyOf) else fun
    references_apart(f"{fun_sourceinfo(source)} for {kind}", leaves, closed_over, lambda: names)


@functools.partial(weakref_cache, is_valid=_is_alive)
def _stage(fun, in_tree, in_avals, what):
    flat_fun, out_tree = flatten_fun_nokwargs(fun, in_tree)
    debug_info = (fun.debug_info(in_tree) if isinstance(fun, BodyOf) else traced_info(
        what, fun, treedef_tuple([in_tree, _NO_KWARGS]), {}, out_tree))
    closed = jaxpr_of(flat_fun, in_avals, debug_info, copy_constants=False)
    jaxpr = ClosedJaxpr(convert_constvars_jaxpr(closed.jaxpr))
    if what in _CONTROL_FLOW:
        check_allowed(jaxpr.effects, control_flow_allowed_effects, f"`{what}`")
    return Staged(jaxpr, tuple(closed.consts), out_tree())


def traced_constants_apart(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list]:
    """A transformed jaxpr with its constants as first arguments, and those constants, if a tracer
    is among them. Else the jaxpr itself, and none.

    A rule of the user's that ran meanwhile may have closed over tracers. As operands of an equation
    they are seen by their traces. While a jaxpr is staged, a tracer whose trace is over stays a
    constant, which is refused when it is lowered or traced again, unless only dead code has it.
    """
    staged = isinstance(state.trace, DynamicJaxprTrace)
    finished = [staged and isinstance(x, Tracer) and not x._trace.valid for x in closed.consts]
    operands, constants = partition_list(finished, closed.consts)
    if not any(isinstance(x, Tracer) for x in operands):
        return closed, []
    jaxpr = closed.jaxpr
    variables, constvars = partition_list(finished, jaxpr.constvars)
    jaxpr = jaxpr.replace(constvars=constvars, invars=[*variables, *jaxpr.invars])
    return ClosedJaxpr(jaxpr, constants), operands


def share_constants(*staged: Staged) -> tuple[list[ClosedJaxpr], list]:
    """The jaxprs with the constants of all of them as first arguments, and those constants."""
    shared = {id(x): x for s in staged for x in s.consts}
    places = {key: i for i, key in enumerate(shared)}
    avals = tuple(map(typeof, shared.values()))
    jaxprs = [spread_inputs(s.jaxpr, tuple(places[id(x)] for x in s.consts), avals) for s in staged]
    return jaxprs, list(shared.values())


# ----------------------------------------------------------------------------------------------
# Changing what a jaxpr takes and gives. The results are remembered, as `jvp_jaxpr`'s are: from
# equal jaxprs come equal ones.


@weakref_cache
def spread_inputs(jaxpr: ClosedJaxpr, places: tuple[int, ...], avals: tuple) -> ClosedJaxpr:
    """The jaxpr with arguments of types `avals` for its first ones, which stand at `places`."""
    inner = jaxpr.jaxpr
    own = dict(zip(places, inner.invars))
    spread = [own[i] if i in own else Var(aval) for i, aval in enumerate(avals)]
    return ClosedJaxpr(inner.replace(invars=spread + inner.invars[len(places):]), jaxpr.consts)


def batch_jaxpr_to(jaxpr: ClosedJaxpr, axis_data: Any, in_dims: tuple,
                   out_dims: tuple) -> ClosedJaxpr:
    """`batch_jaxpr`, for these positions of the batch dimensions in the results. If they come out
    there anyway, the jaxpr is the one that was traced to find out, and no rule runs again."""
    batched, found = batch_jaxpr(jaxpr, axis_data, in_dims)
    return batched if found == out_dims else batch_jaxpr(jaxpr, axis_data, in_dims, out_dims)[0]


@weakref_cache
def add_inputs(jaxpr: ClosedJaxpr, avals: tuple) -> ClosedJaxpr:
    """The jaxpr with more arguments, of types `avals`, at the end; it ignores them."""
    invars = [*jaxpr.invars, *map(Var, avals)]
    return ClosedJaxpr(jaxpr.jaxpr.replace(invars=invars), jaxpr.consts)


@weakref_cache
def spread_outputs(jaxpr: ClosedJaxpr, places: tuple[int, ...], avals: tuple) -> ClosedJaxpr:
    """The jaxpr with results of types `avals` for its last ones, which stand at `places`.

    The others are zeros, also of keys: a residual can be one.
    """
    n_kept = len(jaxpr.outvars) - len(places)

    def spread(*args):
        outs = jaxpr_as_fun(jaxpr)(*args)
        own = dict(zip(places, outs[n_kept:]))
        return outs[:n_kept] + [own[i] if i in own else unread(a) for i, a in enumerate(avals)]

    def unread(aval):
        is_extended = isinstance(aval.dtype, dtypes.ExtendedDType)
        return aval.dtype.full(aval.shape, 0) if is_extended else zeros(aval)

    return jaxpr_of(spread, jaxpr.in_avals, jaxpr.debug_info)


@weakref_cache
def keep_outputs(jaxpr: ClosedJaxpr, keep: tuple[bool, ...]) -> ClosedJaxpr:
    """The jaxpr with only those results that are kept; its equations are left as they are."""
    outvars = [v for v, kept in zip(jaxpr.outvars, keep, strict=True) if kept]
    return ClosedJaxpr(jaxpr.jaxpr.replace(outvars=outvars), jaxpr.consts)


@weakref_cache
def move_inputs(jaxpr: ClosedJaxpr, order: tuple[int, ...]) -> ClosedJaxpr:
    """The jaxpr with its arguments reordered: first the one that was numbered `order[0]` …"""
    invars = [jaxpr.invars[i] for i in order]
    return ClosedJaxpr(jaxpr.jaxpr.replace(invars=invars), jaxpr.consts)


@weakref_cache
def move_outputs(jaxpr: ClosedJaxpr, order: tuple[int, ...]) -> ClosedJaxpr:
    """The jaxpr with the results numbered `order`, in that order."""
    outvars = [jaxpr.outvars[i] for i in order]
    return ClosedJaxpr(jaxpr.jaxpr.replace(outvars=outvars), jaxpr.consts)


def to_front(moved: Sequence[bool]) -> tuple[int, ...]:
    """The order for `move_inputs` that brings the marked arguments to the front."""
    rest, first = partition_list(moved, range(len(moved)))
    return (*first, *rest)


def forwarded(jaxpr: ClosedJaxpr) -> list[int | None]:
    """For each result the number of the argument that it is, unchanged, or `None`."""
    number = {v: i for i, v in enumerate(jaxpr.invars)}
    return [None if type(v) is Literal else number.get(v) for v in jaxpr.outvars]


# ----------------------------------------------------------------------------------------------
# Types


def same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether two types are equal up to weak types."""
    return a is b or (a.shape, a.dtype) == (b.shape, b.dtype) and _same_placement(a, b)


def _same_placement(a, b):
    if a.placement is b.placement:
        return True
    return b.placement.agrees(None) if a.placement is None else a.placement.agrees(b.placement)


def same_types(avals: Sequence[ShapedArray], others: Sequence[ShapedArray]) -> bool:
    """Whether two lists of types are equal up to weak types."""
    return len(avals) == len(others) and all(map(same_type, avals, others))


def check_flow(primitive: str, what: str, wanted: Sequence[ShapedArray],
               got: Sequence[ShapedArray]) -> None:
    """Raise `JaxprTypeError` in the check of an equation, whose jaxpr wants values of some types
    and gets others. `what` says which: "the body takes"."""
    if not same_types(wanted, got):
        raise JaxprTypeError(f"{primitive}: {what} {show_avals(wanted)}, but there it meets "
                             f"{show_avals(got)}")


def show_avals(avals: Iterable[ShapedArray]) -> str:
    """`float32[3], int32[]`"""
    return ", ".join(aval.str_short(short_dtypes=False) for aval in avals)


def promote_weak_types(values: Sequence, out_avals: Sequence) -> tuple[list, bool]:
    """The initial carry, as the body returns it where the initial value is weakly typed.

    `0` as the initial value of a sum of floats means `0.0`. Returns also whether anything changed:
    then the body has to be traced again.
    """
    promoted = [_promote(x, typeof(x), aval) for x, aval in zip(values, out_avals)]
    return promoted, any(x is not y for x, y in zip(values, promoted))


def _promote(x, aval, out_aval):
    if not aval.weak_type or same_type(aval, out_aval):
        return x
    dtype, _ = dtypes.lattice_result_type(aval, out_aval)
    return lax.convert_element_type(x, dtype)


def parameter_names(fun) -> list[str]:
    """The names of the function's parameters, as far as it has a signature."""
    try:
        return [*inspect.signature(fun).parameters]
    except (ValueError, TypeError):
        return []


# ----------------------------------------------------------------------------------------------
# Evaluation


def with_type(x: Any, aval: ShapedArray):
    """A concrete result as an `Array` of exactly this type: the weak type may be another."""
    x = as_array(x)
    return x if x.aval is aval else convert(x, aval.dtype, aval.weak_type)


def evaluate_compiled(primitive: Primitive, args: Sequence, param: str, params: dict) -> list:
    """Evaluate a primitive by XLA: as a program of one equation, compiled once.

    The program is kept as long as the jaxpr lives that is the parameter named `param`.
    """
    others = tuple((key, value) for key, value in params.items() if key != param)
    avals = tuple(map(typeof, args))
    jaxpr = _of_one_equation(params[param], primitive, param, others, avals)
    return program_of(jaxpr, Spec(primitive.name), args)(args)


@weakref_cache
def _of_one_equation(jaxpr, primitive, param, others, avals) -> ClosedJaxpr:
    own = ClosedJaxpr(jaxpr.jaxpr, jaxpr.consts)  # `jaxpr` itself would be kept alive by this
    params = {param: own, **dict(others)}
    invars, outvars = [*map(Var, avals)], [*map(Var, primitive.abstract_eval(*avals, **params))]
    eqn = JaxprEqn(primitive, list(invars), outvars, params)
    return ClosedJaxpr(Jaxpr([], invars, outvars, [eqn]))


# ----------------------------------------------------------------------------------------------
# Lowering

Region = tuple[list[Value], Callable[[], list[Value]]]


def op_with_regions(ctx: Body, op: str, operands: Sequence[Value], avals: Sequence[ShapedArray],
                    *regions: Region, ordered: bool = False, attributes: str = "") -> list[Value]:
    """Append a StableHLO operation that contains regions, and has results of types `avals`.

    A region is a pair: its arguments, and a function that appends its lines to `ctx` and returns
    what the region returns. Its lines may use all values that are in scope outside. `ordered`:
    whether there are ordered effects in a region.
    """
    if ordered:
        return with_token(op_with_regions, ctx, op, operands, avals, regions)
    name = ctx.fresh()
    results = f"{name}:{len(avals)} = " if avals else ""
    options = f" <{{{attributes}}}>" if attributes else ""
    ctx.lines.append(f'    {results}"{op}"({_names(operands)}){options} ({{')
    for i, (arguments, write) in enumerate(regions):
        if i:
            ctx.lines.append("    }, {")
        if arguments:
            ctx.lines.append(f"    ^bb0({', '.join(f'{x.name}: {x.type}' for x in arguments)}):")
        outs = write()
        types = ", ".join(x.type for x in outs)
        ctx.lines.append(f"    stablehlo.return {_names(outs)} : {types}" if outs else
                         "    stablehlo.return")
    in_types, out_types = ", ".join(x.type for x in operands), ", ".join(map(tensor_type, avals))
    ctx.lines.append(f"    }}) : ({in_types}) -> ({out_types}){ctx.location}")
    return [Value(f"{name}#{i}", aval) for i, aval in enumerate(avals)]


def _names(values):
    return ", ".join(x.name for x in values)


def branch_number(branches_platforms: Sequence[tuple[str, ...] | None]) -> int:
    """The number of the branch for the platform that a program is lowered for. `None` stands for
    all platforms that no other branch names.

    Raises:
      NotImplementedError: there is no such branch.
    """
    numbers = {name: i for i, names in enumerate(branches_platforms) for name in names or [None]}
    name = canonical_platform(program_platform())
    if name not in numbers and None not in numbers:
        raise NotImplementedError(
            "MLIR translation rule for lax.platform_dependent not found for platform "
            f"{name}: it has no branch for this platform, and no default.")
    return numbers[name if name in numbers else None]


def region_arguments(ctx: Body, avals: Iterable[ShapedArray]) -> list[Value]:
    """Fresh values of these types, for the arguments of a region."""
    return [Value(ctx.fresh(), aval) for aval in avals]


# ----------------------------------------------------------------------------------------------
# Effects

chosen_effects = EffectTypeSet()  # they may only happen for the examples that choose them


def chosen_in(jaxprs: Iterable[ClosedJaxpr]) -> set[Any]:
    """The effects of these jaxprs that may only happen for the examples that choose them."""
    return {effect for jaxpr in jaxprs for effect in chosen_effects.filter_in(jaxpr.effects)}
