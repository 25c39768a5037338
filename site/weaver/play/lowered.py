"""A jaxpr, and the lines of StableHLO that each of its equations became."""

from __future__ import annotations

import html

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax.core.jaxpr import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from .. import WeaveError
from .steps import Explanation, Step

ARGUMENTS = np.ones(3, np.float32), np.ones(3, np.float32)


def f(w, x):
    return jnp.sum(jnp.sin(w * x)) * 2


def lines_of(closed: ClosedJaxpr) -> list[str]:
    """The lines inside the main function of the StableHLO module."""
    text = jax.jit(jaxpr_as_fun(closed)).lower(*ARGUMENTS).as_text()
    body = text[text.index("func.func public @main") :].splitlines()
    return [line.strip() for line in body[1 : body.index("  }")]]


def matched() -> tuple[list[str], list[str], list[int]]:
    """The equations, the lines, and for each line the number of its equation (from 1), or 0.

    The program of the first k equations has the lines of the first k - 1, and some more: these are
    those of equation k.
    """
    closed = jax.make_jaxpr(f)(*ARGUMENTS)
    whole = lines_of(closed)
    owners = [0] * len(whole)
    for k, eqn in enumerate(closed.eqns, start=1):
        part = Jaxpr(closed.jaxpr.constvars, closed.jaxpr.invars, eqn.outvars, closed.eqns[:k])
        for line in lines_of(ClosedJaxpr(part, closed.consts)):
            if line.startswith("return"):
                continue
            if line not in whole:
                raise WeaveError("play lowering", f"line {line!r} is not in the whole program")
            owners[whole.index(line)] = owners[whole.index(line)] or k
    equations = [line.strip() for line in str(closed).splitlines()[1:-1]]
    return equations, whole, owners


def explanation() -> Explanation:
    """One step for each equation."""
    equations, lines, owners = matched()
    steps = [Step("On the left the jaxpr of sum(sin(w · x)) · 2, on the right the body of the "
                  "program that XLA is given. Choose an equation.")]
    for k, equation in enumerate(equations, start=1):
        mine = [line for line, owner in zip(lines, owners) if owner == k]
        count = "one line" if len(mine) == 1 else f"{len(mine)} lines"
        steps.append(Step(f"{equation} became {count}."))
    left = "".join(
        f'<li><button type="button" class="pl-go pl-of{k % 4}" data-go="{k}" data-lit="{k}"><code>'
        f"{html.escape(text)}</code></button></li>" for k, text in enumerate(equations, start=1))
    right = "".join(
        f'<li class="pl-of{owner % 4 if owner else "none"}" data-lit="{owner or ""}"><code>'
        f"{html.escape(line)}</code></li>" for line, owner in zip(lines, owners))
    picture = ('<div class="pl-sides-by-side">'
               f'<div><p class="pl-small">jaxpr</p><ol>{left}</ol></div>'
               f'<div><p class="pl-small">StableHLO</p><ol>{right}</ol></div></div>')
    return Explanation("From equations to StableHLO", picture, steps)
