"""Layouts and formats: arrays lie in row-major order, and another one is refused."""

from __future__ import annotations

import pickle
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minijax
from tests.oracle import both

Y = np.arange(6.0, dtype="float32").reshape(2, 3)


def setting(jx: Any) -> SimpleNamespace:
    """A matrix `x`, and `p`, the same where it was put; formats for both orders."""
    layout = import_module(f"{jx.__name__}.experimental.layout")
    here = jx.sharding.SingleDeviceSharding(jx.devices()[0])
    rows, columns = layout.Layout((0, 1)), layout.Layout((1, 0))
    s = SimpleNamespace(jx=jx, jnp=jx.numpy, Layout=layout.Layout, Format=layout.Format,
                        x=jx.numpy.array(Y), constrain=layout.with_layout_constraint, here=here,
                        rows=rows, columns=columns, R=layout.Format(rows, here),
                        C=layout.Format(columns, here), AUTO=layout.Format(layout.Layout.AUTO),
                        flat=layout.Format(layout.Layout((0,)), here),
                        mesh=jx.NamedSharding(jx.make_mesh((1,), ("i",)), jx.P("i")))
    s.p = jx.device_put(s.x, s.R)
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
    "put NumPy": lambda s: (s.jx.device_put(Y, s.R), str(s.jx.device_put(Y, s.R).format)),
    "put scalar": lambda s: str(s.jx.device_put(1.0, s.Format(s.Layout(()), s.here)).format),
    "put None": lambda s: str(s.jx.device_put(s.p, s.Format(None, s.here)).format),
    "put Format()": lambda s: str(s.jx.device_put(s.x, s.Format()).format),
    "put tree": lambda s: str(s.jx.tree.map(lambda a: a.format, s.jx.device_put(
        {"a": s.x, "b": s.x.T}, {"a": s.R, "b": s.R}))),
    "put on a mesh": lambda s: str(s.jx.device_put(s.x, s.Format(s.rows, s.mesh)).format),
    "operations": lambda s: str([(s.p + 1).format, s.p.copy().format, s.jnp.array(s.p).format]),
    "grad of put": lambda s: s.jx.grad(lambda x: s.jx.device_put(x, s.R).sum())(s.x),
    "jit of put": lambda s: s.jx.jit(lambda x: s.jx.device_put(x, s.R))(s.x),
    "jaxpr of put": lambda s: s.jx.make_jaxpr(lambda x: s.jx.device_put(x, s.R))(s.x),
    # jit
    "in": lambda s: [s.jx.jit(s.double, in_shardings=s.R)(x) for x in (s.x, s.p, Y)],
    "out": lambda s: (s.jx.jit(s.double, out_shardings=s.R)(s.x),
                      str(s.jx.jit(s.double, out_shardings=s.R)(s.x).format)),
    "out tree": lambda s: str(s.jx.tree.map(lambda a: a.format, s.jx.jit(
        lambda x: {"a": x, "b": (x + 1, x.sum())}, out_shardings={"a": s.R, "b": None})(s.x))),
    "in tuple": lambda s: s.jx.jit(lambda x, y: x + y, in_shardings=(s.R, None))(s.x, Y),
    "in Format(None)": lambda s: str(s.jx.jit(
        s.double, in_shardings=s.Format(None, s.here))(s.p).format),
    "AUTO": lambda s: s.jx.jit(s.double, in_shardings=s.AUTO, out_shardings=s.AUTO)(s.x),
    "donated": lambda s: str(s.jx.jit(s.double, in_shardings=s.R, out_shardings=s.R,
                                      donate_argnums=0)(s.p).format),
    "grad of jit": lambda s: s.jx.grad(lambda x: s.jx.jit(
        lambda x: x * x, in_shardings=s.R, out_shardings=s.R)(x).sum())(s.x),
    "vmap without layouts": lambda s: s.jx.vmap(s.jx.jit(
        s.double, out_shardings=s.Format(None, s.here)))(s.x),
    # stages
    "formats": lambda s: str([compiled(s, s.x).input_formats, compiled(s, s.x).output_formats]),
    "formats AUTO": lambda s: str([f(compiled(
        s, s.struct(), in_shardings=s.AUTO, out_shardings=s.AUTO))
        for f in (lambda c: c.input_formats, lambda c: c.output_formats)]),
    "format of a struct": lambda s: str(compiled(s, s.struct(sharding=s.R)).input_formats),
    "formats of a tree": lambda s: str(compiled(s, s.x, fun=lambda x: (x, [x])).output_formats),
    "unused": lambda s: str(s.jx.jit(lambda x, y: x).lower(s.x, y=s.x).compile().input_formats),
    "call": lambda s: [compiled(s, s.x, in_shardings=s.R)(x) for x in (s.x, s.p)],
    "struct": lambda s: str([s.struct(sharding=s.here), s.struct(sharding=s.R).sharding,
                             s.struct(sharding=s.here).format]),
    "put as compiled": lambda s: str(s.jx.device_put(
        s.x, compiled(s, s.x, in_shardings=s.R).input_formats[0][0]).format),
    # constraints
    "constraint": lambda s: (s.constrain(s.x, s.rows), str(s.constrain(s.x, s.rows).format)),
    "constraints": lambda s: s.constrain({"a": s.x, "b": (s.x,)}, s.rows),
    "constraint in jit": lambda s: s.jx.jit(lambda x: s.constrain(x * 2, s.rows) + 1)(s.x),
    "constraint under grad": lambda s: s.jx.grad(
        lambda x: s.constrain(x * x, s.rows).sum())(s.x),
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
    "jit layout": (lambda s: s.jx.jit(s.double, out_shardings=s.columns)(s.x), "ValueError"),
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


OTHER_ORDERS = {
    "put": lambda s: s.jx.device_put(s.x, s.C),
    "put traced": lambda s: s.jx.jit(lambda x: s.jx.device_put(x, s.C))(s.x),
    "in": lambda s: s.jx.jit(s.double, in_shardings=s.C),
    "out": lambda s: s.jx.jit(s.double, out_shardings={"a": s.C}),
    "struct": lambda s: s.struct(sharding=s.C),
    "sharding constraint": lambda s: s.jx.lax.with_sharding_constraint(s.x, s.C),
    "constraint": lambda s: s.constrain(s.x, s.columns),
    "tiles": lambda s: s.constrain(s.x, s.rows.update(tiling=((8,),))),
}


@pytest.mark.parametrize("name", OTHER_ORDERS)
def test_other_orders_are_refused(name):
    with pytest.raises(NotImplementedError, match="row-major order"):
        OTHER_ORDERS[name](setting(minijax))
