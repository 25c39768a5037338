"""The scan ribbon: a loop of three steps, drawn with its numbers, as each rule of chapter 9 has it.

The loop is Horner's rule for 2x² + x + 5 at x = 3. All numbers in the drawings are computed here.
"""

from __future__ import annotations

from collections.abc import Callable

from .svg import Drawing

X, COEFFICIENTS = 3, (2, 1, 5)
STEPS = range(len(COEFFICIENTS))
LEFT, PITCH, WIDTH, HEIGHT = 96, 190, 138, 48  # the first box, from box to box, and their size
SUB = "₀₁₂₃"


def carries() -> list[int]:
    """0, and the carry after each step."""
    found = [0]
    for a in COEFFICIENTS:
        found.append(found[-1] * X + a)
    return found


def tangents() -> list[int]:
    """The tangent of each carry, where that of x is 1."""
    found = [0]
    for c in carries()[:-1]:
        found.append(found[-1] * X + c)
    return found


def cotangents() -> list[tuple[int, int]]:
    """The cotangents of each carry, and of x as far as they are known there: (c, x)."""
    found = [(1, 0)]
    for c in reversed(carries()[:-1]):
        ct_c, ct_x = found[0]
        found.insert(0, (ct_c * X, ct_x + ct_c * c))
    return found


# ----------------------------------------------------------------------------------------------
# Parts


def middle(i: int) -> float:
    """Where the box of step `i` has its middle."""
    return LEFT + PITCH * i + WIDTH / 2


def gap(i: int) -> tuple[float, float]:
    """Where the arrow that brings the carry to step `i` begins and ends."""
    begin = LEFT + PITCH * (i - 1) + WIDTH
    return (begin if i else begin + 4), LEFT + PITCH * i - (2 if i in STEPS else 6)


def forward_row(d: Drawing, y: int, inputs: bool, show_c: bool, show_t: bool, css: str) -> None:
    """Steps from left to right. `y` is the top of the boxes."""
    c, t = carries(), tangents()

    def value(i):
        x = sum(gap(i)) / 2
        if show_c:
            d.text(x, y + 18, c[i], "number")
        if show_t:
            d.text(x, y + 42, t[i], "number linear")

    def step(i):
        value(i)
        d.arrow(gap(i)[0], y + 24, gap(i)[1], y + 24, css=css)
        if inputs:
            d.text(middle(i), y - 24, f"a{SUB[i]} = {COEFFICIENTS[i]}", "number")
            d.arrow(middle(i), y - 19, middle(i), y - 2)
        d.box(LEFT + PITCH * i, y, WIDTH, HEIGHT, css)
        lines = [(f"{c[i]} · {X} + {COEFFICIENTS[i]}", "number")] * show_c
        if show_t:
            lines.append((f"{t[i]} · {X} + {c[i]} · 1", "number linear"))
        elif css:
            lines.append((f"ċ · {X} + {c[i]} · ẋ", "number linear"))
        for k, (words, how) in enumerate(lines):
            d.text(middle(i), y + (29 if len(lines) == 1 else 20 + 20 * k), words, how)

    for i in STEPS:
        d.part(f"{'linear' if css else 'step'}-{i}", lambda i=i: step(i))
    last = len(STEPS)

    def end():
        value(last)
        d.arrow(gap(last)[0], y + 24, gap(last)[1], y + 24, css=css)

    d.part(f"end-{'linear' if css else 'step'}", end)


def residual_row(d: Drawing, y: int) -> None:
    """The stack, between two rows of boxes: `y` is its top."""
    def residual(i):
        d.arrow(middle(i), y - 30, middle(i), y - 2, css="linear")
        d.box(middle(i) - 30, y, 60, 28, "stack")
        d.text(middle(i), y + 19, carries()[i], "number linear")
        d.arrow(middle(i), y + 28, middle(i), y + 54, css="linear")

    for i in STEPS:
        d.part(f"residual-{i}", lambda i=i: residual(i))


def backward_row(d: Drawing, y: int) -> None:
    """Steps from right to left, which end in the cotangents of the coefficients."""
    cts = cotangents()

    def value(i):
        x = sum(gap(i)) / 2
        d.text(x, y + 18, f"c̄ {cts[i][0]}", "number linear")
        d.text(x, y + 42, f"x̄ {cts[i][1]}", "number linear")

    def step(i):
        ct_c, ct_x = cts[i + 1]
        value(i + 1)
        d.arrow(gap(i + 1)[1], y + 24, gap(i + 1)[0] + 2, y + 24, css="linear")
        d.box(LEFT + PITCH * i, y, WIDTH, HEIGHT, "linear")
        d.text(middle(i), y + 20, f"c̄ = {ct_c} · {X}", "number linear")
        d.text(middle(i), y + 40, f"x̄ = {ct_x} + {carries()[i]} · {ct_c}", "number linear")
        d.arrow(middle(i), y + HEIGHT, middle(i), y + HEIGHT + 20, css="linear")
        d.text(middle(i), y + HEIGHT + 37, f"ā{SUB[i]} = {ct_c}", "number linear")

    for i in reversed(STEPS):
        d.part(f"backward-{i}", lambda i=i: step(i))

    def end():
        value(0)
        d.arrow(gap(0)[1], y + 24, gap(0)[0] + 2, y + 24, css="linear")

    d.part("end-backward", end)


# ----------------------------------------------------------------------------------------------
# The four drawings


def evaluation(d: Drawing) -> tuple[int, str]:
    forward_row(d, 46, True, True, False, "")
    return 104, (f"Three boxes in a row. The carry enters the first as {carries()[0]}. With each "
                 f"coefficient it becomes {_listed(carries()[1:])}.")


def forward(d: Drawing) -> tuple[int, str]:
    forward_row(d, 46, True, True, True, "")
    return 104, (f"The same three boxes. Beside the carry {_listed(carries())} runs its tangent, "
                 f"{_listed(tangents())}.")


def split(d: Drawing) -> tuple[int, str]:
    d.text(6, 16, "now", "", "start")
    forward_row(d, 46, True, True, False, "")
    residual_row(d, 126)
    d.text(6, 145, "residuals", "linear", "start")
    forward_row(d, 182, False, False, False, "linear")
    d.text(6, 250, "later: written down, and not run yet", "linear", "start")
    return 258, ("Above, the loop of the values. Each step drops the carry that it took, "
                 f"{_listed(carries()[:-1])}, into a stack. Below, dashed, the loop of the "
                 "tangents takes one of these numbers in each step.")


def reverse(d: Drawing) -> tuple[int, str]:
    d.text(6, 16, "forwards", "", "start")
    forward_row(d, 46, True, True, False, "")
    residual_row(d, 126)
    d.text(6, 145, "residuals", "linear", "start")
    backward_row(d, 182)
    d.text(6, 267, "backwards", "linear", "start")
    cts = cotangents()
    return 278, ("Below the stack, the steps now run from right to left. The cotangent of the "
                 f"carry is {_listed(c for c, _ in reversed(cts))}. That of x collects "
                 f"{_listed(x for _, x in reversed(cts))}. The steps leave "
                 f"{_listed(c for c, _ in reversed(cts[1:]))} for the coefficients.")


def _listed(numbers) -> str:
    return ", ".join(map(str, numbers))


DRAWINGS: dict[str, Callable[[Drawing], tuple[int, str]]] = {
    "evaluation": evaluation, "forward": forward, "split": split, "reverse": reverse}

def svg(name: str) -> str:
    """One of the drawings."""
    drawing = Drawing(f"ribbon-{name}")
    return drawing.svg(668, *DRAWINGS[name](drawing))
