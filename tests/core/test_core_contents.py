"""How contents leave a traced value: every road of Python and NumPy, out of every kind of tracer.

A program takes the contents of `x` by one road, and multiplies what it got by `x`. Its value and its
derivative, or the class of its error, must be JAX's: a road that loses a derivative is refused.
"""

from __future__ import annotations

import array
import cmath
import contextlib
import copy
import fractions
import io
import itertools
import json
import math
import operator
import pickle
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minijax
from tests.oracle import ask, jax

# ----------------------------------------------------------------------------------------------
# The roads


def _loop(x):
    count = 0
    while x > count:
        count += 1
    return count


ROADS: dict[str, Callable[[Any], Any]] = {
    # Python's conversions
    "float": float, "complex": complex, "int": int, "bool": bool, "index": operator.index,
    "round": round, "round to 1": lambda x: round(x, 1), "trunc": math.trunc,
    "floor": math.floor, "ceil": math.ceil, "hex": hex, "chr": chr, "not": operator.not_,
    "if": lambda x: 2.0 if x > 0 else 3.0, "and": lambda x: x and 3.0, "or": lambda x: x or 3.0,
    "chained": lambda x: 0 < x < 9, "while": _loop, "max": lambda x: max(x, x * x),
    "sorted": lambda x: sorted([x, -x]), "abs": abs, "pow": lambda x: pow(x, 2),
    "divmod": lambda x: divmod(x, 2)[1], "% f": "%f".__mod__, "% s": "%s".__mod__,
    ".2f": lambda x: f"{x:.2f}", "g": lambda x: f"{x:g}", "f-string": lambda x: f"{x}",
    "str": str, "repr": repr, "print": lambda x: print(x, file=io.StringIO()),
    # methods of arrays
    "tolist": lambda x: x.tolist(), "tobytes": lambda x: x.tobytes(),
    "__array__": lambda x: x.__array__(), "__dlpack__": lambda x: x.__dlpack__(),
    "data": lambda x: x.addressable_data(0),
    "shards": lambda x: x.addressable_shards, "set": lambda x: operator.setitem(x, 0, 1.0),
    "real": lambda x: x.real, "conj": lambda x: x.conj(), "astype": lambda x: x.astype("int32"),
    # the standard library
    "exp": math.exp, "isnan": math.isnan, "isclose": lambda x: math.isclose(x, 1.0),
    "gcd": lambda x: math.gcd(x, 6), "fsum": lambda x: math.fsum([x]), "hypot": math.hypot,
    "prod": lambda x: math.prod([x, x]), "cexp": cmath.exp, "fmean": lambda x: statistics.fmean([x]),
    "array": lambda x: array.array("f", [x]), "fraction": fractions.Fraction, "json": json.dumps,
    "pickle": pickle.dumps, "copy": copy.copy,
    "deepcopy": copy.deepcopy, "hash": hash, "key": lambda x: {x: 1}, "range": range,
    "islice": lambda x: [*itertools.islice("abcdef", x)], "entry": lambda x: [5, 6, 7, 8][x],
    "list slice": lambda x: [5, 6, 7][:x], "in": lambda x: x in [1.0, 2.0],
    "find": lambda x: [1.0, 2.0, 3.0, 2.5].index(x), "iter": list, "unpack": lambda x: (*x,),
    "sum": sum, "map": lambda x: [*map(float, x)], "contains": lambda x: 1.0 in x,
    # NumPy
    "asarray": np.asarray, "np array": np.array, "np list": lambda x: np.array([x, x]),
    "np float32": np.float32, "np float64": np.float64, "np int32": np.int32, "np sin": np.sin,
    "np add": lambda x: np.add(x, 1), "np mul": lambda x: np.float32(2) * x,
    "ndarray mul": lambda x: np.ones(2, np.float32) * x, "np sum": np.sum, "np dot": np.dot,
    "np where": lambda x: np.where(x > 0, x, x), "np full": lambda x: np.full(2, x),
    "np setitem": lambda x: operator.setitem(np.zeros(2), 0, x), "np isnan": np.isnan,
    "np index": lambda x: np.arange(5)[x], "np slice": lambda x: np.arange(5)[:x],
    "np equal": lambda x: np.array_equal(x, x), "np vectorize": np.vectorize(float),
    "from_dlpack": np.from_dlpack,
    "ones_like": np.ones_like, "result_type": lambda x: np.result_type(x).name,
    "np shape": np.shape, "np ndim": np.ndim,
}  # fmt: skip
# `np.dot` and `math.hypot` take two arguments.
ROADS |= {name: (lambda x, f=ROADS[name]: f(x, x)) for name in ("np dot", "hypot")}

