"""ragged_dot: its three kinds, derivatives and errors, against JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle.compare import both

RNG = np.random.default_rng(0)
# name: shapes of lhs and rhs, group sizes, ((contracting), (batch)), ragged, group dimensions
CASES = {
    "rows": ((7, 3), (2, 3, 4), [3, 2], (((1,), (1,)), ((), ())), (0,), (0,)),
    "rows, last": ((3, 7), (4, 3, 2), [3, 4], (((0,), (1,)), ((), ())), (1,), (2,)),
    "batch, shared": ((2, 7, 3), (2, 3, 3, 4), [3, 2, 0], (((2,), (2,)), ((0,), (0,))), (1,), (1,)),
}


def product(m, name, **options):
    *_, dims, ragged, groups = CASES[name]
    numbers = m.lax.RaggedDotDimensionNumbers(dims, ragged, groups)
    return lambda x, y, sizes: m.lax.ragged_dot_general(x, y, sizes, numbers, **options)


def operands(name):
    lhs, rhs, sizes, *_ = CASES[name]
    return *(RNG.normal(size=n).astype(np.float32) for n in (lhs, rhs)), np.array(sizes, np.int32)


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    def program(m):
        f = product(m, name)
        g = m.grad(lambda *args: (f(*args) ** 2).sum(), (0, 1))
        return lambda *args: (f(*args), m.jit(g)(*args))

    both(program, *operands(name))


def test_options():
    x, y, sizes = operands("rows")
    both(lambda m: lambda *args: (
        m.lax.ragged_dot(*args), m.lax.ragged_dot(*args, "highest", np.float32),
        m.lax.ragged_dot(*(a.astype("bfloat16") for a in map(m.numpy.asarray, args[:2])), args[2],
                         preferred_element_type="float32"),
        m.vmap(m.lax.ragged_dot)(np.stack([x, -x]), np.stack([y, y]), np.stack([sizes, sizes])),
        str(m.lax.RaggedDotDimensionNumbers([[[1], [1]], [[], []]], [0], [0]))), x, y, sizes)


X, Y = np.ones((7, 3), np.float32), np.ones((2, 3, 4), np.float32)
SIZES = np.array([3, 2], np.int32)
PLAIN = (((1,), (1,)), ((), ()))


def general(m, dims, ragged, groups, x=X, y=Y, sizes=SIZES):
    numbers = m.lax.RaggedDotDimensionNumbers(dims, ragged, groups)
    return m.lax.ragged_dot_general(x, y, sizes, numbers)


ERRORS = {
    "float sizes": lambda m: m.lax.ragged_dot(X, Y, SIZES.astype(np.float32)),
    "scalar sizes": lambda m: m.lax.ragged_dot(X, Y, SIZES[0]),
    "number of groups": lambda m: m.lax.ragged_dot(X, Y, SIZES[:1]),
    "shapes": lambda m: m.lax.ragged_dot(X[:, :2], Y, SIZES),
    "two ragged": lambda m: general(m, PLAIN, (0, 1), (0,)),
    "no such ragged": lambda m: general(m, PLAIN, (2,), (0,)),
    "no group": lambda m: general(m, PLAIN, (0,), ()),
    "group contracted": lambda m: general(m, PLAIN, (0,), (1,)),
    "no such group": lambda m: general(m, PLAIN, (0,), (3,)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    both(lambda m: lambda: ERRORS[name](m))
