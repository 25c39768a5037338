"""What `core/staging.py` refuses, and the type checker of jaxprs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .. import printing, settings
from ..core.core import ShapedArray, Trace, Tracer, state, typeof
from ..core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, open_jaxpr
from ..errors import JaxprTypeError, UnexpectedTracerError
from ..source import DebugInfo, format_location, fun_name, fun_sourceinfo
from .arguments import distinct_references
from .core import escaped, leaks

if TYPE_CHECKING:
    from ..core.staging import DynamicJaxprTrace, DynamicJaxprTracer

# ----------------------------------------------------------------------------------------------
# Traces.


DropDeadCode = Callable[["ClosedJaxpr"], "ClosedJaxpr"]

_unchecked: ContextVar[DropDeadCode | None] = ContextVar("unchecked", default=None)
_with_dead_code: weakref.WeakKeyDictionary[Trace, DropDeadCode] = weakref.WeakKeyDictionary()


@contextmanager
def unchecked_constants(drop_dead_code: DropDeadCode) -> Iterator[None]:
    """Within the block, `outer_tracer` refuses nothing. A trace that meets another trace's tracer
    drops its dead code when it ends, because dead code may read such a tracer."""
    token = _unchecked.set(drop_dead_code)
    try:
        yield
    finally:
        _unchecked.reset(token)


_shapes_only: ContextVar[bool] = ContextVar("shapes_only", default=False)


@contextmanager
def shapes_only() -> Iterator[None]:
    """Within the block, jaxprs are traced for the types of their results, and will not run. So a
    value of the transformation above may be a constant of theirs."""
    token = _shapes_only.set(True)
    try:
        yield
    finally:
        _shapes_only.reset(token)


def drops_dead_code(trace: Trace, drop_dead_code: DropDeadCode) -> None:
    """Have the jaxpr of `trace` rid of its dead code when the trace ends."""
    if trace.staging:
        _with_dead_code[trace] = drop_dead_code


def outer_tracer(trace: DynamicJaxprTrace, x: Tracer) -> None:
    """Raise `UnexpectedTracerError` unless a tracer of another trace may be a constant of `trace`.

    It may not if that trace has ended, or if that trace stands on this one.
    """
    if (drop_dead_code := _unchecked.get()) is not None:
        drops_dead_code(trace, drop_dead_code)
        return
    escaped(x)
    above = None if _shapes_only.get() else x._trace.parent
    while above is not None:
        if above is trace:
            raise UnexpectedTracerError(
                f"{x} has reached a jaxpr that is traced below the transformation it belongs "
                f"to.\n{x._origin_msg()}")
        above = above.parent


def origin(tracer: DynamicJaxprTracer) -> str:
    """Where a traced value was made, and on which arguments of which function it depends."""
    if not tracer._trace.valid:
        return _birthplace(tracer)
    info = tracer._trace.debug_info
    if info is None:
        return _birthplace(tracer)
    names, constant_eqns = _dependencies(tracer, info.arg_names)
    text = f"The error occurred while tracing the function {info.func_src_info} for " \
           f"{info.traced_for}."
    if names:
        text += (" This concrete value was not available in Python because it depends on the value"
                 f"{'s' * (len(names) > 1)} of the argument{'s' * (len(names) > 1)} "
                 f"{listed(names)}.")
    elif constant_eqns:
        text += _operations(constant_eqns)
    if tracer.location is not None:
        text += f"\nIt was created on line {format_location(tracer.location)}."
    return text


def _birthplace(tracer: DynamicJaxprTracer) -> str:
    """Where a traced value was made, or which argument of which function it is."""
    if tracer.location is not None:
        return f"It was created on line {format_location(tracer.location)}."
    name, info = _argument_name(tracer), tracer._trace.debug_info
    if name is None or info is None:
        return ""
    return f"It is the argument {name} of {info.func_src_info}, traced for {info.traced_for}."


def _argument_name(tracer: DynamicJaxprTracer) -> str | None:
    """The name of the argument that a traced value is, if it is one."""
    info, invars = tracer._trace.debug_info, tracer._trace.builder.invars
    if info is None or tracer.atom not in invars or len(info.arg_names) != len(invars):
        return None
    return info.arg_names[invars.index(tracer.atom)]


def _dependencies(tracer: DynamicJaxprTracer,
                  names: Sequence[str]) -> tuple[list[str], list[JaxprEqn]]:
    """Which arguments a traced value depends on, by `names`, the names of all of them; and which
    equations of constants."""
    builder, needed = tracer._trace.builder, {tracer.atom}
    eqns = []
    for eqn in reversed(builder.eqns):
        if not needed.isdisjoint(eqn.outvars):
            needed.update(v for v in eqn.invars if isinstance(v, Var))
            eqns.append(eqn)
    known = len(names) == len(builder.invars)
    produced = {v for eqn in eqns for v in eqn.outvars}
    return ([names[i] for i, v in enumerate(builder.invars) if known and v in needed],
            [eqn for eqn in reversed(eqns) if produced.isdisjoint(eqn.invars)])


def listed(names: Sequence[str]) -> str:
    """ "x", "x and y", "x, y, and z"."""
    *rest, last = names
    comma = "," * (len(rest) > 1)
    return f"{', '.join(rest)}{comma} and {last}" if rest else last


_SHOWN = 5  # operations


def _operations(eqns: Sequence[JaxprEqn]) -> str:
    """What to say of a value that depends on no argument."""
    printer = printing.Printer(printing.PrintOptions())
    lines = [f"  operation {printing.layout(printing.run(printer.eqn(eqn)))}\n"
             f"    from line {printing.source_of(eqn)}" for eqn in eqns[:_SHOWN]]
    more = "\n\n(Additional originating lines are not shown.)" * (len(eqns) > _SHOWN)
    return (" This value became a tracer due to JAX operations on these lines:\n\n"
            + "\n\n".join(lines) + more)


def arguments_apart(avals: list, fun: Callable, leaves: Sequence[Any], names: Callable) -> list:
    """The types `avals` of arguments; a `ValueError` if the same reference is passed twice."""
    distinct_references(avals, f"{fun_sourceinfo(fun)} for jit", leaves, names)
    return avals


def _public_name(fun: Callable) -> str:
    """The function's name; a private one of the library's without its underscores."""
    name = fun_name(fun)
    ours = (getattr(fun, "__module__", None) or "").startswith(__package__.partition(".")[0] + ".")
    return name.lstrip("_") if ours else name


def traced_arguments(fun: Callable, leaves: Sequence[Any], names: Callable,
                     abstractify: Callable) -> None:
    """Raise an error for an argument of the traced `fun` that `abstractify` refuses."""
    for i, x in enumerate(leaves):
        try:
            abstractify(x)
        except OverflowError:
            raise OverflowError(
                "An overflow was encountered while parsing an argument to a jitted computation, "
                f"whose argument path is {names()[i]}. Got {type(x)} with value {x}; pass it as an "
                "array of a wider dtype, or enable 64 bits by jax_enable_x64."
            ) from None
        except (TypeError, AttributeError):
            raise TypeError(
                f"Error interpreting argument to {_public_name(fun)} as an abstract array. "
                f"The problematic value is of type {type(x)} and was passed to the function at "
                f"path {names()[i]}.\nGot {x!r}, expected an array or a number. If the traced "
                "function depends on this argument, mark it as static (static_argnums or "
                "static_argnames of jax.jit)."
            ) from None


def traced_results(outs: Sequence[Any], info: DebugInfo | None) -> None:
    """Raise `TypeError` unless the results of a traced function are arrays and numbers, and
    `ValueError` for a reference among them."""
    for i, x in enumerate(outs):
        try:
            if hasattr(aval := typeof(x), "inner_aval"):
                where = _result_name(info, i)
                raise ValueError(
                    f"{_traced_function(info)} returned a mutable array reference of type {aval}"
                    f"{where and f' at output tree path {where}'}, but mutable array references "
                    f"cannot be returned. Return its contents, `ref[...]`.\n\n{_reference(x)}")
        except TypeError as error:
            where = _result_name(info, i).removeprefix("result")
            raise TypeError(
                f"{_traced_function(info)} returned a value of type {type(x)}"
                f"{where and f' at output component {where}'}, which is not a valid JAX type: {x!r}"
            ) from error


def _traced_function(info: DebugInfo | None) -> str:
    if info is None or not info.func_src_info:
        return "A traced function"
    return f"function {info.func_src_info} traced for {info.traced_for}"


def _result_name(info: DebugInfo | None, i: int) -> str:
    """Where in the structure of the results one is; empty if it is the only one."""
    names = info.result_paths if info is not None else ()
    return names[i] if names and names != ("result",) and i < len(names) else ""


def _reference(x: Any) -> str:
    """Where a reference that is returned comes from."""
    if not hasattr(x, "location"):
        return ""
    if x.location is not None:
        where = f"created on line {format_location(x.location)}"
    else:
        where = f"passed in as the argument {_argument_name(x)}"
    return f"The returned mutable array was {where}."


def struct_dtype(dtype: Any) -> None:
    """Raise `ValueError` if a `ShapeDtypeStruct` has no dtype."""
    if dtype is None:
        raise ValueError("ShapeDtypeStruct: dtype must be specified.")


def _bottom(trace: Trace) -> Trace:
    """The trace that evaluates, or writes equations, for `trace`."""
    while trace.parent is not None:
        trace = trace.parent
    return trace


def finished_trace(closed: ClosedJaxpr, trace: DynamicJaxprTrace) -> ClosedJaxpr:
    """The jaxpr of a trace that has ended, without dead code that must not be kept.

    The trace is checked for leaks, and the jaxpr for ill-typed equations, if the settings ask for
    it. The caller has let go of its tracers.
    """
    if (drop_dead_code := _with_dead_code.pop(trace, None)) is not None:
        closed = drop_dead_code(closed)
        if any(isinstance(x, Tracer) for x in closed.consts):  # is it live in the outer jaxpr?
            drops_dead_code(_bottom(state.trace), drop_dead_code)
    if settings.check_tracer_leaks.value:
        leaks(trace)
    if settings.enable_checks.value:
        check_jaxpr(closed)
    return closed


# ----------------------------------------------------------------------------------------------
# Type checking.

TypecheckRule = Callable[..., Sequence[ShapedArray]]

# By the primitive's name: a function from operand avals and params to result avals, for primitives
# whose parameters put conditions on their operands. For all others `abstract_eval` is enough.
custom_typechecks: dict[str, TypecheckRule] = {}

checks_inside: set[str] = set()  # the primitives whose rule checks their inner jaxprs itself


class _IllTyped(Exception):
    """An ill-typed equation. `text` has a `{}` for each of `atoms`, whose names are found later."""

    def __init__(self, text: str, *atoms: Atom):
        self.text, self.atoms = text, atoms


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Check that a jaxpr, and each jaxpr inside it, is well typed.

    Each variable must be bound exactly once, before it is read. The results of each equation must
    have the types that the primitive's `abstract_eval` gives, up to weak types.

    Raises:
      JaxprTypeError: the jaxpr is ill-typed. The message shows the equation.

    >>> check_jaxpr(jax.make_jaxpr(lambda x: x + 1)(2.0))
    """
    for inner in _with_subjaxprs(open_jaxpr(jaxpr)):
        _check_one(inner)


