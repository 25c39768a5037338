"""Functions of large arrays give what they give of small ones, and what the compiled function gives.

Sums of many rows have parts, and blocks of memory are used again.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import lax

SHAPE = (2**9, 2**7)
RNG = np.random.default_rng(0)
X, Y = (RNG.standard_normal(SHAPE).astype(np.float32) * 3 for _ in range(2))
I, J = (RNG.integers(-40, 40, SHAPE, np.int32) for _ in range(2))
ROWS = RNG.standard_normal((2**17, 3)).astype(np.float32)

CALLS = {
    "hypot": lambda x, y, i, j: jnp.hypot(x, y),
    "hypot of a number": lambda x, y, i, j: jnp.hypot(x, 2),
    "where": lambda x, y, i, j: jnp.where(x > 0, y, 0),
    "trunc": lambda x, y, i, j: jnp.trunc(x),
    "nan_to_num": lambda x, y, i, j: jnp.nan_to_num(x / (i + 0.0), nan=3.0),
    "floor_divide": lambda x, y, i, j: jnp.floor_divide(i, j),
    "divmod": lambda x, y, i, j: jnp.divmod(x, y),
    "heaviside": lambda x, y, i, j: jnp.heaviside(x, 2.0),
    "isclose": lambda x, y, i, j: jnp.isclose(x, y, rtol=1.0),
    "weak": lambda x, y, i, j: jnp.clip(x, 0, 2),
    "selu": lambda x, y, i, j: minijax.nn.selu(x),
    "shift_left": lambda x, y, i, j: lax.shift_left(i, j),
    "shift_right": lambda x, y, i, j: lax.shift_right_logical(i, j),
    "clz": lambda x, y, i, j: lax.clz(i),
    "round": lambda x, y, i, j: lax.round(x),
    "log1p": lambda x, y, i, j: lax.log1p(abs(x)),
    "select": lambda x, y, i, j: lax.select(x > y, i, j),
    "select by a scalar": lambda x, y, i, j: lax.select(jnp.bool_(True), x, y),
    "int8": lambda x, y, i, j: lax.shift_left(i.astype(jnp.int8), j.astype(jnp.int8)),
    "elu": lambda x, y, i, j: minijax.nn.elu(x),
    "sinc": lambda x, y, i, j: jnp.sinc(x),
    "sign": lambda x, y, i, j: jnp.sign(x),
    "power": lambda x, y, i, j: abs(x) ** 0.5 + x ** 3,
    "an integer quotient": lambda x, y, i, j: lax.div(i, j),
    "a list": lambda x, y, i, j: jnp.select([x > 0, y > 0], [x, y], 1.0),
    "bfloat16": lambda x, y, i, j: jnp.where(x > 0, y, 0).astype(jnp.bfloat16) * 2,
}


def compare(call, arrays):
    """A call on the whole arrays against the calls on parts of them."""
    whole = minijax.tree.leaves(call(*map(jnp.asarray, arrays)))
    parts = [minijax.tree.leaves(call(*[jnp.asarray(a[k::8]) for a in arrays])) for k in range(8)]
    for n, out in enumerate(whole):
        for k, part in enumerate(parts):
            assert (part[n].dtype, part[n].weak_type) == (out.dtype, out.weak_type)
            whole_, part_ = (np.asarray(a, None if a.dtype != jnp.bfloat16 else np.float32)
                            for a in (out[k::8], part[n]))
            np.testing.assert_allclose(whole_, part_, rtol=2e-6, atol=1e-6)
    return whole


@pytest.mark.parametrize("name", CALLS)
def test_a_whole_and_its_parts(name):
    compare(CALLS[name], (X, Y, I, J))


@pytest.mark.parametrize("reduce", ["reduce_max", "reduce_min", "reduce_sum", "reduce_prod"])
def test_reductions_of_short_rows(reduce):
    compare(lambda x: getattr(lax, reduce)(x, (1,)), (ROWS,))


REDUCED = {
    "var": lambda x, i: jnp.var(x, 1), "nanprod": lambda x, i: jnp.nanprod(x / 3, 1),
    "matvec": lambda x, i: jnp.dot(x, x[0]), "norm": lambda x, i: jnp.linalg.norm(x, axis=1),
    "rows": lambda x, i: (jnp.max(x.reshape(-1, 4), 0), jnp.min(x.reshape(-1, 4), 0),
                          jnp.sum(i.reshape(-1, 4), 0), jnp.sum(x.reshape(-1, 4), 0)),
    "vander": lambda x, i: jnp.vander(x.ravel()[:20_000] / 4, 8),
    "nanmax": lambda x, i: jnp.nanmax(x, 1), "tril": lambda x, i: jnp.tril(x),
    "cross": lambda x, i: jnp.cross(x[:, :3], x[:, 3:6]),
    "gradient": lambda x, i: jnp.gradient(x, axis=1),
    "take": lambda x, i: jnp.take(x, i), "softmax": lambda x, i: minijax.nn.softmax(x),
    "polyint": lambda x, i: jnp.polyint(x[0]), "top_k": lambda x, i: minijax.lax.top_k(x, 0),
    "segment": lambda x, i: minijax.ops.segment_max(x.ravel(), abs(i).ravel(), 41),
    "scatter": lambda x, i: jnp.zeros(90).at[i].add(jnp.round(x * 4)),
}
SHORT = {
    "add": lambda x: x + x,
    "a number": lambda x: 1 - x * 2,
    "a NumPy array": lambda x: lax.sub(x, np.ones(x.shape, x.dtype)),
    "div": lambda x: x / (x + 1),
    "lt": lambda x: x < 0.5,
    "maximum": lambda x: jnp.maximum(x, 0),
    "sqrt": lambda x: jnp.sqrt(abs(x)),
    "isfinite": lambda x: jnp.isfinite(x / 0),
    "max": lambda x: (jnp.max(x), jnp.min(x, 0)),
    "sum": lambda x: jnp.sum(abs(x), 0),
    "exp": lambda x: (jnp.exp(x), jnp.tanh(x), jnp.log(abs(x))),
    "softmax": minijax.nn.softmax,
    "astype": lambda x: (x.astype(jnp.float32), x.astype(jnp.int32), x.astype(jnp.float16)),
    "power": lambda x: x ** 3,
}


def close(call, *args):
    """A call, and the compiled function."""
    for ours, jitted in zip(minijax.tree.leaves(call(*args)),
                            minijax.tree.leaves(minijax.jit(call)(*args)), strict=True):
        assert (ours.aval, ours.weak_type) == (jitted.aval, jitted.weak_type)
        wide = ours.dtype in (np.float32, np.int32, np.bool_)
        ours, jitted = (np.asarray(a).astype(np.float32) for a in (ours, jitted))
        np.testing.assert_allclose(ours, jitted, rtol=3e-5 if wide else 2e-2, atol=1e-4)


@pytest.mark.parametrize("name", REDUCED)
def test_eager_and_compiled(name):
    close(REDUCED[name], jnp.asarray(X), jnp.asarray(I))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", SHORT)
def test_floats_of_16_bits(name, dtype):
    close(SHORT[name], jnp.asarray(X, dtype))


def test_extrema_of_rows_are_nan_where_an_element_is():
    x = jnp.asarray(ROWS).at[77_777].set(np.nan)
    for extremum in (jnp.max, jnp.min):
        assert np.isnan(extremum(x, 0)).all()
        np.testing.assert_array_equal(np.isnan(extremum(x, 1)), np.arange(len(x)) == 77_777)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "bool"])
@pytest.mark.parametrize("shape, axes", [
    ((900, 5), (1,)), ((900, 5), (0,)), ((5003, 1), (0,)), ((5003, 1), (1,)), ((70, 3, 2, 40), (0, 1, 2)),
    ((300, 10, 2, 3), (2, 3)), ((300, 10, 2, 3), (1, 3)), ((20, 50, 4), (1,)), ((4100, 63), (1,)),
    ((999, 63), (0,)), ((2, 3000), (0,))], ids=str)  # fmt: skip
def test_extrema_of_short_rows(shape, axes, dtype):
    x = RNG.integers(0, 99, shape).astype(np.float32)
    x.flat[::1777] = 0 if dtype in ("int32", "uint8") else np.nan
    x = jnp.asarray(x, dtype)
    for reduce, ufunc in ((lax.reduce_max, np.maximum), (lax.reduce_min, np.minimum)):
        out = reduce(x, axes)
        assert out.dtype == dtype
        expected = ufunc.reduce(np.asarray(x).astype(np.float32), axes)
        np.testing.assert_array_equal(np.asarray(out).astype(np.float32), expected)


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_forked_process_uses_numpy():
    x = jnp.asarray(X)
    expected = jnp.sqrt(x * x + 1).sum().block_until_ready()  # a child reads what was ready
    pid = os.fork()
    if pid == 0:
        good = np.allclose(jnp.sqrt(x * x + 1).sum(), expected) and lax.clz(jnp.asarray(I)).shape
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
