"""A new transformation is one short file, and enters all that contains functions.

The file is `chapters/11-new-primitives/interval.py`, interval arithmetic. A function that rises has its
extremes at the ends of an interval, so that two plain evaluations are the reference.
"""

from __future__ import annotations

import importlib.util
import io
import tokenize
from pathlib import Path

import numpy as np
import pytest

import minijax as jax
from minijax import lax, numpy as jnp

PATH = Path(__file__).parents[2] / "chapters" / "11-new-primitives" / "interval.py"
_spec = importlib.util.spec_from_file_location("interval", PATH)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
interval = _module.interval
MAX_LINES = 40

LOW, HIGH = np.array([-0.5, 0.2, 1.0], np.float32), np.array([0.25, 0.7, 1.5], np.float32)


def rising(x):
    return jnp.exp(x) + 2 * x - 1


def falling(x):
    return -3 * x - x**3


def _custom_jvp(x):
    f = jax.custom_jvp(rising)
    f.defjvp(lambda primals, tangents: 1 / 0)
    return f(x)


def _custom_vjp(x):
    f = jax.custom_vjp(rising)
    f.defvjp(lambda x: 1 / 0, lambda res, ct: 1 / 0)
    return f(x)


def _closed_over(x):
    f = jax.custom_jvp(lambda y: x + y)
    f.defjvp(lambda primals, tangents: 1 / 0)
    return f(jnp.tanh(x))


def _while(x):
    def body(carry):
        i, y = carry
        return i + 1, y + rising(y)

    return lax.while_loop(lambda carry: carry[0] < 3, body, (0, x))[1]


def _while_closes_over(x):
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + x), (0, jnp.zeros(3)))[1]


def _cumulative(x):
    return lax.scan(lambda total, x: (total + x, (rising(total), 1.0)), 0.0, x)


# name -> (rising function, what its jaxpr holds, transformed)
RISING = {
    "plain": (rising, "exp"),
    "jit": (jax.jit(rising), "jit["),
    "jit of jit": (jax.jit(lambda x: jnp.tanh(jax.jit(rising)(x)) + 1), "jit["),
    "checkpoint": (jax.checkpoint(rising), "remat2["),
    "prevent_cse": (jax.checkpoint(rising, prevent_cse=(True,)), "remat2["),
    "custom_jvp": (_custom_jvp, "exp"),
    "jit of custom_jvp": (jax.jit(_custom_jvp), "jit["),
    "custom_jvp that closes over": (_closed_over, "tanh"),
    "custom_vjp": (_custom_vjp, "exp"),
    "jit of custom_vjp": (jax.jit(_custom_vjp), "jit["),
    "cond": (lambda x: lax.cond(True, rising, falling, x), "cond["),
    "one branch is constant": (lambda x: lax.cond(True, rising, jnp.zeros_like, x), "cond["),
    "switch": (lambda x: lax.switch(1, [falling, rising, jnp.zeros_like], x), "cond["),
    "scan, carry": (lambda x: lax.scan(lambda c, _: (rising(c), None), x, None, 3)[0], "scan["),
    "scan, xs": (lambda x: lax.scan(lambda c, x: (c, rising(x)), 0.0, x)[1], "scan["),
    "scan, constants": (lambda x: lax.scan(lambda c, _: (c + x, c), jnp.ones(3), None, 3), "scan["),
    "scan, all": (_cumulative, "scan["),
    "fori_loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: rising(c) + i, x), "scan["),
    "while": (_while, "while["),
    "while, constants": (_while_closes_over, "while["),
    "map": (lambda x: lax.map(rising, x), "scan["),
    "nested": (jax.jit(lambda x: lax.cond(True, jax.checkpoint(_cumulative), _cumulative, x)), "jit["),
    "numpy": (lambda x: jnp.cumsum(jnp.concatenate([x, jnp.tanh(x)]))[1:4].reshape(3, 1), "cumsum"),
}


def same(results, expected):
    leaves, expected = jax.tree.leaves(results), jax.tree.leaves(expected)
    assert len(leaves) == len(expected)
    for x, y in zip(leaves, expected):
        np.testing.assert_allclose(x, y, rtol=1e-5)


@pytest.mark.parametrize("name", RISING)
def test_the_ends_are_the_values_at_the_ends(name):
    f, entered = RISING[name]
    of_interval = interval(f)
    out = of_interval((LOW, HIGH))
    low, high = f(LOW), f(HIGH)
    pairs = jax.tree.map(lambda x, y: (x, y), low, high)
    same(out, pairs)
    same(jax.jit(of_interval)((LOW, HIGH)), pairs)
    assert entered in str(jax.make_jaxpr(of_interval)((LOW, HIGH)))


def test_a_falling_function_turns_the_interval_round():
    same(interval(jax.jit(falling))((LOW, HIGH)), (falling(HIGH), falling(LOW)))


def test_products_have_their_extremes_at_corners():
    f = jax.jit(lambda x, y: x * y)
    low, high = interval(f)((LOW, HIGH), (-HIGH, -LOW))
    grid = [f(LOW + s * (HIGH - LOW), -HIGH + t * (HIGH - LOW))
            for s in np.linspace(0, 1, 5) for t in np.linspace(0, 1, 5)]
    assert all(np.all(low <= x + 1e-6) and np.all(x <= high + 1e-6) for x in grid)
    same([low, high], [np.min(grid, 0), np.max(grid, 0)])


WEIGHTS = np.array([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.0]], np.float32)
SOUND = {
    "weights on the right": lambda x: x @ WEIGHTS,
    "weights on the left": lambda x: WEIGHTS.T @ x,
    "two layers": lambda x: jnp.tanh(x @ WEIGHTS) @ np.array([1.0, -1.0], np.float32),
    "einsum": lambda x: jnp.einsum("i,ij->j", x, WEIGHTS),
    "uses twice": lambda x: x * (x - 1.0) - jnp.exp(-x),
    "maximum": lambda x: jnp.maximum(x, 0.5).max() - x.min(),
}


