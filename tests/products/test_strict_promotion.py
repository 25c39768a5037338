"""Nothing of ours promotes ranks or dtypes implicitly: what JAX computes under the strict settings,
minijax computes. The rows once failed; any call can be added."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from tests.oracle import both, in_both

V = np.array([0.2, 0.5, 0.7], "float32")
X = np.linspace(0.1, 0.9, 6, dtype="float32").reshape(2, 3)
CALLS = {
    "array_equiv of dtypes": lambda jnp, scipy: jnp.array_equiv(V, np.arange(3)),
    "array_equiv of ranks": lambda jnp, scipy: jnp.array_equiv(X, X[0]),
    "maximum.reduceat": lambda jnp, scipy: jnp.maximum.reduceat(X, np.array([0, 1]), axis=1),
    "add.reduceat": lambda jnp, scipy: jnp.add.reduceat(V, np.array([0, 2])),
    "add.at": lambda jnp, scipy: jnp.add.at(V, np.array([0, 2]), V[:2], inplace=False),
    "multiply.outer": lambda jnp, scipy: jnp.multiply.outer(V, V),
    "packbits": lambda jnp, scipy: jnp.packbits(np.ones((2, 9), "u1"), axis=0),
    "unpackbits": lambda jnp, scipy: jnp.unpackbits(np.ones((2, 3), "u1"), axis=1),
    "corrcoef": lambda jnp, scipy: jnp.corrcoef(X),
    "cov with weights": lambda jnp, scipy: jnp.cov(X, aweights=V, fweights=np.arange(1, 4)),
    "nanquantile": lambda jnp, scipy: jnp.nanquantile(X, V[:1], axis=0),
    "quantile with weights": lambda jnp, scipy: jnp.quantile(
        X, V, axis=1, weights=V, method="inverted_cdf"),
    "bessel_jn": lambda jnp, scipy: scipy("special").bessel_jn(V, v=2),
    "rankdata": lambda jnp, scipy: scipy("stats").rankdata(V),
    "stft": lambda jnp, scipy: scipy("signal").stft(np.ones(64, "f"), nperseg=16)[2],
    "welch": lambda jnp, scipy: scipy("signal").welch(np.ones(64, "f"), nperseg=16)[1],
    "csd": lambda jnp, scipy: scipy("signal").csd(np.ones(64, "f"), np.ones(64, "f"), nperseg=16)[1],
    "vq": lambda jnp, scipy: scipy("cluster.vq").vq(X, X)[0],
}


@pytest.mark.parametrize("name", CALLS)
@in_both
def test_strict_promotion(jx, name):
    with jx.numpy_rank_promotion("raise"), jx.numpy_dtype_promotion("strict"):
        return CALLS[name](
            jx.numpy, lambda part: import_module(f"{jx.__name__}.scipy.{part}"))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
@pytest.mark.parametrize("name", ["add", "maximum", "equal", "where"])
def test_numbers_beside_arrays(name, dtype):
    """A Python number is weak and gives way; a truth value is not."""
    def program(jx):
        def kind(number, fun):
            try:
                return str(fun(jx.numpy.ones(2, dtype), number).dtype)
            except Exception:  # `TypePromotionError`, or another message of it
                return None

        def run():
            where = lambda x, y: jx.numpy.where(True, x, y)
            fun = where if name == "where" else getattr(jx.numpy, name)
            with jx.numpy_dtype_promotion("strict"):
                return [kind(number, f) is None for number in (True, np.bool_(True), 1, 1.5, 1j)
                        for f in (fun, lambda x, y: fun(y, x), jx.jit(lambda x, y: fun(x, y)))]
        return run

    both(program)
