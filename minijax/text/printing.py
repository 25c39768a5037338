"""Chapter 5: how do jaxprs become text, in JAX's own format?

`documents.py` breaks the text into lines. This file has the words: names for variables, and one
document for each equation. At the end, it has the text of other objects, such as tracers.

`core/jaxpr.py` imports this file, so this file cannot import its classes. It uses the attributes
of jaxprs (`constvars`, `invars`, `eqns`, `outvars`) and the method `pretty_print` of atoms.
"""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

from .documents import (
    KEYWORD,
    NOTHING,
    SPACE,
    TYPE,
    AnyDoc,
    Break,
    Concat,
    Doc,
    Group,
    Nest,
    Text,
    join,
    layout,
)

# ----------------------------------------------------------------------------------------------
# Which parameters of an equation are printed.

PrintRule = Callable[[dict[str, Any]], dict[str, Any]]

# Primitive's name -> params -> the printed params, in order. The default is all, sorted by name.
pp_rules: dict[str, PrintRule] = {}


def _sorted_params(params: dict[str, Any]) -> dict[str, Any]:
    return {name: params[name] for name in sorted(params)}


def _without(params: dict[str, Any], hidden: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in hidden}


def _jit_params(params):
    """The name first, because readers look for it. Options only where they are in use."""
    hidden = {"name", "inline"}
    if not any(params.get("donated_invars", ())):
        hidden.add("donated_invars")
    if not params.get("keep_unused"):
        hidden.add("keep_unused")
    if "in_shardings" in params:
        hidden |= {"device", *(name for name in _SHARDINGS if _says_nothing(params.get(name, ())))}
    return {"name": params["name"], **_sorted_params(_without(params, hidden))}


_SHARDINGS = ("in_shardings", "out_shardings", "in_layouts", "out_layouts")


def _says_nothing(entries):
    return all(entry is None or repr(entry) == "UnspecifiedValue" for entry in entries)


def _broadcast_in_dim_params(params):
    """Without the shape, which the binder's type shows."""
    hidden = {"shape", "sharding"}  # the type of the result says them
    hidden |= set() if params["broadcast_dimensions"] else {"broadcast_dimensions"}
    return _sorted_params(_without(params, hidden))


def _dot_general_params(params):
    """Without params that are `None`, and the sharding, which the binder's type shows. Dimensions
    as lists: `[1]` is shorter than `(1,)`."""
    shown = {name: value for name, value in params.items()
             if value is not None and name != "out_sharding"}
    contracting, batch = shown["dimension_numbers"]
    shown["dimension_numbers"] = (tuple(map(list, contracting)), tuple(map(list, batch)))
    return _sorted_params(shown)


# Where a sharding of the result can be asked for, `None` is printed if it is not; such an equation
# has no parameter for it.
_ASKED = {"iota": "sharding", "reshape": "sharding", "reduce_sum": "out_sharding",
          "conv_general_dilated": "out_sharding", "rng_bit_generator": "out_sharding",
          "pure_callback": "sharding", "io_callback": "sharding"}


def _asked_params(name, params):
    return _sorted_params({name: None, **params})


# primitive's name -> (printer, eqn) -> the equation's document, where it has a form of its own.
pp_eqn_rules: dict[str, Callable[[Printer, Any], AnyDoc]] = {}
pp_rules |= {"jit": _jit_params, "broadcast_in_dim": _broadcast_in_dim_params,
             "dot_general": _dot_general_params}
pp_rules |= {name: functools.partial(_asked_params, asked) for name, asked in _ASKED.items()}

# Primitives that call their param `jaxpr`. Its variables are named after the operands.
NAMED_AFTER_CALLER = {"jit"}

# ----------------------------------------------------------------------------------------------
# Jaxprs inside jaxprs.


def _is_jaxpr(value) -> bool:
    return hasattr(value, "eqns")


def _open(jaxpr):
    """The jaxpr without its constants."""
    return getattr(jaxpr, "jaxpr", jaxpr)


