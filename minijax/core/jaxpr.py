"""Chapter 5: jaxprs, the language that functions are staged out to.

    jaxpr  ::=  { lambda constvars; invars. let eqns in (outvars) }
    eqn    ::=  outvars = primitive[params] invars
    atom   ::=  variable | literal

A jaxpr is *closed* by values for its `constvars`. It is typed: each variable carries its aval,
and `check_jaxpr` checks it. Here are the data types, and the two simplest things to be done with
them: evaluation and type checking. Printing is in `printing.py`, making them in `staging.py`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from .. import errors, printing
from ..errors import JaxprTypeError
from .core import Primitive, ShapedArray, typeof
from .effects import no_effects
from .util import safe_zip

# ----------------------------------------------------------------------------------------------
# Atoms.


class Var:
    """A variable. It has a type but no name: printing gives it one. Two are equal if identical.

    >>> Var(jax.core.ShapedArray((3,), "float32")).aval
    ShapedArray(float32[3])
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def pretty_print(self, context: Any, *, print_dtype: bool = True) -> str:
        """Its name in the text that `context`, a `printing.Printer`, is making."""
        return context.var_names[self]

    def __repr__(self):
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """A binder for a result that nobody reads; it prints as `_`."""

    __slots__ = ()

    def pretty_print(self, context: Any, *, print_dtype: bool = True) -> str:
        return "_"

    def __repr__(self):
        return "_"


@final
class Literal:
    """A constant in the place of a variable: a scalar, written into its equation.

    >>> Literal(2.0, jax.typeof(2.0))
    Literal(2.0)
    """

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: ShapedArray):
        self.val, self.aval = val, aval

    @property
    def hash(self) -> int | None:
        """A hash of the value, or `None` if it has none. (The literal's own goes by identity.)"""
        try:
            return hash(self.val)
        except TypeError:
            pass
        try:
            return hash((self.val.item(), self.val.dtype))
        except (AttributeError, TypeError, ValueError):
            return None

    def pretty_print(self, context: Any, *, print_dtype: bool = True) -> str:
        """The value, and its type: `2.0:f32[]`."""
        text = "[...]" if np.shape(self.val) else str(np.asarray(self.val).item())
        return f"{text}:{self.aval.str_short(short_dtypes=True)}" if print_dtype else text

    def __repr__(self):
        return f"Literal({self.val})"


Atom = Var | Literal


def gensym() -> Callable[[ShapedArray], Var]:
    """A maker of fresh variables. (They are fresh because they are new objects.)

    >>> newvar = gensym()
    >>> newvar(jax.typeof(1.0)) == newvar(jax.typeof(1.0))
    False
    """
    return Var


# ----------------------------------------------------------------------------------------------
# Equations.


class EqnContext:
    """The settings to evaluate an equation under; here there are none, so it does nothing."""

    __slots__ = ()
    manager = contextlib.nullcontext()


