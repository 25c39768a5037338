"""`jax.export`: exported functions that call exported functions, and functions for several platforms."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import export
from tests.oracle import both

X = np.arange(144, dtype="float32").reshape(3, 4, 12)


def exporting(jx):
    return import_module(f"{jx.__name__}.export")


def exported(jx, fun, spec, dtype="float32", **options):
    module = exporting(jx)
    return module.export(jx.jit(fun), **options)(jx.ShapeDtypeStruct(module.symbolic_shape(spec), dtype))


def rows(x):
    return x.reshape(-1, x.shape[1])


# The shapes that the inner and the outer function are exported for.
NESTED = [("3,4,12", "3,4,12"), ("3,a,a+b", "3,4,12"), ("3,4,3*a", "3,4,12"), ("3,a,b", "3,4,c"), ("3,4,3*a", "3,4,6*c"),
          ("3,a,a+8", "3,c+2,c+10"), ("3,a,a+2*b", "3,4,12"), ("a,a+1,b", "c,c+1,12")]
REFUSED = [("3,a,a", "3,4,12"), ("3,4,5*a", "3,4,12"), ("3,4,12+a", "3,4,12"), ("3,a,a+b", "3,4,c"), ("3,a,a", "3,4,c"),
           ("3,a,a", "3,c"), ("3,4,5*a", "3,4,c"), ("3,a,a+b", "3,c,c"), ("3,a,a+b", "c,4,12"), ("3,4,5*a", "3,4,25*c"),
           ("3,a,b", "3,c+4,12"), ("3,a,a", "3,a,a"), ("a*a,4,12", "3,4,12"), ("a,a+b,b*b", "3,4,12")]


def nested(jx, inner, outer):
    inner = exported(jx, rows, inner)
    outer = exported(jx, lambda x: inner.call(x) + inner.call(x * 2) + rows(x), outer)
    return outer, outer.call(X)


@pytest.mark.parametrize(("inner", "outer"), NESTED)
def test_nested_calls(inner, outer):
    def program(jx):
        one, out = nested(jx, inner, outer)
        return str(one.out_avals), one.uses_global_constants, out

    both(lambda jx: lambda: program(jx))
    np.testing.assert_array_equal(nested(minijax, inner, outer)[1], 4 * rows(X))


@pytest.mark.parametrize(("inner", "outer"), REFUSED)
def test_shapes_that_do_not_fit(inner, outer):
    def message(jx):
        try:
            nested(jx, inner, outer)
        except ValueError as error:
            words = str(error).partition(" Please see")[0].partition("Name each")[0].partition("Call the function")[0]
            return words.replace("We can only", "We").rstrip(" .,")
        return None

    both(lambda jx: lambda: message(jx))


def test_sizes_of_results_are_evaluated():
    def program(jx):
        def made(x):
            b = x.shape[0]
            return jx.numpy.ones((b + b, b - b, (b + 13) // b, (b + 13) % b, jx.core.max_dim(b - 5, 0)), x.dtype)

        one = exported(jx, made, "b")
        two = exported(jx, one.call, "a")
        shape = two.in_avals[0].shape[0] * 2
        return one.call(np.zeros(5, "float32")), str(two.out_avals), two.out_avals[0].shape[0] == shape

    assert program(minijax)[0].shape == (10, 0, 3, 3, 0)
    assert program(minijax)[1].count("max(a - 5, 0)") == 1 and program(minijax)[2]


def test_scopes_are_named():
    shape = lambda: minijax.ShapeDtypeStruct(export.symbolic_shape("w, h"), "float32")
    with pytest.raises(ValueError, match=r"(?s)mixing of symbolic scopes when exporting add.*current \(from args\[0\]"
                       r"\) scope .*found for 'w' \(args\[1\]\) scope"):
        export.export(minijax.jit(jnp.add))(shape(), shape())


def test_constraints_of_scopes_are_checked_by_callers():
    (b,) = export.symbolic_shape("b", constraints=["b >= 2", "b <= 3"])
    one = export.export(minijax.jit(jnp.sin))(minijax.ShapeDtypeStruct((b,), "float32"))
    assert one.call(np.ones(3, "float32")).shape == (3,)
    with pytest.raises(ValueError, match="symbolic shape constraint b <= 3. Expected '- b [+] 3' to be greater or equal"):
        one.call(np.ones(4, "float32"))


# ----------------------------------------------------------------------------------------------
# Several platforms


def by_platform(jx):
    return lambda x: x + jx.lax.platform_dependent(
        tpu=lambda: 6.0, cuda=lambda: 8.0, rocm=lambda: 10.0, default=lambda: 4.0)


PLATFORMS = {
    "four": lambda jx, f: exporting(jx).export(jx.jit(f), platforms=("tpu", "cpu", "cuda", "rocm"))(X),
    "nested": lambda jx, f: exporting(jx).export(jx.jit(
        PLATFORMS["four"](jx, f).call), platforms=("cpu", "cuda"))(X),
    "in one": lambda jx, f: exporting(jx).export(jx.jit(PLATFORMS["four"](jx, f).call))(X),
    "unknown": lambda jx, f: exporting(jx).export(jx.jit(jx.numpy.sin), platforms=("cpu", "other"))(X),
    "and sizes": lambda jx, f: exported(jx, f, "a, b, 12", platforms=("cpu", "tpu")),
    "sizes, nested": lambda jx, f: exported(
        jx, PLATFORMS["and sizes"](jx, f).call, "a, 4, c", platforms=("tpu", "cpu")),
    "donated": lambda jx, f: exporting(jx).export(jx.jit(f, donate_argnums=0), platforms=("cpu", "tpu"))(X),
    "cholesky": lambda jx, f: exporting(jx).export(jx.jit(lambda x: jx.numpy.linalg.cholesky(
        x[0] @ x[0].T * 1e-3 + 99 * jx.numpy.eye(4))), platforms=("cuda", "cpu"))(X),
    "solve": lambda jx, f: exporting(jx).export(jx.jit(lambda x: jx.lax.linalg.triangular_solve(
        x[0, :, :4] + jx.numpy.eye(4), x[1], left_side=True)), platforms=("cpu", "tpu"))(X),
}


@pytest.mark.parametrize("name", sorted({*PLATFORMS} - {"sizes, nested"}))
def test_several_platforms(name):
    def program(jx):
        one = PLATFORMS[name](jx, by_platform(jx))
        return one.platforms, one.uses_global_constants, str(one.out_avals), one.call(X)

    both(lambda jx: lambda: program(jx))


def test_stored_for_several_platforms():
    for name in ("four", "sizes, nested"):
        one = PLATFORMS[name](minijax, by_platform(minijax)) if name == "four" else exported(
            minijax, PLATFORMS["and sizes"](minijax, by_platform(minijax)).call, "a, 4, 12", platforms=("tpu", "cpu"))
        again = export.deserialize(one.serialize(vjp_order=1))
        np.testing.assert_array_equal(again.call(X), X + 4)
        np.testing.assert_array_equal(minijax.grad(lambda x: again.call(x).sum())(X), np.ones_like(X))


def test_platforms_that_are_refused():
    f = by_platform(minijax)
    inner = export.export(minijax.jit(f), platforms=("cpu", "cuda"))(X)
    with pytest.raises(ValueError, match="was exported for platforms '.'cpu', 'cuda'.' but it is used on '.'cpu', 'tpu'"):
        export.export(minijax.jit(inner.call), platforms=("cpu", "tpu"))(X)
    with pytest.raises(NotImplementedError, match="either all or no lowering platforms should support donation"):
        export.export(minijax.jit(f, donate_argnums=0), platforms=("cpu", "other"))(X)
    with pytest.raises(NotImplementedError, match="no LAPACK routine geqrf for the platform 'tpu'"):
        export.export(minijax.jit(jnp.linalg.qr), platforms=("cpu", "tpu"))(X)
