"""Small jaxprs of primitives on Python objects, for the tests of their data types."""

from __future__ import annotations

import numpy as np

from minijax import core
from minijax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Var,
    eval_jaxpr,
)
from minijax.source import SourceInfo

F32 = core.ShapedArray((), "float32")
WEAK = core.ShapedArray((), "float32", True)
VEC = core.ShapedArray((3,), "float32")
I32 = core.ShapedArray((), "int32")


def primitive(name, evaluate, multiple_results=False):
    """A primitive on Python objects: `typed` says whether operands must have one type."""
    p = core.Primitive(name, multiple_results)
    p.def_impl(evaluate)
    return p


sin = primitive("sin", np.sin)
sin.def_abstract_eval(lambda x: x)
add = primitive("add", lambda x, y: x + y)
two = primitive("two", lambda x: [x, x + 1], multiple_results=True)
two.def_abstract_eval(lambda x: [x, x])
scale = primitive("scale", lambda x, *, by: x * by)
scale.def_abstract_eval(lambda x, *, by: x)
fail = primitive("fail", lambda x: 1 // 0)
fail.def_abstract_eval(lambda x: x)
call = primitive(
    "jit", lambda *args, jaxpr, name: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), True
)


@add.def_abstract_eval
def add_aval(x, y):
    if x.shape != y.shape:
        raise TypeError(f"add got incompatible shapes: {x.shape} and {{}} {y.shape}")
    return x


def eqn(p, invars, outvars, **params):
    return JaxprEqn(p, invars, outvars, params, SourceInfo())


def variables(n, aval=F32):
    return [Var(aval) for _ in range(n)]


def sin_plus_const():
    """`{ lambda c; a. let b = sin a; d = add b c in (d,) }`"""
    a, b, c, d = variables(4)
    return Jaxpr([c], [a], [d], [eqn(sin, [a], [b]), eqn(add, [b, c], [d])])


def calling(inner, n_in=1, n_out=1, aval=F32):
    ins, outs = variables(n_in, aval), variables(n_out, aval)
    return Jaxpr([], ins, outs, [eqn(call, ins, outs, name="g", jaxpr=inner)])


def tower(depth):
    a, b = variables(2)
    jaxpr = Jaxpr([], [a], [b], [eqn(sin, [a], [b])])
    for _ in range(depth):
        jaxpr = calling(ClosedJaxpr(jaxpr))
    return jaxpr
