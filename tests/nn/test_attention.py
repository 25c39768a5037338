"""`dot_product_attention`: values, derivatives, jaxprs and errors as JAX's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

RNG = np.random.default_rng(0)
LENGTHS = np.array([3, 5], np.int32)
MASK = RNG.random((2, 1, 5, 6)) > 0.3
BIAS = RNG.normal(size=(2, 4, 5, 6)).astype(np.float32)

OPTIONS = {
    "plain": {},
    "causal": {"is_causal": True},
    "bias": {"bias": BIAS},
    "bias for all heads": {"bias": BIAS[:, :1], "is_causal": True},
    "mask": {"mask": MASK, "scale": 0.3},
    "mask of each head": {"mask": np.repeat(MASK, 4, axis=1)},
    "query lengths": {"query_seq_lengths": LENGTHS},
    "key lengths": {"key_value_seq_lengths": LENGTHS, "implementation": "xla"},
    "window": {"local_window_size": 1},
    "left window": {"local_window_size": (2, 0), "return_residual": True},
    "all of them": {"bias": BIAS, "mask": MASK, "is_causal": True, "query_seq_lengths": LENGTHS,
                    "key_value_seq_lengths": LENGTHS, "local_window_size": (3, 1),
                    "return_residual": True},
}  # fmt: skip


def arrays(query_heads=4, kv_heads=2, dtype="float32"):
    """Queries, keys and values of two sequences."""
    sizes = [(2, 5, query_heads, 3), (2, 6, kv_heads, 3), (2, 6, kv_heads, 3)]
    rng = np.random.default_rng(1)
    return [rng.normal(size=size).astype(dtype) for size in sizes]


@pytest.mark.parametrize("name", OPTIONS)
def test_values_and_derivatives(name):
    """Eagerly, and a second derivative along a direction."""
    q, k, v = arrays()

    def program(jx):
        f = lambda *qkv: jx.nn.dot_product_attention(*qkv, **OPTIONS[name])
        loss = lambda *qkv: jx.numpy.sum(jx.numpy.sin(jx.tree.leaves(f(*qkv))[0]))
        gradient = jx.grad(loss, (0, 1, 2))
        return lambda: (f(q, k, v), jx.jit(lambda: jx.jvp(gradient, (q, k, v), (q, k, v)))())

    both(program)


@pytest.mark.parametrize("name", [n for n in OPTIONS if n not in ("all of them", "left window")])
def test_jaxpr_text(name):
    both(lambda jx: jx.make_jaxpr(lambda *qkv: jx.nn.dot_product_attention(*qkv, **OPTIONS[name])),
         *arrays())


@pytest.mark.parametrize("heads", [(1, 1), (4, 4), (6, 3), (4, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_heads_and_dtypes(heads, dtype):
    q, k, v = arrays(*heads)

    def program(jx):
        qkv = [jx.numpy.asarray(x, dtype) for x in (q, k, v)]
        f = lambda *qkv: jx.nn.dot_product_attention(*qkv, is_causal=True)
        return lambda: (f(*qkv), f(*(x[0] for x in qkv)))

    both(program)


def test_gradient_of_bfloat16():
    """With the text of its jaxpr: sums are in 32 bits."""
    single = arrays()

    def program(jx):
        qkv = [jx.numpy.asarray(x, "bfloat16") for x in single]
        loss = lambda *qkv: jx.numpy.sum(jx.nn.dot_product_attention(*qkv) ** 2)
        return lambda: (jx.jit(jx.grad(loss, (0, 1, 2)))(*qkv),
                        jx.make_jaxpr(lambda *qkv: jx.nn.dot_product_attention(*qkv))(*qkv))

    both(program)


def test_without_anything_to_see():
    """A row whose mask is false everywhere is a mean, and no NaN."""
    both(lambda jx: lambda q, k, v: jx.nn.dot_product_attention(q, k, v, mask=MASK & False),
         *arrays())


def test_vmap():
    both(lambda jx: jx.vmap(jx.nn.dot_product_attention), *arrays())


BAD = {
    "heads": lambda q, k, v: (q[:, :, :3], k, v),
    "size": lambda q, k, v: (q[..., :2], k, v),
    "batch": lambda q, k, v: (q[:1], k, v),
    "value": lambda q, k, v: (q, k, v[:, :3]),
    "dtype": lambda q, k, v: (q, k, v.astype("float16")),
    "dimensions": lambda q, k, v: (q[None], k, v),
    "key": lambda q, k, v: (q, k[None], v[None]),
    "bias": lambda q, k, v: (q, k, v, BIAS[:, :3]),
    "mask dtype": lambda q, k, v: (q, k, v, None, BIAS),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_shapes_that_do_not_fit(name):
    both(lambda jx: lambda: jx.nn.dot_product_attention(*BAD[name](*arrays())))


@pytest.mark.parametrize("options", [
    {"query_seq_lengths": np.ones(3, np.int32)}, {"key_value_seq_lengths": np.ones(2, np.float32)},
    {"implementation": "abacus"}], ids=str)
def test_options_that_do_not_fit(options):
    both(lambda jx: lambda q, k, v: jx.nn.dot_product_attention(q, k, v, **options), *arrays())
