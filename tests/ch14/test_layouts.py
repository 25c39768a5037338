"""Layouts and formats: the order of an array's elements in memory."""

from __future__ import annotations

import pickle
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minijax
from minijax.experimental.layout import Format, Layout, with_layout_constraint
from tests.oracle import both

Y = np.arange(6.0, dtype="float32").reshape(2, 3)


def setting(jx: Any) -> SimpleNamespace:
    """A matrix `x`, and `p`, the same with columns after columns; formats for both orders."""
    layout = import_module(f"{jx.__name__}.experimental.layout")
    here = jx.sharding.SingleDeviceSharding(jx.devices()[0])
    columns, x = layout.Layout((1, 0)), jx.numpy.array(Y)
    s = SimpleNamespace(jx=jx, jnp=jx.numpy, Layout=layout.Layout, Format=layout.Format, x=x,
                        constrain=layout.with_layout_constraint, here=here, columns=columns,
                        C=layout.Format(columns, here),
                        R=layout.Format(layout.Layout((0, 1)), here),
                        AUTO=layout.Format(layout.Layout.AUTO),
                        flat=layout.Format(layout.Layout((0,)), here),
                        mesh=jx.NamedSharding(jx.make_mesh((1,), ("i",)), jx.P("i")))
    s.p = jx.device_put(x, s.C)
    s.struct = lambda **kwargs: jx.ShapeDtypeStruct((2, 3), "float32", **kwargs)
    s.double = lambda x: x * 2
    return s


def compiled(s: Any, *args: Any, fun: Any = lambda x: x * 2, **kwargs: Any) -> Any:
    return s.jx.jit(fun, **kwargs).lower(*args).compile()


