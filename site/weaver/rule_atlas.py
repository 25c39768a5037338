"""The rule atlas as a page: a table for each family, whose cells link to the lines of the rule.

A rule stands in a statement that names the primitive: `defjvp(sin_p, …)`, `batchers[sin_p] = …`,
or the row that makes it, `sin_p, sin = unary_row("sin", …)`, which gives all rules that have no
statement of their own.
"""

from __future__ import annotations

import ast
import functools
import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from tools import atlas

from . import listings, rule_tests

# What a statement says that holds a rule of this column.
SIGNS = {
    "evaluation": ("def_numpy", "def_impl", ".impl"),
    "abstract_eval": ("abstract_eval", "shape_rule"),
    "jvp": ("jvp", "zero_derivative"),
    "batching": ("batch", "vectorized"),
    "lowering": ("lower",),
    "partial_eval": ("partial_eval",),
    "transpose": ("transpose", "deflinear2", "defbilinear("),
    "sharding": ("sharding",),
}
# The part of the library that a primitive is defined in, and the heading of its table. In order.
FAMILIES = {
    "core/": "The starter set", "lax/elementwise": "Elementwise functions",
    "lax/trigonometric": "Elementwise functions", "lax/rounding": "Elementwise functions",
    "lax/bit": "Bits", "lax/complex_numbers": "Complex numbers",
    "lax/special": "Special functions", "lax/bessel": "Special functions",
    "lax/incomplete": "Special functions", "lax/shaping": "Shapes", "lax/cutting": "Shapes",
    "lax/tiling": "Shapes", "lax/slicing": "Slicing, gathering and scattering",
    "lax/indexing": "Slicing, gathering and scattering",
    "lax/gathering": "Slicing, gathering and scattering",
    "lax/scattering": "Slicing, gathering and scattering",
    "lax/reduc": "Reductions", "lax/cumulative": "Reductions", "lax/sorting": "Sorting",
    "lax/approximate": "Sorting", "lax/window": "Windows", "lax/pooling": "Windows",
    "lax/products": "Products", "lax/conv": "Products", "lax/fourier": "Products",
    "lax/linalg": "Linear algebra", "lax/control_flow": "Control flow",
    "custom_rules/": "Custom rules and rematerialisation",
    "remat/": "Custom rules and rematerialisation", "random": "Random numbers",
    "lax/generators": "Random numbers", "key_reuse": "Random numbers",
    "parallel/": "Many devices", "state": "References, effects and callbacks",
    "debugging/": "References, effects and callbacks",
}
OTHERS = "Others"


class Statement(NamedTuple):
    """A statement outside of all functions that names a primitive's variable."""

    path: str
    line: int
    head: str  # its first line, or all of a loop; without the names of primitives
    defines: bool


@functools.cache
def statements() -> dict[str, list[Statement]]:
    """The statements that name a variable like `sin_p`, by that variable."""
    found: dict[str, list[Statement]] = {}
    for file in sorted(listings.PACKAGE.rglob("*.py")):
        path = file.relative_to(listings.PACKAGE).as_posix()
        lines = listings.source_lines(path)
        for node in ast.parse("\n".join(lines)).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
                continue
            last = node.end_lineno if isinstance(node, ast.For) else node.lineno
            head = re.sub(r"\w+_p\b", "", "\n".join(lines[node.lineno - 1 : last]))
            targets = {name.id for target in getattr(node, "targets", [])
                       for name in ast.walk(target) if isinstance(name, ast.Name)
                       and isinstance(name.ctx, ast.Store)}
            for name in _primitives_in(node):
                found.setdefault(name, []).append(
                    Statement(path, node.lineno, head, name in targets))
    return found


def _primitives_in(node) -> set[str]:
    words = {getattr(x, "id", "") or getattr(x, "attr", "") for x in ast.walk(node)}
    return {word for word in words if word.endswith("_p")}


@functools.cache
def variables() -> dict[str, str]:
    """The variable of each primitive, by the primitive's name."""
    return {value.name: name for module in atlas._library_modules()
            for name, value in vars(module).items()
            if isinstance(value, atlas.Primitive) and name.endswith("_p")}


