"""Laws that hold for every function, on random programs and against JAX.

The first half compares minijax with itself by algebra, which needs no oracle; the second half
gives the same random programs to JAX.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.oracle import both, subject as mj
from tests.oracle.composition import TRANSFORMS, compose
from tests.oracle.programs import PROGRAMS
from tests.oracle.random_programs import inputs, interpret, random_programs

# Functions of real arguments with real results, out of the base functions.
REAL = [
    name
    for name, base in PROGRAMS.items()
    if all(
        getattr(x, "dtype", None) == np.float32 and x.size
        for x in mj.tree_util.tree_leaves(base.args)
    )
    and name not in ("comparisons", "mixed_precision")
]


def flat(tree: Any) -> np.ndarray:
    """All inexact numbers of a tree, in one vector of doubles."""
    leaves = [np.asarray(x) for x in mj.tree_util.tree_leaves(tree)]
    kept = [x.astype(np.float64).ravel() for x in leaves if x.dtype.kind == "f"]
    return np.concatenate(kept) if kept else np.zeros(0)


def noise(tree: Any, seed: int) -> Any:
    """A tree like `tree`: random numbers for inexact leaves, float0 for the others."""
    random = np.random.RandomState(seed)

    def leaf(x: Any) -> Any:
        x = np.asarray(x)
        if x.dtype.kind != "f":
            return np.zeros(x.shape, mj.dtypes.float0)
        return random.uniform(-1, 1, x.shape).astype(x.dtype)

    return mj.tree_util.tree_map(leaf, tree)


def close(a: Any, b: Any, tol: float = 2e-4) -> None:
    a, b = flat(a), flat(b)
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol * max(1.0, np.abs(b).max(initial=0)))


def check_adjoint(f: Any, args: tuple) -> None:
    """⟨Jv, w⟩ = ⟨v, Jᵀw⟩: the pullback is the transpose of the pushforward."""
    v = noise(args, 1)
    out, jv = mj.jvp(f, args, v)
    _, f_vjp = mj.vjp(f, *args)
    w = noise(out, 2)
    left, right = flat(jv) @ flat(w), flat(v) @ flat(f_vjp(w))
    scale = 1.0 + np.linalg.norm(flat(jv)) * np.linalg.norm(flat(w))
    assert abs(left - right) < 1e-5 * scale


def check_linearize(f: Any, args: tuple) -> None:
    """`linearize` is `jvp` with the tangents left open, and linear in them."""
    v, u = noise(args, 3), noise(args, 4)
    out, f_jvp = mj.linearize(f, *args)
    close((out, f_jvp(*v)), mj.jvp(f, args, v))
    combined = mj.tree_util.tree_map(lambda a, b: a + 2 * b, v, u)
    close(f_jvp(*combined), flat(f_jvp(*v)) + 2 * flat(f_jvp(*u)))


def check_jit(f: Any, args: tuple) -> None:
    """`jit` changes nothing but the time; nor does staging."""
    expected = f(*args)
    close(mj.jit(f)(*args), expected)
    jaxpr = mj.make_jaxpr(f)(*args)
    leaves = mj.tree_util.tree_leaves(args)
    close(mj.extend.core.jaxpr_as_fun(jaxpr)(*leaves), mj.tree_util.tree_leaves(expected))


def check_vmap(f: Any, args: tuple) -> None:
    """`vmap` is the loop, with its results stacked."""
    batch = [args, *(mj.tree_util.tree_map(lambda x, s=s: x * np.float32(s), args)
                     for s in (0.5, 0.75))]  # fmt: skip
    stacked = mj.tree_util.tree_map(lambda *xs: np.stack(xs), *batch)
    loop = [f(*example) for example in batch]
    expected = mj.tree_util.tree_map(lambda *xs: np.stack([np.asarray(x) for x in xs]), *loop)
    close(mj.vmap(f)(*stacked), expected)


def check_grad_of_sum(f: Any, args: tuple) -> None:
    """`grad` is additive: grad(f + 3 f) = 4 grad(f)."""

    def total(*xs: Any) -> Any:
        leaves = mj.tree_util.tree_leaves(f(*xs))
        return sum(mj.numpy.sum(x) for x in leaves if np.dtype(x.dtype).kind == "f")

    argnums = tuple(range(len(args)))
    gradient = mj.grad(total, argnums)(*args)
    four = mj.grad(lambda *xs: total(*xs) + 3 * total(*xs), argnums)(*args)
    close(four, mj.tree_util.tree_map(lambda g: 4 * g, gradient))


LAWS = {
    "adjoint": check_adjoint,
    "linearize": check_linearize,
    "jit": check_jit,
    "vmap": check_vmap,
    "grad_of_sum": check_grad_of_sum,
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", REAL)
def test_law(name, law):
    base = PROGRAMS[name]
    LAWS[law](_array_results(base.program(mj)), base.args)


def _array_results(f: Any) -> Any:
    return lambda *args: mj.tree_util.tree_map(mj.numpy.asarray, f(*args))


@pytest.mark.parametrize("law", LAWS)
def test_law_on_random_programs(law):
    @given(random_programs())
    def check(instructions):
        LAWS[law](interpret(mj, instructions), inputs())

    check()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("transform", ["jit", "vmap", "jvp", "linearize", "vjp"])
def test_laws_hold_of_transformed_functions(transform, law):
    """What comes out of a transformation is a function like any other."""
    for name in ("two_arguments", "mlp", "where", "sums", "nested_jit", "windows"):
        base = PROGRAMS[name]
        f, args = compose(mj, [transform], base.program(mj), base.args)
        LAWS[law](f, args)


@given(random_programs(), st.lists(st.sampled_from(list(TRANSFORMS)), max_size=2))
def test_random_programs_against_jax(instructions, transforms):
    def program(jx):
        def composed(*args):
            f, args = compose(jx, transforms, interpret(jx, instructions), args)
            return f(*map(jx.numpy.asarray, args))

        return composed

    both(program, *inputs(), tol=5e-4)


@given(random_programs())
def test_text_of_random_programs_against_jax(instructions):
    both(lambda jx: jx.make_jaxpr(interpret(jx, instructions)), *inputs())


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_hessian_is_symmetric_and_the_same_by_every_mode(seed):
    random = np.random.RandomState(seed)
    w, x = (random.randn(*s).astype(np.float32) for s in ((4, 4), (4,)))

    def f(x):
        return mj.numpy.sum(mj.numpy.tanh(w @ x) ** 2)

    hessian = np.asarray(mj.hessian(f)(x))
    close(hessian, hessian.T, 1e-3)
    modes = (mj.jacfwd, mj.jacrev)
    for outer in modes:
        for inner in modes:
            close(outer(inner(f))(x), hessian, 1e-3)


@given(st.integers(0, 5), st.integers(0, 4), st.integers(-3, 3), st.data())
def test_pad_and_slice_shapes(size, interior, low, data):
    """Padding, negative too, then slicing: values, gradients and types are JAX's."""
    high = data.draw(st.integers(-3, 3))
    start = data.draw(st.integers(0, 4))

    def program(jx):
        def f(x):
            padded = jx.lax.pad(x, np.float32(0.5), ((low, high, interior),))
            return padded[start:] * 2

        return lambda x: (f(x), jx.vjp(f, x)[1](f(x)), jx.vmap(f)(np.stack([x, x])))

    both(program, np.arange(1, size + 1, dtype=np.float32))


