"""Chapter 4: laws that `vmap` obeys, on shapes and axes that Hypothesis chooses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minijax import dtypes, lax
from minijax.core.api import vmap
from minijax.core.forward import Zero, jvpfun
from tests.oracle import ask, jax

SIZE = 4


def stacked(function, args, axes):
    """What `vmap` must give: the function of each example, the results stacked."""
    return np.stack([
        np.asarray(function(*[x if d is None else np.take(x, i, d) for x, d in zip(args, axes)]))
        for i in range(SIZE)
    ])


def random(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


@st.composite
def batched_shapes(draw, shapes):
    """For each shape, a place for the batch dimension or `None`, and the shape with it."""
    axes = draw(st.lists(st.none() | st.integers(-1, 2), min_size=len(shapes), max_size=len(shapes))
                .filter(lambda axes: any(axis is not None for axis in axes)))
    axes = [axis if axis is None else max(min(axis, len(shape)), -len(shape) - 1)
            for axis, shape in zip(axes, shapes)]
    return axes, [shape if axis is None else inserted(shape, axis)
                  for axis, shape in zip(axes, shapes)]


def inserted(shape, axis):
    axis %= len(shape) + 1
    return (*shape[:axis], SIZE, *shape[axis:])


sizes = st.integers(0, 3)


@st.composite
def dots(draw):
    """Shapes and dimension numbers of a product, in any order of dimensions."""
    batch, contract, x_free, y_free = (draw(st.lists(sizes, max_size=2)) for _ in range(4))
    x_names = draw(st.permutations([*batch_names(batch, "b"), *batch_names(contract, "c"),
                                    *batch_names(x_free, "x")]))
    y_names = draw(st.permutations([*batch_names(batch, "b"), *batch_names(contract, "c"),
                                    *batch_names(y_free, "y")]))
    places = lambda names, kind, many: tuple(
        next(i for i, (k, j, _) in enumerate(names) if (k, j) == (kind, n)) for n in range(many))
    numbers = ((places(x_names, "c", len(contract)), places(y_names, "c", len(contract))),
               (places(x_names, "b", len(batch)), places(y_names, "b", len(batch))))
    shapes = [tuple(size for _, _, size in names) for names in (x_names, y_names)]
    return numbers, *draw(batched_shapes(shapes))


def batch_names(dims, kind):
    return [(kind, i, size) for i, size in enumerate(dims)]


@given(dots())
def test_products(case):
    numbers, axes, shapes = case
    args = [random(shape, seed) for seed, shape in enumerate(shapes)]
    dot = lambda x, y: lax.dot_general(x, y, numbers)
    np.testing.assert_allclose(np.asarray(vmap(dot, axes)(*args)), stacked(dot, args, axes),
                               rtol=1e-5, atol=1e-5)


@given(st.lists(sizes, max_size=3), st.data())
def test_elementwise_with_scalars_and_ones(shape, data):
    """Any mix of full shapes, dimensions of size one, and scalars."""
    one_or_all = lambda: tuple(data.draw(st.sampled_from([1, n])) for n in shape)
    shapes = [data.draw(st.sampled_from([(), tuple(shape), one_or_all()])) for _ in range(2)]
    axes, shapes = data.draw(batched_shapes(shapes))
    args = [random(shape, seed) for seed, shape in enumerate(shapes)]
    got = vmap(lax.sub, axes)(*args)
    np.testing.assert_array_equal(np.asarray(got), stacked(lax.sub, args, axes))


@given(st.lists(sizes, max_size=3), st.data())
def test_in_axes_and_out_axes_move_dimensions(shape, data):
    axis, out_axis = (data.draw(st.integers(-len(shape) - 1, len(shape))) for _ in range(2))
    x = random(inserted(shape, axis))
    got = vmap(lambda x: lax.mul(x, 2.0), axis, out_axis)(x)
    np.testing.assert_array_equal(np.asarray(got), 2 * np.moveaxis(x, axis, out_axis))


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_reductions(shape, data):
    axis = data.draw(st.integers(0, len(shape)))
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    x = random(inserted(tuple(shape), axis))
    function = lambda x: lax.reduce_max(x, axes)
    np.testing.assert_array_equal(np.asarray(vmap(function, axis)(x)),
                                  stacked(function, [x], [axis]))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.data())
def test_own_starts(shape, data):
    """A slice and an update at starts of which any may differ by example."""
    ndim = len(shape)
    slice_sizes = [data.draw(st.integers(0, n)) for n in shape]
    axes, shapes = data.draw(batched_shapes([tuple(shape), tuple(slice_sizes)]))
    start_axes = [data.draw(st.sampled_from([None, 0])) for _ in range(ndim)]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    starts = [rng.integers(-3, 7, () if d is None else (SIZE,), np.int32) for d in start_axes]
    x, update = random(shapes[0], 0), random(shapes[1], 1)
    put = lambda x, update, *starts: lax.dynamic_update_slice(x, update, starts)
    all_axes, args = [*axes, *start_axes], [x, update, *starts]
    np.testing.assert_array_equal(np.asarray(vmap(put, all_axes)(*args)),
                                  stacked(put, args, all_axes))
    if all_axes[0] is None and set(start_axes) == {None}:
        return
    cut = lambda x, *starts: lax.dynamic_slice(x, starts, slice_sizes)
    all_axes, args = [axes[0], *start_axes], [x, *starts]
    np.testing.assert_array_equal(np.asarray(vmap(cut, all_axes)(*args)),
                                  stacked(cut, args, all_axes))


# ----------------------------------------------------------------------------------------------
# With chapter 2's forward mode, in both orders


def derivative(lax):
    """The function's directional derivative, in either library."""
    if lax is jax.lax:
        return lambda f: lambda x, t: jax.jvp(f, (x,), (t,))[1]
    return lambda f: lambda x, t: jvpfun(lambda x: [f(x)], [x], [t])[1][0]


