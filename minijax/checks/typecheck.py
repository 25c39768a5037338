"""Chapter 5: is a jaxpr well typed?

    check_jaxpr : Jaxpr → nothing, or an error

A traced jaxpr is well typed if the rules of its primitives are right. The check finds wrong rules,
and errors in jaxprs that a program has put together. The setting `enable_checks` runs it on each
jaxpr that is traced.

In JAX: `jax/_src/core.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ..core.core import ShapedArray, typeof
from ..core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    checks_inside,
    custom_typechecks,
    open_jaxpr,
)
from ..errors import JaxprTypeError
from ..text import printing


class _IllTyped(JaxprTypeError):
    """An ill-typed equation. `text` has a `{}` for each of `atoms`, whose names are found later."""

    def __init__(self, text: str, *atoms: Atom):
        super().__init__(text)
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
        _raise_in_context(jaxpr, index, wrong)


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
    """The types of the results, by the primitive's rule. Errors of the rule become `_IllTyped`."""
    is_jit = eqn.primitive.name == "jit"
    rule = _check_jit if is_jit else custom_typechecks.get(eqn.primitive.name)
    try:
        if rule is not None:
            return rule(*in_avals, **eqn.own_params)
        out = eqn.primitive.abstract_eval(*in_avals, **eqn.own_params)
    except JaxprTypeError as error:
        raise _IllTyped(_escaped(str(error))) from error
    except (TypeError, ValueError) as error:
        raise _IllTyped(_escaped(f"{eqn.primitive} cannot be applied here: {error}")) from error
    return out if eqn.primitive.multiple_results else (out,)


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


def _raise_in_context(jaxpr: Jaxpr, index: int | None, wrong: _IllTyped) -> NoReturn:
    """Raise the `JaxprTypeError` that shows the jaxpr, and the equation at `index` unless that is
    `None`. `wrong` says what is ill-typed."""
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
    raise JaxprTypeError("\n\n".join(message)) from wrong.__cause__