def _with_subjaxprs(jaxpr: Jaxpr) -> list[Jaxpr]:
    """The jaxpr and all jaxprs inside it at any depth, each once, outer ones first."""
    found = {jaxpr: None}  # a dict, as an ordered set
    agenda = [jaxpr]
    while agenda:
        inside = [inner for eqn in agenda.pop().eqns if eqn.primitive.name not in checks_inside
                  for inner in eqn._jaxprs()]
        fresh = [inner for inner in inside if inner not in found]
        found.update(dict.fromkeys(fresh))
        agenda.extend(dict.fromkeys(fresh))
    return list(found)


def _check_one(jaxpr: Jaxpr) -> None:
    """Check a jaxpr, assuming that the jaxprs inside it are well typed."""
    scope: set[Var] = set()
    index = None
    try:
        for v in (*jaxpr.constvars, *jaxpr.invars):
            _bind(scope, v)
        for index, eqn in enumerate(jaxpr.eqns):  # noqa: B007 (`except` reads it)
            _check_eqn(scope, eqn)
        index = None
        for atom in jaxpr.outvars:
            _read(scope, atom)
    except _IllTyped as wrong:
        raise _type_error(jaxpr, index, wrong) from wrong.__cause__


def _check_eqn(scope: set[Var], eqn: JaxprEqn) -> None:
    in_avals = [_read(scope, atom) for atom in eqn.invars]
    out_avals = _result_avals(eqn, in_avals)
    if len(out_avals) != len(eqn.outvars):
        raise _IllTyped(f"{len(out_avals)} results for {len(eqn.outvars)} let-binders")
    for v, aval in zip(eqn.outvars, out_avals, strict=True):
        _bind(scope, v)
        if not _same_type(v.aval, aval):
            raise _IllTyped(
                f"Value for variable '{{}}' inconsistently typed as {aval.str_short(True)} "
                f"for let-binder of type {v.aval.str_short(True)}",
                v,
            )


