"""Chapter 5: what does a program look like as data?

    jaxpr  ::=  { lambda constvars; invars. let eqns in (outvars) }
    eqn    ::=  outvars = primitive[params] invars
    atom   ::=  variable | literal

    eval_jaxpr : Jaxpr → constants → a → b

A jaxpr is *closed* by values for its `constvars`. It is typed: each variable carries its aval.
This file has the data types and the simplest use of them, evaluation. `staging.py` makes jaxprs,
`text/printing.py` prints them, and `checks/typecheck.py` checks their types.

In JAX: `jax/_src/core.py`.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, final

from ..checks import jaxpr as checks
from ..source import SourceInfo, at_sources
from .core import Primitive, ShapedArray, own_params, params_rules
from .dtypes import scalar_types
from .extension import Printed, text
from .primitives import ensure_array


class PrettyPrinted(Printed):
    """The base class of atoms and jaxprs."""

    __slots__ = ()

    def pretty_print(self, *args: Any, **options: Any) -> str:
        """The text; that of an atom within the text that a printer, the argument, makes.

        The options for an atom:
          print_dtype: whether the type is part of a literal's text.

        The options for a jaxpr:
          source_info: note in the margin where each equation comes from.
          print_shapes: print the types of binders.
          custom_pp_eqn_rules: leave out parameters that carry no information.
          name_stack: note the named scopes around each equation.
          print_effects: print the jaxpr's effects after its results.
          width: the column after which lines are broken where possible.
          use_color: mark keywords and types by terminal colours.
        """
        return text(self, "pretty_print", *args, **options)

    def _repr_pretty_(self, page: Any, cycle: bool) -> None:
        """What IPython shows."""
        page.text(text(self, "_repr_pretty_"))


# ----------------------------------------------------------------------------------------------
# Atoms.


class Var(PrettyPrinted):
    """A variable. It has a type but no name, because the printer names it. Variables are compared
    by identity.

    >>> Var(jax.core.ShapedArray((3,), "float32")).aval
    ShapedArray(float32[3])
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval


class DropVar(Var):
    """The variable of a result that no equation reads. It prints as `_`."""

    __slots__ = ()

    def _plain_text(self):
        return "_"


class TypedScalar(Printed):
    """A Python number in a jaxpr. It keeps its type when the jaxpr is evaluated under another
    setting of 64-bit mode."""

    aval: ShapedArray
    dtype = property(attrgetter("aval.dtype"))

    def __new__(cls, value, dtype):
        return typed_scalar(value, ShapedArray((), dtype, True))

    def __getnewargs__(self):
        return +self, self.dtype


class TypedInt(TypedScalar, int):
    """An `int` with a dtype."""


class TypedFloat(TypedScalar, float):
    """A `float` with a dtype."""


class TypedComplex(TypedScalar, complex):
    """A `complex` with a dtype."""


_typed_scalars: dict[type, Any] = {int: TypedInt, float: TypedFloat, complex: TypedComplex}


def typed_scalar(x: Any, aval: ShapedArray) -> Any:
    """A number of this weak type."""
    kind = scalar_types[aval.dtype]
    scalar: Any = kind.__new__(_typed_scalars[kind], x)
    scalar.aval = aval
    return scalar


@final
class Literal(PrettyPrinted):
    """A scalar constant, written into the equation in place of a variable.

    >>> Literal(2.0, jax.typeof(2.0))
    Literal(2.0)
    """

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: ShapedArray):
        self.val, self.aval = val, aval

    def _plain_text(self):
        return str(self.val)

    @property
    def hash(self) -> int | None:
        """A hash of the value, `None` for one that has none. (Literals hash by identity.)"""
        return None if self.aval.shape else hash((ensure_array(self.val).item(), self.aval))


Atom = Var | Literal


# ----------------------------------------------------------------------------------------------
# Equations.

class EqnContext:
    """The settings under which an equation is evaluated. There are no such settings in minijax:
    notes for the compiler are in an equation's `source_info`."""

    __slots__ = ()
    manager = contextlib.nullcontext()
    compute_type = xla_metadata = None
    threefry_partitionable, remove_size_one_mesh_axis = True, False


class Effect:
    """A kind of side effect. `jaxpr.effects` holds instances of its subclasses.

    Programs with an effect that `is_discharged` are rewritten to others before they are compiled.
    """

    __slots__ = ()
    is_discharged = False

    def of_equation(self, eqn: JaxprEqn) -> Iterable[Effect]:
        """The effects that an equation has, if its primitive or a jaxpr that it calls has this."""
        return (self,)

    def leaves(self, jaxpr: Jaxpr) -> bool:
        """Whether a jaxpr has this effect, if one of its equations has it."""
        return True


Effects = frozenset  # of `Effect`s
no_effects: frozenset = frozenset()


