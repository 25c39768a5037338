"""`jit`: the same results as in JAX, traced and compiled no more often than needed, and its stages."""

from __future__ import annotations

import gc
import re
import weakref
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import minijax
from minijax.core import jit as jit_room
from tests.core import arrays as jnp
from tests.oracle import jax
from tests.oracle.compare import both, in_both

PINNED = jax.__version__.startswith("0.10.")  # other releases print jaxprs otherwise
F32 = np.float32
x3 = np.array([1.0, -2.0, 0.5], F32)


def counted(fun):
    """`fun`, and a list that grows each time it runs."""
    calls = []

    def counting(*args, **kwargs):
        calls.append(args)
        return fun(*args, **kwargs)

    return counting, calls


# ----------------------------------------------------------------------------------------------
# Results


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize("tree", [
    1.5, 2, True, 1j, F32(3), x3, np.arange(3), np.float64(1), [1, (2.0, x3)], {"b": 1, "a": x3},
    Point(x3, 2.0), OrderedDict(z=1, a=x3), None, (), {"a": None, "b": []},
], ids=str)  # fmt: skip
def test_any_pytree_goes_in_and_out(tree):
    def program(jx):
        f = jx.jit(lambda t: jx.tree.map(lambda x: x + x, t))
        return lambda t: [f(t), f(t), f(f(t)), f(f(t))]

    both(program, tree)


@minijax.tree_util.register_dataclass
@dataclass
class Layer:
    w: Any
    name: str = field(metadata={"static": True}, default="layer")


@minijax.tree_util.register_pytree_node_class
class Pair:
    def __init__(self, *parts):
        self.parts = parts

    def tree_flatten(self):
        return self.parts, len(self.parts)

    @classmethod
    def tree_unflatten(cls, count, parts):
        return cls(*parts)


def test_registered_classes_go_in_and_out():
    f, calls = counted(lambda t: minijax.tree.map(lambda x: 2 * x, t))
    g = minijax.jit(f)
    for _ in range(3):
        layer, pair = g([Layer(x3, "first"), Pair(1.0, {"a": jnp.ones(2)})])
        assert type(layer) is Layer and layer.name == "first"
        np.testing.assert_array_equal(layer.w, 2 * x3)
        assert pair.parts[0] == 2 and pair.parts[1]["a"][0] == 2
    assert len(calls) == 1
    assert g([Layer(x3, "second"), Pair()])[0].name == "second"
    assert len(calls) == 2


@in_both
def test_arguments_of_all_kinds_at_the_first_call_and_later(jx):
    f = jx.jit(lambda x, y=2, *, z: x * y + z)
    a = jx.numpy.asarray(x3)
    return [g() for g in [
        lambda: f(x3, z=1), lambda: f(a, z=1), lambda: f(a, 3.0, z=a), lambda: f(a, z=x3),
        lambda: f(x3.astype(np.float64), z=True), lambda: f(1, 2, z=3), lambda: f(a, y=a, z=a),
    ] for _ in range(2)]  # fmt: skip


def test_weak_types_go_through():
    both(lambda jx: jx.jit(lambda x: (x, x + 1, x * x3, jx.numpy.asarray(x))), 2.0)
    both(lambda jx: lambda: jx.jit(lambda x: x * 2)(jx.jit(lambda x: x)(3)))


def test_zero_size_arrays():
    both(lambda jx: jx.jit(lambda x: (x + 1, x.sum(0), x.T @ x)), np.ones((0, 3), F32))


@in_both
def test_wide_numbers_under_x64(jx):
    f = jx.jit(lambda x: x * 2)
    with jx.enable_x64(True):
        wide = f(np.arange(3)), f(1.5), f(x3.astype(np.float64))
    return wide, f(np.arange(3)), f(1.5)


def test_integer_tangents():
    def program(jx):
        no_tangent = np.zeros((), jx.dtypes.float0)
        return jx.jit(lambda n: jx.jvp(lambda n: n * 2, (n,), (no_tangent,))[0])

    both(program, 3)
    both(lambda jx: jx.jit(lambda x, n: jx.grad(lambda x, n: x * n)(x, n)), 2.0, 3)


