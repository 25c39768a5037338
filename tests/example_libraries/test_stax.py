"""`example_libraries.stax`: the same weights, outputs and gradients as JAX's."""

from __future__ import annotations

import numpy as np
import pytest

import minijax.example_libraries.stax  # noqa: F401
from tests.oracle import both, in_both

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(3, 5)).astype(np.float32)
IMAGES = RNG.normal(size=(2, 6, 7, 3)).astype(np.float32)
SIGNALS = RNG.normal(size=(2, 6, 3)).astype(np.float32)

ELEMENTWISE = """Tanh Relu Exp LogSoftmax Softmax Softplus Sigmoid Elu LeakyRelu Selu Gelu Identity
    Flatten""".split()

LAYERS = {
    **{name: (lambda s, name=name: getattr(s, name), ROWS) for name in ELEMENTWISE},
    "Dense": (lambda s: s.Dense(4), ROWS),
    "Dense with initializers": (lambda s: s.Dense(4, s.randn(1.0), s.zeros), ROWS),
    "Flatten images": (lambda s: s.Flatten, IMAGES),
    "Conv": (lambda s: s.Conv(4, (3, 3)), IMAGES),
    "Conv, strided": (lambda s: s.Conv(2, (2, 3), (2, 1), "SAME", W_init=s.glorot(2, 3)), IMAGES),
    "GeneralConv": (lambda s: s.GeneralConv(("NHC", "OHI", "NCH"), 4, (2,)), SIGNALS),
    "ConvTranspose": (lambda s: s.ConvTranspose(4, (3, 3), (2, 2)), IMAGES),
    "Conv1DTranspose": (lambda s: s.Conv1DTranspose(2, (3,), (2,), "SAME"), SIGNALS),
    "MaxPool": (lambda s: s.MaxPool((2, 2)), IMAGES),
    "MaxPool, strided": (lambda s: s.MaxPool((3, 2), (2, 2), "SAME"), IMAGES),
    "SumPool": (lambda s: s.SumPool((2, 1), spec="NCHW"), IMAGES),
    "AvgPool": (lambda s: s.AvgPool((2, 3), padding="SAME"), IMAGES),
    "AvgPool, one dimension": (lambda s: s.AvgPool((2,), (2,), "SAME"), SIGNALS),
    "BatchNorm": (lambda s: s.BatchNorm(), IMAGES),
    "BatchNorm, rows": (lambda s: s.BatchNorm(axis=0, scale=False, epsilon=0.1), ROWS),
    "BatchNorm, scaled": (lambda s: s.BatchNorm(axis=(0,), center=False), ROWS),
    "serial": (lambda s: s.serial(s.Dense(3), s.Relu, s.Dense(2), s.LogSoftmax), ROWS),
    "parallel": (lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(3), s.Dense(3)), s.FanInSum),
                 ROWS),
    "concatenated": (lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(2), s.Identity),
                                        s.FanInConcat()), ROWS),
    "shape_dependent": (lambda s: s.shape_dependent(lambda shape: s.Dense(shape[-1])), ROWS),
    "Dropout, unused": (lambda s: s.Dropout(0.5, mode="test"), ROWS),
    "network": (lambda s: s.serial(s.Conv(4, (3, 3)), s.BatchNorm(), s.Relu,
                                   s.MaxPool((2, 2), (2, 2)), s.Flatten,
                                   s.Dropout(0.8), s.Dense(3), s.Softmax), IMAGES),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    """Shape, initial parameters, outputs, and the gradient of their sum of sines."""
    make, inputs = LAYERS[name]

    def program(jx):
        init_fun, apply_fun = make(jx.example_libraries.stax)

        def loss(params, inputs):
            return jx.numpy.sum(jx.numpy.sin(apply_fun(params, inputs, rng=jx.random.key(1))))

        def run():
            shape, params = init_fun(jx.random.key(0), inputs.shape)
            out = apply_fun(params, inputs, rng=jx.random.key(1))
            assert tuple(shape) == out.shape
            return out, params, jx.jit(jx.grad(loss, (0, 1)))(params, inputs)

        return run

    both(program, tol=1e-4)


@pytest.mark.parametrize("name", ["Dense", "Conv", "serial", "BatchNorm, rows", "ConvTranspose"])
def test_unknown_batch_size(name):
    make, inputs = LAYERS[name]
    both(lambda jx: lambda: [int(n) for n in make(jx.example_libraries.stax)[0](
        jx.random.key(0), (-1, *inputs.shape[1:]))[0]])


@in_both
def test_parallel_parts(jx):
    stax = jx.example_libraries.stax
    init_fun, apply_fun = stax.parallel(stax.Dense(2), stax.Tanh)
    shapes, params = init_fun(jx.random.key(0), [(3, 5), (2, 2)])
    return (list(shapes), apply_fun(tuple(params), [ROWS, ROWS[:2, :2]]))


def test_dropout_needs_a_key():
    both(lambda jx: lambda: jx.example_libraries.stax.Dropout(0.5)[1]((), ROWS))