PROGRAMS = {
    # layouts and formats as values
    "repr": lambda s: str((s.columns, s.C, s.Layout.AUTO, s.Format(), s.AUTO)),
    "equality": lambda s: (s.columns == s.Layout([1, 0]), hash(s.C) == hash(
        s.Format(s.columns, s.here)), s.C == s.R, s.columns == 1, s.C != 1),
    "update": lambda s: str(s.columns.update(tiling=((8,),))),
    "attributes": lambda s: (s.columns.major_to_minor, s.columns.tiling,
                             s.columns.sub_byte_element_size_in_bits, s.C.sharding == s.here),
    "pickle": lambda s: str(pickle.loads(pickle.dumps(s.columns))),
    # arrays
    "format": lambda s: str((s.x.format, s.jnp.float32(1).format, s.p.format)),
    "put NumPy": lambda s: (s.jx.device_put(Y, s.C), str(s.jx.device_put(Y, s.C).format)),
    "put int": lambda s: str(s.jx.device_put(Y.astype("int8"), s.C).format),
    "put scalar": lambda s: str(s.jx.device_put(1.0, s.Format(s.Layout(()), s.here)).format),
    "put None": lambda s: str(s.jx.device_put(s.p, s.Format(None, s.here)).format),
    "put Format()": lambda s: str(s.jx.device_put(s.x, s.Format()).format),
    "put back": lambda s: str(s.jx.device_put(s.p, s.R).format),
    "put sharding": lambda s: str(s.jx.device_put(s.p, s.here).format),
    "put nowhere": lambda s: str(s.jx.device_put(s.p).format),
    "put device": lambda s: str(s.jx.device_put(s.p, s.jx.devices()[0]).format),
    "put tree": lambda s: str(s.jx.tree.map(lambda a: a.format, s.jx.device_put(
        {"a": s.x, "b": s.x.T}, {"a": s.C, "b": s.R}))),
    "put on a mesh": lambda s: str(s.jx.device_put(s.x, s.Format(s.columns, s.mesh)).format),
    "strides": lambda s: (np.asarray(s.p).strides, np.asarray(s.x).strides, np.asarray(
        s.jx.device_put(np.ones((2, 3, 4), "f"), s.Format(s.Layout((1, 2, 0)), s.here))).strides),
    "contents": lambda s: (s.p + 1, s.p.T, s.p[0], s.p.sum(), s.p.tolist(), s.p.at[0].set(1.0)),
    "bfloat16": lambda s: s.jx.device_put(s.x.astype("bfloat16"), s.C) + 1,
    "operations": lambda s: str([(s.p + 1).format, s.p.copy().format, s.jnp.array(s.p).format,
                                 s.jnp.asarray(s.p).format]),
    "grad of put": lambda s: s.jx.grad(lambda x: s.jx.device_put(x, s.C).sum())(s.x),
    "jit of put": lambda s: s.jx.jit(lambda x: s.jx.device_put(x, s.C))(s.x),
    "jaxpr of put": lambda s: s.jx.make_jaxpr(lambda x: s.jx.device_put(x, s.C))(s.x),
    # jit
    "in": lambda s: [s.jx.jit(s.double, in_shardings=s.C)(x) for x in (s.x, s.p, Y)],
    "out": lambda s: (s.jx.jit(s.double, out_shardings=s.C)(s.x),
                      str(s.jx.jit(s.double, out_shardings=s.C)(s.x).format)),
    "out twice": lambda s: [str(f(s.x).format) for f in [s.jx.jit(
        s.double, out_shardings=s.C)] for _ in range(3)],
    "in is not out": lambda s: str(s.jx.jit(s.double, in_shardings=s.C)(s.p).format),
    "identity": lambda s: str(s.jx.jit(lambda x: x)(s.p).format),
    "not said": lambda s: s.jx.jit(s.double)(s.p),
    "out tree": lambda s: str(s.jx.tree.map(lambda a: a.format, s.jx.jit(
        lambda x: {"a": x, "b": (x + 1, x.sum())}, out_shardings={"a": s.C, "b": None})(s.x))),
    "in tuple": lambda s: s.jx.jit(lambda x, y: x + y, in_shardings=(s.C, None))(s.x, Y),
    "in Format(None)": lambda s: str(s.jx.jit(
        s.double, in_shardings=s.Format(None, s.here))(s.p).format),
    "AUTO": lambda s: s.jx.jit(s.double, in_shardings=s.AUTO, out_shardings=s.AUTO)(s.x),
    "donated": lambda s: str(s.jx.jit(s.double, in_shardings=s.C, out_shardings=s.C,
                                      donate_argnums=0)(s.p).format),
    "grad of jit": lambda s: s.jx.grad(lambda x: s.jx.jit(
        lambda x: x * x, in_shardings=s.C, out_shardings=s.C)(x).sum())(s.x),
    "jit of jit": lambda s: s.jx.jit(s.jx.jit(s.double, in_shardings=s.C, out_shardings=s.C))(s.x),
    "vmap without layouts": lambda s: s.jx.vmap(s.jx.jit(
        s.double, out_shardings=s.Format(None, s.here)))(s.x),
    # stages
    "formats": lambda s: str([compiled(s, s.x).input_formats, compiled(s, s.x).output_formats]),
    "formats asked for": lambda s: str([f(compiled(s, s.x, in_shardings=s.C, out_shardings=s.C))
                                        for f in (lambda c: c.input_formats,
                                                  lambda c: c.output_formats)]),
    "formats AUTO": lambda s: str([f(compiled(
        s, s.struct(), in_shardings=s.AUTO, out_shardings=s.AUTO))
        for f in (lambda c: c.input_formats, lambda c: c.output_formats)]),
    "format of the argument": lambda s: str(compiled(s, s.p).input_formats),
    "format of a struct": lambda s: str(compiled(s, s.struct(sharding=s.C)).input_formats),
    "formats of a tree": lambda s: str(compiled(s, s.x, fun=lambda x: (x, [x])).output_formats),
    "unused": lambda s: str(s.jx.jit(lambda x, y: x).lower(s.x, y=s.x).compile().input_formats),
    "call": lambda s: [compiled(s, s.x, in_shardings=s.C)(x) for x in (s.x, s.p)],
    "struct": lambda s: str([s.struct(sharding=s.C), s.struct(sharding=s.C).sharding,
                             s.struct(sharding=s.C).format]),
    "structs differ": lambda s: s.struct(sharding=s.C) == s.struct(sharding=s.here),
    "put as compiled": lambda s: str(s.jx.device_put(
        s.x, compiled(s, s.x, in_shardings=s.C).input_formats[0][0]).format),
    # constraints
    "constraint": lambda s: (s.constrain(s.x, s.columns), str(s.constrain(s.x, s.columns).format)),
    "constraints": lambda s: s.constrain({"a": s.x, "b": (s.x,)}, s.columns),
    "constraint in jit": lambda s: s.jx.jit(lambda x: s.constrain(x * 2, s.columns) + 1)(s.x),
    "constrained result": lambda s: s.jx.jit(
        lambda x: s.constrain(x * 2, s.columns))(s.x.astype("bfloat16")),
    "constraint's jaxpr": lambda s: s.jx.make_jaxpr(lambda x: s.constrain(x, s.columns) + 1)(s.x),
    "constraint under vmap": lambda s: s.jx.make_jaxpr(s.jx.vmap(
        lambda x: s.constrain(x, s.Layout((0,))), 1, 1))(s.x),
    "vmap": lambda s: s.jx.make_jaxpr(s.jx.vmap(lambda x: s.constrain(x, s.columns)))(
        np.ones((4, 2, 3))),
    "constraint under jvp": lambda s: s.jx.jvp(
        lambda x: s.constrain(x * x, s.columns), (s.x,), (s.x,)),
    "constraint under grad": lambda s: s.jx.grad(
        lambda x: s.constrain(x * x, s.columns).sum())(s.x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_layouts(name):
    both(lambda jx: lambda: PROGRAMS[name](setting(jx)))


REFUSED = {
    "no sharding": (lambda s: s.Format(s.columns), "ValueError"),
    "layout": (lambda s: s.Format((1, 0), s.here), "TypeError"),
    "sharding": (lambda s: s.Format(None, 1), "TypeError"),
    "put AUTO": (lambda s: s.jx.device_put(s.x, s.AUTO), "ValueError"),
    "put AUTO here": (lambda s: s.jx.device_put(s.x, s.Format(s.Layout.AUTO, s.here)),
                      "ValueError"),
    "put layout": (lambda s: s.jx.device_put(s.x, s.columns), "ValueError"),
    "put rank": (lambda s: s.jx.device_put(s.x, s.flat), "ValueError"),
    "put twice the same": (lambda s: s.jx.device_put(s.x, s.Format(s.Layout((0, 0)), s.here)),
                           "JaxRuntimeError"),
    "jit layout": (lambda s: s.jx.jit(s.double, out_shardings=s.columns)(s.x), "ValueError"),
    "jit rank": (lambda s: s.jx.jit(s.double, in_shardings=s.flat)(s.x), "ValueError"),
    "jit result's rank": (lambda s: s.jx.jit(s.double, out_shardings=s.flat)(s.x), "ValueError"),
    "another layout": (lambda s: s.jx.jit(s.double, in_shardings=s.R)(s.p), "ValueError"),
    "AUTO of an array": (lambda s: s.jx.jit(s.double, in_shardings=s.AUTO)(s.p), "ValueError"),
    "AUTO lowered": (lambda s: compiled(s, s.p, in_shardings=s.AUTO), "ValueError"),
    "compiled": (lambda s: compiled(s, s.x)(s.p), "ValueError"),
    "compiled for columns": (lambda s: compiled(s, s.x, in_shardings=s.C)(
        s.jx.device_put(s.x, s.here)), "ValueError"),
    "vmap": (lambda s: s.jx.vmap(s.jx.jit(s.double, in_shardings=s.C))(
        s.jnp.ones((2, 2, 3))), "NotImplementedError"),
    "struct": (lambda s: s.struct(sharding=s.AUTO), "TypeError"),
    "keys": (lambda s: s.jx.random.key(0).format, "AttributeError"),
    "tracer": (lambda s: s.jx.jit(lambda x: x.format)(s.x), "AttributeError"),
    "constraint": (lambda s: s.constrain(s.x, s.C), "ValueError"),
    "constraint's rank": (lambda s: s.constrain(s.x, s.Layout((0,))), "ValueError"),
    "no constraint": (lambda s: s.constrain(s.x, None), "ValueError"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_layouts_refused(name):
    program, error = REFUSED[name]
    both(lambda jx: lambda: program(setting(jx)), raises=error)


def test_a_jitted_function_asks_each_time_for_the_layout():
    s = setting(minijax)
    rows = minijax.jit(s.double, in_shardings=s.R)
    for _ in range(3):
        rows(minijax.device_put(Y, s.here))
    with pytest.raises(ValueError, match="was put somewhere with the layout"):
        rows(s.p)


def test_the_constraint_reaches_xla():
    text = minijax.jit(lambda x: with_layout_constraint(x, Layout((1, 0)))).lower(Y).as_text()
    assert "LayoutConstraint" in text and "dense<[0, 1]>" in text


def test_update_of_a_struct_keeps_the_layout():
    columns = Format(Layout((1, 0)), minijax.numpy.ones(1).sharding)
    struct = minijax.ShapeDtypeStruct((2, 3), "float32", sharding=columns)
    assert struct.update(dtype="int8").format == columns
    assert struct.update(sharding=Format(None, columns.sharding)).format.layout is None
    with pytest.raises(ValueError, match="Give a Format"):
        struct.update(sharding=columns.sharding)