class Record:
    """The base class of equations and jaxprs."""

    __slots__ = ("__weakref__",)

    def replace(self, **changes):
        """A copy with some attributes replaced. Effects are computed again if they can change.

        As in JAX, `None` leaves an attribute as it is.
        """
        checks.replacements(changes, self)
        changes = {name: value for name, value in changes.items()
                   if value is not None and name != "ctx"}  # `ctx` is the same for all equations
        if changes.keys() & {"eqns", "primitive", "params", "invars", "constvars"}:
            changes.setdefault("effects", None)
        # The constructor's arguments are the slots, except that `own_params` is `params` there.
        fields = {name.removeprefix("own_"): getattr(self, name) for name in self.__slots__}
        return type(self)(**fields | changes)


class JaxprEqn(Record, Printed):
    """`outvars = primitive[params] invars`

    Args:
      primitive: the operation.
      invars: its operands, variables or literals.
      outvars: fresh variables for its results, a list even for a single result.
      params: everything that is not an operand. Our rules take the `own_params`; `eqn.params` has
        besides what JAX lists (`compat/optional.py`).
      source_info: the user's line that the equation comes from.
      effects: what the equation does besides computing its results, a set. By default these are
        the primitive's effects, and those of the jaxprs in `params`.
    """

    __slots__ = ("primitive", "invars", "outvars", "own_params", "source_info", "effects")
    ctx = EqnContext()

    def __init__(self, primitive: Primitive, invars: list[Atom], outvars: list[Var],
                 params: dict[str, Any], source_info: SourceInfo | None = None,
                 effects: frozenset | None = None):
        self.primitive, self.invars, self.outvars = primitive, invars, outvars
        self.own_params, self.source_info = params and own_params(primitive, params), source_info
        if effects is None:
            # A jaxpr returns a list, so a primitive that calls one has multiple results.
            can_have_effects = primitive.multiple_results or primitive.effects is not None
            effects = _effects_of(self) if can_have_effects else no_effects
        self.effects = effects

    @property
    def params(self) -> dict[str, Any]:
        """Everything that is not an operand, as JAX lists it."""
        rule = params_rules.get(self.primitive)
        return self.own_params if rule is None else rule.listed(self.own_params)

    def _jaxprs(self) -> Iterator[Jaxpr]:
        """The jaxprs in the parameters."""
        return jaxprs_in_params(self.own_params)


def _effects_of(eqn: JaxprEqn) -> frozenset:
    """The primitive's effects, and those of the jaxprs that it calls."""
    rule = eqn.primitive.effects
    effects = no_effects if rule is None else rule(*[v.aval for v in eqn.invars], **eqn.own_params)
    effects = effects.union(*[jaxpr.effects for jaxpr in eqn._jaxprs()])
    return no_effects.union(*[effect.of_equation(eqn) for effect in effects])


# ----------------------------------------------------------------------------------------------
# Jaxprs.


class Jaxpr(Record, PrettyPrinted):
    """`{ lambda constvars; invars. let eqns in (outvars) }`

    Args:
      constvars: variables for the arrays that the function closed over.
      invars: variables for its arguments.
      outvars: its results, variables or literals.
      eqns: the equations, in the order of computation.
      effects: a set. By default it is the union of the equations' effects, without those on
        references that the jaxpr makes itself.
      debug_info: the names of the function, its arguments and results, for error messages.
    """

    __slots__ = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom],
                 eqns: Sequence[JaxprEqn], effects: frozenset | None = None,
                 debug_info: Any = None):
        self.constvars, self.invars = list(constvars), list(invars)
        self.outvars, self.eqns = list(outvars), list(eqns)
        if effects is None:
            effects = no_effects.union(*[eqn.effects for eqn in self.eqns if eqn.effects])
        self.effects = no_effects.union([effect for effect in effects if effect.leaves(self)])
        self.debug_info = debug_info

    def _plain_text(self):
        """The text of an engine without `text/printing.py`. Variables are `a`, `b`, … `a1`, …"""
        names: defaultdict[Any, str] = defaultdict(
            lambda: f"{chr(ord('a') + len(names) % 26)}{len(names) // 26 or ''}")

        def binders(variables):
            return " ".join([f"{names[v]}:{v.aval}" for v in variables])

        def read(atoms):
            return " ".join([f"{v.val}" if type(v) is Literal else names[v] for v in atoms])

        lines = [f"{{ lambda {binders(self.constvars)}; {binders(self.invars)}. let"]
        for eqn in self.eqns:
            line = f"{binders(eqn.outvars)} = {eqn.primitive}{eqn.own_params or ''}"
            lines.append(f"{line} {read(eqn.invars)}".replace("\n", "\n    "))
        return "\n    ".join(lines) + f"\n  in ({read(self.outvars)}) }}"

    # The types of the arguments and of the results.
    in_avals = property(lambda self: [v.aval for v in self.invars])
    out_avals = property(lambda self: [v.aval for v in self.outvars])