FUNCTIONS = {
    "elementwise": lambda lax: lambda x: lax.mul(lax.sin(x), lax.exp(x)),
    "product": lambda lax: lambda x: lax.dot(x, lax.sin(x)),
    "maximum": lambda lax: lambda x: lax.reduce_max(lax.mul(x, x), (0,)),
    "slice": lambda lax: lambda x: lax.dynamic_slice(lax.sin(x), (lax.argmax(x, 0, np.int32),),
                                                     (1,)),
    "update": lambda lax: lambda x: lax.dynamic_update_slice(
        lax.sin(x), lax.slice(x, (0,), (1,)), (lax.argmax(x, 0, np.int32),)),
    "select": lambda lax: lambda x: lax.select_n(lax.gt(x, np.float32(0)), x, lax.cos(x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("order", ["vmap of jvp", "jvp of vmap", "vmap of jvp of vmap"])
def test_with_forward_mode(name, order):
    def program(vmap, lax):
        f, d = FUNCTIONS[name](lax), derivative(lax)
        return {"vmap of jvp": lambda: vmap(d(f)), "jvp of vmap": lambda: d(vmap(f)),
                "vmap of jvp of vmap": lambda: vmap(d(vmap(f)), 1)}[order]()

    shape = (2, SIZE, 3) if order.count("vmap") == 2 else (SIZE, 3)
    x, t = random(shape, 0), random(shape, 1)
    np.testing.assert_allclose(np.asarray(program(vmap, lax)(x, t)),
                               np.asarray(ask(lambda: program(jax.vmap, jax.lax)(x, t))), rtol=1e-5, atol=1e-6)


def test_perturbations_of_two_levels_are_kept_apart():
    """d/dx (x * d/dy (x + y)) = 1, for every example."""
    def f(x):
        d = jvpfun(lambda y: [lax.add(x, y)], [np.float32(1)], [np.float32(1)])[1][0]
        return [lax.mul(x, d)]

    d = vmap(lambda x: jvpfun(f, [x], [np.float32(1)])[1][0])(random(SIZE))
    assert d.tolist() == [1.0] * SIZE


def test_derivative_of_integers():
    """Their tangents are symbolic zeros, which are no arrays and meet no batching rule."""
    def f(i):
        return jvpfun(lambda i: [lax.mul(i, np.int32(2))], [i], [Zero.from_primal_value(i)])

    def primal(i):
        (out,), (tangent,) = f(i)
        assert type(tangent) is Zero and tangent.aval.dtype == dtypes.float0
        return out

    assert vmap(primal)(np.arange(3)).tolist() == [0, 2, 4]