def test_functions_inside_functions_under_transformations():
    def program(jx):
        inner = jx.jit(lambda x, y: (jx.numpy.sin(x) * y, y))

        def f(x):
            return inner(x, 2.0)[0] + jx.jit(lambda z: z * x)(x)  # the second closes over a tracer

        return lambda x: [
            f(x), jx.jit(f)(x), jx.jvp(f, (x,), (x,)), jx.vmap(f)(x), jx.jit(jx.vmap(jx.grad(f)))(x),
            jx.vmap(jx.jit(jx.grad(jx.jit(jx.grad(f)))))(x),
        ]  # fmt: skip

    both(program, x3)


@pytest.mark.parametrize("transform", [
    lambda jx, f: f, lambda jx, f: jx.vmap(f), lambda jx, f: lambda x: jx.jvp(f, (x,), (x,)),
    lambda jx, f: jx.jit(f),
])  # fmt: skip
def test_transformed_calls_print_as_in_jax(transform):
    def program(jx):
        inner = jx.jit(lambda x, y: (jx.numpy.sin(x) * y, y))
        f = lambda x: inner(x, 2.0)[0] + jx.jit(lambda z: z * x, keep_unused=True)(x)
        return jx.make_jaxpr(transform(jx, f))

    both(program, x3, text=PINNED)


def test_inline_writes_the_equations_out():
    both(
        lambda jx: jx.make_jaxpr(lambda x: jx.jit(lambda y: y * 2 + x, inline=True)(x)),
        1.0,
        text=PINNED,
    )
    both(lambda jx: jx.jit(jx.jit(lambda y: y * 2, inline=True)), 1.0)


def test_disable_jit_runs_python():
    f, calls = counted(lambda x: x if x > 0 else -x)
    with minijax.disable_jit():
        assert minijax.jit(f)(-2.0) == 2.0
        assert minijax.jit(f)(-2.0) == 2.0
    assert len(calls) == 2


# ----------------------------------------------------------------------------------------------
# Static arguments


@in_both
def test_static_arguments(jx):
    f = jx.jit(lambda x, n, mode="up": x[:n] if mode == "up" else -x[:n],
               static_argnums=1, static_argnames="mode")  # fmt: skip
    return [f(x3, 2), f(x3, 2), f(x3, n=2), f(x3, 1, mode="down"), f(x3, 1, "up")]


@pytest.mark.parametrize("options", [
    {"static_argnums": 1}, {"static_argnums": (1,)}, {"static_argnums": -1},
    {"static_argnames": "n"}, {"static_argnames": ("n",)}, {"static_argnums": (1, 0)},
], ids=str)  # fmt: skip
def test_ways_to_say_static(options):
    both(lambda jx: lambda: jx.jit(lambda x, n: jx.numpy.ones(n) * x, **options)(2.0, 3))


def test_static_values_of_other_types_make_other_programs():
    f, calls = counted(lambda x, n: x * n)
    g = minijax.jit(f, static_argnums=1)
    results = [g(2, n) for n in (1, True, 1.0, 1)]
    assert [r.dtype.name for r in results] == ["int32", "int32", "float32", "int32"]
    assert len(calls) == 3


# ----------------------------------------------------------------------------------------------
# Tracing and compiling once


def test_traced_once_for_each_signature():
    f, calls = counted(lambda x: x * 2)
    g = minijax.jit(f)
    for _ in range(3):
        for x in (1.0, 2, x3, x3[:2], jnp.asarray(x3), [1.0], (1.0,), F32(2)):
            g(x)
    assert len(calls) == 7  # x3 and its array are of one type
    assert g._cache_size() == 7
    g.clear_cache()
    g(1.0)
    assert len(calls) == 8


def test_settings_belong_to_the_signature():
    f, calls = counted(lambda x: x * 2)
    g = minijax.jit(f)
    a = g(1.0)
    with minijax.enable_x64(True):
        b = g(1.0)
        g(1.0)
    assert (a.dtype, b.dtype) == (np.float32, np.float64)
    assert len(calls) == 2