class ClosedJaxpr(Record, PrettyPrinted):
    """A jaxpr with a value for each of its `constvars`.

    >>> closed = jax.make_jaxpr(lambda x: x + 1)(2)
    >>> closed.in_avals
    [ShapedArray(int32[], weak_type=True)]
    """

    __slots__ = ("jaxpr", "consts")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        checks.closed_jaxpr(jaxpr, consts)
        self.jaxpr, self.consts = jaxpr, list(consts)

    constvars = property(attrgetter("jaxpr.constvars"))
    invars = property(attrgetter("jaxpr.invars"))
    outvars = property(attrgetter("jaxpr.outvars"))
    eqns = property(attrgetter("jaxpr.eqns"))
    effects = property(attrgetter("jaxpr.effects"))
    debug_info = property(attrgetter("jaxpr.debug_info"))
    in_avals = property(attrgetter("jaxpr.in_avals"))
    out_avals = property(attrgetter("jaxpr.out_avals"))
    literals = property(attrgetter("consts"))  # an older name


    def _plain_text(self):
        return str(self.jaxpr)


def open_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> Jaxpr:
    """The jaxpr without its constants."""
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with its constants as its first arguments."""
    return jaxpr.replace(constvars=[], invars=jaxpr.constvars + jaxpr.invars)


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among an equation's parameters, and in tuples among them."""
    for value in params.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Jaxpr | ClosedJaxpr):
                yield open_jaxpr(item)


# `checks/typecheck.py` knows most primitives by `abstract_eval`. Primitives whose parameters put
# conditions on their operands have another rule here, by name: from operand avals and params to
# result avals.
custom_typechecks: dict[str, Callable[..., Sequence[ShapedArray]]] = {}
checks_inside: set[str] = set()  # the primitives whose rule checks their inner jaxprs itself


def live_equations(jaxpr: Jaxpr, live: set, pruned: Callable = lambda used, eqn: eqn) -> list:
    """The equations that the variables in `live` depend on, or that have effects, in order.

    Args:
      live: the variables that are needed. What the equations read is added to it.
      pruned: from whether each result is needed, and an equation, to an equation of the needed
        results, or `None`.
    """
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in live for v in eqn.outvars]
        if (any(used) or eqn.effects) and (eqn := pruned(used, eqn)) is not None:
            eqns.append(eqn)
            live.update(eqn.invars)
    return eqns[::-1]


# ----------------------------------------------------------------------------------------------
# Evaluation.


def last_used(jaxpr: Jaxpr) -> dict[Var, JaxprEqn | None]:
    """For each variable that is read, the last equation that reads it. For results it is `None`."""
    last: dict[Var, JaxprEqn | None] = {v: None for v in jaxpr.outvars if type(v) is not Literal}
    for eqn in reversed(jaxpr.eqns):
        for v in eqn.invars:
            if type(v) is not Literal and v not in last:
                last[v] = eqn
    return last


def clean_up_dead_vars(eqn: JaxprEqn, env: dict[Var, Any],
                       last: dict[Var, JaxprEqn | None]) -> None:
    """Remove the values that no equation after `eqn` reads; `last` is from `last_used`."""
    for v in eqn.invars:
        if type(v) is not Literal and last[v] is eqn:
            env.pop(v, None)  # already removed if `eqn` reads it twice


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Apply a jaxpr: bind each primitive in turn, so that the current trace interprets it.

    Each value is released after the last equation that reads it.

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
    checks.number_of_values(jaxpr, consts, args)
    inputs = [*zip(jaxpr.constvars, consts), *zip(jaxpr.invars, args)]
    env = {v: value for v, value in inputs if v in last}
    del consts, args, inputs  # now `env` alone keeps the values alive
    for eqn in at_sources(jaxpr.eqns):
        _eval_eqn(eqn, env, last)
    return [ensure_array(v.val) if type(v) is Literal else env[v] for v in jaxpr.outvars]


def _eval_eqn(eqn: JaxprEqn, env: dict[Var, Any], last: dict[Var, JaxprEqn | None]) -> None:
    """Put the results that will be read into `env`. A note on an exception names the equation."""
    operands = [atom.val if type(atom) is Literal else env[atom] for atom in eqn.invars]
    try:
        results = eqn.primitive.bind(*operands, **eqn.own_params)
    except Exception as error:
        checks.note_equation(error, eqn)
        raise
    clean_up_dead_vars(eqn, env, last)
    results = results if eqn.primitive.multiple_results else (results,)
    for v, result in zip(eqn.outvars, results, strict=True):
        if v in last:
            env[v] = result


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function of flat arguments that a jaxpr denotes; it returns a list.

    >>> double = jaxpr_as_fun(jax.make_jaxpr(lambda x: x + x)(1.0))
    >>> double(4.0)
    [Array(8., dtype=float32, weak_type=True)]
    """
    return partial(eval_jaxpr, closed_jaxpr.jaxpr, closed_jaxpr.consts)
