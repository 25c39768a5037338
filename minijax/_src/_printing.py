"""How JAX's libraries print equations of their own: `jax._src.core.pp_eqn_rules`, `pp_vars` …

Their rules take an equation, the names of variables and the settings, and return a document of
`jax._src.pretty_printer`. Our printer has its own rules, by the primitive's name.
"""

from __future__ import annotations

# chapter 10
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from typing import Any

from ..text import printing
from ..compat.jaxpr import JaxprPpContext, JaxprPpSettings
from ..core.core import Primitive
from ..core.jaxpr import Atom, Jaxpr, JaxprEqn
from ._documents import Doc, _whole


def pp_var(v: Atom, context: printing.Printer, *, print_literal_dtype: bool = True,
           is_binder: bool = False) -> Doc:
    """A variable's name, or a literal. (JAX shows more of some binders, which we have not.)"""
    return Doc(context.atom(v) if print_literal_dtype or not hasattr(v, "val") else str(v.val))


def pp_vars(vs: Sequence[Atom], context: printing.Printer, *, separator: str = "",
            print_shapes: bool = False, is_binder: bool = False) -> Doc:
    """Variables in a row, with their types if `print_shapes`."""
    return Doc(context.vars(vs, separator, binders=print_shapes))


def pp_kv_pairs(kv_pairs: Iterable[tuple[str, Any]], context: printing.Printer,
                settings: JaxprPpSettings) -> Doc:
    """Parameters in brackets, or nothing if there are none."""
    def steps():
        return printing.Concat((yield from context.params(dict(kv_pairs))))

    return Doc(printing.run(steps()))


def pp_eqn(eqn: JaxprEqn, context: printing.Printer, settings: JaxprPpSettings) -> Doc:
    """An equation."""
    return Doc(_with(context, settings, lambda: printing.run(context.eqn(eqn))))


def pp_jaxpr(jaxpr: Jaxpr, context: printing.Printer, settings: JaxprPpSettings) -> Doc:
    """A jaxpr, in full."""
    return Doc(_with(context, settings, lambda: printing.run(context.jaxpr(jaxpr))))


def _with(context: printing.Printer, settings: JaxprPpSettings, make: Callable) -> Any:
    """What `make` makes under these settings."""
    before, context.options = context.options, settings.options()
    try:
        return make()
    finally:
        context.options = before


class _EquationRules(MutableMapping):
    """By a primitive: `(eqn, context, settings) -> document`."""

    def __init__(self) -> None:
        self._rules: dict[Primitive, Callable] = {}

    def __setitem__(self, primitive: Primitive, rule: Callable) -> None:
        def document(printer: printing.Printer, eqn: JaxprEqn) -> Any:
            options = printer.options
            settings = JaxprPpSettings(options.print_shapes, False, options.name_stack, True,
                                       options.print_effects)
            return _whole(rule(eqn, printer, settings))

        self._rules[primitive] = rule
        printing.pp_eqn_rules[primitive.name] = document

    def __getitem__(self, primitive: Primitive) -> Callable:
        return self._rules[primitive]

    def __delitem__(self, primitive: Primitive) -> None:
        del self._rules[primitive]
        del printing.pp_eqn_rules[primitive.name]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


pp_eqn_rules = _EquationRules()
