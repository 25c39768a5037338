"""A Jacobian by columns, which forward mode gives, and by rows, which reverse mode gives."""

from __future__ import annotations

import numpy as np

import minijax as jax
import minijax.numpy as jnp

from .steps import Explanation, Picture, Step, number

POINT = np.array([1, 2, 3], np.float32)
CELL, LEFT, TOP = 54, 90, 26


def f(p):
    """(x, y, z) -> (x² + y², y² + z²)"""
    x, y, z = p
    return jnp.array([x * x + y * y, y * y + z * z])


def columns() -> list[np.ndarray]:
    """One `jvp` for each argument."""
    return [np.asarray(jax.jvp(f, (POINT,), (e,))[1]) for e in np.eye(3, dtype=np.float32)]


def rows() -> list[np.ndarray]:
    """One `vjp` for each result."""
    _, pullback = jax.vjp(f, POINT)
    return [np.asarray(pullback(e)[0]) for e in np.eye(2, dtype=np.float32)]


def explanation() -> Explanation:
    """Steps 1 to 3 are columns, 4 and 5 rows."""
    by_column, by_row = columns(), rows()
    steps = [Step("The Jacobian of f(x, y, z) = (x² + y², y² + z²) at (1, 2, 3) has two rows and "
                  "three columns. Neither mode writes it down whole.", "the matrix")]
    steps += [Step(f"jvp with the tangent {_vector(np.eye(3)[j])} gives column {j + 1}: "
                   f"{_vector(column)}.", "columns" * (j == 0))
              for j, column in enumerate(by_column)]
    steps += [Step(f"vjp with the cotangent {_vector(np.eye(2)[i])} gives row {i + 1}: "
                   f"{_vector(row)}.", "rows" * (i == 0)) for i, row in enumerate(by_row)]
    steps.append(Step("Forward mode takes one run for each argument, here 3. Reverse mode takes "
                      "one for each result, here 2. A loss has one result, and its row is the "
                      "gradient.", "the price"))
    return Explanation("A Jacobian, by columns and by rows", _picture(by_column, by_row), steps)


def _picture(by_column, by_row):
    picture = Picture(560, 176, "A matrix with the rows " + " and ".join(map(_vector, by_row))
                      + ". Its columns come from three runs of jvp, its rows from two of vjp.")
    matrix = np.stack(by_column, axis=1)
    for i in range(2):
        for j in range(3):
            x, y = LEFT + CELL * j, TOP + CELL * i
            picture.rect(x, y, CELL - 4, CELL - 4, "pl-cell", lit=f"{j + 1},{4 + i}")
            picture.text(x + CELL / 2 - 2, y + CELL / 2 + 3, number(matrix[i, j]), "pl-number",
                         text_anchor="middle")
    picture.path(f"M{LEFT - 6} {TOP - 6}h-8v{2 * CELL + 8}h8M{LEFT + 3 * CELL + 2} {TOP - 6}h8"
                 f"v{2 * CELL + 8}h-8", "pl-bracket")
    for j in range(3):
        _tangent(picture, j, by_column[j])
    for i in range(2):
        _cotangent(picture, i, by_row[i])
    return picture.svg()


def _tangent(picture, j, column):
    """On the right of the matrix the tangent, and what it gives."""
    only = {"show": str(j + 1), "text_anchor": "middle"}
    right, css = LEFT + 3 * CELL + 40, "pl-number pl-tangent" + " pl-then" * (j > 0)
    for k, x in enumerate(np.eye(3)[j]):
        picture.text(right, TOP - 12 + 50 * k + 12, number(x), css, **only)
    picture.text(right + 46, TOP + CELL, "=", css, **only)
    for k, x in enumerate(column):
        picture.text(right + 96, TOP + CELL / 2 + CELL * k, number(x), css, **only)
    picture.text(right + 150, TOP + CELL, "a column", css, show=str(j + 1))


def _cotangent(picture, i, row):
    """Above the matrix the row, and on its left the cotangent."""
    only = {"show": str(4 + i), "text_anchor": "middle"}
    css = "pl-number pl-back" + " pl-then" * (i > 0)
    for k, x in enumerate(np.eye(2)[i]):
        picture.text(40, TOP + CELL / 2 + CELL * k, number(x), css, **only)
    for j, x in enumerate(row):
        picture.text(LEFT + CELL * j + CELL / 2 - 2, TOP + 2 * CELL + 34, number(x), css, **only)
    picture.text(40, TOP + 2 * CELL + 34, "a row:", css, **only)


def _vector(xs):
    return "(" + ", ".join(map(number, xs)) + ")"