# The same in both libraries' own functions.
OWN_ROADS: dict[str, Callable[[Any, Any], Any]] = {
    "jnp.array": lambda jx, x: jx.numpy.array([x, x]),
    "jnp.zeros": lambda jx, x: jx.numpy.zeros(x),
    "linspace": lambda jx, x: jx.numpy.linspace(0.0, 1.0, x),
    "jnp index": lambda jx, x: jx.numpy.arange(5.0)[x],
    "sum axis": lambda jx, x: jx.numpy.ones((1, 1, 1, 3)).sum(x),
    "bincount": lambda jx, x: jx.numpy.bincount(jx.numpy.atleast_1d(x)),
    "mask": lambda jx, x: jx.numpy.atleast_1d(x)[jx.numpy.atleast_1d(x) > 1].sum(),
    "nonzero": lambda jx, x: jx.numpy.nonzero(jx.numpy.atleast_1d(x))[0],
    "fori": lambda jx, x: jx.lax.fori_loop(0, x, lambda i, c: c + 1.0, 0.0),
    "device_get": lambda jx, x: jx.device_get(x),
    "device_put": lambda jx, x: jx.device_put(x),
    "stop_gradient": lambda jx, x: float(jx.lax.stop_gradient(x)),
    "wait": lambda jx, x: jx.block_until_ready(x),
    "vectorize": lambda jx, x: jx.numpy.vectorize(float)(x),
}

# These show where the contents are. A tracer never does.
BUFFERS = {"pointer": lambda x: x.unsafe_buffer_pointer(), "memoryview": memoryview, "bytes": bytes,
           "frombuffer": lambda x: np.frombuffer(x, "float32")}

# Roads that JAX takes, where the result has lost its derivative.
LOSSY = {"item": lambda x: x.item(), "item 0": lambda x: x.item(0)}


# ----------------------------------------------------------------------------------------------
# The kinds of tracers: `KINDS[name](jx, f)(x)` calls `f` with one


def _ones(x):
    inexact = x.dtype.kind in "fc"
    return np.ones(x.shape, x.dtype if inexact else [("float0", "V")])


def _pair(jx, x):
    return jx.numpy.stack([x, x])


def _pulled_back(jx, f, x):
    out, pull = jx.vjp(f, x)
    return out, pull(jx.tree.map(_ones, out))


def _linearized(jx, f, x):
    out, push = jx.linearize(f, x)
    return out, push(_ones(x))


def _custom_jvp(jx, f, rule):
    g = jx.custom_jvp(f)
    g.defjvp(rule)
    return g


def _custom_vjp(jx, f, fwd, bwd):
    g = jx.custom_vjp(f)
    g.defvjp(fwd, bwd)
    return g


def _shard_map(jx, f):
    everywhere = jx.sharding.PartitionSpec()
    return jx.shard_map(f, mesh=jx.make_mesh((1,), ("i",)), in_specs=everywhere,
                        out_specs=everywhere)


def _jvp(jx, f):
    return lambda x: jx.jvp(f, (x,), (_ones(x),))


KINDS: dict[str, Callable[[Any, Callable], Callable]] = {
    "jvp": _jvp,
    "linearize": lambda jx, f: lambda x: _linearized(jx, f, x),
    "vjp": lambda jx, f: lambda x: _pulled_back(jx, f, x),
    "aux": lambda jx, f: lambda x: jx.jvp(lambda y: (y, f(y)), (x,), (_ones(x),), has_aux=True),
    "vmap": lambda jx, f: lambda x: jx.vmap(f)(_pair(jx, x)),
    "jvp of jvp": lambda jx, f: _jvp(jx, _jvp(jx, f)),
    "jvp of linearize": lambda jx, f: _jvp(jx, lambda x: _linearized(jx, f, x)),
    "jvp of vmap": lambda jx, f: lambda x: _jvp(jx, jx.vmap(f))(_pair(jx, x)),
    "vmap of jvp": lambda jx, f: lambda x: jx.vmap(lambda y: jx.jvp(f, (y,), (_ones(x),)))(_pair(jx, x)),
    "outer jvp": lambda jx, f: lambda x: _jvp(jx, lambda y: _jvp(jx, lambda z: f(y))(x))(x),
    "stopped": lambda jx, f: _jvp(jx, lambda x: f(jx.lax.stop_gradient(x) * 1)),
    "comparison": lambda jx, f: _jvp(jx, lambda x: f(abs(x) > 1)),
    "named_call": lambda jx, f: _jvp(jx, jx.named_call(f, name="f")),
}  # fmt: skip

