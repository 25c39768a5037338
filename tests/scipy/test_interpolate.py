"""`scipy.ndimage`, `interpolate`, `integrate` and `cluster.vq` against JAX's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

IMAGE = np.sin(np.arange(20, dtype=np.float32) ** 2).reshape(4, 5)
PLACES = [np.linspace(-3, 6, 13, dtype=np.float32), np.linspace(7, -4, 13, dtype=np.float32)]
GRID = (np.array([0, 1, 2.5, 4], np.float32), np.array([-1, 0, 0.5, 1, 3], np.float32))
POINTS = np.stack([x[2:] for x in PLACES], axis=-1)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@in_both
def test_map_coordinates(jx, mode, order):
    def f(image, places=PLACES):
        return jx.scipy.ndimage.map_coordinates(image, places, order, mode, cval=1.5)

    return (f(IMAGE), f(IMAGE.astype("float16")), f((IMAGE * 9).astype(int)),
            f(IMAGE, [x.astype(int) for x in PLACES]))


@in_both
def test_gradients(jx):
    def loss(image, *places):
        return jx.numpy.sum(jx.scipy.ndimage.map_coordinates(image, places, 1, "wrap") ** 2)

    return jx.jit(jx.grad(loss, (0, 1)))(IMAGE, *PLACES)


def interpolator(jx, *args, **kwargs):
    return jx.scipy.interpolate.RegularGridInterpolator(*args, **kwargs)


CALLS = {
    "mode": lambda jx: jx.scipy.ndimage.map_coordinates(IMAGE, PLACES, 1, "none"),
    "order": lambda jx: jx.scipy.ndimage.map_coordinates(IMAGE, PLACES, 2),
    "coordinates": lambda jx: jx.scipy.ndimage.map_coordinates(IMAGE, PLACES[:1], 1),
    "linear": lambda jx: interpolator(jx, GRID, IMAGE)(POINTS),
    "nearest": lambda jx: interpolator(jx, GRID, IMAGE, fill_value=7)(POINTS, method="nearest"),
    "extrapolated": lambda jx: interpolator(jx, GRID, IMAGE, fill_value=None)(tuple(PLACES)),
    "further dimensions": lambda jx: interpolator(jx, GRID[:1], IMAGE)(PLACES[0]),
    "one point": lambda jx: interpolator(jx, GRID, IMAGE)(np.array([0.5, 0.75], np.float32)),
    "integers": lambda jx: interpolator(jx, GRID, IMAGE.astype(int))(POINTS),
    "a mesh": lambda jx: interpolator(jx, GRID, IMAGE)((PLACES[0][:3, None], PLACES[1][2:5])),
    "no tuple": lambda jx: interpolator(jx, GRID[:1], IMAGE[:, 0])((PLACES[0],)),
    "a pytree": lambda jx: jx.jit(lambda f, x: f(x))(interpolator(jx, GRID, IMAGE), POINTS),
    "a gradient": lambda jx: jx.grad(lambda v: interpolator(jx, GRID, v, fill_value=0.0)(
        POINTS).sum())(IMAGE),
    "unknown method": lambda jx: interpolator(jx, GRID, IMAGE, "cubic"),
    "later unknown": lambda jx: interpolator(jx, GRID, IMAGE)(POINTS, "cubic"),
    "bounds_error": lambda jx: interpolator(jx, GRID, IMAGE, bounds_error=True),
    "too many": lambda jx: interpolator(jx, GRID, IMAGE[0]),
    "complex fill": lambda jx: interpolator(jx, GRID, IMAGE, fill_value=1j),
    "dimension": lambda jx: interpolator(jx, GRID, IMAGE)(POINTS[:, :1]),
    "trapezoid": lambda jx: (jx.scipy.integrate.trapezoid(IMAGE, dx=0.5, axis=0),
                             jx.scipy.integrate.trapezoid(IMAGE, GRID[1])),
    "vq": lambda jx: jx.scipy.cluster.vq.vq(POINTS, POINTS[2:5] + 0.1),
    "vq of vectors": lambda jx: jx.scipy.cluster.vq.vq(PLACES[0], np.array([1, 2])),
    "vq of ranks": lambda jx: jx.scipy.cluster.vq.vq(POINTS, PLACES[0]),
    "vq of rank 3": lambda jx: jx.scipy.cluster.vq.vq(IMAGE[None], IMAGE[None]),
    "vq of a list": lambda jx: jx.scipy.cluster.vq.vq([1.0], [2.0]),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    both(lambda jx: lambda: CALLS[call](jx))


def test_text():
    both(lambda jx: jx.make_jaxpr(
        lambda x, a, b: jx.scipy.ndimage.map_coordinates(x, [a, b], 1, "nearest")), IMAGE, *PLACES)
