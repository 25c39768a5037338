"""Laws between minijax's own transformations, checked on random programs without JAX.

A law is the end of a program: lines that compute `left` and `right`, which must be equal. Programs
run in double precision, so that what differs is more than rounding.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.fuzz.compare import Mismatch, attempt, compare_values, library, namespace
from tests.fuzz.generate import Program

TOLERANCE = 1e-6

# What a law needs besides the prelude.
HELPERS = '''\
def dot(a, b):
    pairs = zip(jax.tree_util.tree_leaves(a), jax.tree_util.tree_leaves(b))
    return sum((jnp.sum(jnp.real(x * y)) for x, y in pairs
                if x.dtype != jax.dtypes.float0 and y.dtype != jax.dtypes.float0), 0.0)


def stacked(args):
    def twice(x):
        other = ~x if x.dtype == bool else x * 0.75 if inexact(x) else x + 1
        return jnp.stack([x, other])
    return tuple(twice(x) for x in args)


def looped(f, args):
    results = [f(*[x[i] for x in args]) for i in range(2)]
    return jax.tree_util.tree_map(lambda *xs: jnp.stack(xs), *results)


def moved(args, h):
    return tuple(x + h * (x * 0.5 + 1) if inexact(x) else x for x in args)


def differences(f, args):
    def quotient(low, high, h):
        def slope(a, b):
            return (b - a) / h if inexact(a) else np.zeros(a.shape, jax.dtypes.float0)
        return jax.tree_util.tree_map(slope, low, high)
    at = {h: f(*moved(args, h)) for h in (-1e-4, -1e-5, 0.0, 1e-5, 1e-4)}
    return (quotient(at[-1e-5], at[1e-5], 2e-5), quotient(at[-1e-5], at[0.0], 1e-5),
            quotient(at[0.0], at[1e-5], 1e-5), quotient(at[-1e-4], at[1e-4], 2e-4))
'''

LAWS = {
    "jit = eager": "left = jax.jit(f)(*args)\nright = f(*args)",
    "jit of the derivative": "left = jax.jit(lambda *a: pullback(f, *a))(*args)\nright = pullback(f, *args)",
    "vmap = loop": "xs = stacked(args)\nleft = jax.vmap(f)(*xs)\nright = looped(f, xs)",
    "vmap of the derivative":
        "g = lambda *a: linearized(f, *a)\nxs = stacked(args)\n"
        "left = total(jax.vmap(g)(*xs))\nright = total(looped(g, xs))",
    "scan = loop":
        "xs = stacked(args)\nleft = lax.scan(lambda c, x: (c, f(*x)), 0, xs)[1]\nright = looped(f, xs)",
    "adjoint":
        "v = tangents(args)\nout, Jv = jax.jvp(f, args, v)\nw = tangents(out)\n"
        "left = float(dot(Jv, w))\nright = float(dot(v, jax.vjp(f, *args)[1](w)))",
    "linearize = jvp": "left = linearized(f, *args)\nright = jax.jvp(f, args, tangents(args))",
    "checkpoint = identity":
        "left = pullback(jax.checkpoint(f), *args)\nright = pullback(f, *args)",
    "second derivatives":
        "v = tangents(args)\ng = lambda *a: pullback(f, *a)\nh = lambda *a: jax.jvp(f, a, v)\n"
        "left = float(total(jax.jvp(lambda *a: dot(jax.jvp(f, a, v)[1], tangents(f(*args))), args, v)[1]))\n"
        "right = float(total(jax.jvp(lambda *a: dot(v, jax.vjp(f, *a)[1](tangents(f(*args)))), args, v)[1]))",
    "jvp = differences":
        "left = jax.jvp(f, args, tangents(args))[1]\nright = differences(f, args)",
}  # fmt: skip
ONLY_SMOOTH = ("custom_", "stop_gradient", "random", "float16", "int8", "complex", "1j", "fft",
               "floor", "round", "trunc", "ceil", "rint", "//", "%", "while_loop", "key", "clamp",
               "reduce_precision", "sparse.")  # fmt: skip


def law_of(program: Program) -> tuple[str, str] | None:
    """A law's name, and the program that computes both sides."""
    pick = random.Random(f"law {program.seed}")
    name = pick.choice(list(LAWS))
    if name in ("jvp = differences", "adjoint", "second derivatives") and "custom_vjp" in program.text:
        return None  # what the user declares need be no derivative
    if name in ("jvp = differences", "second derivatives") and any(
            word in program.text for word in ONLY_SMOOTH):
        return None
    names = [line.split(" = ")[0] for line in program.inputs]
    body = program.text.split("\n")
    start = next(i for i, line in enumerate(body) if line.startswith("def f("))
    end = next((i for i, line in enumerate(body) if i > start and not line.startswith("    ")), len(body))
    head = "\n".join(body[:end])
    return name, f"{head}\nargs = ({', '.join(names)},)\n{LAWS[name]}\n"


def check_law(name: str, text: str) -> Mismatch | None:
    """Compare a law's two sides, as minijax computes them."""
    space = namespace("minijax")
    exec(HELPERS, space)
    outcome = attempt("minijax", text, space, "left", True)
    left, right = space.get("left"), space.get("right")
    if isinstance(outcome, Exception) or left is None:
        lines = text.split("\n")
        start = next((i for i, line in enumerate(lines) if line.startswith("args = ")), None)
        if start is None:
            return None  # a program that has been shrunk too far
        plain = "\n".join([*lines[: start + 1], "left = f(*args)"])
        eager = attempt("minijax", plain, namespace("minijax"), "left", True)
        return None if isinstance(eager, Exception) else refusal(name, outcome)
    if name == "jvp = differences":
        return _compare_slopes(left, right)
    mismatch = compare_values(left, right, TOLERANCE)
    return None if mismatch is not None and mismatch.kind == "weak type" else mismatch  # JAX's differ, too


# Errors that a transformation may raise for a program that runs without it. JAX also divides by
# zero in the transpose of an inverse real FFT with an empty result.
LAWFUL = ("ZeroDivisionError", "ConcretizationTypeError", "TracerBoolConversionError", "TracerArrayConversionError",
          "TracerIntegerConversionError", "NonConcreteBooleanIndexError", "UnexpectedTracerError",
          "NotImplementedError", "TypeError", "ValueError", "CustomVJPException")  # fmt: skip


def refusal(name: str, error: Any) -> Mismatch | None:
    """A transformed program may be refused, in ways that JAX knows as well."""
    if type(error).__name__ in LAWFUL:
        return None
    return Mismatch("error", f"{type(error).__name__}: {name}: {error}", "no error")


def _compare_slopes(left: Any, right: Any) -> Mismatch | None:
    """A derivative against differences, where these agree among each other."""
    leaves = library("minijax").tree_util.tree_leaves
    for jvp, *slopes in zip(leaves(left), *(leaves(r) for r in right), strict=True):
        if "float0" in str(jvp.dtype):
            continue
        value = np.asarray(jvp).astype(complex)
        central, below, above, coarse = (np.asarray(s).astype(complex) for s in slopes)
        scale = 1 + np.abs(central)
        with np.errstate(all="ignore"):
            smooth = ((np.abs(below - above) < 1e-3 * scale) & (np.abs(central - coarse) < 1e-4 * scale)
                      & np.isfinite(central))
            wrong = smooth & ~(np.abs(value - central) < 1e-2 * scale)
        if np.any(wrong):
            return Mismatch("derivative", repr(value), repr(central))
    return None
