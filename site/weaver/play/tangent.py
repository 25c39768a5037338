"""The tangent arrow along x · sin x: the point can be moved, and so can its tangent."""

from __future__ import annotations

import numpy as np

import minijax as jax
import minijax.numpy as jnp

from .steps import Explanation, Picture, number

X = np.arange(0, 7.001, 0.05, dtype=np.float32)
START, TANGENT = 3.0, 1.0
SCALE, UP = 68, 25  # pixels a unit, across and upwards
LOWEST, HIGHEST, LAST = -6, 7, 9
LEFT = 40
HEAD = ('<defs><marker id="pl-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" '
        'markerHeight="5" orient="auto"><path class="pl-tip" d="M0 0 8 4 0 8z"/></marker></defs>')


def f(x):
    return x * jnp.sin(x)


def place(x: float, y: float) -> tuple[float, float]:
    """Where a point of the plane is in the picture."""
    return LEFT + SCALE * float(x), (HIGHEST - float(y)) * UP


def explanation() -> Explanation:
    """The values and derivatives come from one `jvp` of the function of all points."""
    values, slopes = jax.jvp(f, (X,), (np.ones_like(X),))
    start = int(np.argmin(abs(X - START)))
    picture = Picture(LEFT + SCALE * LAST + 6, (HIGHEST - LOWEST) * UP,
                      f"The curve of x sin x from 0 to 7. At x = 3, where the curve is at "
                      f"{number(values[start])}, an arrow shows the tangent: one to the right, and "
                      f"{number(slopes[start])} upwards.")
    _axes(picture)
    picture.path("M" + "L".join("{:.1f} {:.1f}".format(*place(x, y)) for x, y in zip(X, values)),
                 "pl-curve")
    (x, y), (z, w) = place(X[start], values[start]), place(
        X[start] + TANGENT, values[start] + TANGENT * slopes[start])
    picture.path(f"M{x:.1f} {y:.1f}H{z:.1f}V{w:.1f}", "pl-sides")
    picture.parts.append(HEAD)
    picture.path(f"M{x:.1f} {y:.1f}L{z:.1f} {w:.1f}", "pl-line", marker_end="url(#pl-head)")
    picture.add("circle", "pl-point", cx=x, cy=y, r=7)
    data = {"x": [round(float(x), 4) for x in X],
            "y": [round(float(y), 5) for y in np.asarray(values)],
            "slope": [round(float(d), 5) for d in np.asarray(slopes)], "at": start,
            "left": LEFT, "scale": SCALE, "up": UP, "highest": HIGHEST}
    controls = (
        '<div class="pl-controls"><label>x <input type="range" class="pl-x" min="0" '
        f'max="{len(X) - 1}" value="{start}" aria-label="the point x"></label>'
        '<label>tangent <input type="range" class="pl-t" min="-4" max="4" value="2" '
        'aria-label="the tangent of x"></label></div>'
        f'<p class="pl-say" aria-live="polite">jvp(f, ({X[start]:.2f},), ({TANGENT:.1f},)) gives '
        f"the value {number(values[start])} and the tangent {number(slopes[start])}.</p>")
    return Explanation("The tangent arrow along x · sin x", picture.svg(), [], data, controls)


def _axes(picture: Picture) -> None:
    """The lines at 0, and a number at every second unit."""
    (left, zero), (right, _) = place(0, 0), place(LAST, 0)
    picture.path(f"M{left} {zero}H{right}M{left} 0V{picture.height}", "pl-axis")
    for n in range(2, LAST, 2):
        picture.text(place(n, 0)[0], zero + 16, n, "pl-tick", text_anchor="middle")
    for n in (*range(-4, 0, 2), *range(2, HIGHEST, 2)):
        picture.text(left - 8, place(0, n)[1] + 4, number(n), "pl-tick", text_anchor="end")
