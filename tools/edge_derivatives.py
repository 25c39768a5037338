"""The derivatives of functions at their edges: a table, from stored results.

`python -m tests.edges.derivatives` makes the results: it compares first and second derivatives of
each function with the mathematical ones, which mpmath computes, in ours and in JAX. They are
stored in `edge_derivatives.json`, and `python -m tools.edge_derivatives` prints the table, which is
part of the rule atlas.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_suffix(".json")
DTYPES = ("float32", "float64")


def stored() -> list[dict[str, Any]]:
    """One row for each function and element type, as `tests.edges.derivatives` made it.

    `functions` are the programs; `points` is how many derivatives were compared; `ours` and `jax`
    hold, each, how many are `wrong`, have lost `digits`, or left the `range`, and the `worst` of
    the others: its relative error, the point, the order in each argument, and the right derivative.
    `mended` lists programs, points, orders and right values where JAX alone is wrong.
    """
    return json.loads(STORED.read_text())


def page() -> str:
    """The table in Markdown."""
    lines = ["| function | type | derivatives | library | wrong | digits | range | worst error |",
             "|---|---|---|---|---|---|---|---|"]
    for row in stored():
        names = "<br>".join(f"`{name}`" for name in row["functions"]).replace("|", "\\|")
        results = [row["ours"], row["jax"]]
        libraries = ["minijax", "JAX"]
        if _counts(row["ours"]) == (row["jax"] and _counts(row["jax"])):
            results, libraries = results[:1], ["both"]
        for library, result in zip(libraries, results):
            dtype = row["dtype"].replace("float", "f")
            start = [names, dtype, str(row["points"])] if result is row["ours"] else [""] * 3
            lines.append(f"| {' | '.join([*start, library, *_cells(result)])} |")
    return "\n".join(lines) + "\n"


def _counts(result: dict[str, Any]) -> tuple[int, ...]:
    return result["wrong"], result["digits"], result["range"]


def _cells(result: dict[str, Any] | None) -> list[str]:
    """How many are of each kind, and the worst error of the others, with its place."""
    if result is None:
        return ["", "", "", "not asked: its loops take hours"]
    error, point, order, _ = result["worst"] or (0.0, (), (), 0.0)
    place = f"{error:.0e}, {_ordinal(order)} at {', '.join(f'{x:.5g}' for x in point)}"
    return [*map(str, _counts(result)), place if error else "0"]


def _ordinal(order: list[int]) -> str:
    """The derivative's name: 1st or 2nd, by which arguments."""
    number = "1st" if sum(order) == 1 else "2nd"
    return number if len(order) == 1 else f"{number} by " + "".join(
        letter * n for letter, n in zip("xyz", order))


if __name__ == "__main__":
    print(page(), end="")
