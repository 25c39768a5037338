"""Small arrays: functions that have become programs give the bits that they gave before."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax.fast.rules import USES

FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -7.25, 3e38, 1e-45, np.inf, -np.inf, np.nan],
                  np.float32)
INTS = np.array([0, 1, -1, 2, -3, 7, 2**31 - 1, -2**31], np.int32)
BOOLS = np.array([True, False])
COMPLEX = (FLOATS[:5] + 1j * FLOATS[1:6]).astype(np.complex64)
CALLS = {
    "floor_divide": [FLOATS, INTS, INTS.astype(np.uint8), BOOLS],
    "remainder": [FLOATS, INTS, BOOLS],
    "divmod": [FLOATS, INTS, BOOLS], "power": [INTS, BOOLS], "less": [COMPLEX],
    "greater_equal": [COMPLEX], "fmod": [FLOATS, INTS], "maximum": [FLOATS, INTS, COMPLEX],
    "hypot": [FLOATS]}


@pytest.mark.parametrize(("name", "values"), [
    pytest.param(name, values, id=f"{name}-{values.dtype}")
    for name, kinds in CALLS.items() for values in kinds])
def test_repeated_calls_have_the_same_bits(name, values):
    function = getattr(jnp, name)
    x, y = (jnp.asarray(a) for a in zip(*itertools.product(values, values)))
    first = function(x, y)
    for _ in range(USES + 6):
        again = function(x, y)
    for a, b in zip(*map(minijax.tree.leaves, (first, again)), strict=True):
        assert a.aval is b.aval
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


NUMBERS = [2, -0.0, True, complex(0.0, -0.0), np.int8(-4)]
ARRAYS = [FLOATS[:4], INTS[:4], COMPLEX[:4]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", """add true_divide maximum equal less power arctan2 where
    floor_divide""".split())
def test_operands_of_every_kind(name):
    function = getattr(jnp, name)
    if name == "where":
        function = lambda x, y: jnp.where(jnp.asarray([True, False, True, False]), x, y)
    values = [*NUMBERS, *ARRAYS, *map(jnp.asarray, ARRAYS)]
    for x, y in itertools.product(values, values):
        results = []
        for _ in range(USES + 3):
            try:
                out = function(x, y)
                results.append((out.aval, np.asarray(out).tobytes()))
            except (TypeError, OverflowError, ValueError) as error:
                results.append((type(error), str(error)))
        assert len({*results}) == 1, (x, y, results)


UNARY = """exp log1p sin sqrt deg2rad fabs isfinite isposinf square sign conj real""".split()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNARY)
def test_an_operand_of_every_kind(name):
    for x in [*NUMBERS, *ARRAYS, *map(jnp.asarray, ARRAYS), *map(jnp.asarray, NUMBERS)]:
        results = []
        for _ in range(USES + 3):
            try:
                out = getattr(jnp, name)(x)
                results.append((out.aval, np.asarray(out).tobytes()))
            except (TypeError, ValueError) as error:
                results.append((type(error), str(error)))
        assert len({*results}) == 1, (x, results)


def test_a_users_array_can_change():
    mine = np.ones(3, np.float32)
    results = []
    for i in range(USES + 4):
        mine[:] = i
        results.append((jnp.maximum(mine, 0), jnp.sqrt(mine), jnp.sum(mine, where=mine > -1)))
    mine[:] = 100
    for i, (x, y, z) in enumerate(results):
        assert x.tolist() == [i] * 3 and np.allclose(y, np.sqrt(i)) and z == 3 * i


@pytest.mark.parametrize("function", [jnp.sum, jnp.max, jnp.min, jnp.prod, jnp.mean])
def test_reductions(function):
    x, where = jnp.asarray(FLOATS[:8].reshape(2, 4)), jnp.asarray([True, False, True, True])
    for options in ({}, {"keepdims": True}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)},
                    {"initial": 2.0}, {"initial": 2.0, "where": where, "axis": 0}):
        if function is jnp.mean and "initial" in options:
            continue
        results = [function(x, **options) for _ in range(USES + 3)]
        assert len({(out.aval, np.asarray(out).tobytes()) for out in results}) == 1, options


def test_a_warning_is_given_each_time():
    x, m = jnp.ones(3), jnp.ones((2, 3))
    with minijax.numpy_rank_promotion("warn"):
        for _ in range(USES + 4):
            with pytest.warns(UserWarning, match="rank"):
                jnp.maximum(m, x)