# These stage a program, which need not run.
STAGED: dict[str, Callable[[Any, Callable], Callable]] = {
    "jit": lambda jx, f: jx.jit(f),
    "eval_shape": lambda jx, f: lambda x: jx.eval_shape(f, x) and None,
    "jit of jvp": lambda jx, f: jx.jit(_jvp(jx, f)),
    "jvp of jit": lambda jx, f: _jvp(jx, jx.jit(f)),
    "custom_jvp": lambda jx, f: _jvp(jx, _custom_jvp(jx, f, lambda x, t: (f(*x), f(*x)))),
    "custom_jvp rule": lambda jx, f: lambda x: jx.vjp(
        _custom_jvp(jx, lambda x: x, lambda x, t: (f(*x), f(*t))), x)[0],
    "custom_vjp fwd": lambda jx, f: lambda x: jx.vjp(_custom_vjp(
        jx, lambda x: x * 1, lambda x: (f(x), x), lambda r, ct: (r,)), x)[0],
    "custom_vjp bwd": lambda jx, f: lambda x: _pulled_back(jx, _custom_vjp(
        jx, lambda x: x * 1, lambda x: (x * 1, x), lambda r, ct: (f(ct),)), x),
    "checkpoint": lambda jx, f: jx.checkpoint(f),
    "jvp of checkpoint": lambda jx, f: _jvp(jx, jx.checkpoint(f)),
    "cond": lambda jx, f: lambda x: jx.lax.cond(True, f, f, x),
    "scan": lambda jx, f: lambda x: jx.lax.scan(lambda c, y: (c, f(y)), 0.0, _pair(jx, x)),
    "jvp of scan": lambda jx, f: _jvp(jx, lambda x: jx.lax.scan(lambda c, y: (c, f(x)), 0, None, 2)),
    "fori_loop": lambda jx, f: lambda x: jx.lax.fori_loop(0, 2, lambda i, c: [f(c), c][1], x),
    "map": lambda jx, f: lambda x: jx.lax.map(f, _pair(jx, x)),
    "shard_map": _shard_map,
    "pmap": lambda jx, f: lambda x: jx.pmap(f)(jx.numpy.stack([x])),
}  # fmt: skip
KINDS |= {name: (lambda jx, f, kind=kind: lambda x: jx.make_jaxpr(kind(jx, f))(x) and None)
          for name, kind in STAGED.items()}

VALUES = {
    "float": lambda jx: jx.numpy.float32(2.5),
    "int": lambda jx: jx.numpy.int32(3),
    "vector": lambda jx: jx.numpy.array([2.0, 3.0], np.float32),
    "complex": lambda jx: jx.numpy.complex64(1 + 2j),
}


# ----------------------------------------------------------------------------------------------
# What comes out


def _times(out, x):
    """What a road gave, times `x`: only numbers count."""
    while isinstance(out, (list, tuple)) and out:
        out = out[-1]
    if isinstance(out, (str, bytes, range, list, tuple, dict, memoryview, array.array, type(None))):
        return x
    return out * x if hasattr(out, "dtype") else complex(out).real * x


