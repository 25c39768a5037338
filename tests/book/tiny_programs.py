"""tiny, cut after a chapter; JAX under tiny's names; and programs written with either."""

from __future__ import annotations

import functools
import random
import re
import sys
import types
from pathlib import Path

import numpy as np

from tests.oracle import jax, jnp

FOLDER = Path(__file__).resolve().parents[2] / "chapters/tiny"
TINY, LOOPS = FOLDER / "tiny.py", FOLDER / "tiny_loops.py"
CHAPTERS = range(1, 9)


def source_until(chapter: int) -> str:
    """tiny as it stands at the end of a chapter."""
    return re.split(rf"(?m)^# ==== chapter {chapter + 1}:", TINY.read_text())[0]


@functools.cache
def tiny(chapter: int = 8) -> types.ModuleType:
    """The module that this source makes."""
    module = types.ModuleType("tiny")
    exec(compile(source_until(chapter), f"tiny.py, chapter {chapter}", "exec"), module.__dict__)
    return module


def from_module(path: Path, **modules) -> types.ModuleType:
    """A module made from a file, which sees these modules when it imports their names."""
    module = types.ModuleType(path.stem)
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    finally:
        for name, old in before.items():
            if old is None:
                del sys.modules[name]
            else:
                sys.modules[name] = old
    return module


def real() -> types.SimpleNamespace:
    """JAX, under tiny's names."""
    return types.SimpleNamespace(
        add=jnp.add, mul=jnp.multiply, neg=jnp.negative, sin=jnp.sin, cos=jnp.cos, exp=jnp.exp,
        log=jnp.log, greater=lambda x, y: jnp.where(jnp.greater(x, y), 1.0, 0.0),
        reduce_sum=jnp.sum, transpose=jnp.transpose, dot=jnp.matmul,
        broadcast=lambda x, shape, dims=None: jnp.broadcast_to(x, shape) if dims is None
        else jax.lax.broadcast_in_dim(x, shape, dims),
        jvp=jax.jvp, vmap=jax.vmap, jit=jax.jit, linearize=jax.linearize, vjp=jax.vjp,
        grad=jax.grad, tree_map=jax.tree.map, make_jaxpr=jax.make_jaxpr,
        cond=lambda *args: jax.lax.cond(args[0] > 0, *args[1:]), scan=jax.lax.scan,
        linear_transpose=lambda f, *xs: jax.linear_transpose(f, *xs))


def flat(tree) -> list:
    """The leaves as arrays, with a word for each structure."""
    if isinstance(tree, (list, tuple)):
        return [type(tree).__name__, *(leaf for part in tree for leaf in flat(part))]
    if isinstance(tree, dict):
        return ["dict", *(leaf for key in sorted(tree) for leaf in [key, *flat(tree[key])])]
    return [np.asarray(tree, float)]


def assert_same(program, *args, using=None, **tolerance):
    """`program(namespace)(*args)` is the same with tiny as with JAX."""
    ours = flat(program(using or tiny())(*args))
    with jax.enable_x64(True):
        theirs = flat(program(real())(*args))
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs):
        if isinstance(x, str):
            assert x == y
        else:
            assert x.shape == y.shape
            np.testing.assert_allclose(x, y, **{"rtol": 1e-9, "atol": 1e-10} | tolerance)


# ----------------------------------------------------------------------------------------------
# Random programs

SHAPES = [(), (3,), (2, 3), (3, 2)]


def random_program(seed: int, steps: int = 8):
    """A function of a namespace: it makes a function of a number, a vector and a matrix."""
    def program(t):
        def f(x, v, m):
            choose = random.Random(seed)
            values = [x, v, m, 0.7, np.array([0.3, -0.2, 1.1])]
            for _ in range(steps):
                values.append(_step(t, choose, values))
            return sum((t.reduce_sum(t.sin(y)) for y in values[5:]), values[0] * 0.1)

        return f

    return program


def _step(t, choose, values):
    x, y = choose.choice(values), choose.choice(values)
    shape, other = np.shape(x), np.shape(y)
    suffix = shape[len(shape) - len(other):] == other or other[len(other) - len(shape):] == shape
    options = [lambda: t.sin(x), lambda: t.neg(t.cos(x)), lambda: t.exp(t.sin(x)),
               lambda: t.log(t.add(t.mul(x, x), 1.0)), lambda: t.mul(x, t.greater(x, 0.1)),
               lambda: t.reduce_sum(x) if not shape else t.reduce_sum(x, (len(shape) - 1,)),
               lambda: t.broadcast(x, (3,), ()) if not shape else t.transpose(x)]
    if suffix:
        options += [lambda: t.add(x, y), lambda: t.mul(x, y), lambda: t.add(x, t.neg(y))] * 2
    if shape and other and len(shape) + len(other) > 2 and shape[-1] == other[0]:
        options += [lambda: t.dot(x, y)] * 6
    if shape == (3,):
        options += [lambda: t.broadcast(x, (3, 2), (0,)), lambda: t.broadcast(x, (2, 3))]
    return choose.choice(options)()