_LONG = 10  # equations


def shared_jaxprs(root) -> dict[Any, str]:
    """The inner jaxprs to be printed before `root`, with their names.

    These are the long ones, and the ones that are used twice. The search is breadth first, because
    its order decides which names are free. It visits a jaxpr at most twice, so nested sharing takes
    linear time. (The second visit is needed: the jaxprs inside are then used twice.)
    """
    visits: Counter = Counter()
    names: dict[Any, str] = {}
    queue = deque([root])
    while queue:
        jaxpr = queue.popleft()
        visits[jaxpr] += 1
        if visits[jaxpr] > 2:
            continue
        for eqn in jaxpr.eqns:
            name = eqn.own_params.get("name")
            for inner in eqn._jaxprs():
                queue.append(inner)
                if name is not None:
                    names.setdefault(inner, name.strip("<>"))
    wanted = [j for j, n in visits.items() if n > 1 or (j is not root and len(j.eqns) > _LONG)]
    unique = _distinct(names.get(jaxpr, "jaxpr") for jaxpr in wanted)
    return dict(zip(wanted, unique, strict=True))


def _distinct(names: Iterable[str]) -> Iterator[str]:
    """Number the repetitions of each name: `f`, `f1`, `f2` …"""
    uses: Counter = Counter()
    for name in names:
        if uses[name]:
            uses[name] += 1
            name = f"{name}{uses[name] - 1}"
        uses[name] += 1
        yield name


def unused_binders(jaxpr) -> Iterator[Any]:
    """The results of equations that no equation reads and that are not results of the jaxpr."""
    used = {id(atom) for atom in jaxpr.outvars}
    for eqn in reversed(jaxpr.eqns):
        yield from (v for v in eqn.outvars if id(v) not in used)
        used.update(map(id, eqn.invars))


# ----------------------------------------------------------------------------------------------
# The words.


class PrintOptions(NamedTuple):
    """What to print. `note` returns the remark in the margin of an equation, or `None`."""

    print_shapes: bool = True
    name_stack: bool = False
    custom_pp_eqn_rules: bool = True
    note: Callable[[Any], str | None] = lambda eqn: None
    print_effects: bool = False


def letters(n: int) -> str:
    """The number `n` in letters: a, b, …, z, ba, bb, …"""
    n, digit = divmod(n, 26)
    return (letters(n) if n else "") + chr(ord("a") + digit)


Steps = Generator[Any, Any, Any]  # yields other steps, receives their results, returns a document


def run(steps: Steps) -> Doc:
    """Run a generator that yields the generators whose results it needs, and return its result.

    This is recursion with a list instead of Python's stack, so jaxprs can be nested without limit.
    """
    waiting: list[Steps] = [steps]
    result: Any = None
    while waiting:
        try:
            waiting.append(waiting[-1].send(result))
            result = None
        except StopIteration as done:
            waiting.pop()
            result = done.value
    return result


