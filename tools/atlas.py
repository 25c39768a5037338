"""The rule atlas: every primitive × every rule. `python -m tools.atlas` prints it as a table.

A hole in the table needs a reason. That a primitive has no transpose follows from its JVP rule
(`derived`); the other reasons are declared here. The tests fail on a hole without a reason, and on
a declared one that has been filled meanwhile.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator

import minijax
from minijax.core.core import Primitive

# What follows from the JVP rule, for a primitive without a transpose.
NOT_LINEAR = "not linear: only its derivative is transposed"
ZERO_DERIVATIVE = "its derivative is zero: no tangent ever flows through it"
NO_JVP = "it has no JVP rule either, so no gradient flows through it"

NO_OPERANDS = "has no operands"
OF_TANGENTS = "maps tangents, and waits to be transposed: it is not differentiated itself"
BY_ITS_RULE = "differentiated by its rule only, which leaves a custom_lin to be transposed"
NOT_TRANSPOSED = "differentiated in forward mode only, as in JAX: put a custom_vjp around it"
NOT_OF_TANGENTS = "names values; their tangents have no names"
NO_SLOPE = "a step of one unit in the last place: JAX has none either"
ONLY_ONCE = "a loop of unknown length, which JAX does not differentiate in reverse mode either"
NO_FORMULA = "JAX has none either: scipy.special.zeta differentiates an expansion instead"
ONLY_SUMS = "as in JAX: select_and_scatter_add has derivatives"
PART_OF_QR = "has none in JAX either: qr, which is made of it, has one"
NO_FORM = "has none in JAX either: cholesky, eigh and eig have one"
NO_DERIVATIVE = "has no derivative in JAX either"
BOUND_BY_TRACE = "its `bind` makes the reference in each trace by itself"
DISCHARGED = "discharged: XLA sees no references"
BY_ITS_JAXPR = "its results have the types that its jaxprs give them"
OF_MANUAL_AXES = "of axes of type Manual, which no sharding in a type names"
NO_ARRAYS = "it has no arrays as results"
OF_PYTHON = "its results come from Python: all devices have them"
AUTO_AXES = "a ShardingTypeError asks for auto_axes"

# column -> reason -> the primitives that have, and need, no such rule
HOLES: dict[str, dict[str, str]] = {
    "evaluation": {},
    "lowering": {DISCHARGED: "new_ref get swap addupdate freeze"},
    "jvp": {BOUND_BY_TRACE: "new_ref",
            OF_TANGENTS: "custom_lin", NO_SLOPE: "nextafter", NO_FORMULA: "zeta",
            ONLY_SUMS: "select_and_scatter",
            NO_DERIVATIVE: "pmax pmin",
            ONLY_ONCE: "igamma_grad_a random_gamma_grad_by_a",
            PART_OF_QR: "geqp3 geqrf householder_product ormqr",
            NO_FORM: "hessenberg schur"},
    "batching": {BOUND_BY_TRACE: "new_ref",
                 NO_OPERANDS: "iota platform_index"},
    "transpose": {
        BY_ITS_RULE: "custom_vjp_call", NOT_TRANSPOSED: "custom_vmap_call",
        NOT_OF_TANGENTS: "name",
    },
    "sharding": {
        BY_ITS_JAXPR: """closed_call cond core_call
            custom_jvp_call custom_linear_solve custom_vjp_call custom_vmap_call jit
            remat2 scan shard_map while""",
        OF_MANUAL_AXES: """all_gather all_gather_invariant all_gather_reduced all_to_all axis_index
            pbroadcast pmax pmin ppermute preduced psum psum_invariant pvary reduce_scatter
            reduced_vary_cast_p unreduced_psum unreduced_reduce_scatter vary_unreduced_cast_p""",
        NO_ARRAYS: "check debug_callback debug_print",
        NO_OPERANDS: "platform_index",
        OF_PYTHON: "io_callback pure_callback",
        AUTO_AXES: "todense",
    },
}  # fmt: skip


def primitives() -> list[Primitive]:
    """Every primitive that a module of minijax defines, by name."""
    modules = list(_library_modules())
    found = {v.name: v for m in modules for v in vars(m).values() if isinstance(v, Primitive)}
    return [found[name] for name in sorted(found)]


def _library_modules() -> Iterator:
    for info in pkgutil.walk_packages(minijax.__path__, "minijax."):
        if not info.name.startswith(("minijax.cli", "minijax.__main__")):
            yield importlib.import_module(info.name)


def columns() -> dict[str, Callable[[Primitive], bool]]:
    """Each rule's name, and how to see whether a primitive has it."""
    from minijax.core import batching as batching, forward, lowering, partial_eval, transposition
    from minijax.parallel.types.sharding_rules import sharding_rules, stated

    return {
        "evaluation": lambda p: "impl" in vars(p) or type(p).impl is not Primitive.impl,
        "abstract_eval": lambda p: (
            "abstract_eval" in vars(p) or type(p).abstract_eval is not Primitive.abstract_eval
        ),
        "jvp": lambda p: p in forward.primitive_jvps,
        "batching": lambda p: p in batching.primitive_batchers,
        "lowering": lambda p: p in lowering.lowering_rules,
        # An equation is known if all its operands are. Only a primitive that holds a jaxpr can be
        # known in part, and needs a rule that says which part.
        "partial_eval": lambda p: p in partial_eval.partial_eval_rules or not _holds_a_jaxpr(p),
        "transpose": lambda p: p in transposition.primitive_transposes,
        # How the results are split, in their types, if the operands' types say how those are.
        "sharding": lambda p: p.name in sharding_rules or p.name in {q.name for q in stated},
    }


