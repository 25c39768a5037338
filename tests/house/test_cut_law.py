"""A program that needs only a chapter's vocabulary gives the same in the library cut at that chapter
as in the whole: the same types, the same jaxpr, and the same numbers. From chapter 9 on they are the
same to the last bit. That chapter gives a few of the first primitives a better NumPy rule. Before
chapter 10 the whole is asked without direct linearization, which that chapter brings.

Random programs apply the operations and transformations of the first chapters to a vector. Each of
them runs in two processes, one for each library.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tools import cut

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = 40  # for each chapter
EXACT = 9  # the chapter from which on no bit may differ
DIRECT = 10  # the chapter from which on `linearize` makes jaxprs in one pass

# chapter -> expressions of the vectors {a} and {b} that it adds; `f` and `g` are earlier functions.
OPERATIONS = {
    1: ["lax.sin({a})", "lax.cos({a})", "lax.tanh({a})", "lax.exp(-({a} * {a}))", "{a} * {b}", "-{a}",
        "{a} + {b}", "{a} - 0.5", "{a} / ({b} * {b} + 1.5)", "{a} ** 3", "2 * {a}",
        "({a} < {b}) * {b} + ({a} >= {b}) * {a}", "lax.log({a} * {a} + 1)", "lax.convert({a}, np.dtype('int32')) * {b}",
        "lax.dot_general(W, {a}, (((1,), (0,)), ((), ())))",
        "lax.reshape(lax.transpose(lax.reshape({a}, (3, 1)), (1, 0)), (3,))",
        "{b} * lax.broadcast_in_dim(lax.reduce_sum({a}, (0,)), (3,), ())"],
    3: ["mj.jvp(g, ({a},), ({b},))[1]"],
    4: ["lax.reduce_sum(mj.vmap(g)(lax.broadcast_in_dim({a}, (2, 3), (1,))), (0,))"],
    6: ["mj.jit(g)({a})"],
    7: ["mj.linearize(g, {a})[1]({b})"],
    8: ["mj.vjp(g, {a})[1]({b})[0]", "mj.grad(lambda v: lax.reduce_sum(g(v), (0,)))({a})"],
    9: ["lax.max({a}, {b})", "lax.select({a} < {b}, {b}, {a})", "{b} - lax.broadcast_in_dim(lax.reduce_max({a}, (0,)), (3,), ())",
        "lax.scan(lambda c, _: (g(c) * 0.5, c), {a}, None, length=3)[0]", "lax.cumsum({a}, axis=0)",
        "lax.reduce_sum(lax.scan(lambda c, s: (c + s, g(c)), {b}, W)[1], (0,))", "lax.fori_loop(0, 2, lambda i, c: g(c) + i, {a})",
        "lax.cond(lax.reduce_sum({a}, (0,)) > 0, g, lambda v: v, {b})", "lax.log1p({a} * {a})", "lax.rev({a}, (0,))",
        "lax.switch(1, [lambda v: v, g], {a})", "lax.concatenate([lax.slice({a}, (0,), (1,)), lax.slice({b}, (1,), (3,))], 0)", "lax.sqrt({a} * {a} + 1)",
        "lax.while_loop(lambda c: lax.reduce_sum(c, (0,)) < 4, lambda c: c + 1.0, {a})"],
    10: ["mj.checkpoint(g)({a})", "ruled(g)({a})"],
}  # fmt: skip
# chapter -> transformations of a function from vectors to vectors.
TRANSFORMATIONS = {
    3: ["lambda x: mj.jvp({f}, (x,), (T,))[1]"],
    4: ["lambda x: lax.reduce_sum(mj.vmap({f})(lax.broadcast_in_dim(x, (2, 3), (1,)) * S), (0,))"],
    6: ["mj.jit({f})"],
    7: ["lambda x: mj.linearize({f}, x)[1](T)"],
    8: ["lambda x: mj.vjp({f}, x)[1](T)[0]", "mj.grad(lambda x: lax.reduce_sum({f}(x), (0,)))"],
    9: ["lambda x: lax.reduce_sum(mj.jacfwd({f})(x), (0,))", "lambda x: lax.reduce_sum(mj.jacrev({f})(x), (0,))"],
    10: ["mj.checkpoint({f})"],
}  # fmt: skip

# What runs the programs: from JSON to JSON, on the standard streams.
RUNNER = '''
import importlib, json, sys, warnings
import numpy as np
import minijax as mj
from minijax.core import operators, primitives

warnings.simplefilter("ignore")
chapter, programs = json.load(sys.stdin)


def ruled(f):
    g = mj.custom_jvp(f)
    g.defjvp(lambda p, t: mj.jvp(f, p, t))
    return g


def outcome(text):
    space = {
        "mj": mj, "lax": mj.lax if chapter >= 9 else primitives, "ruled": ruled,
        "W": np.array([[0.5, -0.2, 0.1], [1.0, 0.3, -0.7], [-0.4, 0.8, 0.6]], np.float32),
        "T": np.array([1.0, -0.5, 0.25], np.float32), "S": np.array([[1.0, 2, 3], [-1, 0.5, 2]], np.float32)}
    x = primitives.ensure_array(np.array([0.3, -1.2, 2.0], np.float32))
    try:
        exec(text, space)
        out = space["f"](x)
        shown = str(mj.make_jaxpr(space["f"])(x)) if chapter >= 5 else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return [np.asarray(out).tobytes().hex(), [str(out.aval), out.aval.weak_type, shown]]


json.dump([mj.__file__, [outcome(text) for text in programs]], sys.stdout)
'''


def program(chapter: int, pick: random.Random) -> str:
    """A function `f` of a vector, in the vocabulary of chapters 1 to `chapter`."""
    def vocabulary(table: dict[int, list[str]]) -> list[str]:
        older = [row for n, rows in table.items() if n < chapter for row in rows]
        return older + table.get(chapter, []) * (1 + len(older) // 4)  # the chapter's own, often

    def body(params: list[str], operations: list[str], size: int) -> list[str]:
        lines, names = [], list(params)
        for i in range(size):
            expression = pick.choice(operations).format(a=pick.choice(names), b=pick.choice(names))
            lines.append(f"    y{i} = {expression}")
            names += [f"y{i}"] * 2
        return [*lines, f"    return {names[-1]} + 0.5 * {pick.choice(names)}"]

    lines = ["def g(x):", *body(["x"], OPERATIONS[1], 2), "def f0(x):",
             *body(["x"], vocabulary(OPERATIONS), pick.randint(1, 4))]
    name = "f0"
    for i in range(pick.randint(1, 3)):
        lines.append(f"f{i + 1} = {pick.choice(vocabulary(TRANSFORMATIONS)).format(f=name)}")
        name = f"f{i + 1}"
    return "\n".join([*lines, f"f = {name}"])


def same(chapter: int, mine: list | str, theirs: list | str) -> bool:
    """Whether two outcomes agree: error messages, or numbers and what describes them."""
    if chapter >= EXACT or isinstance(mine, str) or isinstance(theirs, str):
        return mine == theirs
    a, b = (np.frombuffer(bytes.fromhex(x[0]), np.float32) for x in (mine, theirs))
    return mine[1] == theirs[1] and np.allclose(a, b, 1e-4, 1e-4, equal_nan=True)


def outcomes(folder: Path, chapter: int, programs: list[str]) -> list:
    """What the programs give in the library that is in a folder."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1",
                                "JAX_USE_DIRECT_LINEARIZE": str(int(chapter >= DIRECT))}
    done = subprocess.run([sys.executable, "-c", RUNNER], cwd=folder, env=environment, text=True,
                          input=json.dumps([chapter, programs]), capture_output=True, check=True)
    place, found = json.loads(done.stdout)
    assert Path(place).parent.parent == folder
    return found


@pytest.mark.parametrize("chapter", range(3, cut.LAST + 1))
def test_a_cut_computes_what_the_whole_computes(chapter, tmp_path):
    pick = random.Random(chapter)
    programs = [program(chapter, pick) for _ in range(PROGRAMS)]
    whole = outcomes(ROOT, chapter, programs)
    part = outcomes(cut.cut(chapter, tmp_path), chapter, programs)
    assert sum(type(found) is list for found in whole) > 0.7 * PROGRAMS, whole
    for text, mine, theirs in zip(programs, part, whole, strict=True):
        assert same(chapter, mine, theirs), (text, mine, theirs)
