"""Products of operands whose blocks have scales."""

import numpy as np
import pytest

from tests.oracle import both

A = (np.arange(24.0, dtype="f").reshape(3, 8) - 5) / 4
B = (np.arange(16.0, dtype="f").reshape(8, 2) - 3) / 2
SA = np.array([[1, 2], [0.5, 4], [2, 0.25]], "f")
SB = np.array([[1, 2], [3, 4], [0.5, 2], [8, 1]], "f")
STACK = (np.arange(48.0, dtype="f").reshape(2, 3, 8) - 20) / 8
OTHER = np.stack([B, B + 1])

CALLS = {
    "no scale": lambda jx: jx.lax.scaled_dot(A, B),
    "both scales": lambda jx: jx.lax.scaled_dot(A, B, lhs_scale=SA, rhs_scale=SB),
    "one scale": lambda jx: jx.lax.scaled_dot(A, B, rhs_scale=SB),
    "float32": lambda jx: jx.lax.scaled_dot(
        A, B, lhs_scale=SA, rhs_scale=SB, preferred_element_type=np.float32),
    "few bits": lambda jx: jx.lax.scaled_dot(
        jx.numpy.asarray(A, jx.numpy.float8_e4m3fn), jx.numpy.asarray(B, jx.numpy.float8_e5m2),
        lhs_scale=jx.numpy.asarray(SA, jx.numpy.float8_e8m0fnu)),
    "stacks": lambda jx: jx.lax.scaled_dot(STACK, OTHER, lhs_scale=np.stack([SA, SA * 2])),
    "other dimensions": lambda jx: jx.lax.scaled_dot(
        A, B.T, lhs_scale=SA, rhs_scale=SB.T, dimension_numbers=(((1,), (1,)), ((), ()))),
    "vmap": lambda jx: jx.vmap(lambda a: jx.lax.scaled_dot(
        a, B, lhs_scale=SA, rhs_scale=SB), 1)(STACK.transpose(1, 0, 2)),
    "vmap of a scale": lambda jx: jx.vmap(lambda s: jx.lax.scaled_dot(
        A, B, lhs_scale=s))(np.stack([SA, SA * 2])),
    "jit": lambda jx: jx.jit(lambda a, s: jx.lax.scaled_dot(a, B, lhs_scale=s))(A, SA),
    "jaxpr": lambda jx: str(jx.make_jaxpr(lambda a, b, s, t: jx.lax.scaled_dot(
        a, b, lhs_scale=s, rhs_scale=t))(A, B, SA, SB)),
}
REFUSED = {
    "vectors": lambda jx: jx.lax.scaled_dot(A[0], B[:, 0]),
    "ranks": lambda jx: jx.lax.scaled_dot(A, OTHER),
    "contracted": lambda jx: jx.lax.scaled_dot(A, B[:6]),
    "blocks that do not fit": lambda jx: jx.lax.scaled_dot(A, B, lhs_scale=np.ones((3, 3), "f")),
    "blocks of one": lambda jx: jx.lax.scaled_dot(A, B, lhs_scale=np.ones((3, 8), "f")),
    "rows": lambda jx: jx.lax.scaled_dot(A, B, lhs_scale=np.ones((2, 2), "f")),
}


@pytest.mark.parametrize("name", CALLS)
def test_scaled_dot(name):
    both(lambda jx: lambda: CALLS[name](jx))


@pytest.mark.parametrize("name", REFUSED)
def test_scaled_dot_refuses(name):
    both(lambda jx: lambda: REFUSED[name](jx), raises=TypeError)


def test_scaled_dot_has_no_derivative():
    both(lambda jx: jx.grad(lambda a: jx.lax.scaled_dot(a, B).sum().astype("float32")), A,
         raises=NotImplementedError)
