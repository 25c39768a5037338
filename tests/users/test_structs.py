"""Structs of shapes and types are values of traced programs, as libraries use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle import both, in_both


def struct(jx: Any, *shape: int, dtype: str = "float32", **kwargs: Any) -> Any:
    return jx.ShapeDtypeStruct(shape, dtype, **kwargs)


# ----------------------------------------------------------------------------------------------
# Structs are values of traced programs


def like_of_tracer(jx: Any, x: Any) -> list[str]:
    seen: list[str] = []
    jx.jit(lambda x: seen.append(str(jx.ShapeDtypeStruct.like(x))))(x)
    return seen


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
    "like keys": lambda jx: jx.ShapeDtypeStruct.like(jx.random.key(0)),
    "like committed": lambda jx: jx.ShapeDtypeStruct.like(
        jx.device_put(np.ones(2, "f"), jx.devices()[1])).sharding,
    "like committed keys": lambda jx: jx.ShapeDtypeStruct.like(
        jx.device_put(jx.random.key(0), jx.devices()[1])),
    "like placed struct": lambda jx: jx.ShapeDtypeStruct.like(struct(
        jx, 2, sharding=jx.sharding.SingleDeviceSharding(jx.devices()[1]))),
    "like split": lambda jx: on_a_mesh(jx, lambda x: jx.ShapeDtypeStruct.like(x).sharding),
    "like split tracer": lambda jx: on_a_mesh(jx, lambda x: like_of_tracer(jx, x)),
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


def reads_the_rank(jx: Any) -> Any:
    return jx.jit(lambda x, s: x + len(s.shape))


UNREAD_STRUCTS = {
    "argument": lambda jx, s: reads_the_rank(jx)(1.0, s),
    "twice": lambda jx, s: [f(x, s) for f in [reads_the_rank(jx)] for x in (1.0, 2.0)],
    "tree": lambda jx, s: jx.jit(lambda x, t: x + t["a"][0].shape[0])(1.0, {"a": [s]}),
    "keyword": lambda jx, s: jx.jit(lambda x, *, t: x + t["a"][0].shape[0])(1.0, t={"a": [s]}),
    "nested": lambda jx, s: jx.jit(lambda x, s: 2 * reads_the_rank(jx)(x, s))(1.0, s),
    "closed over": lambda jx, s: jx.jit(lambda x: 2 * reads_the_rank(jx)(x, s))(1.0),
    "both": lambda jx, s: jx.jit(lambda x, t: reads_the_rank(jx)(x, s) + reads_the_rank(jx)(x, t))(1.0, s),
    "deep": lambda jx, s: jx.jit(lambda x, s: jx.jit(lambda s, x: reads_the_rank(jx)(x, s))(s, x))(1.0, s),
    "donated": lambda jx, s: jx.jit(lambda s, x: jx.jit(lambda s, x: x + 1.0, donate_argnums=1)(s, x))(s, 1.0),
    "split": lambda jx, s: on_a_mesh(jx, lambda x: jx.jit(lambda x, s: reads_the_rank(jx)(x, s))(x, s)),
    "result": lambda jx, s: str(jx.eval_shape(lambda x: jx.jit(lambda x, s: x + s)(x, s), 1.0)),
    "lowered": lambda jx, s: str(jx.jit(lambda x, s: x + s).lower(1.0, s).out_info),
    "grad": lambda jx, s: jx.grad(lambda x: reads_the_rank(jx)(x, s))(1.0),
    "vmap": lambda jx, s: jx.vmap(lambda x: reads_the_rank(jx)(x, s))(np.ones(3, "f")),
}
READ_STRUCTS = {
    "read": lambda jx, s: jx.jit(lambda x, s: x + s)(1.0, s),
    "read in a tree": lambda jx, s: jx.jit(lambda x, t: x + t["a"][0])(1.0, {"a": [s]}),
    "read by keyword": lambda jx, s: jx.jit(lambda x, *, t: x + t["a"][0])(1.0, t={"a": [s]}),
    "read deep": lambda jx, s: jx.jit(lambda x, s: jx.jit(lambda s, y: y * s)(s, x))(1.0, s),
    "returned": lambda jx, s: jx.jit(lambda x, s: (x, s))(1.0, s),
    "kept": lambda jx, s: jx.jit(lambda x, s: x, keep_unused=True)(1.0, s),
}


def on_a_mesh(jx: Any, f: Any) -> Any:
    """`f` of an array that is split over a mesh."""
    mesh = jx.make_mesh((2,), ("i",))
    return f(jx.device_put(np.arange(4, dtype="f"), jx.NamedSharding(mesh, jx.P("i"))))


@pytest.mark.parametrize("name", UNREAD_STRUCTS)
def test_structs_are_arguments_where_no_value_is_read(name):
    both(lambda jx: lambda: UNREAD_STRUCTS[name](jx, struct(jx, 2)))


@pytest.mark.parametrize("name", READ_STRUCTS)
def test_structs_have_no_value_to_read(name):
    both(lambda jx: lambda: READ_STRUCTS[name](jx, struct(jx, 2)), raises=TypeError)


@in_both
def test_which_argument_has_no_value(jx):
    try:
        jx.jit(lambda x, *, t: x + t["a"][0])(1.0, t={"a": [struct(jx, 2)]})
    except TypeError as error:
        return str(error).partition(" of type")[0]
