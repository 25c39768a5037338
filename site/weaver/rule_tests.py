"""Where the rules of a primitive are tested. The atlas links to these places.

`tests/products/test_primitives.py` compares the primitives of its table in every rule. Each other
primitive has tests of its own: in the file that names it most often, of those that belong to its
room.
"""

from __future__ import annotations

import functools
import re

from . import listings

TESTS = listings.PACKAGE.parent / "tests"
TABLE, RULES = "oracle/primitives_table.py", "products/test_primitives.py"
# Primitives that programs bind under another name.
CALLED = {
    "while": "while_loop", "remat2": "checkpoint", "psum_invariant": "psum",
    "all_gather_invariant": "all_gather", "pvary": "pcast", "debug_print": "debug",
    "debug_callback": "debug", "custom_jvp_call": "custom_jvp", "custom_vjp_call": "custom_vjp",
    "custom_vmap_call": "custom_vmap", "random_split": "split", "random_wrap": "wrap_key_data",
    "random_unwrap": "key_data", "random_fold_in": "fold_in", "random_seed": "key",
    "random_clone": "clone", "geqp3": "qr", "geqrf": "qr", "addupdate": "new_ref",
    "get": "new_ref", "swap": "new_ref", "sharding_constraint":
    "with_sharding_constraint", "name": "checkpoint_name",
    "custom_lin": "custom_vjp",
    "inspect_sharding": "inspect_array_sharding", "layout_constraint": "with_layout_constraint",
    "random_gamma": "gamma", "random_gamma_grad_by_a": "gamma", "reduce_scatter": "psum_scatter",
    "regularized_incomplete_beta": "betainc",
    "all_gather_reduced": 'tiled=True, to="reduced', "preduced": 'to="reduced',
    "vary_unreduced_cast_p": 'to="unreduced', "reduced_vary_cast_p": 'to="varying"), R',
    "unreduced_psum": 'lax.psum(a, "x"), U', "unreduced_reduce_scatter": 'tiled=True), U',
    "closed_call": "closed_call_p", "core_call": "call_p",
    **{f"{name}_to": f"{name}_to_p" for name in ("eq", "le", "lt")},
    **{f"scatter-{kind}": "scatter" for kind in ("add", "sub", "mul", "min", "max")},
    **{f"reduce_window_{kind}": "reduce_window" for kind in ("sum", "min", "max")},
    **{f"select_and_{what}": "reduce_window" for what in ("scatter", "scatter_add", "gather_add")},
}


def place(primitive: str, folder: str) -> tuple[str, int] | None:
    """The file under `tests/` that tests a primitive, and a line of it.

    Args:
      primitive: its name.
      folder: the part of the library that defines it, such as `lax/linalg`.
    """
    if primitive in _table():
        return TABLE, _table()[primitive]
    word = CALLED.get(primitive, primitive.replace("-", "_"))
    used = re.compile(rf"(?<![\w]){re.escape(word)}\b")
    found = {path: [n for n, line in enumerate(lines, start=1) if used.search(line)]
             for path, lines in _files(_rooms(folder)).items()}
    best = max(found, key=lambda path: len(found[path]), default=None)
    return (best, found[best][0]) if best and found[best] else None


@functools.cache
def _table() -> dict[str, int]:
    """The line of each primitive's first row, found by running the table's file line by line."""
    from tests.oracle import primitives_table

    lines = (TESTS / TABLE).read_text().splitlines()
    found = {}
    for row in primitives_table.ROWS:
        first = row.call.__code__.co_firstlineno
        found.setdefault(row.primitive, max(
            n for n in range(1, first + 1) if lines[n - 1].startswith(("row(", "for "))))
    return found


def rule(column: str) -> int | None:
    """The line of `test_primitives.py` that says how a column's rules are tested."""
    lines = (TESTS / RULES).read_text().splitlines()
    start = lines.index("RULES = {")
    return next((start + 1 for line in lines[start:] if line.startswith(f'    "{column}":')), None)


def _rooms(folder: str) -> tuple[str, ...]:
    """The folders of the tests of a part of the library."""
    return (folder.split("/")[0], "custom_rules", "lax", "random", "parallel", "state", "debugging",
            "experimental")


@functools.cache
def _files(rooms: tuple[str, ...]) -> dict[str, list[str]]:
    """The test files of some folders, and their lines. The first folder that has any comes first.
    """
    return {path.relative_to(TESTS).as_posix(): path.read_text().splitlines()
            for room in dict.fromkeys(rooms) for path in sorted((TESTS / room).rglob("test_*.py"))}


def shown(places: list[tuple[str, int] | None]) -> list[str]:
    """The files that need a page."""
    return sorted({RULES, *(place[0] for place in places if place)})
