"""The scan ribbon: chapter 9's four drawings, one after another, step by step."""

from __future__ import annotations

import re

import minijax as jax
from minijax.core.staging import jvp_jaxpr

from .. import ribbon
from .steps import Explanation, Picture, Step

MARKS = {"evaluation": "evaluate", "forward": "jvp", "split": "split", "reverse": "transpose"}


AGAIN = {"split": ("step",), "reverse": ("step", "residual")}  # parts that were shown before


def explanation() -> Explanation:
    """Each new part of a drawing is a step; the last drawing is the picture without scripts."""
    steps: list[Step] = []
    pictures = []
    for name, mark in MARKS.items():
        if name == "split":
            pictures.append(_fixpoint(steps))
        first = len(steps)
        svg = ribbon.svg(name)
        said = sentences(name)
        if name in AGAIN:
            steps.append(Step(said["again"], mark))
        for part in re.findall(rf'id="ribbon-{name}-([a-z]+-\w+)"', svg):
            kind = part.split("-")[0]
            again = kind in AGAIN.get(name, ())
            if not again and kind != "end":
                steps.append(Step(said[part], mark * (len(steps) == first)))
            at = first if again else len(steps) - 1
            svg = svg.replace(f'id="ribbon-{name}-{part}"', f'data-show="{at}-" data-lit="{at}"')
        svg = svg.replace(f"ribbon-{name}", f"play-ribbon-{name}")
        last = "" if name == "reverse" else len(steps) - 1
        then = "" if name == "reverse" else " pl-then"
        pictures.append(f'<div class="pl-scene{then}" data-show="{first}-{last}">{svg}</div>')
    return Explanation("The scan ribbon, step by step", "".join(pictures), steps)


def rounds() -> list[tuple[bool, bool]]:
    """Whether the carry has a tangent before and after each round, as the library finds out.

    x has a tangent, and the coefficients have none.
    """
    step = jax.make_jaxpr(lambda carry, x, a: carry * x + a)(0.0, 1.0, 1.0)
    found, before = [], False
    while True:
        _, (after,) = jvp_jaxpr(step, (before, True, False), (False,))
        found.append((before, after))
        if after == before:
            return found
        before = after


def _fixpoint(steps: list[Step]) -> str:
    """The question which carries have a tangent, as a scene; adds its steps."""
    first, found = len(steps), rounds()
    picture = Picture(668, 30 + 62 * len(found), "Two rounds. In the first, x has a tangent, and "
                      "the carry gets one. In the second, both have one, and nothing changes.")
    for k, (before, after) in enumerate(found):
        y, show = 20 + 62 * k, f"{first + k}-"
        picture.text(6, y + 25, f"round {k + 1}", "pl-name", show=show, lit=str(first + k))
        for x, words, has in ((96, "carry", before), (214, "x", True), (332, "a", False),
                              (560, "carry", after)):
            _chip(picture, x, y, words, has, show)
        picture.path(f"M446 {y + 20}h96m-8 -5l8 5l-8 5", "pl-flow", show=show)
        picture.text(472, y + 12, "one step", "pl-small", show=show)
        said = ("The carry starts as a number without a tangent, but x has one. After one step the "
                "carry has one, too. So the next round begins with it.") if after != before else (
            "With a tangent in the carry, the step changes nothing more. The loop's JVP carries "
            "both.")
        steps.append(Step(said, "fixpoint" * (k == 0)))
    last = len(steps) - 1
    return f'<div class="pl-scene pl-then" data-show="{first}-{last}">{picture.svg()}</div>'


def _chip(picture: Picture, x: int, y: int, words: str, has: bool, show: str) -> None:
    """A value, with a frame in the tangents' colour if it has one."""
    picture.rect(x, y, 100, 40, "pl-cell pl-moves" if has else "pl-cell", show=show)
    picture.text(x + 50, y + 17, words, "pl-number", text_anchor="middle", show=show)
    picture.text(x + 50, y + 33, "has a tangent" if has else "no tangent", "pl-small",
                 text_anchor="middle", show=show)


def sentences(name: str) -> dict[str, str]:
    """What to say when a part appears, by the part's name."""
    c, t, cts = ribbon.carries(), ribbon.tangents(), ribbon.cotangents()
    x, a = ribbon.X, ribbon.COEFFICIENTS
    said = {"again": "The loop of the values again." if name == "split" else
            "The values and the residuals, as before. Now the linear loop is transposed: its steps "
            "run from the last to the first."}
    for i in ribbon.STEPS:
        here = f"Step {i + 1}: the carry {c[i]} becomes {c[i]} · {x} + {a[i]} = {c[i + 1]}."
        if name == "forward":
            here = (f"Step {i + 1}: beside the carry {c[i + 1]} there is its tangent, "
                    f"{t[i]} · {x} + {c[i]} · 1 = {t[i + 1]}.")
        said[f"step-{i}"] = here
        said[f"residual-{i}"] = f"Step {i + 1} drops the carry that it took, {c[i]}: a residual."
        said[f"linear-{i}"] = (f"Step {i + 1} of the linear loop multiplies by {x}, and adds "
                               f"{c[i]} times the tangent of x. It is written down, and not run.")
        said[f"backward-{i}"] = (
            f"Backwards through step {i + 1}: the carry's cotangent {cts[i + 1][0]} becomes "
            f"{cts[i + 1][0]} · {x} = {cts[i][0]}, and that of x becomes {cts[i + 1][1]} + "
            f"{c[i]} · {cts[i + 1][0]} = {cts[i][1]}.")
    return said