@settings(max_examples=15)
@given(st.data())
def test_dot_general_of_any_axes(data):
    """All ways to choose batch, contracting and free axes of two operands."""
    batch, contract, left, right = (data.draw(st.integers(0, 2)) for _ in range(4))
    sizes = st.integers(1, 3)
    shared = [data.draw(sizes) for _ in range(batch + contract)]
    lhs = _shuffled(data, shared, [data.draw(sizes) for _ in range(left)])
    rhs = _shuffled(data, shared, [data.draw(sizes) for _ in range(right)])
    (lhs_shape, lhs_axes), (rhs_shape, rhs_axes) = lhs, rhs
    numbers = ((lhs_axes[batch:], rhs_axes[batch:]), (lhs_axes[:batch], rhs_axes[:batch]))

    def program(jx):
        def f(a, b):
            return jx.lax.dot_general(a, b, numbers)

        def run(a, b):
            one = jx.vmap(f, (0, None))(np.stack([a, -a]), b)
            two = jx.vmap(f, (-1, 0))(np.stack([a, -a], -1), np.stack([b, b]))
            return f(a, b), jx.jit(f)(a, b), jx.vjp(f, a, b)[1](f(a, b)), one, two

        return run

    random = np.random.RandomState(0)
    both(program, *(np.float32(random.randn(*s)) for s in (lhs_shape, rhs_shape)))


def _shuffled(data: Any, shared: list[int], free: list[int]) -> tuple[list[int], tuple[int, ...]]:
    """A shape with these sizes in some order, and where the shared ones went."""
    sizes = shared + free
    order = data.draw(st.permutations(range(len(sizes))))
    return [sizes[i] for i in order], tuple(order.index(i) for i in range(len(shared)))


@given(st.lists(st.integers(0, 3), max_size=3), st.data())
def test_reductions_over_any_axes(shape, data):
    axes = tuple(data.draw(st.sets(st.sampled_from(range(len(shape))) if shape else st.nothing())))
    name = data.draw(st.sampled_from(["sum", "prod", "max", "min", "mean", "any", "all"]))
    dtype = data.draw(st.sampled_from(["float32", "int32", "bool", "float16", "complex64"]))
    keepdims = data.draw(st.booleans())
    x = (np.arange(int(np.prod(shape))) % 5 - 1.5).reshape(shape).astype(dtype)
    both(lambda jx: lambda x: getattr(jx.numpy, name)(x, axis=axes, keepdims=keepdims), x)


@given(st.data())
def test_basic_indexing_like_jax(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    bounds = st.none() | st.integers(-5, 5)
    steps = st.none() | st.sampled_from([1, 2, 3, -1, -2])
    entry = st.one_of(
        st.builds(slice, bounds, bounds, steps),
        st.integers(-1, 0),
        st.none(),
        st.just(slice(None)),
    )
    index = tuple(data.draw(st.lists(entry, max_size=len(shape))))
    x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)

    def program(jx):
        def f(x):
            return x[index] * 2

        return lambda x: (f(jx.numpy.asarray(x)), jx.jit(f)(x), jx.grad(lambda x: f(x).sum())(x))

    both(program, x)


DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16",
          "float32", "complex64"]  # fmt: skip
SCALARS = [True, 3, 2.5, 1 + 2j]


@pytest.mark.parametrize("right", [*DTYPES, *SCALARS], ids=str)
@pytest.mark.parametrize("left", DTYPES)
def test_promotion(left, right):
    """Types, weak types and values of every operator on every pair of types."""
    x = np.array([1, 0, 1]).astype(_dtype(left))
    y = np.array([1, 1, 0]).astype(_dtype(right)) if isinstance(right, str) else right
    for name in ("add", "multiply", "true_divide", "maximum", "equal", "where"):

        def program(jx, name=name):
            if name == "where":
                return lambda x, y: jx.numpy.where(x == x, x, y)
            return getattr(jx.numpy, name)

        both(program, x, y)


def _dtype(name: str) -> np.dtype:
    return np.dtype(mj.numpy.bfloat16 if name == "bfloat16" else name)
