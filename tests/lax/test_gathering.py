"""gather and scatter against JAX: dimension numbers × modes × transformations."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle.compare import both, in_both

# name: (offset, collapsed, index map, operand batching, indices batching), slice sizes, indices
NUMBERS = {
    "rows": (((1, 2), (0,), (0,), (), ()), (1, 4, 5), (2, 1)),
    "columns": (((0, 2), (1,), (1,), (), ()), (3, 1, 5), (2, 1)),
    "columns, in place": (((0, 1), (1,), (1,), (), ()), (3, 1, 5), (2, 1)),
    "windows": (((1, 2, 3), (), (0, 2), (), ()), (2, 4, 3), (3, 2)),
    "lines": (((1,), (0, 2), (2, 0), (), ()), (1, 4, 1), (3, 2)),
    "batched": (((2,), (1,), (1,), (0,), (0,)), (1, 1, 5), (3, 2, 1)),
    "batched behind": (((1,), (1,), (1,), (0,), (1,)), (1, 1, 4), (2, 3, 1)),
    "everything": (((0, 1, 2), (), (), (), ()), (3, 4, 5), (0,)),
    "everything twice": (((1, 2, 3), (), (), (), ()), (3, 4, 5), (2, 0)),
    "one box": (((0, 1), (2,), (2,), (), ()), (2, 4, 1), (1,)),
}
SCATTERS = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]
MODES = ["clip", "fill", "promise_in_bounds"]
TRANSFORMATIONS = {
    "eager": lambda m, f: f,
    "jit": lambda m, f: m.jit(f),
    "jvp": lambda m, f: lambda x, *rest: m.jvp(lambda x: f(x, *rest), (x,), (x + 1,)),
    "vjp": lambda m, f: lambda x, *rest: m.vjp(lambda x: f(x, *rest), x)[1](f(x, *rest)),
    "text": lambda m, f: m.make_jaxpr(f),
    "text of grad": lambda m, f: m.make_jaxpr(m.grad(lambda *args: f(*args).sum())),
    "vmap operand": lambda m, f: m.vmap(f, (1, *[None] * 2)[:f.__code__.co_argcount]),
    "vmap indices": lambda m, f: m.vmap(f, (None, 0, None)[:f.__code__.co_argcount]),
    "vmap all": lambda m, f: m.jit(m.vmap(f, (0, 1, 0)[:f.__code__.co_argcount])),
}


def data(name, seed=0):
    numbers, sizes, shape = NUMBERS[name]
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, 4, 5)).astype(np.float32)
    return x, rng.integers(-2, 6, size=shape).astype(np.int32)


def batched(transformation, *args):
    """More examples, where the transformation wants them."""
    axes = {"vmap operand": (1, None, None), "vmap indices": (None, 0, None),
            "vmap all": (0, 1, 0)}.get(transformation, (None,) * 3)
    return [x if d is None or (x.ndim == 1 and d) else np.stack([x, x + 1, x - 1], d)
            for x, d in zip(args, axes)]


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NUMBERS)
def test_gather(name, mode, transformation):
    numbers, sizes, _ = NUMBERS[name]
    x, indices = data(name)
    if transformation == "vmap all" and indices.ndim == 1:
        return

    def program(m):
        def f(x, i):
            return m.lax.gather(x, i, m.lax.GatherDimensionNumbers(*numbers), sizes, mode=mode,
                                fill_value=0)

        return TRANSFORMATIONS[transformation](m, f)

    both(program, *batched(transformation, x, indices))


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("op", SCATTERS)
@pytest.mark.parametrize("name", NUMBERS)
def test_scatter(name, op, transformation):
    """Modes in turn; indices that do not overlap where JAX leaves open what happens then."""
    numbers, sizes, _ = NUMBERS[name]
    x, indices = data(name)
    mode = MODES[:2][(len(name) + len(op)) % 2]
    if transformation == "vmap all" and indices.ndim == 1:
        return
    lax = minijax.lax
    shape = lax.gather(x, indices, lax.GatherDimensionNumbers(*numbers), sizes).shape
    updates = np.random.default_rng(1).normal(size=shape).astype(np.float32)

    def program(m):
        def f(x, i, u):
            return getattr(m.lax, op)(x, i, u, m.lax.ScatterDimensionNumbers(*numbers), mode=mode)

        return TRANSFORMATIONS[transformation](m, f)

    both(program, *batched(transformation, x, indices, updates))


@pytest.mark.parametrize("op", SCATTERS)
def test_gradients_of_updates(op):
    x, indices = data("rows")
    updates = x[:2] * 2

    def program(m):
        def f(x, u):
            numbers = m.lax.ScatterDimensionNumbers((1, 2), (0,), (0,))
            out = getattr(m.lax, op)(x, indices % 3, u, numbers, unique_indices=True)
            return (out * out).sum()

        return m.jit(m.grad(lambda x, u: f(x, u) + m.grad(f, 1)(x, u).sum(), (0, 1)))

    both(program, x, updates)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16", "bfloat16",
                                   "complex64"])
@pytest.mark.parametrize("op", ["gather", *SCATTERS])
def test_dtypes(op, dtype):
    x, indices = data("rows")
    x = minijax.numpy.asarray(x * 10).astype(dtype)
    x, u = np.asarray(x), np.asarray(x[1:])

    def program(m):
        numbers = NUMBERS["rows"][0]
        if op == "gather":
            numbers = m.lax.GatherDimensionNumbers(*numbers)
            call = lambda x, u: m.lax.gather(x, indices, numbers, (1, 4, 5), mode="fill")
        else:
            numbers = m.lax.ScatterDimensionNumbers(*numbers)
            call = lambda x, u: getattr(m.lax, op)(x, indices, u, numbers)
        return lambda *args: (call(*args), m.jit(call)(*args))

    both(program, x, u)


@in_both
def test_apply(m):
    x, i = np.arange(4, dtype=np.float32), np.array([[1], [2], [1]])
    numbers = m.lax.ScatterDimensionNumbers((), (0,), (0,))
    apply = lambda x: m.lax.scatter_apply(x, i, m.numpy.sin, numbers, update_shape=(3,))
    return apply(x), m.jit(apply)(x)


GATHER_ERRORS = [
    (((1, 2), (0,), (0,), (), ()), (1, 4, 6), (2, 1)),  # larger than the operand
    (((1, 2), (0,), (0,), (), ()), (2, 4, 5), (2, 1)),  # collapsed, but not of size one
    (((1, 2), (0,), (0, 1), (), ()), (1, 4, 5), (2, 1)),  # index vectors of another length
    (((2, 1), (0,), (0,), (), ()), (1, 4, 5), (2, 1)),  # not sorted
    (((1, 9), (0,), (0,), (), ()), (1, 4, 5), (2, 1)),  # out of bounds
    (((1, 2), (0,), (7,), (), ()), (1, 4, 5), (2, 1)),
    (((1, 2), (9,), (0,), (), ()), (1, 4, 5), (2, 1)),
    (((1,), (0,), (0,), (), ()), (1, 4, 5), (2, 1)),
    (((1, 2), (0,), (0,), (), ()), (1, 4), (2, 1)),
    (((1, 2), (0,), (0,), (0,), (0,)), (1, 4, 5), (3, 1)),  # collapsed and batching
    (((1, 2), (), (), (0,), (0,)), (1, 4, 5), (2, 0)),  # batching dimensions of two sizes
]


@pytest.mark.parametrize("case", range(len(GATHER_ERRORS)))
def test_errors(case):
    numbers, sizes, shape = GATHER_ERRORS[case]
    x, indices = np.zeros((3, 4, 5), np.float32), np.zeros(shape, np.int32)

    def read(m):
        numbers_ = m.lax.GatherDimensionNumbers(*numbers)
        return lambda: m.lax.gather(x, indices, numbers_, sizes)

    def write(m):
        numbers_ = m.lax.ScatterDimensionNumbers(*numbers)
        return lambda: m.lax.scatter(x, indices, np.zeros((2, 4, 6), np.float32), numbers_)

    both(read)
    both(write)


def test_other_errors():
    numbers = ((1, 2), (0,), (0,))
    x, i, u = np.zeros((3, 4, 5), np.float32), np.zeros((2, 1), np.int32), np.ones((2, 4, 5))
    for program in (
        lambda m: lambda: m.lax.scatter(x, i, u.astype(int), m.lax.ScatterDimensionNumbers(*numbers)),
        lambda m: lambda: m.lax.scatter(x, i * 1.0, u, m.lax.ScatterDimensionNumbers(*numbers)),
        lambda m: lambda: m.lax.gather(x, i, m.lax.GatherDimensionNumbers(*numbers), (1, 4, 5), mode="x"),
    ):
        both(program)


@in_both
def test_text_of_twice_the_same(m):
    numbers = m.lax.ScatterDimensionNumbers((), (0,), (0,))
    add = lambda x, i: m.lax.scatter_add(x, i, x[:2], numbers)
    return m.make_jaxpr(lambda x, i: add(add(x, i), i))(np.ones(3, np.float32), np.zeros((2, 1), np.int32))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("op", SCATTERS[1:])
def test_repeated_places(op, dtype):
    """Rows that are combined into the same place, and some outside."""
    if dtype == "bool" and op == "scatter_sub":
        return
    rng = np.random.default_rng(2)
    x = np.asarray(minijax.numpy.asarray(rng.integers(0, 3, (3, 4))).astype(dtype))
    u = np.asarray(minijax.numpy.asarray(rng.integers(0, 3, (9, 4))).astype(dtype))
    indices = rng.integers(-1, 4, (9, 1))

    def program(m):
        numbers = m.lax.ScatterDimensionNumbers((1,), (0,), (0,))
        pairs = m.lax.ScatterDimensionNumbers((), (0, 1), (0, 1))
        both_ = np.concatenate([indices, indices], 1)
        f = getattr(m.lax, op)
        return lambda x, u: (f(x, indices, u, numbers), f(x, both_, u[:, 0], pairs))

    both(program, x, u)


@pytest.mark.parametrize("fill_value", [None, 1, 2.5])
@pytest.mark.parametrize("transform", ["eager", "jit"])
@pytest.mark.parametrize("dtype", [
    "bool", "int4", "int8", "int32", "uint8", "uint32", "bfloat16", "float16", "float32", "complex64"])
@in_both
def test_what_is_filled_in_outside(m, dtype, transform, fill_value):
    x = m.numpy.ones((3, 2), dtype)
    f = TRANSFORMATIONS[transform](m, lambda x: (
        x.at[np.array([5, 1])].get(mode="fill", fill_value=fill_value),
        m.numpy.take(x, np.array([7, 0]), axis=0, mode="fill", fill_value=fill_value)))
    return f(x)