def outcome(jx, kind, road, value) -> str:
    """The numbers that a program computes, or the class of its error."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            out = KINDS[kind](jx, lambda x: _times(road(x), x))(VALUES[value](jx))
    except Exception as error:
        return type(error).__name__
    leaves = [np.asarray(x) for x in jx.tree.leaves(out)]
    return " ".join(str(np.round(x.astype("complex64"), 3).tolist()) for x in leaves
                    if x.dtype.kind in "biufc")


def outcomes(jx, kind, value) -> dict[str, str]:
    own = {name: (lambda x, f=f: f(jx, x)) for name, f in OWN_ROADS.items()}
    return {name: outcome(jx, kind, road, value) for name, road in {**ROADS, **own}.items()}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_road_leads_where_it_leads_in_jax(kind, value):
    want = ask(lambda: outcomes(jax, kind, value))
    assert outcomes(minijax, kind, value) == want


@pytest.mark.parametrize("road", BUFFERS)
@pytest.mark.parametrize("kind", ["jvp", "vmap", "jit"])
def test_no_road_leads_to_the_memory_of_a_tracer(kind, road):
    want = ask(lambda: outcome(jax, kind, BUFFERS[road], "float"))
    assert outcome(minijax, kind, BUFFERS[road], "float") == want
    assert want.endswith("Error")


@pytest.mark.parametrize("road", LOSSY)
@pytest.mark.parametrize("kind", ["jvp", "linearize", "vjp", "jvp of jvp", "vmap", "jit"])
def test_item_never_loses_a_derivative(kind, road):
    assert outcome(minijax, kind, LOSSY[road], "float") == "ConcretizationTypeError"
    assert "Error" not in outcome(minijax, "stopped", LOSSY[road], "float")
    assert "Error" not in outcome(minijax, "comparison", LOSSY[road], "int")


def test_an_escaped_tracer_gives_nothing_away():
    kept = []
    minijax.jvp(lambda x: kept.append(x) or x, (2.0,), (1.0,))
    for road in (float, complex, lambda x: x.item(), lambda x: x.tolist()):
        with pytest.raises(minijax.errors.UnexpectedTracerError):
            road(kept[0])


@pytest.mark.parametrize("road", [float, np.asarray, lambda x: x.item(), lambda x: x.tolist()])
def test_the_message_says_that_the_derivative_would_be_lost(road):
    with pytest.raises(TypeError, match="lose its derivative") as refused:
        minijax.grad(lambda x: road(x) * x)(3.0)
    assert "stop_gradient" in str(refused.value)
    with pytest.raises(TypeError) as refused:
        minijax.jit(lambda x: road(x) * x)(3.0)
    assert "derivative" not in str(refused.value)


# ----------------------------------------------------------------------------------------------
# Functions that look into a differentiated value


KEPT = {  # function of x = 2, its derivative there
    "unique": (lambda x: minijax.numpy.unique(x * np.arange(3, dtype="f")).sum(), 3.0),
    "union1d": (lambda x: minijax.numpy.union1d(x * np.ones(2, "f"), np.zeros(1)).sum(), 1.0),
    "setxor1d": (lambda x: minijax.numpy.setxor1d(x * np.ones(2, "f"), np.zeros(1)).sum(), 1.0),
    "intersect1d": (lambda x: minijax.numpy.intersect1d(x * np.ones(2, "f"), np.full(1, 2.0)).sum(),
                    1.0),
    "polymul": (lambda x: minijax.numpy.polymul(
        x * np.ones(2, "f"), np.ones(2, "f"), trim_leading_zeros=True).sum(), 4.0),
    "trim_zeros": (lambda x: minijax.numpy.trim_zeros(x * np.arange(3, dtype="f")).sum(), 3.0),
    "arange to x": (lambda x: minijax.numpy.arange(x).sum() * x, 1.0),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_looks_at_the_contents_keeps_the_derivative(name):
    f, derivative = KEPT[name]
    assert minijax.grad(f)(np.float32(2)) == derivative
    assert minijax.jvp(f, (np.float32(2),), (np.float32(1),))[1] == derivative


@pytest.mark.parametrize("program", [
    lambda jnp, x: jnp.arange(x, 5.0), lambda jnp, x: jnp.arange(0.0, 5.0, x),
    lambda jnp, x: jnp.mgrid[x:5.0], lambda jnp, x: jnp.ogrid[0:5.0:x], lambda jnp, x: jnp.r_[x:5.0],
    lambda jnp, x: minijax.lax.reduce(np.ones(2, "f"), x - 2, minijax.lax.add, (0,)),
])  # fmt: skip
def test_what_cannot_keep_the_derivative_refuses(program):
    with pytest.raises((TypeError, NotImplementedError)):
        minijax.grad(lambda x: program(minijax.numpy, x).sum())(np.float32(2))
