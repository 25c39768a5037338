"""`minijax.image` against JAX's: all methods, up and down, with and without antialiasing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

METHODS = ["nearest", "bilinear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch", "area"]
IMAGE = np.sin(np.arange(60, dtype=np.float32) ** 2).reshape(5, 6, 2)
SCALE, SHIFT = np.array([0.7, 1.9], np.float32), np.array([0.4, -1.3], np.float32)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
@in_both
def test_resize(jx, method, antialias):
    """Derivatives are those of `scale_and_translate`, and of indexing."""
    def f(image, shape=(9, 2, 2)):
        return jx.image.resize(image, shape, method, antialias=antialias)

    return (f(IMAGE), str(jx.make_jaxpr(f)(IMAGE.astype("float16")).out_avals),
            str(jx.make_jaxpr(f)(IMAGE.astype(int)).out_avals), f(IMAGE, IMAGE.shape))


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", ["linear", "lanczos3", "area"])
def test_scale_and_translate(method, antialias):
    def program(jx):
        def f(image, scale, shift):
            return jx.image.scale_and_translate(image, (4, 8, 2), (0, 1), scale, shift, method,
                                                antialias=antialias)

        loss = lambda *args: jx.numpy.sum(f(*args) ** 2)
        return lambda: jx.jit(jx.value_and_grad(loss, (0, 1, 2)))(IMAGE, SCALE, SHIFT)

    both(program, tol=1e-4)


CALLS = {
    "negative dimension": lambda image: image.scale_and_translate(
        IMAGE, (5, 9, 2), (-2,), SCALE[:1], SHIFT[:1], image.ResizeMethod.LINEAR),
    "no dimension": lambda image: image.scale_and_translate(
        IMAGE, IMAGE.shape, (), np.zeros(0), np.zeros(0), "linear"),
    "nearest": lambda image: image.scale_and_translate(
        IMAGE, IMAGE.shape, (0, 1), SCALE, SHIFT, "nearest"),
    "unknown": lambda image: image.resize(IMAGE, (1, 1, 1), "best"),
    "rank": lambda image: image.resize(IMAGE, (1, 1), "linear"),
    "translated rank": lambda image: image.scale_and_translate(
        IMAGE, (1, 1), (0, 1), SCALE, SHIFT, "linear"),
    "to nothing": lambda image: image.resize(IMAGE, (0, 6, 2), "linear"),
    "cubic-pytorch": lambda image: image.scale_and_translate(
        IMAGE, (5, 9, 2), (1,), SCALE[1:], SHIFT[1:], "cubic-pytorch", antialias=False),
    "from_string": lambda image: [image.ResizeMethod.from_string(name).value for name in (
        "trilinear", "triangle", "bicubic", "tricubic", "bicubic-pytorch", "area")],
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    both(lambda jx: lambda: CALLS[call](jx.image))


def test_text():
    both(lambda jx: jx.make_jaxpr(lambda x: jx.image.resize(x, (7, 3, 2), "nearest")), IMAGE)


def test_gradient_of_nearest():
    def loss(jx):
        return lambda x: jx.numpy.sum(jx.image.resize(x, (9, 2, 2), "nearest") ** 2)

    both(lambda jx: jx.grad(loss(jx)), IMAGE)
