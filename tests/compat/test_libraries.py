"""What JAX's libraries use and users seldom do. Each program is a library's habit, made small."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tests.oracle import both


class Named:
    """A callable whose `__name__` is not a string, as a module with a field of that name has."""

    __name__ = 3  # type: ignore[assignment]

    def __call__(self, x):
        return x * x


def part(jx: Any, name: str) -> Any:
    """The module `name` of the library."""
    return import_module(f"{jx.__name__}.{name}")


def struct(jx: Any, *shape: int, dtype: str = "float32", **kwargs: Any) -> Any:
    return jx.ShapeDtypeStruct(shape, dtype, **kwargs)


# ----------------------------------------------------------------------------------------------
# Custom rules see arrays


def is_array(jx: Any, x: Any) -> bool:
    return isinstance(x, (jx.Array, jx.core.Tracer))


def operands_of_rules(jx: Any, wrap: Any, value: Any) -> list:
    """What the rules of a custom derivative see of a literal."""
    seen: list = []

    def look(where, *values):
        seen.append((where, [str(v.dtype) for v in values]))

    f = jx.custom_vjp(lambda x, n: x * n)

    def fwd(x, n):
        look("fwd", n)
        assert is_array(jx, n)
        return x * n, n

    def bwd(n, g):
        look("bwd", n)
        return g * n, None

    f.defvjp(fwd, bwd)
    h = jx.custom_jvp(lambda x, n: x * n)

    @h.defjvp
    def h_jvp(primals, tangents):
        look("jvp", primals[1], tangents[1])
        assert is_array(jx, primals[1])
        return primals[0] * primals[1], tangents[0] * primals[1]

    for function in (f, h):
        jx.grad(wrap(jx)(lambda x, function=function: function(x, jx.numpy.array(value))))(2.0)
    return seen


@pytest.mark.parametrize("value", [3, 3.5, np.int8(3), np.float32(2), np.uint16(1)])
@pytest.mark.parametrize("wrap", [lambda jx: jx.jit, lambda jx: lambda f: jx.jit(jx.jit(f))],
                         ids=["jit", "twice"])
def test_literals_reach_rules_as_arrays(wrap, value):
    both(lambda jx: lambda: operands_of_rules(jx, wrap, value))


def residual_types(jx: Any, transformed: Any) -> list:
    seen: list = []
    f = jx.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, True),
             lambda r, g: (seen.append(type(r).__name__), (2 * g,))[1])
    transformed(jx, f)
    return seen


@pytest.mark.parametrize("transformed", [
    lambda jx, f: jx.grad(f)(2.0), lambda jx, f: jx.jit(jx.grad(f))(2.0),
    lambda jx, f: jx.grad(jx.jit(f))(2.0), lambda jx, f: jx.vmap(jx.grad(f))(np.ones(2, "f")),
    lambda jx, f: jx.vjp(f, 2.0)[1](1.0)], ids=["grad", "jit", "of jit", "vmap", "vjp"])
def test_bool_residual_stays_bool(transformed):
    both(lambda jx: lambda: residual_types(jx, transformed))


@pytest.mark.parametrize("symbolic", [False, True])
def test_zero_from_primal_takes_trees(symbolic):
    both(lambda jx: lambda: jx.tree.map(
        lambda z: (str(z.dtype), z.shape), part(jx, "custom_derivatives").zero_from_primal(
            {"a": 1.0, "b": [jx.numpy.ones(2), None]}, symbolic_zeros=symbolic)))
    both(lambda jx: lambda: part(jx, "custom_derivatives").zero_from_primal([1.0, np.ones(2)]))


# ----------------------------------------------------------------------------------------------
# Structs are values of traced programs


STRUCTS = {
    "result": lambda jx: jx.eval_shape(lambda: struct(jx, 2)),
    "weak": lambda jx: jx.eval_shape(lambda x: (x, struct(jx, dtype="int8", weak_type=True)), 1.0),
    "jaxpr": lambda jx: jx.make_jaxpr(lambda: struct(jx, 2))(),
    "scalar's jaxpr": lambda jx: jx.make_jaxpr(lambda: struct(jx))(),
    "operand": lambda jx: jx.make_jaxpr(lambda x: jx.lax.sin(struct(jx, 2)))(1.0),
    "typeof": lambda jx: str(jx.typeof(struct(jx, 2, 3, dtype="int8"))),
    "vmap": lambda jx: jx.eval_shape(jx.vmap(lambda x: struct(jx, 3)), np.ones(2)),
    "grad": lambda jx: jx.eval_shape(jx.grad(lambda x: struct(jx)), 1.0),
    "like array": lambda jx: jx.ShapeDtypeStruct.like(jx.numpy.ones((2, 1), "int8")),
    "like number": lambda jx: jx.ShapeDtypeStruct.like(1.0),
    "like struct": lambda jx: jx.ShapeDtypeStruct.like(struct(jx, 2, weak_type=True)),
    "like list": lambda jx: jx.ShapeDtypeStruct.like([1.0]),
    "jit": lambda jx: jx.jit(lambda: struct(jx, 2))(),
    "jnp": lambda jx: jx.numpy.sin(struct(jx, 2)),
    "vmap now": lambda jx: jx.vmap(lambda x: struct(jx))(np.ones(2)),
}
REFUSED_STRUCTS = {"jit", "jnp", "like list", "vmap now"}


@pytest.mark.parametrize("name", STRUCTS)
def test_structs_as_values(name):
    def program(jx):
        def run():
            out = STRUCTS[name](jx)
            return str(out) if "Struct" in str(type(out)) or type(out) is tuple else out
        return run

    both(program, raises=TypeError if name in REFUSED_STRUCTS else None)


# ----------------------------------------------------------------------------------------------
# Arguments that libraries pass


def recorded(jx: Any, seen: list) -> Any:
    def dot_general(*args, **kwargs):
        seen.append([np.shape(x) for x in args[:2]] + [args[2]])
        return 2 * jx.lax.dot_general(*args, **kwargs)
    return dot_general


@pytest.mark.parametrize("subscripts, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 4)]),
    ("ij,j,k->ik", [(2, 3), (3,), (2,)]), ("ii->i", [(2, 2)])])
def test_einsum_calls_the_given_dot_general(subscripts, shapes):
    def program(jx):
        def run():
            seen: list = []
            arrays = [np.ones(shape, "float32") for shape in shapes]
            return jx.numpy.einsum(subscripts, *arrays, _dot_general=recorded(jx, seen)), seen
        return run

    both(program)


X = np.arange(6, dtype="float32")
SHAPES = [np.array([2, 3]), np.array([3, -1]), np.array(6), np.int64(6)]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shapes_may_be_numpy_arrays(shape):
    both(lambda jx: lambda x: (jx.numpy.reshape(x, shape), jx.numpy.asarray(x).reshape(shape),
                               jx.jit(lambda x: x.reshape(shape))(x)), X)


def test_shapes_may_be_arrays():
    both(lambda jx: lambda x: jx.numpy.reshape(x, jx.numpy.array([2, 3])), X)


@pytest.mark.parametrize("shape, dims", [((3, 2), (1, 0)), ((3, 4, 2), (2, 0)), ((3, 2), (0, 1)),
                                         ((3, 2), (1, 1)), ((2, 2), (1, 0)), ((3, 2), (2, 0))])
def test_broadcast_in_dim_takes_dimensions_in_any_order(shape, dims):
    x = X.reshape(2, 3)
    refused = dims in [(0, 1), (1, 1), (2, 0)] and shape != (3, 4, 2) or shape == (2, 2)
    both(lambda jx: lambda x: jx.lax.broadcast_in_dim(x, shape, dims), x,
         raises=(TypeError, ValueError) if refused else None)
    if not refused:
        both(lambda jx: jx.vmap(lambda x: jx.lax.broadcast_in_dim(x, shape, dims), 1, 1),
             np.stack([x, x + 1], 1))


@pytest.mark.parametrize("transform", [
    "vmap", "grad", "checkpoint", "value_and_grad", "jacfwd", "jacrev", "hessian", "linearize"])
def test_callables_whose_name_is_not_a_string(transform):
    def program(jx):
        if transform == "linearize":
            return lambda x: jx.linearize(Named(), x)[0]
        function = getattr(jx, transform)(Named())
        assert isinstance(function.__name__, str)
        return function

    both(program, np.ones(2, "float32") if transform == "vmap" else 2.0)


# ----------------------------------------------------------------------------------------------
# Tables and older names


def test_types_added_to_the_table_of_types():
    def program(jx):
        def run():
            class Two:
                pass

            table = part(jx, "core").pytype_aval_mappings
            table[Two] = lambda x: jx.core.ShapedArray((2,), np.dtype("float32"))
            try:
                return str(jx.typeof(Two()))
            finally:
                del table[Two]
        return run

    both(program)


def test_the_tag_of_the_current_trace():
    def program(jx):
        def run():
            core, seen = part(jx, "extend.core"), []

            def look(x):
                seen.append(core.find_top_trace((x,)).main is None)
                return x

            look(1.0)
            jx.vmap(look)(np.ones(2))
            jx.jit(look)(1.0)
            return seen
        return run

    both(program)