class Printer:
    """Makes the documents of one text. A variable gets its name when it is first printed.

    Methods that can meet an inner jaxpr are generators, for `run`.
    """

    def __init__(self, options: PrintOptions, shared: dict[Any, str] | None = None):
        self.options = options
        self.shared = shared or {}
        taken = set(self.shared.values())
        fresh = (name for name in map(letters, count()) if name not in taken)
        self.var_names: defaultdict[Any, str] = defaultdict(fresh.__next__)

    def vars(self, atoms: Sequence, separator: str = "", binders: bool = False) -> AnyDoc:
        """Atoms in a row, filled into lines. Binders are printed with their types."""
        show = self.binder if binders and self.options.print_shapes else self.atom
        if len(atoms) == 1:
            return show(atoms[0])
        docs = [show(atom) for atom in atoms]
        return Nest(2, Group(join(Concat([separator, Group(SPACE)]), docs)))

    def atom(self, atom) -> AnyDoc:
        return atom.pretty_print(self)

    def effect(self, effect) -> str:
        """An effect on an input is printed with the name of the input."""
        return effect.pretty_print(self) if hasattr(effect, "pretty_print") else str(effect)

    def binder(self, var) -> AnyDoc:
        kind = var.aval.str_short(short_dtypes=True)
        return Concat([var.pretty_print(self), Text(":" + kind, style=TYPE)])

    def name_alike(self, inner: Sequence, outer: Sequence) -> None:
        """Name each variable of `inner` after its partner in `outer`, unless it has a name."""
        if len(inner) != len(outer):
            return  # an ill-typed call can still be printed
        used = set()
        for var, partner in zip(inner, outer, strict=True):
            if _is_var(var) and _is_var(partner) and not (var in self.var_names or partner in used):
                used.add(partner)
                self.var_names[var] = partner.pretty_print(self)

    def jaxpr(self, jaxpr, is_definition: bool = False) -> Steps:
        """A jaxpr in full, or its name if it was printed before."""
        if jaxpr in self.shared and not is_definition:
            return self.shared[jaxpr]
        heading = self.heading(jaxpr)
        eqns = []
        for eqn in jaxpr.eqns:
            eqns.append((yield from self.eqn(eqn)))
        return self.skeleton(heading, eqns, jaxpr)

    def excerpt(self, jaxpr, index: int, radius: int, note: str) -> Steps:
        """A jaxpr with only the equations around `index`, and a note on that equation."""
        heading = self.heading(jaxpr)
        start, stop = max(index - radius, 0), index + radius + 1
        eqns: list[AnyDoc] = ["..."] if start > 0 else []
        for i, eqn in enumerate(jaxpr.eqns[start:stop], start):
            eqns.append((yield from self.eqn(eqn, note if i == index else None)))
        return self.skeleton(heading, eqns + ["..."] * (stop < len(jaxpr.eqns)), jaxpr)

    def heading(self, jaxpr) -> Doc:
        """`lambda consts; arguments. let`"""
        constvars = self.vars(jaxpr.constvars, binders=True)
        invars = self.vars(jaxpr.invars, binders=True)
        keywords = Text("lambda ", style=KEYWORD), Text("let", style=KEYWORD)
        return Concat([keywords[0], constvars, "; ", invars, ". ", keywords[1]])

    def skeleton(self, heading: Doc, eqns: Iterable[AnyDoc], jaxpr) -> Doc:
        """`{ heading equations in (results) }`"""
        outvars = jaxpr.outvars
        body = Nest(2, Concat([SPACE, join(Break("; "), eqns)]))
        results = Concat(["(", self.vars(outvars, ","), ",)" if len(outvars) == 1 else ")"])
        lines = [heading, body, SPACE, Text("in ", style=KEYWORD), results]
        if self.options.print_effects and jaxpr.effects:
            effects = ", ".join(sorted(self.effect(effect) for effect in jaxpr.effects))
            lines.append(Text(f" : {{ {effects} }}"))
        return Group(Concat([Nest(2, Concat(["{ ", *lines])), " }"]))

    def eqn(self, eqn, note: str | None = None) -> Steps:
        """`results = primitive[params] operands`"""
        custom = self.options.custom_pp_eqn_rules
        primitive = eqn.primitive.name
        if custom and primitive in NAMED_AFTER_CALLER:
            self.name_after_caller(eqn)
        if custom and primitive in pp_eqn_rules:
            return pp_eqn_rules[primitive](self, eqn)
        results = self.vars(eqn.outvars, binders=True)
        rule = pp_rules.get(primitive, _sorted_params) if custom else _sorted_params
        params = yield from self.params(rule(eqn.own_params))
        names = getattr(eqn.source_info, "name_stack", "")
        stack = f"[{names}]" if self.options.name_stack else None
        application = [Text(primitive, note=stack), *params, " ", self.vars(eqn.invars)]
        if not eqn.outvars:
            return Concat(application)
        return Concat([results, Text(" = ", note=note or self.options.note(eqn)), *application])

    def name_after_caller(self, eqn) -> None:
        inner = _open(eqn.own_params["jaxpr"])
        if inner not in self.shared:
            self.name_alike(inner.invars, eqn.invars)
            self.name_alike(inner.outvars, eqn.outvars)

    def params(self, params: dict[str, Any]) -> Steps:
        """`[name=value …]`, or nothing if there are no params."""
        if not params:
            return []
        docs = []
        for name, value in params.items():
            docs.append(Concat([f"{name}=", (yield from self.param(value))]))
        return [Group(Concat([Nest(2, Concat(["[", NOTHING, join(SPACE, docs)])), NOTHING, "]"]))]

    def param(self, value) -> Steps:
        """A parameter's value: a jaxpr, a tuple of jaxprs, or the `str` of another value."""
        if _is_jaxpr(value):
            return (yield self.jaxpr(_open(value)))
        if type(value) is tuple and all(map(_is_jaxpr, value)):
            docs = []
            for inner in value:
                docs.append((yield self.jaxpr(_open(inner))))
            return Group(Concat([Nest(2, Concat(["(", NOTHING, join(SPACE, docs)])), NOTHING, ")"]))
        return _plain_param(value)

    def definition(self, jaxpr, name: str) -> Steps:
        """`let name = { … } in`, before the jaxprs that use it."""
        body = yield self.jaxpr(jaxpr, is_definition=True)
        return Concat([f"let {name} = ", body, " in", SPACE])