def _read(scope: set[Var], atom: Atom) -> ShapedArray:
    """The type of an atom that is in scope."""
    if isinstance(atom, Literal):
        if not _fits_literal(atom):
            kind = atom.aval.str_short(True)
            raise _IllTyped(f"Literal value {{}} does not match its type annotation {kind}", atom)
    elif atom not in scope:
        raise _IllTyped("Variable '{}' not defined", atom)
    return atom.aval


def _bind(scope: set[Var], v: Var) -> None:
    """Bring a variable into scope. A `DropVar` is never in scope."""
    if v in scope:
        raise _IllTyped("Variable '{}' already bound", v)
    if not isinstance(v, DropVar):
        scope.add(v)


def _result_avals(eqn: JaxprEqn, in_avals: list[ShapedArray]) -> Sequence[ShapedArray]:
    rule = custom_typechecks.get(eqn.primitive.name)
    try:
        if rule is not None:
            return rule(*in_avals, **eqn.own_params)
        out = eqn.primitive.abstract_eval(*in_avals, **eqn.own_params)
    except JaxprTypeError as error:
        raise _IllTyped(_escaped(str(error))) from error
    except (TypeError, ValueError) as error:
        raise _IllTyped(_escaped(f"{eqn.primitive} cannot be applied here: {error}")) from error
    return out if eqn.primitive.multiple_results else (out,)