def test_all_jits_of_a_function_share_their_traces():
    f, calls = counted(lambda x: x * 2)
    for _ in range(3):
        minijax.jit(f)(1.0)
    assert len(calls) == 1
    minijax.jit(f, keep_unused=True)(1.0)
    assert len(calls) == 2


@pytest.mark.parametrize("options", [
    {}, {"return_shape": True}, {"axis_env": [("i", 2)]}, {"static_argnums": 1}], ids=str)
@in_both
def test_make_jaxpr_shares_traces_too(jx, options):
    def count(x, k=2):
        calls.append(k)
        return x * k

    calls: list[int] = []
    made = [jx.make_jaxpr(count, **options)(x3) for _ in range(2)]
    jx.jit(count)(x3)
    first, second = (jaxpr[0] if type(jaxpr) is tuple else jaxpr for jaxpr in made)
    return len(calls), first is second, str(first)


@pytest.mark.parametrize("transform", ["jit", "grad", "vmap"])
@in_both
def test_make_jaxpr_keeps_what_outer_traces_hold(jx, transform):
    made = []

    def outer(y):
        made.extend(jx.make_jaxpr(lambda x: (x * y, x3))(2.0) for _ in range(2))
        return y

    getattr(jx, transform)(outer)(np.ones(2, F32) if transform == "vmap" else F32(1))
    return [(str(jaxpr), len(jaxpr.consts)) for jaxpr in made]


def test_a_function_that_is_gone_leaves_nothing_behind():
    big = jnp.ones(10_000)

    def f(x):
        return x + big

    g = minijax.jit(f)
    g(1.0)
    minijax.jvp(g, (1.0,), (1.0,))
    jaxpr = weakref.ref(g.trace(1.0).jaxpr)
    gone = weakref.ref(f)
    del f, g
    gc.collect()
    assert gone() is None and jaxpr() is None


def test_derivatives_of_a_jitted_function_are_compiled_once(monkeypatch):
    compile_module, calls = counted(jit_room.compile_module)
    monkeypatch.setattr(jit_room, "compile_module", compile_module)
    f = minijax.jit(lambda x: jnp.sin(x) * x)

    def derivatives(x):
        minijax.jvp(f, (x,), (x,))
        minijax.grad(f)(x)
        minijax.vmap(f)(x * x3)

    derivatives(1.0)
    once = len(calls)
    assert once
    derivatives(2.0)
    assert len(calls) == once


def test_a_program_compiled_ahead_is_the_one_that_calls_run(monkeypatch):
    compile_module, calls = counted(jit_room.compile_module)
    monkeypatch.setattr(jit_room, "compile_module", compile_module)
    f = minijax.jit(lambda x: jnp.sin(x) * x)
    compiled = f.lower(x3).compile()
    once = len(calls)
    assert once == 1
    assert (f(x3) == compiled(x3)).all()
    f.lower(x3).compile()
    f.lower(minijax.ShapeDtypeStruct(x3.shape, x3.dtype)).compile()
    assert len(calls) == once


def test_a_python_value_that_changes_is_seen_only_by_the_first_trace():
    scale = [2.0]
    f = minijax.jit(lambda x: x * scale[0])
    assert f(1.0) == 2.0
    scale[0] = 5.0
    assert f(1.0) == 2.0


# ----------------------------------------------------------------------------------------------
# Errors


def test_a_bad_argument_is_named():
    f = minijax.jit(lambda params, *, rest: params)
    with pytest.raises(TypeError, match=re.escape("at path rest['a'][1]")):
        f(1.0, rest={"a": [1, "text"]})


def test_leaked_tracers_are_told_wherever_they_turn_up():
    leaked = []
    minijax.jit(lambda x: leaked.append(x))(1.0)
    for use in (minijax.jit(lambda x: x), minijax.jit(lambda x: x + leaked[0])):
        for _ in range(2):
            with pytest.raises(minijax.errors.UnexpectedTracerError):
                use(leaked[0])


def test_an_error_while_tracing_leaves_no_trace():
    def fails(x):
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            minijax.jit(fails)(1.0)
    assert minijax.jit(lambda x: x + 1)(1.0) == 2.0