def _is_var(atom) -> bool:
    return not hasattr(atom, "val")


def _plain_param(value) -> str:
    """A value as text that is the same in each run: sets are sorted, addresses are masked."""
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(map(repr, sorted(value)))}}})"
    text = str(value)
    if " at 0x" not in text:
        return text
    return re.sub(r"(?<= at 0x)[0-9a-fA-F]+", lambda address: "X" * len(address[0]), text)


# ----------------------------------------------------------------------------------------------
# The public functions.


def pretty_print(jaxpr: Any, *, source_info: bool = False, print_shapes: bool = True,
                 custom_pp_eqn_rules: bool = True, name_stack: bool = False,
                 print_effects: bool = False, width: int = 80, use_color: bool = False) -> str:
    """A jaxpr's text, with the options of `Jaxpr.pretty_print`."""
    note = source_of if source_info else lambda eqn: None
    options = PrintOptions(print_shapes, name_stack, custom_pp_eqn_rules, note, print_effects)
    return print_jaxpr(jaxpr, options, width, use_color)


def source_of(eqn) -> str:
    """The user's line that an equation comes from."""
    return str(eqn.source_info or "unknown")


def print_jaxpr(jaxpr, options: PrintOptions, width: int = 80, use_color: bool = False) -> str:
    """A jaxpr, open or closed, as text, after the inner jaxprs that have names."""
    jaxpr = _open(jaxpr)
    return layout(_documents(printer_for(jaxpr, options), jaxpr), width, use_color)


def _documents(printer: Printer, jaxpr) -> Doc:
    docs = [run(printer.definition(inner, name)) for inner, name in printer.shared.items()]
    return Concat([*docs, run(printer.jaxpr(jaxpr, is_definition=True))])


def print_eqn(eqn) -> str:
    """One equation by itself; its first variable is `a`."""
    return layout(run(Printer(PrintOptions()).eqn(eqn))).rstrip()


def printer_for(jaxpr, options: PrintOptions) -> Printer:
    """A printer that has named the shared inner jaxprs of `jaxpr`, and its unused results `_`."""
    printer = Printer(options, shared_jaxprs(jaxpr))
    printer.var_names.update(dict.fromkeys(unused_binders(jaxpr), "_"))
    return printer


def named_printer_for(jaxpr, options: PrintOptions) -> Printer:
    """A printer for parts of the text, which has named all variables as `print_jaxpr` does."""
    printer = printer_for(jaxpr, options)
    _documents(printer, jaxpr)
    return printer