class SourceInfo:
    """Where an equation comes from: a place in the user's code, and the named scopes around it.

    `location` is `errors.user_location()`, two references; it becomes text only when printed.
    """

    __slots__ = ("location", "name_stack")

    def __init__(self, location: tuple | None = None, name_stack: str = ""):
        self.location, self.name_stack = location, name_stack

    def joined(self, outer: str) -> str:
        """The named scopes, with those of an `outer` stack around them."""
        return f"{outer}/{self.name_stack}" if outer and self.name_stack else (
            self.name_stack or outer)

    def __str__(self):
        """`file.py:12:4 (function)`, as JAX prints it: with the column, from 0."""
        if self.location is None:
            return "unknown"
        code, lasti = self.location
        positions = next(itertools.islice(code.co_positions(), lasti // 2, None))
        return f"{code.co_filename}:{positions[0]}:{positions[2]} ({code.co_qualname})"


def new_source_info(name_stack: str = "") -> SourceInfo:
    """The user's line that is running now."""
    return SourceInfo(errors.user_location(), name_stack)


class JaxprEqn:
    """`outvars = primitive[params] invars`

    Args:
      primitive: what is applied.
      invars: its operands, variables or literals.
      outvars: fresh variables for its results, a list even for one.
      params: all that is not an operand.
      source_info: where in the user's code it comes from.
    """

    __slots__ = ("primitive", "invars", "outvars", "params", "source_info")
    ctx = EqnContext()

    def __init__(self, primitive: Primitive, invars: list[Atom], outvars: list[Var],
                 params: dict[str, Any], source_info: SourceInfo | None = None):
        self.primitive, self.invars, self.outvars = primitive, invars, outvars
        self.params, self.source_info = params, source_info

    @property
    def effects(self) -> frozenset:
        """What it does besides computing: what its primitive says, and the jaxprs inside it do."""
        inside = [jaxpr.effects for jaxpr in jaxprs_in_params(self.params)]
        rule = self.primitive.effects
        own = no_effects if rule is None else rule(*[v.aval for v in self.invars], **self.params)
        return own.union(*inside)

    def replace(self, invars: list[Atom] | None = None, outvars: list[Var] | None = None,
                primitive: Primitive | None = None, params: dict[str, Any] | None = None,
                effects: frozenset | None = None, source_info: SourceInfo | None = None,
                ctx: EqnContext | None = None) -> JaxprEqn:
        """The same equation with what is given, and is not `None`, replaced."""
        return JaxprEqn(
            self.primitive if primitive is None else primitive,
            self.invars if invars is None else invars,
            self.outvars if outvars is None else outvars,
            self.params if params is None else params,
            self.source_info if source_info is None else source_info,
        )

    def __repr__(self):
        return printing.print_eqn(self)


def new_jaxpr_eqn(invars: list[Atom], outvars: list[Var], primitive: Primitive,
                  params: dict[str, Any], effects: frozenset = no_effects,
                  source_info: SourceInfo | None = None, ctx: EqnContext | None = None) -> JaxprEqn:
    """An equation, with JAX's order of arguments; by default it comes from the caller's line.

    >>> x, y = Var(jax.typeof(1.0)), Var(jax.typeof(1.0))
    >>> new_jaxpr_eqn([x], [y], jax.lax.sin_p, {})
    a:f32[] = sin b
    """
    return JaxprEqn(primitive, invars, outvars, params, source_info or new_source_info())


# ----------------------------------------------------------------------------------------------
# Jaxprs.


class _Printed:
    """Text for what has the attributes of a jaxpr."""

    __slots__ = ()

    def pretty_print(self, *, source_info: bool = False, print_shapes: bool = True,
                     custom_pp_eqn_rules: bool = True, name_stack: bool = False,
                     print_effects: bool = False, width: int = 80, use_color: bool = False) -> str:
        """The jaxpr's text.

        Args:
          source_info: note in the margin where each equation comes from.
          print_shapes: print the types of binders.
          custom_pp_eqn_rules: leave out parameters that say nothing (`printing.pp_rules`).
          name_stack: note the named scopes around each equation.
          print_effects: say after the results what effects the jaxpr has.
          width: where lines are broken, if they can be.
          use_color: mark keywords and types by terminal colours.
        """
        note = _source_of if source_info else _no_note
        options = printing.PrintOptions(
            print_shapes, name_stack, custom_pp_eqn_rules, note, print_effects)
        return printing.print_jaxpr(self, options, width, use_color)

    def __str__(self):
        return self.pretty_print()

    __repr__ = __str__

    def _repr_pretty_(self, p, cycle):
        p.text(self.pretty_print(use_color=True))


def _source_of(eqn: JaxprEqn) -> str:
    return str(eqn.source_info or SourceInfo())


def _no_note(eqn: JaxprEqn) -> None:
    return None


class Jaxpr(_Printed):
    """`{ lambda constvars; invars. let eqns in (outvars) }`

    Args:
      constvars: variables for the arrays that the function closed over.
      invars: variables for its arguments.
      outvars: its results, variables or literals.
      eqns: what is computed, in order.
      effects: accepted for JAX's sake; they are those of the equations.
      debug_info: the names of the function, its arguments and results, for error messages.
    """

    __slots__ = ("constvars", "invars", "outvars", "eqns", "debug_info", "_effects", "__weakref__")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom],
                 eqns: Sequence[JaxprEqn], effects: frozenset = no_effects, debug_info: Any = None):
        self.constvars, self.invars = list(constvars), list(invars)
        self.outvars, self.eqns = list(outvars), list(eqns)
        self.debug_info = debug_info
        self._effects: frozenset | None = None  # found when somebody asks

    @property
    def effects(self) -> frozenset:
        """The effects of its equations (`minijax.core.effects`)."""
        if self._effects is None:
            self._effects = no_effects.union(*(eqn.effects for eqn in self.eqns))
        return self._effects

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outvars]

    def replace(self, **changes) -> Jaxpr:
        """The same jaxpr with some attributes replaced.

        Raises:
          ValueError: there is no such attribute.
        """
        fields = ("constvars", "invars", "outvars", "eqns", "debug_info")
        changes.pop("effects", None)
        if unknown := {name: value for name, value in changes.items() if name not in fields}:
            raise ValueError(f"Unknown keyword arguments: {unknown}; a jaxpr has {fields}")
        return Jaxpr(**{name: changes.get(name, getattr(self, name)) for name in fields})