@pytest.mark.parametrize("name", SOUND)
def test_the_interval_contains_the_values_at_points_inside(name):
    f = jax.jit(SOUND[name])
    low, high = interval(f)((LOW, HIGH))
    points = np.random.default_rng(0).integers(0, 2, (50, 3)) * (HIGH - LOW) + LOW
    for x in points.astype(np.float32):
        assert np.all(low <= f(x) + 1e-5)
        assert np.all(f(x) <= high + 1e-5)


@pytest.mark.parametrize("f", [
    lambda x: x @ x, lambda x: x.astype(bool), lambda x: x.astype(int) * 1.0, lambda x: jnp.floor(x)])
def test_what_has_no_rule_or_jumps_is_refused(f):
    with pytest.raises(NotImplementedError):
        interval(f)((LOW, HIGH))
    with pytest.raises(NotImplementedError, match="an interval of .*int32"):
        interval(lambda i: jnp.arange(4.0)[i])((0, 2))


@pytest.mark.parametrize("f", [jnp.sin, lambda x: x**2, lambda x: lax.cond(x[0] < 0, rising, falling, x)])
def test_a_range_that_is_not_at_the_corners_is_refused(f):
    with pytest.raises(NotImplementedError, match="the range of"):
        interval(jax.jit(f))((LOW, HIGH))


def test_other_transformations_compose():
    f = interval(lambda x: lax.scan(lambda c, x: (c + rising(x), c), 0.0, x)[0])
    low, high = f((LOW, HIGH))
    batch = np.stack([LOW, LOW / 2]), np.stack([HIGH, HIGH * 2])
    same([x[0] for x in jax.vmap(f)(batch)], [low, high])
    slopes = jax.grad(lambda x: f((x, HIGH))[0])(LOW)
    same(slopes, jax.grad(lambda x: rising(x).sum())(LOW))
    same(interval(jax.grad(lambda x: _cumulative(x)[0]))((LOW, HIGH)), (np.ones(3), np.ones(3)))


def test_a_value_that_is_known_stays_one_array():
    text = str(jax.make_jaxpr(interval(_while))((LOW, HIGH)))
    assert "i32[], " not in text.split("while[")[0]
    assert text.count("i32[] =") <= 3  # the counter and its comparison, once


def test_the_file_is_short():
    code = io.StringIO(PATH.read_text())
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
               tokenize.ENDMARKER}
    lines, start_of_statement = set(), True
    for token in tokenize.generate_tokens(code.readline):
        docstring = token.type == tokenize.STRING and start_of_statement
        if token.type not in skipped and not docstring:
            lines.update(range(token.start[0], token.end[0] + 1))
        if token.type not in {tokenize.COMMENT, tokenize.NL}:
            start_of_statement = token.type in {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    assert len(lines) <= MAX_LINES
    named = "jit checkpoint remat custom_jvp custom_vjp cond scan while".split()
    words = {t.string for t in tokenize.generate_tokens(io.StringIO(PATH.read_text()).readline)
             if t.type == tokenize.NAME}
    assert not words.intersection(named)


def test_a_page_of_the_chapter_prints_the_file():
    page = (PATH.parent / "intervals.md").read_text()
    code = PATH.read_text().partition('"""\n\n')[2].strip()
    assert f"```python\n{code}\n```" in page
