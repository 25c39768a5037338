"""Two drawings of chapter 8: the columns and rows of a Jacobian, and a transposed program."""

from __future__ import annotations

import math

from .svg import Drawing

# ----------------------------------------------------------------------------------------------
# Columns and rows

POINT = (1, 2, 3)
JACOBIAN = ((2, 4, 0), (0, 4, 6))  # of (x, y, z) -> (x² + y², y² + z²) at that point
CELL = 46


def jacobian() -> str:
    """Twice the same matrix: in one a column is marked, in the other a row."""
    d = Drawing("jacobian")

    def matrix(left, marked, words, below):
        d.text(left + 1.5 * CELL, 20, words)
        for i, row in enumerate(JACOBIAN):
            for j, number in enumerate(row):
                css = "number linear" if (i, j) in marked else "number"
                d.text(left + CELL * (j + 0.5), 60 + CELL * i, number, css)
        d.lines.append(f'<path d="M{left - 2} 34h-8v{2 * CELL + 4}h8"/>')
        d.lines.append(f'<path d="M{left + 3 * CELL + 2} 34h8v{2 * CELL + 4}h-8"/>')
        d.text(left + 1.5 * CELL, 156, below, "number linear")

    def columns():
        matrix(60, {(0, 1), (1, 1)}, "forward mode: a column", "J · (0, 1, 0) = (4, 4)")
        d.box(60 + CELL + 4, 38, CELL - 8, 2 * CELL - 4, "marked")

    def rows():
        matrix(400, {(0, j) for j in range(3)}, "reverse mode: a row", "(1, 0) · J = (2, 4, 0)")
        d.box(404, 38, 3 * CELL - 8, CELL - 6, "marked")

    d.part("columns", columns)
    d.part("rows", rows)
    return d.svg(600, 168, "Twice the matrix with the rows 2, 4, 0 and 0, 4, 6. On the left, the "
                 "second column is marked, which forward mode gives. On the right, the first row "
                 "is marked, which reverse mode gives.")


# ----------------------------------------------------------------------------------------------
# The transpose of a program

X = 3.0
COS, SIN = math.cos(X), math.sin(X)
UP, LOW = 0, 74  # the upper and the lower branch


def transpose() -> str:
    """The linear program of x · sin x at 3, and below it the same, with all arrows turned round."""
    d = Drawing("transpose")
    number = "{:.3f}".format

    def boxes(y):
        for x, level, words in ((150, UP, "· cos 3"), (300, UP, "· 3"), (225, LOW, "· sin 3")):
            d.box(x, y + level, 90, 36, "linear")
            d.text(x + 45, y + level + 23, words, "number linear")

    def node(x, y, words):
        d.circle(x, y, 13, "linear")
        d.text(x, y + 5, words, "number linear")

    def value(x, y, words):
        d.text(x, y, words, "number linear")

    def forwards(y=34):
        d.text(8, 16, "forwards: tangents", anchor="start")
        boxes(y)
        value(34, y + 60, "ẋ = 1")
        for end, level in ((148, UP), (223, LOW)):
            d.arrow(66, y + 55, 92, y + 55, 92, y + level + 18, end, y + level + 18, css="linear")
        d.arrow(240, y + 18, 298, y + 18, css="linear")
        d.arrow(390, y + 18, 462, y + 18, 462, y + 40, css="linear")
        d.arrow(315, y + LOW + 18, 462, y + LOW + 18, 462, y + 70, css="linear")
        node(462, y + 55, "+")
        d.arrow(475, y + 55, 512, y + 55, css="linear")
        value(269, y + 10, number(COS))
        value(428, y + 10, number(COS * X))
        value(390, y + LOW + 10, number(SIN))
        value(568, y + 60, f"ẏ = {number(COS * X + SIN)}")

    def backwards(y=206):
        d.text(8, 188, "backwards: cotangents", anchor="start")
        boxes(y)
        value(548, y + 60, "ȳ = 1")
        d.arrow(518, y + 55, 462, y + 55, 462, y + 18, 392, y + 18, css="linear")
        d.arrow(518, y + 55, 462, y + 55, 462, y + LOW + 18, 317, y + LOW + 18, css="linear")
        d.arrow(300, y + 18, 242, y + 18, css="linear")
        d.arrow(150, y + 18, 130, y + 18, 130, y + 40, css="linear")
        d.arrow(225, y + LOW + 18, 130, y + LOW + 18, 130, y + 70, css="linear")
        node(130, y + 55, "+")
        d.arrow(117, y + 55, 98, y + 55, css="linear")
        value(428, y + 10, "1")
        value(390, y + LOW + 10, "1")
        value(269, y + 10, "3")
        value(108, y + 12, number(COS * X))
        value(178, y + LOW + 10, number(SIN))
        value(47, y + 60, f"x̄ = {number(COS * X + SIN)}")

    d.part("forwards", forwards)
    d.part("backwards", backwards)
    return d.svg(630, 330, "Above, the tangent of x goes two ways, through a multiplication by "
                 "cosine 3 and one by 3, and through a multiplication by sine 3. The results are "
                 "added. Below, all arrows are turned round. The cotangent of y goes two ways, "
                 "through the same multiplications in the opposite order, and is added up at x. "
                 f"Both ends have the number {number(COS * X + SIN)}.")