class ClosedJaxpr(_Printed):
    """A jaxpr with a value for each of its `constvars`.

    >>> closed = jax.make_jaxpr(lambda x: x + 1)(2)
    >>> closed.in_avals
    [ShapedArray(int32[], weak_type=True)]
    """

    __slots__ = ("jaxpr", "consts", "__weakref__")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(
                f"a jaxpr with {len(jaxpr.constvars)} constvars cannot be closed by "
                f"{len(consts)} constants"
            )
        self.jaxpr, self.consts = jaxpr, list(consts)

    @property
    def literals(self) -> list[Any]:
        """Another name of `consts`."""
        return self.consts

    @property
    def constvars(self) -> list[Var]:
        return self.jaxpr.constvars

    @property
    def invars(self) -> list[Var]:
        return self.jaxpr.invars

    @property
    def outvars(self) -> list[Atom]:
        return self.jaxpr.outvars

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset:
        return self.jaxpr.effects

    @property
    def debug_info(self) -> Any:
        return self.jaxpr.debug_info

    @property
    def in_avals(self) -> list[ShapedArray]:
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """`f` of the jaxpr, closed by the same constants."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

    def replace(self, *, jaxpr: Jaxpr | None = None, consts: Sequence | None = None) -> ClosedJaxpr:
        """The same with the jaxpr, or the constants, replaced."""
        return ClosedJaxpr(
            self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts
        )


def open_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> Jaxpr:
    """The jaxpr without its constants."""
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among an equation's parameters, or in tuples there."""
    for value in params.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Jaxpr | ClosedJaxpr):
                yield open_jaxpr(item)


