"""Primitives can be bound with the parameters that JAX's have besides ours, if these are `None`."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

X = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 7
ACCURATE = "cbrt cos exp exp2 expm1 log log1p logistic rsqrt sin sqrt tan tanh".split()
BINDS = {
    **{name: lambda lax, x, name=name: getattr(lax, f"{name}_p").bind(x, accuracy=None)
       for name in ACCURATE},
    "mul": lambda lax, x: lax.mul_p.bind(x, x, out_dtype=None),
    "broadcast_in_dim": lambda lax, x: lax.broadcast_in_dim_p.bind(
        x, shape=(2, 3, 2), broadcast_dimensions=(0, 1), sharding=None),
    "convert_element_type": lambda lax, x: lax.convert_element_type_p.bind(
        x, new_dtype=np.dtype(np.float16), weak_type=False, sharding=None),
    "iota": lambda lax, x: x * lax.iota_p.bind(
        dtype=np.dtype(np.float32), shape=(2, 3), dimension=1, sharding=None),
    "reshape": lambda lax, x: lax.reshape_p.bind(x, new_sizes=(6,), dimensions=None, sharding=None),
    "dot_general": lambda lax, x: lax.dot_general_p.bind(
        x, x, dimension_numbers=(((1,), (1,)), ((), ())), precision=None,
        preferred_element_type=np.dtype(np.float32), out_sharding=None),
    "reduce_sum": lambda lax, x: lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None),
}
TRANSFORMATIONS = {
    "eager": lambda jx, f: f,
    "jit": lambda jx, f: jx.jit(f),
    "vmap": lambda jx, f: lambda x: jx.vmap(f)(jx.numpy.stack([x, x + 1])),
    "grad": lambda jx, f: jx.grad(lambda x: jx.numpy.sum(f(x).astype(np.float32))),
    "text": lambda jx, f: jx.make_jaxpr(f),
}


@pytest.mark.parametrize("name", BINDS)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_what_is_not_asked_for_may_be_none(name, transformation):
    both(lambda jx: TRANSFORMATIONS[transformation](jx, lambda x: BINDS[name](jx.lax, x)), X)


def test_what_is_asked_for_is_refused():
    import minijax as jax

    with pytest.raises(NotImplementedError):
        jax.lax.sin_p.bind(X, accuracy=1)
    for bind in (lambda: jax.lax.mul_p.bind(X, X, out_dtype=np.dtype(np.float16)),
                 lambda: jax.lax.reduce_sum_p.bind(X, axes=(0,), colour=None)):
        with pytest.raises(TypeError):
            bind()


def test_an_accuracy_is_met_in_one_way():
    both(lambda jx: lambda x: jx.lax.sin_p.bind(x, accuracy=jx.lax.AccuracyMode.HIGHEST), X)
