"""`jax.export` for sizes that are not known: decompositions, and functions that need sizes as numbers."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import export
from tests.oracle import both

# The shapes of the arguments, and a program. `spd` makes matrices positive definite.
PROGRAMS = {
    "cholesky": ("b,3,3", "jnp.linalg.cholesky(spd(x))"),
    "cholesky of b rows": ("b,b", "jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(x.shape[0]))"),
    "lu": ("b,3,4", "lax.linalg.lu(x)"),
    "lu of b rows": ("b,b", "lax.linalg.lu(x)"),
    "qr": ("b,4,3", "[jnp.abs(y) for y in jnp.linalg.qr(x)]"),
    "complete qr": ("b,4,3", "jnp.abs(jnp.linalg.qr(x, mode='complete')[1])"),
    "svd": ("b,4,3", "jnp.linalg.svd(x, full_matrices=False)[1]"),
    "svd of b rows": ("b,3", "jnp.linalg.svd(x, full_matrices=False)[1]"),
    "eigh": ("b,3,3", "jnp.linalg.eigh(spd(x))[0]"),
    "eig": ("b,3,3", "jnp.linalg.eigvals(spd(x))"),
    "schur": ("b,3,3", "jnp.diagonal(lax.linalg.schur(spd(x))[0], axis1=1, axis2=2)"),
    "hessenberg": ("b,3,3", "lax.linalg.hessenberg(x)"),
    "tridiagonal": ("b,3,3", "lax.linalg.tridiagonal(spd(x), lower=True)"),
    "triangular_solve": ("b,3,3", "lax.linalg.triangular_solve(spd(x), x, left_side=True, lower=True)"),
    "tridiagonal_solve": ("b,3,3", "lax.linalg.tridiagonal_solve(x[:, 0], x[:, 1] + 4, x[:, 2], x)"),
    "householder_product": ("b,4,3", "lax.linalg.householder_product(x, x[:, 0])"),
    "solve": ("b,3,3", "jnp.linalg.solve(spd(x), x)"),
    "solve with b rows": ("b,b", "jnp.linalg.solve(x @ x.T + 9 * jnp.eye(x.shape[0]), x)"),
    "inv": ("b,3,3", "jnp.linalg.inv(spd(x))"),
    "det": ("b,3,3", "jnp.linalg.det(x)"),
    "det of b rows": ("b,b", "jnp.linalg.det(x)"),
    "expm": ("b,2,2", "jx.scipy.linalg.expm(x)"),
    "gradient of solve": ("b,3,3", "jx.grad(lambda x: jnp.linalg.solve(spd(x), x).sum())(x)"),
    "gradient of svd": ("b,3,3", "jx.grad(lambda x: jnp.linalg.svd(x, compute_uv=False).sum())(x)"),
    "loop to b": ("b,4", "lax.fori_loop(0, x.shape[0], lambda i, y: y * 2 + x[i], x[0])"),
    "rows of b elements": ("b,4", "lax.scan(lambda c, row: (c + row, c), x[:, 0], x @ x.T)"),
    "gradient of a loop": ("b,4", "jx.grad(lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.sin(y), x).sum())(x)"),
    "one_hot": ("b", "jx.nn.one_hot(x.astype(int), x.shape[0])"),
    "diagonal": ("b,b", "(jnp.diagonal(x), jnp.diag(x), jnp.trace(x), jnp.diag(x[0]))"),
    "triangles": ("b,b", "(jnp.tril(x), jnp.triu(x, 1), jnp.tri(x.shape[0], k=-1), jnp.eye(x.shape[0], k=1))"),
    "linspace": ("b", "(jnp.linspace(0, x.shape[0], 5), jnp.full((x.shape[0],), x.shape[0]))"),
    "arange": ("b", "(jnp.arange(0, x.shape[0], 2), jnp.arange(0, 10, x.shape[0]), jnp.arange(9, -x.shape[0], -2))"),
    "quantile": ("b,4", "(jnp.quantile(x, 0.3, axis=0), jnp.median(x), jnp.nanmedian(x, axis=0), jnp.median(x, 1))"),
    "cov": ("3,b", "(jnp.cov(x), jnp.corrcoef(x), jnp.cov(x.T, rowvar=False, bias=True))"),
    "bincount": ("b", "jnp.bincount(jnp.abs(x * 9).astype(int), length=x.shape[0])"),
    "dynamic_slice": ("b,4", "[lax.dynamic_slice(x, i, (x.shape[0], 2)) for i in ((-1, 1), (np.uint32(2**32 - 9), np.uint32(1)), "
                      "(x[0, 0].astype(int), 7))]"),
    "rows": ("b,4", "(x[:, jnp.array([2, 0])], x[::2, jnp.array([1])], x[jnp.arange(x.shape[0]), 0])"),
    "sizes as arguments": ("b,4", "(jx.jit(lambda y, n: y * n)(x, x.shape[0]), "
                           "lax.cond(x[0, 0] > 0, lambda n: n, lambda n: n + 1, x.shape[0]), "
                           "lax.while_loop(lambda n: n < 9, lambda n: n + 2, x.shape[0]))"),
    "rfftfreq": ("b", "jnp.fft.rfftfreq(x.shape[0])"),
}
NOT_IN_JAX = {"rfftfreq"}


def program_of(jx, text):
    jnp = jx.numpy
    names = {"jx": jx, "jnp": jnp, "lax": jx.lax, "np": np,
             "spd": lambda x: x @ jnp.swapaxes(x, -1, -2) + 4 * jnp.eye(x.shape[-1])}
    return lambda x: eval(text, {**names, "x": x})


def exported(jx, spec, text):
    module = import_module(f"{jx.__name__}.export")
    shape = module.symbolic_shape(spec)
    return module.export(jx.jit(program_of(jx, text)))(jx.ShapeDtypeStruct(shape, "float32"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name):
    """As the function has them for sizes that are known."""
    spec, text = PROGRAMS[name]
    one = export.deserialize(exported(minijax, spec, text).serialize())
    for size in (1, 4):
        shape = tuple(size if n == "b" else int(n) for n in spec.split(","))
        x = np.linspace(-1, 1.5, np.prod(shape), dtype="float32").reshape(shape) ** 3
        expected = minijax.tree.leaves(program_of(minijax, text)(jnp.array(x)))
        for y, z in zip(minijax.tree.leaves(one.call(x)), expected, strict=True):
            assert (y.shape, y.dtype) == (z.shape, z.dtype)
            np.testing.assert_allclose(y, z, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", sorted({*PROGRAMS} - NOT_IN_JAX))
def test_types_as_in_jax(name):
    both(lambda jx: lambda: str(exported(jx, *PROGRAMS[name]).out_avals))


QUOTIENTS = ["(a*a+a)//(a+1)", "(a*a-b*b)//(a-b)", "(4*a*b+2*a)//(2*b+1)", "(a*a+a+1)//(a+1)", "(a*a+a+1)%(a+1)",
             "6*a//4", "(2*a+1)//2", "a//(2*a)", "-(-b//2)", "(b+13)//b", "(a*a+2)//a"]


@pytest.mark.parametrize("text", QUOTIENTS)
def test_quotients_of_sizes(text):
    def program(jx):
        a, b = import_module(f"{jx.__name__}.export").symbolic_shape("a, b")
        return str(eval(text, {"a": a, "b": b}))

    both(lambda jx: lambda: program(jx))