# What a parameter may be, in words, and the test for it.
PARAMETER_KINDS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda x: type(x) is bool,
    "non-negative int": lambda x: isinstance(x, int) and x >= 0,
    "ClosedJaxpr": lambda x: isinstance(x, ClosedJaxpr),
    "tuple of ClosedJaxpr": lambda x: isinstance(x, tuple)
    and all(isinstance(jaxpr, ClosedJaxpr) for jaxpr in x),
}


def check_parameters(primitive: str, kind: str, **parameters: Any) -> None:
    """Raise `JaxprTypeError` if a parameter of an equation is not of the kind that it must be.

    Args:
      primitive: the name of the equation's primitive.
      kind: a key of `PARAMETER_KINDS`.
      parameters: the parameters that must be of that kind.
    """
    for name, value in parameters.items():
        if not PARAMETER_KINDS[kind](value):
            raise JaxprTypeError(f"invalid {primitive} param {name} of type "
                                 f"{type(value).__name__}, {kind} required: {value}")


def _check_jit(*in_avals: ShapedArray, jaxpr: ClosedJaxpr, **_) -> list[ShapedArray]:
    """The operands must have the types of the jaxpr's arguments."""
    expected = jaxpr.in_avals
    if len(in_avals) != len(expected):
        raise _IllTyped(f"{len(in_avals)} operands cannot call jaxpr with {len(expected)} inputs")
    if not all(map(_same_type, in_avals, expected)):
        given, wanted = (" ".join(a.str_short(True) for a in avals)
                         for avals in (in_avals, expected))
        raise _IllTyped(f"Operands of types {given} for a jaxpr that expects {wanted}")
    return jaxpr.out_avals


custom_typechecks["jit"] = _check_jit


def _same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether two types are equal up to weak types."""
    return a is b or (a.shape == b.shape and a.dtype == b.dtype)


def _fits_literal(literal: Literal) -> bool:
    """Whether the value has the literal's type. A Python number fits any scalar type."""
    value, aval = literal.val, literal.aval
    if type(value) in (bool, int, float, complex):
        return aval.shape == ()
    return _same_type(typeof(value), aval)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


_RADIUS = 10  # equations shown before and after


def _type_error(jaxpr: Jaxpr, index: int | None, wrong: _IllTyped) -> JaxprTypeError:
    """The error that shows the jaxpr, and the equation at `index` unless that is `None`."""
    printer = printing.named_printer_for(jaxpr, printing.PrintOptions())
    message = [wrong.text.format(*(atom.pretty_print(printer) for atom in wrong.atoms))]
    if index is None:
        excerpt = printer.jaxpr(jaxpr, is_definition=True)
    else:
        eqn = jaxpr.eqns[index]
        equation = printing.layout(printing.run(printer.eqn(eqn)))
        message += ["in equation:", equation, f"from source: {printing.source_of(eqn)}"]
        excerpt = printer.excerpt(jaxpr, index, _RADIUS, note="<-- here")
    message += ["while checking jaxpr:", printing.layout(printing.run(excerpt))]
    return JaxprTypeError("\n\n".join(message))