def _holds_a_jaxpr(primitive: Primitive) -> bool:
    return primitive.name in ("jit", "cond", "while", "scan")


def declared() -> dict[tuple[str, str], str]:
    """(primitive's name, column) -> the reason that `HOLES` states for that empty place."""
    return {
        (name, column): reason
        for column, reasons in HOLES.items()
        for reason, names in reasons.items()
        for name in names.split()
    }


def derived() -> dict[tuple[str, str], str]:
    """(primitive's name, "transpose") -> why it needs no transpose, as its JVP rule says.

    A primitive whose JVP rule maps the tangents with the primitive itself must have a transpose.
    """
    from minijax.core.forward import linear_jvp, primitive_jvps, zero_jvp

    kinds = {linear_jvp: None, zero_jvp: ZERO_DERIVATIVE, None: NO_JVP}
    rules = {p.name: primitive_jvps.get(p) for p in primitives()}
    why = {name: kinds.get(getattr(rule, "func", rule), NOT_LINEAR) for name, rule in rules.items()}
    return {(name, "transpose"): reason for name, reason in why.items() if reason}


def reasons() -> dict[tuple[str, str], str]:
    """(primitive's name, column) -> why that place is empty, derived or declared."""
    empty = holes()
    return {place: reason for place, reason in (derived() | declared()).items() if place in empty}


def holes() -> set[tuple[str, str]]:
    """The (primitive's name, column) that have no rule."""
    has_rule = columns()
    return {(p.name, c) for p in primitives() for c in has_rule if not has_rule[c](p)}


def page() -> str:
    """The atlas in Markdown: a check mark for a rule, a numbered note for a declared hole."""
    empty, why, names = holes(), reasons(), list(columns())
    notes = list(dict.fromkeys(why.values()))
    lines = ["| primitive | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for primitive in primitives():
        cells = [
            "✓" if place not in empty else f"({notes.index(why[place]) + 1})"
            if place in why else "**missing**"
            for place in ((primitive.name, column) for column in names)
        ]
        lines.append(f"| {primitive.name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"({i}) {note}  " for i, note in enumerate(notes, 1))])


if __name__ == "__main__":
    sys.stdout.write(page() + "\n")
