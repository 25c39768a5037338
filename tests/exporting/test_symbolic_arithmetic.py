"""Sizes that are not known in arithmetic with arrays and numbers, in indices, and in equalities."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import minijax
from minijax import export
from tests.oracle import both

X, Y = np.arange(16, dtype="float32"), np.arange(18, dtype="float32")


def exporting(jx):
    return import_module(f"{jx.__name__}.export")


# ----------------------------------------------------------------------------------------------
# Arithmetic: integers stay sizes, all else makes arrays

OTHERS = ["2", "np.int32(2)", "2.5", "np.float32(2.5)", "np.array(2)", "np.array(2.5, 'f')", "np.arange(1, 4)",
          "np.linspace(1, 2, 3, dtype='f')", "True", "np.int64(3)", "2j", "jnp.float16(3)"]
OPERATORS = ["{} + {}", "{} - {}", "{} * {}", "{} % {}", "{} // {}", "{} / {}", "divmod({}, {})"]
ROWS = [operator.format(*pair) for operator in OPERATORS for other in OTHERS
        for pair in (("b", other), (other, "b")) if not (other == "2j" and operator not in OPERATORS[:3])]
ROWS += ["2 ** b", "b ** 2", "np.float32(1.5) ** b", "np.array([1, 2]) ** b", "jnp.asarray(b)", "jnp.array(2 * b)",
         "jnp.array([b, 2])", "b / b", "b + b / 2", "jnp.sin(b)"]


@pytest.mark.parametrize("row", ROWS)
def test_arithmetic(row):
    def program(jx):
        def f(x):
            return jx.tree.map(jx.numpy.asarray, eval(row, {"b": x.shape[0], "np": np, "jnp": jx.numpy}))

        (b,) = exporting(jx).symbolic_shape("b")
        one = exporting(jx).export(jx.jit(f))(jx.ShapeDtypeStruct((b,), "float32"))
        return one.call(X[:7]), [str(aval) for aval in one.out_avals]

    both(lambda jx: lambda: program(jx))


@pytest.mark.parametrize("row", ["b > 2.5", "b <= np.array(2.5)", "np.float32(3) < b"])
def test_comparisons_with_floats_are_refused(row):
    def f(x):
        return 1 if eval(row, {"b": x.shape[0], "np": np}) else 2

    (b,) = export.symbolic_shape("b")
    with pytest.raises(Exception, match="."):
        export.export(minijax.jit(f))(minijax.ShapeDtypeStruct((b,), "float32"))


# ----------------------------------------------------------------------------------------------
# Indices and shapes

SHAPES = {
    "x[1]": ("b, 2", (5, 2)), "x[-2]": ("b, 2", (5, 2)), "x[1] ": ("b, 2", (1, 2)), "x[:, 1]": ("2, b", (2, 3)),
    "lax.index_in_dim(x, x.shape[0] - 1, keepdims=False)": ("b, 2", (5, 2)),
    "jnp.repeat(x, x.shape[0], axis=0)": ("b, 2", (3, 2)), "jnp.repeat(x, x.shape[0])": ("b, 2", (3, 2)),
    "jnp.repeat(x, x.shape[0], total_repeat_length=3)": ("b, 2", (3, 2)),
    "jnp.take_along_axis(x, jnp.zeros((x.shape[0], 1), int), axis=1)": ("b, 2", (3, 2)),
    "jnp.einsum(x, (..., 1), [...])": ("b, 4", (3, 4)),
    "jnp.pad(lax.dynamic_slice_in_dim(x, 1, x.shape[0] - 1), [[x.shape[0], 0], [0, 1]])": ("b, 4", (3, 4)),
    "jax.image.resize(x, (2 * x.shape[0], 4), 'nearest')": ("b, 4", (3, 4)),
    "jax.ops.segment_sum(x, jnp.zeros(x.shape[0], int), num_segments=x.shape[0])": ("b, 2", (3, 2)),
    **{f"jnp.arange({row})": ("b", (size,)) for size in (1, 5) for row in (
        "0, -x.shape[0], 2", "0, 1 - x.shape[0], 2", "0, x.shape[0] - 3, 2", "x.shape[0] - 3, 0, -2",
        "0, 0, x.shape[0]", "x.shape[0], 1, -x.shape[0]")},
    "jnp.arange(0., x.shape[0])": ("b", (3,)), "jnp.arange(0, x.shape[0], .5)": ("b", (3,)),
    "jnp.arange(0, x.shape[0], 0)": ("b", (3,)), "jnp.arange(0, x.shape[0], x.shape[0] - 2)": ("b", (3,)),
}


@pytest.mark.parametrize("row", SHAPES)
def test_indices_and_shapes(row):
    spec, shape = SHAPES[row]
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)

    def program(jx):
        f = jx.jit(lambda x: eval(row.strip(), {"x": x, "jnp": jx.numpy, "lax": jx.lax, "jax": jx}))
        one = exporting(jx).export(f)(*exporting(jx).symbolic_args_specs((x,), spec))
        return one.call(x), [str(aval) for aval in one.out_avals]

    both(lambda jx: lambda: program(jx))


# ----------------------------------------------------------------------------------------------
# Equalities

EQUALITIES = [
    (["a == 2*b"], "(a, b)"), (["a == b + c"], "(a, b, 2*a)"), (["floordiv(a, 4) == b"], "(a // 4, a)"),
    (["mod(a, 4) == 0"], "(a % 4, a // 4 * 4 == a, 4 * (a // 4) + a)"), (["a*b == 8"], "(a * b * a, 2 * a * b + 1)"),
    (["2*a == b"], "(2 * a, 4 * a + 1, 3 * a)"), (["a == 4"], "(a, a * b)"), (["a == a"], "a"),
    (["min(a, b) == b - 2"], "b - 2 <= a"), (["a == b", "b == a"], "(a, b)"), (["a + b == 8"], "a"),
    (["4 == 3"], "a"), (["4 == a"], "a"), (["a = 3"], "a"),
    (["floordiv(a, 4) == b", "mod(a, 4) == 0"], "a"),
]


@pytest.mark.parametrize("constraints, row", EQUALITIES)
def test_equalities(constraints, row):
    def program(jx):
        names = exporting(jx).symbolic_shape("a, b, c", constraints=constraints)
        return str(eval(row, dict(zip("abc", names))))

    both(lambda jx: lambda: program(jx))


FUNCTIONS = [
    (["a == 2*b"], "x + jnp.concatenate([y, y])", 16, 8), (["b == a + 2"], "x + y[2:]", 16, 18),
    (["b >= 2", "min(a, b) == b - 2"], "x[:y.shape[0]] + y[2:]", 16, 18), (["a == 2*b"], "x", 5, 3),
    (["max(a, b) == a"], "x[:y.shape[0]] + y", 6, 4), (["b == a + 2"], "x + y[2:]", 16, 17),
]


@pytest.mark.parametrize("constraints, row, n, m", FUNCTIONS)
def test_functions_under_equalities(constraints, row, n, m):
    def program(jx):
        f = jx.jit(lambda x, y: eval(row, {"x": x, "y": y, "jnp": jx.numpy}))
        one = exporting(jx).export(f)(*exporting(jx).symbolic_args_specs(
            (X, Y), ("a", "b"), constraints=constraints))
        return one.call(X[:n], Y[:m]), [str(aval) for aval in one.out_avals]

    both(lambda jx: lambda: program(jx))


def test_a_remainder_of_zero_divides_shapes():
    (a,) = export.symbolic_shape("a", constraints=["mod(a, 2) == 0"])
    one = export.export(minijax.jit(lambda x: x.reshape(2, -1)))(minijax.ShapeDtypeStruct((a,), "float32"))
    np.testing.assert_array_equal(one.call(X), X.reshape(2, -1))
    with pytest.raises(ValueError, match=r"Expected 'mod\(a, 2\)' to be equal to 0, but found 1"):
        one.call(X[:5])


def test_the_right_side_of_an_equality_has_not_the_left_one():
    with pytest.raises(ValueError, match="Invalid equality constraint"):
        export.symbolic_shape("a", constraints=["a == 2*a - 3"])