def subjaxprs(jaxpr: Jaxpr | ClosedJaxpr) -> Iterator[Jaxpr]:
    """The jaxprs in the parameters of its equations; not those inside these."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def _with_subjaxprs(jaxpr: Jaxpr) -> list[Jaxpr]:
    """The jaxpr and all that are inside it at any depth, each once, outer ones first."""
    found = {jaxpr: None}  # a dict, as an ordered set
    agenda = [jaxpr]
    while agenda:
        inside = [inner for eqn in agenda.pop().eqns if eqn.primitive.name not in checks_inside
                  for inner in jaxprs_in_params(eqn.params)]
        fresh = [inner for inner in inside if inner not in found]
        found.update(dict.fromkeys(fresh))
        agenda.extend(dict.fromkeys(fresh))
    return list(found)


# ----------------------------------------------------------------------------------------------
# Evaluation.


def last_used(jaxpr: Jaxpr) -> dict[Var, JaxprEqn | None]:
    """For each variable that is read, the equation that reads it last; `None` for results."""
    last: dict[Var, JaxprEqn | None] = {v: None for v in jaxpr.outvars if type(v) is not Literal}
    for eqn in reversed(jaxpr.eqns):
        for v in eqn.invars:
            if type(v) is not Literal and v not in last:
                last[v] = eqn
    return last


def clean_up_dead_vars(
    eqn: JaxprEqn, env: dict[Var, Any], last: dict[Var, JaxprEqn | None]
) -> None:
    """Forget the values that no equation after `eqn` reads; `last` is from `last_used`."""
    for v in eqn.invars:
        if type(v) is not Literal and last[v] is eqn:
            env.pop(v, None)  # it is gone already if `eqn` reads it twice


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Apply a jaxpr: bind each primitive in turn, so that the current trace interprets it.

    A value is held only as long as an equation still reads it.

    Args:
      consts: values for `jaxpr.constvars`.
      args: values for `jaxpr.invars`.

    Returns:
      a list of the results.

    Raises:
      ValueError: there are too many or too few values.

    >>> closed = jax.make_jaxpr(lambda x: 3 * x + 1)(2.0)
    >>> eval_jaxpr(closed.jaxpr, closed.consts, 5.0)
    [Array(16., dtype=float32, weak_type=True)]
    """
    last = last_used(jaxpr)
    inputs = safe_zip(jaxpr.constvars, consts) + safe_zip(jaxpr.invars, args)
    env = {v: value for v, value in inputs if v in last}
    del consts, args, inputs  # from here on, the environment decides how long values live
    for eqn in jaxpr.eqns:
        _eval_eqn(eqn, env, last)
    return [atom.val if type(atom) is Literal else env[atom] for atom in jaxpr.outvars]


def _eval_eqn(eqn: JaxprEqn, env: dict[Var, Any], last: dict[Var, JaxprEqn | None]) -> None:
    """Put the results that will be read in `env`; an exception says which equation it was."""
    operands = [atom.val if type(atom) is Literal else env[atom] for atom in eqn.invars]
    info, source = eqn.source_info, errors.source
    outside = source.location, source.name_stack
    if info is not None:
        source.location, source.name_stack = info.location, info.joined(outside[1])
    try:
        results = eqn.primitive.bind(*operands, **eqn.params)
    except Exception as error:
        _note_equation(error, eqn)
        raise
    finally:
        source.location, source.name_stack = outside
    clean_up_dead_vars(eqn, env, last)
    results = results if eqn.primitive.multiple_results else (results,)
    for v, result in zip(eqn.outvars, results, strict=True):
        if v in last:
            env[v] = result


_NOTE = "This happened in the jaxpr equation "


def _note_equation(error: Exception, eqn: JaxprEqn) -> None:
    """Add a note that says which equation failed, unless one inside it has been named."""
    if not any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ())):
        text, *more = str(eqn).split("\n")
        error.add_note(f"{_NOTE}`{text}{' …' if more else ''}` from {_source_of(eqn)}")


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function of flat arguments that a jaxpr denotes; it returns a list.

    >>> double = jaxpr_as_fun(jax.make_jaxpr(lambda x: x + x)(1.0))
    >>> double(4.0)
    [Array(8., dtype=float32, weak_type=True)]
    """
    return partial(eval_jaxpr, closed_jaxpr.jaxpr, closed_jaxpr.consts)


# ----------------------------------------------------------------------------------------------
# Type checking.

TypecheckRule = Callable[..., Sequence[ShapedArray]]

# By the primitive's name: a function of operand avals and params to result avals, for primitives
# whose parameters put conditions on their operands. The others' `abstract_eval` is enough.
custom_typechecks: dict[str, TypecheckRule] = {}

checks_inside: set[str] = set()  # the names of those whose rule checks the jaxprs in them, too


class _IllTyped(Exception):
    """What is wrong, with a `{}` in `text` for each of `atoms`: their names are found later."""

    def __init__(self, text: str, *atoms: Atom):
        self.text, self.atoms = text, atoms


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Check that a jaxpr, and each one inside it, is well typed.

    Variables are bound once, and before they are read; and the results of each equation have the
    types that its primitive's `abstract_eval` says (up to weak types).

    Raises:
      JaxprTypeError: it is not; the message shows the equation.

    >>> check_jaxpr(jax.make_jaxpr(lambda x: x + 1)(2.0))
    """
    for inner in _with_subjaxprs(open_jaxpr(jaxpr)):
        _check_one(inner)


