"""Users' classes with a method `__jax_array__` are operands everywhere in the NumPy API."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.numpy.calls import ARRAYS, BINARY, REDUCTIONS, UNARY
from tests.oracle import both, in_both

INTEGERS = {"bitwise_invert", "bitwise_not", "invert", "bitwise_and", "bitwise_or", "bitwise_xor",
            "left_shift", "right_shift"}
ELSE = """
jnp.matmul(sq, sq) | jnp.dot(m, sq) | jnp.vdot(x, x)
jnp.where(b, x, i) | jnp.where(b, x, 1.0) | jnp.clip(x, 0, x) | jnp.full_like(x, s)
jnp.einsum("ij,jk->ik", m, sq) | jnp.concatenate([x, x])
jnp.einsum(m, (0, 1), sq, (1, 2), (0, 2)) | jnp.stack([x, i]) | jnp.array([x, x]) | jnp.array([s, 1])
jnp.array([b, b], dtype=bool) | jnp.array([[s, s], [s, 2]]) | jnp.array(s) + 1 | jnp.asarray(x)
jnp.piecewise(x, [b, ~jnp.array(b)], [1.0, 2.0]) | jnp.piecewise(x, [b, b], [jnp.sin, jnp.cos])
jnp.select([b], [x], s) | jnp.take(x, i)
jnp.shape(m) | jnp.ndim(m) | jnp.size(m) | jnp.size(m, 0) | jnp.tril_indices_from(m)
jnp.triu_indices_from(m, 1) | jnp.delete(x, np.array(1)) | jnp.cov(m) | jnp.corrcoef(m)
jnp.bitwise_count(u) | jnp.power(x, 2) | jnp.ones(4) + x | jnp.ones(4) @ x | jnp.ones(4) < x
jnp.interp(x, x, x) | jnp.sort(x) | jnp.reshape(m, (3, 2)) | jnp.polyval(x, x) | jnp.outer(x, i)
jnp.fft.fft(x) | jnp.linalg.norm(m) | jnp.searchsorted(x, x) | jnp.tile(x, 2) | jnp.isscalar(s)
jax.nn.softmax(x) | jax.nn.relu(x) | jax.scipy.special.erf(x) | jax.scipy.stats.norm.pdf(x)
jax.random.uniform(jax.random.key(0), (4,), minval=x, maxval=9.0)
jax.random.key_data(jax.random.key(seed))
"""


@dataclasses.dataclass
class Own:
    contents: np.ndarray


def own_arrays(jx):
    """`ARRAYS`, each of a class that only knows how to become an array of the library."""

    @jx.tree_util.register_dataclass
    @dataclasses.dataclass
    class OwnArray(Own):
        def __jax_array__(self):
            return jx.numpy.asarray(self.contents)

    return {name: OwnArray(value) for name, value in ARRAYS.items()}


@pytest.mark.parametrize("name", [*UNARY, *REDUCTIONS])
def test_unary(name):
    operand = "i" if name in INTEGERS else "x"
    both(lambda jx: lambda: getattr(jx.numpy, name)(own_arrays(jx)[operand]))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    operand = "i" if name in INTEGERS else "x"

    def program(jx):
        operands = own_arrays(jx)
        return lambda: getattr(jx.numpy, name)(operands[operand], operands[operand])

    both(program)


def calls():
    return [call.strip() for line in ELSE.strip().splitlines() for call in line.split(" | ")]


@pytest.mark.parametrize("call", calls())
@in_both
def test_calls(jx, call):
    own = own_arrays(jx)
    own["seed"] = type(own["n"])(7)
    return eval(call, {"jax": jx, "jnp": jx.numpy, "np": np, **own})
