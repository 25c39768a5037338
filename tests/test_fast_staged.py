"""Functions that are called often give what they gave at first, to the last bit.

The first calls with arguments of some types run the function as it is, and the later ones the
program that was traced.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax.lax.staged import staged
from tests.numpy.calls import ARRAYS, rows
from tests.test_fast_rules import outcome


@pytest.fixture(autouse=True)
def _with_fast_paths():
    if os.environ.get("MINIJAX_FAST") == "0":
        pytest.skip("there are no fast paths")


# The same types with other values. (The integers stay indices.)
OTHERS = {name: a[::-1].copy() if a.ndim and a.dtype.kind in "fc" else a
          for name, a in ARRAYS.items()}
CALLS = [row for row in rows() if "empty" not in row]  # that promises no values
CALLS += [f"nn.{name}({a})" for a in ("x", "w", "h", "m", "i", "2.5") for name in (
    "celu", "elu", "gelu", "hard_sigmoid", "hard_silu", "hard_tanh", "leaky_relu", "log_sigmoid",
    "log_softmax", "logmeanexp", "logsumexp", "mish", "relu", "relu6", "selu", "sigmoid", "silu",
    "soft_sign", "softmax", "softplus", "sparse_plus", "squareplus", "standardize")]
CALLS += ["jnp.pad(m, ((1, 0), (0, 2)))", "jnp.pad(x, (1, 2), constant_values=3)",
          "jnp.pad(m, 1, 'edge')", "jnp.pad(m, 1.0)", "jnp.diagonal(t, 1, -1, 0)", "jnp.outer(b, c)",
          "jnp.inner(m, m, precision='high')", "jnp.vdot(c, m[0, :2])", "jnp.left_shift(u, 9)",
          "jnp.right_shift(i, 1.0)"]
CALLS += [f"jnp.{name}({x}, {y})" for name in ("left_shift", "right_shift") for x, y in (
    ("i", "i"), ("u", "u"), ("i", "40"), ("i", "-1"), ("u", "31"), ("jnp.uint8(200)", "jnp.uint8(7)"),
    ("i.astype('int8')", "i.astype('int8') * 5"), ("u.astype('uint8')", "u.astype('uint8') + 6"),
    ("jnp.asarray([-9, 7], 'int16')", "jnp.asarray([1, 16], 'int16')"))]
CALLS += [f"jnp.{name}" for name in (
    "inner(m, n)", "inner(n, m)", "dot(n, m.T)", "dot(m.T, n)", "einsum('ij,ik->jk', m, m)",
    "einsum('ij,kj->ki', m, n)", "einsum('bij,bkj->bik', t, t)", "einsum('bij,bkj->ibk', t, t)",
    "tensordot(t, t, ((0, 2), (0, 2)))", "vdot(m, m)", "matmul(t, t.mT)", "einsum('ij->', m)",
    "einsum('ij,ij->i', m, m)", "einsum('ij,kl->ijkl', m, n)", "inner(m.astype('bfloat16'), m)",
    "signbit(x)", "hypot(x, x)", "floor_divide(x, 2)", "sinc(x)", "nanmin(m, 0)", "min(m)",
    "min(i)", "min(u)", "sign(x)", "sign(i)", "square(i)", "fft.fftn(m)", "fft.irfft(x)",
    "fft.rfftn(m, axes=(0,))", "copysign(x, -0.0)", "where(x > 0, x, -0.0) * 0.0 + -0.0")]
CALLS += ["nn.standardize(m)", "nn.standardize(m, axis=0)", "jax.lax.rsqrt(jnp.abs(x))",
          "jnp.take(m, jnp.asarray([[0, -1], [5, 1]]), 1)", "jnp.take(i, i)", "jnp.take(x, -i)",
          "jnp.take(x, jnp.asarray([200, 3], 'uint8'))", "jnp.take(x, jnp.asarray([-128], 'int8'))",
          "jnp.take(m, jnp.asarray([[2**31 - 1, -2**31, -3, 2]]), 0)", "nn.standardize(m, (0, 1))",
          "jnp.argsort(t, 1)", "jnp.argsort(w)", "jax.lax.sort((t[::-1], t, t), 0, num_keys=2)",
          "jax.lax.sort((n, m), 0)", "jnp.lexsort(x)", "jnp.cross(n, n)", "jnp.cross(m, n, axis=-1)",
          "jnp.cross(x[:2], x[2:])", "jnp.cross(m.T, n.T, axis=0)", "jnp.linalg.cross(m, n)",
          "jnp.cross(m[:0], n[:0])", "jnp.mean(m, 0, keepdims=True)", "jnp.mean(m, where=m > 0)",
          "x ** 0.5", "w ** 0.5", "2 ** x", "jnp.nanmean(m, 1, keepdims=True)", "jnp.mean(x, 3)",
          "nn.softmax(m[:, :1])", "nn.softmax(m[:1])", "nn.softmax(m, (0, 1))"]
CALLS += [f"jnp.{name}({x})" for name in ("floor_divide", "remainder", "fmod") for x in (
    "i, i", "i, 0", "i, -1", "i[:, None], i", "u, u", "u, 3", "0, i", "i - 2**31, i", "n, i[2]")]


def result(row: str, arrays: dict = ARRAYS):
    """What a call gives, with its types and bits, or the error."""
    names = {name: jnp.asarray(a) for name, a in arrays.items()}
    try:
        return outcome(lambda: eval(row, {
            "jnp": jnp, "np": np, "nn": minijax.nn, "jax": minijax, **names}))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("row", CALLS)
def test_a_call_repeated(row):
    minijax.clear_caches()
    others = result(row, OTHERS)
    minijax.clear_caches()
    first = result(row)
    for _ in range(6):
        assert result(row) == first
    assert result(row, OTHERS) == others  # the program depends on types alone


REPEATED = {
    "numbers": lambda a: jnp.linspace(a, a + 1.0, 4),
    "a static argument": lambda a: jnp.diff(a * jnp.ones(3), n=2),
    "a tree": lambda a: jnp.frexp(a * jnp.ones(3)),
    "none": lambda a: jnp.var(a * jnp.ones(3), where=None),
}


@pytest.mark.parametrize("name", REPEATED)
def test_numbers_of_other_values(name):
    minijax.clear_caches()
    first = [outcome(lambda: REPEATED[name](a)) for a in (0.0, -0.0, 2.5, -1e30)]
    for _ in range(6):
        assert [outcome(lambda: REPEATED[name](a)) for a in (0.0, -0.0, 2.5, -1e30)] == first


def test_values_of_static_arguments_and_types_are_told_apart():
    x = jnp.array([3.0, 1.0, 2.0])
    for _ in range(8):
        assert [jnp.linspace(0, 1, n).shape for n in (2, 3)] == [(2,), (3,)]
        assert jnp.linspace(0, 2, 3, dtype=int).dtype == np.int32
        assert jnp.linspace(0, 2, 3).dtype == np.float32
        assert jnp.std(x, ddof=0) != jnp.std(x, ddof=1)
        with minijax.enable_x64(True):
            assert jnp.linspace(0, 1, 3).dtype == np.float64


def test_large_integers_overflow_as_before():
    for _ in range(8):
        jnp.diff(jnp.arange(3), prepend=7)
    with pytest.raises(OverflowError):
        jnp.diff(jnp.arange(3), prepend=2**40)


def test_transformations_see_the_function_itself():
    x = jnp.array([0.5, 1.0, 2.0])
    for _ in range(8):
        jnp.sinc(x)
    assert "name=sinc" in str(minijax.make_jaxpr(jnp.sinc)(x))
    assert minijax.grad(lambda x: jnp.sinc(x).sum())(x).shape == (3,)
    assert minijax.vmap(jnp.sinc)(x).tolist() == jnp.sinc(x).tolist()


@pytest.mark.parametrize("numbers", [
    (2, -2, 0, 7, 2), (2.0, 0.0, -0.0, 0.0, float("nan"), -0.0, float("inf"), 2.0),
    (True, False, True), (1.5, 2**-140, 1.5, -(2**-140)), tuple(range(1, 200)),
])
@pytest.mark.parametrize("call", [
    lambda x, n: jnp.floor_divide(x, n), lambda x, n: jnp.hypot(n, x), lambda x, n: jnp.sinc(n),
    lambda x, n: jnp.divmod(x, n), lambda x, n: jnp.copysign(x, n),
    lambda x, n: jnp.linspace(n, 3.5, 4), lambda x, n: jnp.clip(x, n, 3.5),
])
def test_what_follows_from_numbers_is_remembered_of_those_numbers(call, numbers):
    x = jnp.array([0.5, 1.5, -2.0, 3.25, 0.0])
    first = [outcome(lambda: call(x, n)) for n in numbers for _ in range(8)]
    again = [outcome(lambda: call(x, n)) for n in numbers]
    minijax.clear_caches()
    fresh = []
    for n in numbers:  # one call each: the core's way
        fresh.append(outcome(lambda: call(x, n)))
        minijax.clear_caches()
    assert again == fresh and first[::8] == fresh


def test_too_large_integers_are_refused_in_every_call():
    x = jnp.arange(3)
    for n in [5] * 8 + [2**40] * 3 + [5]:
        if n == 5:
            assert jnp.floor_divide(x, n).tolist() == [0, 0, 0]
        else:
            with pytest.raises(OverflowError):
                jnp.floor_divide(x, n)


@pytest.mark.parametrize("old, new", [
    ((), (1,)), ((1,), ()), ((1, 1), ()), ((), (1, 1)), ((3,), (1, 3, 1)), ((1, 3), (3,)),
    ((3, 1, 2), (3, 2)), ((3, 2), (3, 1, 2)), ((1, 3, 1, 2), (3, 1, 1, 2, 1)), ((0, 1), (1, 0)),
    ((2, 2), (2, 1, 2)), ((1, 2, 1), (1, 1, 2)), ((1,), (1,)),
])
def test_dimensions_of_size_one_are_indexed(old, new):
    from minijax.fast.specialised import _dimensions_of_size_one
    x = np.arange(int(np.prod(old))).reshape(old)
    out = x[_dimensions_of_size_one(old, new)]
    assert isinstance(out, np.ndarray) and out.shape == new and (out == x.reshape(new)).all()


@pytest.mark.parametrize("dtype", [
    "float32", "float16", "int32", "int8", "uint16", "bool", "complex64", "float64", "bfloat16"])
def test_selections_of_many_elements_keep_all_bits(dtype):
    from minijax.fast.specialised import _select_bits
    rng = np.random.default_rng(0)
    dtype = np.dtype(getattr(jnp, dtype, dtype) if dtype == "bfloat16" else dtype)
    x, y = (rng.integers(0, 256, 4096 * dtype.itemsize, np.uint8) for _ in range(2))
    x, y = ((x % 2, y % 2) if dtype == bool else (x, y))
    x, y, which = x.view(dtype), y.view(dtype), rng.random(4096) < 0.5
    for part in (np.s_[:], np.s_[::2], np.s_[::-1]):
        out = _select_bits(which[part], x[part], y[part])
        expected = np.where(which[part], y[part], x[part])
        assert out.dtype == dtype and out.tobytes() == expected.tobytes()


def test_all_float16_are_rounded_as_before():
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        whole = np.trunc(x)
        expected = whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)
    array = jnp.asarray(x)
    for _ in range(8):
        out = np.asarray(minijax.lax.round(array))
        assert (out == expected)[~np.isnan(x)].all() and (np.isnan(out) == np.isnan(x)).all()
        assert (np.signbit(out) == np.signbit(expected))[~np.isnan(x)].all()
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32) + np.float32(2**-20)
    expected = np.copysign(np.floor(np.abs(wide.astype(np.float64)) + 0.5), wide)
    finite = np.isfinite(wide)
    assert (np.asarray(minijax.lax.round(jnp.asarray(wide))) == expected)[finite].all()


COUNTED = """
import minijax.numpy as jnp
from minijax.lax.staged import staged
from tests.counting import calls_in
x = jnp.array([0.5, 1.0, 2.0])
print(*[calls_in(lambda: jnp.nan_to_num(x)) for _ in range(8)])
"""


def test_a_hot_function_costs_fewer_calls():
    """In a process where no array of another test is placed on a device."""
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True,
                          cwd=Path(__file__).parents[1])
    counts = [int(count) for count in done.stdout.split()]
    assert counts[-1] < counts[1] / 3


def test_indices_out_of_bounds_are_filled_as_before():
    """The program for `take` has a rule of its own, for operands of known types."""
    x = jnp.arange(24.0).reshape(2, 3, 4)
    for axis in (None, 0, 1, -1):
        for places in ([0, 1], [-1, 9], [[5, 0], [-9, 2]], 7):
            minijax.clear_caches()
            first = outcome(lambda: jnp.take(x, jnp.array(places), axis=axis))
            for _ in range(6):
                assert outcome(lambda: jnp.take(x, jnp.array(places), axis=axis)) == first


def test_compiled_functions_are_not_evaluated_on_numpy_inside_of_others():
    """A program on NumPy would differ from the compiled one in the last bits."""
    x = jnp.array([0.3, 1.7, 2.9, 40.0])

    @staged
    def function(x):
        return jnp.nanstd(x) * jnp.spacing(x)

    first = outcome(lambda: function(x))
    for _ in range(8):
        assert outcome(lambda: function(x)) == first
    assert outcome(lambda: jnp.nanstd(x) * jnp.spacing(x)) == first