def _check_one(jaxpr: Jaxpr) -> None:
    """Check a jaxpr, taking those inside it to be well typed."""
    scope: set[Var] = set()
    index = None
    try:
        for v in (*jaxpr.constvars, *jaxpr.invars):
            _bind(scope, v)
        for index, eqn in enumerate(jaxpr.eqns):  # noqa: B007 (it tells which one failed)
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
                f"Value for variable '{{}}' inconsistently typed as {aval.str_short()} "
                f"for let-binder of type {v.aval.str_short()}",
                v,
            )


def _read(scope: set[Var], atom: Atom) -> ShapedArray:
    """The type of an atom that is in scope."""
    if isinstance(atom, Literal):
        if not _fits_literal(atom):
            kind = atom.aval.str_short()
            raise _IllTyped(f"Literal value {{}} does not match its type annotation {kind}", atom)
    elif atom not in scope:
        raise _IllTyped("Variable '{}' not defined", atom)
    return atom.aval


def _bind(scope: set[Var], v: Var) -> None:
    """Bring a variable into scope; one that is dropped stays outside."""
    if v in scope:
        raise _IllTyped("Variable '{}' already bound", v)
    if not isinstance(v, DropVar):
        scope.add(v)


def _result_avals(eqn: JaxprEqn, in_avals: list[ShapedArray]) -> Sequence[ShapedArray]:
    rule = custom_typechecks.get(eqn.primitive.name)
    try:
        if rule is not None:
            return rule(*in_avals, **eqn.params)
        out = eqn.primitive.abstract_eval(*in_avals, **eqn.params)
    except (TypeError, ValueError) as error:
        raise _IllTyped(_escaped(f"{eqn.primitive} cannot be applied here: {error}")) from error
    return out if eqn.primitive.multiple_results else (out,)


def _check_jit(*in_avals: ShapedArray, jaxpr: ClosedJaxpr, **_) -> list[ShapedArray]:
    """The operands must have the types of the jaxpr's arguments."""
    expected = jaxpr.in_avals
    if len(in_avals) != len(expected) or not all(map(_same_type, in_avals, expected)):
        given, wanted = (" ".join(a.str_short() for a in avals) for avals in (in_avals, expected))
        raise _IllTyped(f"Operands of types {given} for a jaxpr that expects {wanted}")
    return jaxpr.out_avals


custom_typechecks["jit"] = _check_jit


def _same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether two types are equal up to weak types."""
    return a is b or (a.shape == b.shape and a.dtype == b.dtype)


def _fits_literal(literal: Literal) -> bool:
    """Whether the value has its type; Python's numbers have whatever type the aval says."""
    value, aval = literal.val, literal.aval
    if type(value) in (bool, int, float, complex):
        return aval.shape == ()
    return _same_type(typeof(value), aval)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


_RADIUS = 10  # equations shown before and after


def _type_error(jaxpr: Jaxpr, index: int | None, wrong: _IllTyped) -> JaxprTypeError:
    """The error that shows the jaxpr, and in it the equation at `index` if it is at fault."""
    printer = printing.named_printer_for(jaxpr, printing.PrintOptions())
    message = [wrong.text.format(*(atom.pretty_print(printer) for atom in wrong.atoms))]
    if index is None:
        excerpt = printer.jaxpr(jaxpr, is_definition=True)
    else:
        eqn = jaxpr.eqns[index]
        equation = printing.layout(printing.run(printer.eqn(eqn)))
        message += ["in equation:", equation, f"from source: {_source_of(eqn)}"]
        excerpt = printer.excerpt(jaxpr, index, _RADIUS, note="<-- here")
    message += ["while checking jaxpr:", printing.layout(printing.run(excerpt))]
    return JaxprTypeError("\n\n".join(message))
