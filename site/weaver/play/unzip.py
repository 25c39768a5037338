"""The unzip spread: a function, its JVP, the known and the linear half, and the transpose.

The rows are the equations of the JVP's jaxpr, so what belongs together stands side by side.
"""

from __future__ import annotations

import html
import re
from typing import Any

import minijax as jax
from minijax import lax
from minijax.core.jaxpr import Literal
from minijax.core.transposition import UndefinedPrimal, primitive_transposes

from .steps import Explanation, Step, number

X = 3.0
NAMES = ("s", "c", "ṡ", "y", "p", "q", "ẏ")  # of the equations, as in chapter 7's drawing
BAR = "|"  # around the name of a cotangent
HEADS = ("f", "its JVP", "known | linear", "transposed")


def f(x):
    return lax.mul(x, lax.sin(x))


class Spread:
    """The JVP's equations, the values of the known ones, and the cotangents of the others."""

    def __init__(self) -> None:
        closed = jax.make_jaxpr(lambda x, t: jax.jvp(f, (x,), (t,)))(X, 1.0)
        self.eqns = closed.eqns
        x, t = closed.jaxpr.invars
        self.names: dict[Any, str] = {x: "x", t: "ẋ"}
        self.values: dict[Any, Any] = {x: X}
        self.linear: list[int] = []
        for i, eqn in enumerate(self.eqns):
            is_linear = any(v not in self.values for v in eqn.invars if not isinstance(v, Literal))
            self.names[eqn.outvars[0]] = NAMES[i]
            if is_linear:
                self.linear.append(i)
            else:
                operands = [self.value(v) for v in eqn.invars]
                self.values[eqn.outvars[0]] = eqn.primitive.bind(*operands, **eqn.own_params)
        self.cotangents: dict[Any, Any] = {closed.jaxpr.outvars[1]: 1.0}
        self.given: dict[int, list[tuple[Any, Any]]] = {}
        for i in reversed(self.linear):
            self.given[i] = self._transpose(self.eqns[i])
        self.gradient = self.cotangents[t]

    def value(self, v):
        return v.val if isinstance(v, Literal) else self.values[v]

    def _transpose(self, eqn):
        """By the library's rule; the cotangents are added up."""
        operands = [self.value(v) if isinstance(v, Literal) or v in self.values
                    else UndefinedPrimal(v.aval) for v in eqn.invars]
        cts = primitive_transposes[eqn.primitive](
            self.cotangents[eqn.outvars[0]], *operands, **eqn.own_params)
        given = [(v, ct) for v, ct in zip(eqn.invars, cts) if ct is not None]
        for v, ct in given:
            self.cotangents[v] = self.cotangents[v] + ct if v in self.cotangents else ct
        return given

    def text(self, eqn, with_values=False):
        """An equation; known operands of a linear one as numbers."""
        def operand(v):
            known = isinstance(v, Literal) or v in self.values
            return number(self.value(v)) if with_values and known else self.names[v]

        operands = [operand(v) for v in eqn.invars]
        return f"{self.names[eqn.outvars[0]]} = {eqn.primitive} {' '.join(operands)}"

    def owner(self, i: int) -> int:
        """Which operation of f the equation belongs to: the last primal of f before it."""
        of_f = {"sin": 0, "cos": 0}
        return of_f.get(str(self.eqns[i].primitive), self._owner_of_product(i))

    def _owner_of_product(self, i):
        cosines = [e.outvars[0] for e in self.eqns if str(e.primitive) == "cos"]
        return 0 if any(v in cosines for v in self.eqns[i].invars) else 1


def explanation() -> Explanation:
    """Steps 0 to 2 are the first columns, then one for each transposed equation, from below."""
    spread = Spread()
    known = [i for i in range(len(spread.eqns)) if i not in spread.linear]
    steps = [
        Step("f has two operations: a sine and a product.", "f"),
        Step("Each became its JVP rule: the value, and the equations of its tangent. Lines of one "
             "colour come from one operation.", "JVP"),
        Step(f"At x = 3 the lines without a tangent are known: {len(known)} numbers are computed. "
             f"The other {len(spread.linear)} lines are linear in ẋ. What they need of the known "
             "half, the residuals, stands in them as numbers.", "unzip")]
    for k, i in enumerate(reversed(spread.linear)):
        given = " and ".join(f"{number(ct)} for {spread.names[v]}" for v, ct in spread.given[i])
        steps.append(Step(f"From the last line to the first: the transpose of "
                          f"{spread.text(spread.eqns[i], True)} gives {given}.",
                          "transpose" * (k == 0)))
    steps.append(Step(f"Two cotangents have arrived at ẋ. Their sum is the gradient, "
                      f"{number(spread.gradient)}."))
    return Explanation("The unzip spread of x · sin x", _table(spread), steps)


def _table(spread: Spread) -> str:
    back = {i: 3 + k for k, i in enumerate(reversed(spread.linear))}
    heads = "".join(f'<th scope="col">{head}</th>' for head in HEADS)
    rows = "".join(_row(spread, i, back) for i in range(len(spread.eqns)))
    last = 3 + len(spread.linear)
    total = f"<strong>grad f(3) = {number(spread.gradient)}</strong>"
    return (f'<table class="pl-spread"><thead><tr>{heads}</tr></thead><tbody>{rows}'
            f'<tr><td></td><td></td><td></td><td data-show="{last}" data-lit="{last}">{total}</td>'
            "</tr></tbody></table>")


def _row(spread, i, back):
    eqn, owner = spread.eqns[i], f"pl-of{spread.owner(i) + 1}"
    is_linear = i in back
    in_f = not is_linear and str(eqn.primitive) != "cos"
    texts = [spread.text(eqn) if in_f else "", spread.text(eqn)]
    if is_linear:
        texts.append(spread.text(eqn, True))
        texts.append("; ".join(f"{BAR}{spread.names[v]}{BAR} {_plus(spread, i, v)} {number(ct)}"
                               for v, ct in spread.given[i]))
    else:
        texts += [f"{spread.text(eqn)} = {number(spread.values[eqn.outvars[0]])}", ""]
    shows = ["0", "1", "2", str(back.get(i, ""))]
    kinds = [owner, owner, "pl-linear" if is_linear else "pl-known", "pl-transposed"]
    return "<tr>" + "".join(
        f'<td class="{kind}" data-show="{show}-" data-lit="{show}"><code>{_drawn(text)}</code>'
        "</td>" if text else "<td></td>" for text, show, kind in zip(texts, shows, kinds)) + "</tr>"


def _drawn(text):
    """As HTML; what stands between two marks has a line above it."""
    return re.sub(r"\|(.+?)\|", r'<span class="pl-bar">\1</span>', html.escape(text))


def _plus(spread, i, v):
    """`=` for the first cotangent of a variable, and `+=` for a later one."""
    earlier = [w for j in spread.linear if j > i for w, _ in spread.given[j]]
    return "+=" if v in earlier else "="
