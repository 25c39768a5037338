"""`python -m tests.edges.derivatives`: first and second derivatives at edges, against mathematics.

Each function of `functions.py` is differentiated at 0, at tiny and at large numbers, near its poles and
branch points. mpmath computes the right values, with at least 150 digits. What both libraries give is
summed up in `tools/edge_derivatives.json`, which the rule atlas prints. References and answers are kept in
`build/edges`: remove that folder to begin afresh, which takes an hour.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

from tests.edges.functions import ROWS, Row
from tools.edge_derivatives import DTYPES, STORED

KEPT = Path("build/edges")
NEGLIGIBLE = mp.mpf(10) ** -330  # zero in each dtype
SECONDS = 2.0  # how long mpmath may think about one derivative
SLOW = re.compile("exp1|expi|expn|hyp[12]f1")  # JAX's eager loops take hours
Point, Order = tuple[float, ...], tuple[int, ...]


class TooSlow(Exception):
    """mpmath has taken too long."""


# ----------------------------------------------------------------------------------------------
# What is right


def differences(f: Callable, point: list, order: Order, scale: int) -> tuple:
    """A central difference quotient, and the two one-sided ones: they disagree where f has a kink."""
    steps = [(min(abs(x), 1) if x else mp.mpf("1e-3")) * mp.mpf(10) ** -scale for x in point]
    which = [i for i, n in enumerate(order) for _ in range(n)]

    def at(*moves: int):
        moved = list(point)
        for i, move in zip(which, moves):
            moved[i] += move * steps[i]
        value = mp.mpmathify(f(*moved))
        if isinstance(value, mp.mpc):
            if value.imag:
                raise ValueError("no real value")
            value = value.real
        if not mp.isfinite(value):
            raise ValueError("no finite value")
        return value

    unit = mp.fprod(steps[i] for i in which)
    if len(which) == 1:
        up, here, down = at(1), at(0), at(-1)
        return (up - down) / 2 / unit, (up - here) / unit, (here - down) / unit
    up, down = ((at(s, s) - at(s, 0) - at(0, s) + at(0, 0)) / unit for s in (1, -1))
    return (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / 4 / unit, up, down


def derivative(f: Callable, point: Point, order: Order):
    """The derivative at a point, or `None` where there is none, or no finite one."""
    sizes = [abs(mp.log10(abs(x))) for x in point if x]
    digits, before = 150 + 2 * int(max(sizes, default=0)), None
    for k in range(3):
        with mp.workdps(digits * 2**k):
            central, up, down = differences(f, [mp.mpf(x) for x in point], order, 30 + k)
            gap, size = abs(up - down), max(abs(up), abs(down))
            if before is not None:
                if gap > 1e-8 * size and gap > before[1] / 2 and size > NEGLIGIBLE and gap > 1e-15 * max(1, abs(central)):
                    return None  # the step was a tenth, and the gap stays
                if abs(central - before[0]) <= 1e-15 * abs(central) or size < NEGLIGIBLE:
                    return central
                if 0 in point and abs(central) < abs(before[0]) / 50 and abs(before[0]) < 1e-45:
                    return mp.mpf(0)
            before = central, gap
    return None


def orders(arguments: int) -> list[Order]:
    """The function itself, each first and each second derivative."""
    firsts = [tuple(int(i == j) for j in range(arguments)) for i in range(arguments)]
    return [(0,) * arguments, *firsts, *(tuple(np.add(firsts[i], firsts[j]).tolist())
                                         for i in range(arguments) for j in range(i, arguments))]


def right_values(row: Row, dtype: str) -> list[tuple[Point, Order, str]]:
    """All derivatives that exist at the points of a row, with 25 digits."""

    def stop(*args):
        raise TooSlow

    found, slow = [], 0
    signal.signal(signal.SIGALRM, stop)
    for point in row.points(dtype):
        for order in orders(len(point))[1:] if slow < 25 else ():
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                value = derivative(row.exact, point, order)
            except TooSlow:
                value, slow = None, slow + 1
            except Exception:  # outside of the function's domain, or of what mpmath can do
                value = None
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if value is not None:
                found.append((point, order, mp.nstr(value, 25)))
    return found


# ----------------------------------------------------------------------------------------------
# What the libraries give


def answers(jx: Any, program: str, row: Row, dtype: str, points: list[Point], order: Order) -> list[float]:
    """A derivative of a program at all points at once: eagerly, in reverse mode."""
    names = {"jnp": jx.numpy, "lax": jx.lax, "nn": jx.nn, "special": jx.scipy.special}
    f = eval(f"lambda {', '.join(row.arguments)}: {program}", names)
    for i in [i for i, n in enumerate(order) for _ in range(n)]:
        f = jx.grad(lambda *xs, f=f: f(*xs).sum(), i)
    size = 1 << max(6, (len(points) - 1).bit_length())  # few shapes, which are compiled once each
    padded = np.array(points + points[:1] * (size - len(points)), dtype)
    with jx.enable_x64(dtype == "float64"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = np.broadcast_to(np.asarray(f(*map(jx.numpy.asarray, padded.T))), size)
        except Exception:
            return []  # refused
    return [float(x) for x in out[: len(points)]]


def kept(key: tuple, make: Callable[[], Any]) -> Any:
    """What `make` returns, from the folder where it is kept."""
    path = KEPT / f"{hashlib.sha1(repr(key).encode()).hexdigest()[:20]}.json"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


# ----------------------------------------------------------------------------------------------
# How far they are apart


def kind(got: float, right: float, value: float, point: Point, order: Order, dtype: str) -> str:
    """"right", or how a derivative is not: "wrong", "digits" or "range".

    "digits": it is within the rounding errors of the terms that its formula adds. "range": the square
    of an argument, or of the derivative, is no number of the dtype.
    """
    info = np.finfo(dtype)
    if not right:
        good = abs(got) <= 1e-6
    elif abs(right) < info.tiny * 1.01:
        good = abs(got) <= 4 * float(info.tiny)
    else:
        good = np.isfinite(got) and abs(got - right) <= 0.5 * abs(right)
    if good:
        return "right"
    largest = float(np.sqrt(info.max))
    if any(not 1 / largest < abs(x) < largest for x in (*point, right) if x):
        return "range"
    scale = max(1, abs(value), abs(right))
    for x, n in zip(point, order):
        scale *= max(1, 1 / abs(x)) ** n if x else 1
    return "digits" if abs(got - right) <= 1e3 * float(info.eps) * scale else "wrong"


def judged(row: Row, dtype: str, library: str, program: str, jx: Any, values: list) -> Iterator[tuple]:
    """(kind, relative error, point, order, right value) of each derivative of a program."""
    points = sorted({tuple(point) for point, _, _ in values})
    found = {order: dict(zip(points, kept((library, program, dtype, points, order), lambda: answers(
        jx, program, row, dtype, points, order)))) for order in orders(len(row.arguments))}
    info, here = np.finfo(dtype), found[(0,) * len(row.arguments)]
    with mp.workdps(60):
        for point, order, digits in values:
            point, order, right = tuple(point), tuple(order), mp.mpf(digits)
            if point not in found[order] or abs(right) > float(info.max) * 0.999:
                continue
            value = mp.re(row.exact(*map(mp.mpf, point)))
            is_finite = abs(value) < float(info.max) * 0.999
            if is_finite and not abs(here[point] - value) <= 1e-3 * abs(value) + 1e-3:
                continue  # that the function itself is wrong here is another matter
            got, right = found[order][point], float(right)
            error = abs(got - right) / abs(right) if right else 0.0
            is_small = abs(right) < info.tiny
            yield (kind(got, right, float(value), point, order, dtype), 0.0 if is_small else error,
                   point, order, right)


def summary(results: list[tuple]) -> dict[str, Any]:
    """How many derivatives are of each kind, and the worst error of those that are right."""
    counts = {name: sum(x[0] == name for x in results) for name in ("wrong", "digits", "range")}
    right = [x for x in results if x[0] == "right"]
    worst = max(right, key=lambda x: x[1], default=None)
    first = next((x for name in counts for x in results if x[0] == name), None)
    return {**counts, "worst": worst and list(worst[1:]), "first": first and list(first[2:])}


def table(only: str, libraries: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of what is stored: one for each function and dtype."""
    for row in ROWS:
        if not any(re.search(only, program) for program in row.programs):
            continue
        for dtype in DTYPES:
            values = kept(("right", row.programs[0], dtype), lambda: right_values(row, dtype))
            results = {}
            for library, jx in libraries.items():
                if library == "ours" or not SLOW.search(row.programs[0]):
                    results[library] = [(program, *x) for program in row.programs
                                        for x in judged(row, dtype, library, program, jx, values)]
            ours, theirs = results["ours"], results.get("jax", [])
            wrong = {(x[0], *x[3:5]) for x in theirs if x[1] == "wrong"}
            mended = [[x[0], *x[3:]] for x in ours if x[1] == "right" and (x[0], *x[3:5]) in wrong]
            yield {"functions": row.programs, "dtype": dtype, "points": len(ours),
                   "ours": summary([x[1:] for x in ours]),
                   "jax": summary([x[1:] for x in theirs]) if theirs else None, "mended": mended}
            print(dtype, row.programs[0], flush=True)


def main() -> None:
    """Make the table, and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression that finds programs: print their rows")
    options = parser.parse_args()
    os.environ["MINIJAX_ORACLE"] = "live"
    from tests.oracle import jax, subject

    rows = list(table(options.only, {"ours": subject, "jax": jax}))
    if options.only:
        print(*rows, sep="\n")
    else:
        STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