def rule(primitive: str, column: str) -> Statement | None:
    """Where a rule stands: in a statement of its own, or in the row that makes the primitive."""
    found = statements().get(variables().get(primitive, ""), [])
    rows = [x for x in found if x.defines]
    own = [x for x in found if not x.defines and any(sign in x.head for sign in SIGNS[column])]
    return (own or rows or [None])[0]


# ----------------------------------------------------------------------------------------------
# The page


def page(shown: set[str]) -> str:
    """The tables, as HTML. `shown` are the files that have a page, which cells can link to."""
    empty, reasons, columns = atlas.holes(), atlas.reasons(), list(atlas.columns())
    notes = list(dict.fromkeys(reasons.values()))

    def cell(name, column):
        if (name, column) in empty:
            number = notes.index(reasons[name, column]) + 1
            return f'<a class="hole" href="#note-{number}">({number})</a>'
        found = rule(name, column)
        return _link(found, "✓", f"{column} of {name}", shown)

    parts = []
    for title, names in _families().items():
        head = "".join(f"<th>{_of_column(column)}</th>" for column in columns)
        rows = "".join(
            f"<tr><th>{_link(rule(name, 'evaluation'), name, '', shown)}</th>"
            + "".join(f"<td>{cell(name, column)}</td>" for column in columns)
            + f"<td>{_test_link(tested(name), 'test', f'test of {name}')}</td></tr>"
            for name in names)
        parts.append(f'## {title}\n\n<div class="atlas md-typeset__scrollwrap">'
                     '<table class="atlas-table"><thead><tr>'
                     f"<th>{len(names)} primitives</th>{head}<th>test</th></tr></thead>"
                     f"<tbody>{rows}</tbody></table></div>\n")
    listed = "".join(f'<li id="note-{i}">{html.escape(note)}</li>'
                     for i, note in enumerate(notes, start=1))
    parts.append(f"## Why a rule is missing\n\n<ol>{listed}</ol>\n")
    return "\n".join(parts)


def _families() -> dict[str, list[str]]:
    """The names of the primitives by family, in the order of `FAMILIES`."""
    found: dict[str, list[str]] = {title: [] for title in (*FAMILIES.values(), OTHERS)}
    for primitive in atlas.primitives():
        found[_family(primitive.name)].append(primitive.name)
    return {title: names for title, names in found.items() if names}


def _family(name):
    rows = [x for x in statements().get(variables().get(name, ""), []) if x.defines]
    path = rows[0].path if rows else ""
    return next((title for part, title in FAMILIES.items() if part in path), OTHERS)


def tested(name: str) -> tuple[str, int] | None:
    """The file under `tests/` that tests a primitive, and a line of it."""
    found = rule(name, "evaluation")
    return rule_tests.place(name, found.path if found else "")


def test_files() -> list[str]:
    """The files under `tests/` that the atlas links to."""
    return rule_tests.shown([tested(primitive.name) for primitive in atlas.primitives()])


def _of_column(column):
    words, line = column.replace("_", " "), rule_tests.rule(column)
    return _test_link((rule_tests.RULES, line), words, f"tests of {words}") if line else words


def _test_link(place, words, label):
    if place is None:
        return ""
    path, line = place
    start = max(n for n in listings.starts(f"../tests/{path}") if n <= line)
    return (f'<a href="source/tests/{path.removesuffix(".py")}.html#L{start}" '
            f'title="tests/{path}, line {line}" aria-label="{html.escape(label)}">{words}</a>')


def _link(found, words, label, shown):
    words = html.escape(words)
    if found is None or found.path not in shown:
        return words
    title = f' title="minijax/{found.path}, line {found.line}"'
    aria = f' aria-label="{html.escape(label)}"' * bool(label)
    line = max(n for n in listings.starts(found.path) if n <= found.line)
    place = f"source/{found.path.removesuffix('.py')}.html#L{line}"
    return f'<a href="{place}"{title}{aria}>{words}</a>'


def defined_in() -> Iterator[tuple[str, str]]:
    """Each primitive, and the file that defines it; for the tests."""
    for primitive in atlas.primitives():
        found = rule(primitive.name, "evaluation")
        yield primitive.name, found.path if found else ""
