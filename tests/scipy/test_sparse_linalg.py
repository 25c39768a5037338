"""Iterative solvers against JAX's: solutions, early ends, derivatives, errors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.numpy.test_linalg import ARRAYS
from tests.oracle import both

SP, Q, CP, C = (ARRAYS[name] for name in ("sp", "q", "cp", "c"))
Q = Q + 3 * np.eye(4, dtype=np.float32)
B, B3 = np.float32([1, -2, 0.5, 3]), np.float32([1, 2, -1])


def as_tree(jnp, A):
    """The matrix as a function of a dictionary of two vectors."""
    def matvec(x):
        y = A @ jnp.concatenate([x["a"], x["b"].ravel()])
        return {"a": y[:1], "b": y[1:].reshape(3, 1)}

    return matvec


TREE = {"a": B[:1], "b": B[1:, None]}

# Solvers by name, and calls `solve(jnp, sparse.linalg)` of them; all to be run under `jit`.
CALLS = {
    "cg": lambda jnp, la: la.cg(SP, B),
    "cg function": lambda jnp, la: la.cg(lambda x: jnp.dot(SP, x), B, x0=B, tol=1e-6),
    "cg early": lambda jnp, la: la.cg(SP, B, maxiter=2),
    "cg tolerance": lambda jnp, la: la.cg(SP, B, tol=0, atol=0.5),
    "cg preconditioner": lambda jnp, la: la.cg(SP, B, M=np.diag(1 / np.diag(SP)), maxiter=2),
    "cg complex": lambda jnp, la: la.cg(CP, C[0], tol=1e-6),
    "cg tree": lambda jnp, la: la.cg(as_tree(jnp, SP), TREE, tol=1e-6),
    "cg of zero": lambda jnp, la: la.cg(SP, 0 * B),
    "bicgstab": lambda jnp, la: la.bicgstab(Q, B, tol=1e-6),
    "bicgstab early": lambda jnp, la: la.bicgstab(Q, B, x0=B, maxiter=1),
    "bicgstab complex": lambda jnp, la: la.bicgstab(CP, C[0], tol=1e-6),
    "bicgstab tree": lambda jnp, la: la.bicgstab(as_tree(jnp, Q), TREE, M=lambda x: x),
    "gmres": lambda jnp, la: la.gmres(Q, B, tol=1e-6),
    "gmres early": lambda jnp, la: la.gmres(Q, B, restart=2, maxiter=2),
    "gmres incremental": lambda jnp, la: la.gmres(Q, B, solve_method="incremental", tol=1e-6),
    "gmres incremental early": lambda jnp, la: la.gmres(Q, B, tol=0.1, restart=3, maxiter=1, solve_method="incremental"),
    "gmres complex": lambda jnp, la: la.gmres(CP, C[0], tol=1e-6),
    "gmres tree": lambda jnp, la: la.gmres(as_tree(jnp, Q), TREE, M=as_tree(jnp, np.diag(1 / np.diag(Q)))),
    "gmres of identity": lambda jnp, la: la.gmres(lambda x: x, B),
}


@pytest.mark.parametrize("name", CALLS)
def test_solutions(name):
    def program(jx):
        return jx.jit(lambda: CALLS[name](jx.numpy, jx.scipy.sparse.linalg))

    both(program, tol=2e-4)


@pytest.mark.daily(3)
@pytest.mark.parametrize("solver", ["cg", "bicgstab", "gmres"])
def test_derivatives(solver):
    """Of the solution, in the matrix and in the right hand side; mapped; twice."""
    def program(jx):
        def loss(A, b):
            x = getattr(jx.scipy.sparse.linalg, solver)(A @ A.T if solver == "cg" else A, b, tol=1e-6)[0]
            return (x * x * jx.numpy.arange(1.0, 5.0)).sum()

        grads = jx.grad(loss, (0, 1))
        twice = jx.grad(lambda A, b: sum((g * g).sum() for g in grads(A, b)), 1)

        def run():
            A, bs = jx.numpy.asarray(Q), jx.numpy.stack([B, B[::-1]])
            return jx.jit(jx.vmap(grads, (None, 0)))(A, bs), jx.jit(twice)(A, bs[0])
        return run

    both(program, tol=2e-3)


@pytest.mark.parametrize("call", [
    lambda la: la.cg(3, B), lambda la: la.cg(SP[:2], B), lambda la: la.cg(SP, B, x0=B3),
    lambda la: la.cg(SP, B, x0={"a": B}), lambda la: la.bicgstab(SP[0], B),
    lambda la: la.gmres(SP, B, solve_method="a"), lambda la: la.gmres(SP, B, M="a"),
    lambda la: la.cg(SP, B3), lambda la: la.cg(CP, B3),
])
def test_errors(call):
    both(lambda jx: lambda: call(jx.scipy.sparse.linalg))
