"""`jit`: the same results as in JAX, traced and compiled no more often than needed, and its stages."""

from __future__ import annotations

import gc
import re
import threading
import warnings
import weakref
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

import minijax
from minijax.core import jit as jit_room
from minijax.core.core import Primitive
from minijax.core.lowering import register_lowering
from minijax.errors import JaxRuntimeError
from minijax.lax.families import lower_fun
from minijax.runtime import client
from minijax.runtime.dispatch import apply_primitive
from tests.core import arrays as jnp
from tests.oracle import jax
from tests.oracle.compare import both

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


def test_arguments_of_all_kinds_at_the_first_call_and_later():
    def program(jx):
        f = jx.jit(lambda x, y=2, *, z: x * y + z)
        a = jx.numpy.asarray(x3)
        return lambda: [g() for g in [
            lambda: f(x3, z=1), lambda: f(a, z=1), lambda: f(a, 3.0, z=a), lambda: f(a, z=x3),
            lambda: f(x3.astype(np.float64), z=True), lambda: f(1, 2, z=3), lambda: f(a, y=a, z=a),
        ] for _ in range(2)]  # fmt: skip

    both(program)


def test_weak_types_go_through():
    both(lambda jx: jx.jit(lambda x: (x, x + 1, x * x3, jx.numpy.asarray(x))), 2.0)
    both(lambda jx: lambda: jx.jit(lambda x: x * 2)(jx.jit(lambda x: x)(3)))


def test_zero_size_arrays():
    both(lambda jx: jx.jit(lambda x: (x + 1, x.sum(0), x.T @ x)), np.ones((0, 3), F32))


def test_wide_numbers_under_x64():
    def program(jx):
        f = jx.jit(lambda x: x * 2)

        def run():
            with jx.enable_x64(True):
                wide = f(np.arange(3)), f(1.5), f(x3.astype(np.float64))
            return wide, f(np.arange(3)), f(1.5)

        return run

    both(program)


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


def test_static_arguments():
    def program(jx):
        f = jx.jit(lambda x, n, mode="up": x[:n] if mode == "up" else -x[:n],
                   static_argnums=1, static_argnames="mode")  # fmt: skip
        return lambda: [f(x3, 2), f(x3, 2), f(x3, n=2), f(x3, 1, mode="down"), f(x3, 1, "up")]

    both(program)


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
def test_make_jaxpr_shares_traces_too(options):
    def program(jx):
        def count(x, k=2):
            calls.append(k)
            return x * k

        calls: list[int] = []

        def run():
            made = [jx.make_jaxpr(count, **options)(x3) for _ in range(2)]
            jx.jit(count)(x3)
            first, second = (jaxpr[0] if type(jaxpr) is tuple else jaxpr for jaxpr in made)
            return len(calls), first is second, str(first)

        return run

    both(program)


@pytest.mark.parametrize("transform", ["jit", "grad", "vmap"])
def test_make_jaxpr_keeps_what_outer_traces_hold(transform):
    def program(jx):
        made = []

        def outer(y):
            made.extend(jx.make_jaxpr(lambda x: (x * y, x3))(2.0) for _ in range(2))
            return y

        def run():
            getattr(jx, transform)(outer)(np.ones(2, F32) if transform == "vmap" else F32(1))
            return [(str(jaxpr), len(jaxpr.consts)) for jaxpr in made]

        return run

    both(program)


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
# Memory


def aligned(n: int) -> np.ndarray:
    """Zeros at an address from which XLA would read in place."""
    memory = np.zeros(4 * n + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + 4 * n].view(F32)


def test_changing_a_numpy_argument_after_the_call_changes_nothing():
    f = minijax.jit(lambda x: (x.reshape(512, 512) @ x.reshape(512, 512)).sum())
    x = aligned(512 * 512)
    x[:] = 1
    f(x)
    for _ in range(5):
        x[:] = 1
        y = f(x)
        x[:] = 7
        assert y == 512**3


def test_changing_a_captured_numpy_array_changes_nothing():
    x = aligned(1000)
    f = minijax.jit(lambda y: x + y)
    assert f(1.0)[0] == 1
    x[:] = 7
    assert f(1.0)[0] == 1


def test_results_cannot_be_written_to_through_numpy():
    view = np.asarray(minijax.jit(lambda x: x + 1)(x3))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5


@pytest.mark.parametrize("numbers", [-1, -3, (-1, 0), (0, -2)])
def test_negative_numbers_donate_nothing(numbers):
    """Counted from the end of a call with keywords, they would be of other arguments."""
    def program(jx):
        def gone():
            args = [jx.numpy.ones(3) for _ in range(6)]
            f = jx.jit(lambda x, y, z: (x + y, z * 2, x + z), donate_argnums=numbers)
            f(*args[:3])
            f(args[3], z=args[4], y=args[5])
            return [x.is_deleted() for x in args]
        return gone

    both(program)


def test_donated_arrays_are_gone_and_their_memory_is_used():
    f = minijax.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = jnp.asarray(x3) + 0, jnp.asarray(x3)
    address = lambda a: a._buffer.unsafe_buffer_pointer()
    first = f(x, y)
    for _ in range(3):
        here = address(first)
        second = f(first, y)
        assert address(second) == here
        assert first.is_deleted() and not y.is_deleted()
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]"):
            first + 1
        with pytest.raises(RuntimeError, match="Array has been deleted"):
            f(first, y)
        first = second
    np.testing.assert_allclose(first, 5 * x3)


def test_donation_spares_what_numpy_looks_at():
    f = minijax.jit(lambda x: x + 1, donate_argnums=0)
    x = f(jnp.asarray(x3))
    view = np.asarray(x)
    f(x)
    np.testing.assert_array_equal(view, x3 + 1)


def test_donation_by_name_and_of_pytrees():
    f = minijax.jit(lambda p, *, state: (p["w"] * 2, state + 1), donate_argnames=("p", "state"))
    p, state = {"w": jnp.ones(3)}, jnp.zeros(2)
    f(p, state=state)
    assert p["w"].is_deleted() and state.is_deleted()


def test_a_donation_that_is_of_no_use_is_told_and_not_taken():
    f = minijax.jit(lambda x: x.sum(), donate_argnums=0)
    x = jnp.ones(3)
    with pytest.warns(UserWarning, match=r"Some donated buffers were not usable: float32\[3\]"):
        f(x)
    assert not x.is_deleted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(x)


def test_donating_an_array_that_is_also_another_argument():
    x = jnp.ones(3)
    with pytest.raises(JaxRuntimeError, match="donated"):
        minijax.jit(lambda a, b: a + b, donate_argnums=0)(x, x)


def test_dispatch_does_not_wait():
    f = minijax.jit(lambda x: (x @ x @ x @ x).sum())
    x = jnp.ones((1200, 1200)) / 1200
    f(x).block_until_ready()
    y = f(x)
    assert not y._buffer.is_ready()
    assert y.block_until_ready() is y and y._buffer.is_ready()


# ----------------------------------------------------------------------------------------------
# Errors


@pytest.mark.parametrize("program", [
    lambda jx: lambda: jx.jit(lambda x: x)("text"),
    lambda jx: lambda: jx.jit(lambda x: "text")(1.0),
    lambda jx: lambda: jx.jit(lambda x, n: x, static_argnums=1)(1.0, [1]),
    lambda jx: lambda: jx.jit(lambda x, n: x, static_argnames="n")(1.0, n={}),
    lambda jx: lambda: jx.jit(lambda x: x, static_argnums=1),
    lambda jx: lambda: jx.jit(lambda x: x, static_argnames="n"),
    lambda jx: lambda: jx.jit(lambda x: x, donate_argnums=2),
    lambda jx: lambda: jx.jit(lambda x: x, donate_argnums=0, static_argnums=0),
    lambda jx: lambda: jx.jit(3),
    lambda jx: lambda: jx.jit(lambda x, y: x)(1.0),
    lambda jx: lambda: jx.jit(lambda x: x)(1.0, 2.0),
    lambda jx: lambda: jx.jit(lambda x: x if x > 0 else -x)(1.0),
    lambda jx: lambda: jx.jit(lambda x: np.sin(x))(1.0),
    lambda jx: lambda: jx.jit(lambda x: int(x))(1.0),
    lambda jx: lambda: jx.jit(lambda x: [1, 2][x])(1),
    lambda jx: lambda: jx.jit(lambda d: d)({1: 1.0, "a": 2.0}),
    lambda jx: lambda: jx.jit(lambda x: 1 // 0)(1.0),
    lambda jx: lambda: jx.jit(lambda x: x)(2**40),
])  # fmt: skip
def test_errors_are_of_jaxs_classes(program):
    both(program)


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


# ----------------------------------------------------------------------------------------------
# The function itself, and its stages


def test_a_jitted_function_looks_like_the_function():
    def f(x, *, k=1):
        """What it does."""
        return x

    g = minijax.jit(f)
    assert (g.__name__, g.__doc__, g.__wrapped__) == ("f", "What it does.", f)
    assert repr(g) == f"<PjitFunction of {f!r}>"
    assert minijax.jit(g)(1.0) == 1.0


def test_methods_and_decorators_with_options():
    class Scale:
        def __init__(self, by):
            self.by = by

        @partial(minijax.jit, static_argnums=0)
        def __call__(self, x):
            return x * self.by

        @minijax.jit(static_argnames=("self", "n"))
        def repeat(self, x, n):
            return jnp.ones(n) * x * self.by

    scale = Scale(3.0)
    assert scale(2.0) == 6.0
    np.testing.assert_array_equal(scale.repeat(2.0, n=2), [6.0, 6.0])
    assert minijax.jit(scale)(1.0) == 3.0
    assert minijax.jit(partial(lambda a, b: a - b, 5.0))(2.0) == 3.0


STAGES = {
    "jaxpr": lambda f: f.trace(2.0, k=x3).jaxpr,
    "fun_name": lambda f: f.trace(2.0, k=x3).fun_name,
    "in_avals": lambda f: str(f.lower(2.0, k=x3).in_avals),
    "in_tree": lambda f: str(f.lower(2.0, k=x3).in_tree),
    "out_tree": lambda f: str(f.lower(2.0, k=x3).out_tree),
    "args_info": lambda f: str(f.lower(2.0, k=x3).args_info),
    "donate_argnums": lambda f: f.lower(2.0, k=x3).donate_argnums,
    "eval_shape": lambda f: str(f.eval_shape(2.0, k=x3)),
    "traced out_info": lambda f: str(f.trace(2.0, k=x3).out_info),
    "flops before": lambda f: f.lower(2.0, k=x3).cost_analysis()["flops"],
    "flops": lambda f: f.lower(2.0, k=x3).compile().cost_analysis()["flops"],
    "memory": lambda f: f.lower(2.0, k=x3).compile().memory_analysis().output_size_in_bytes,
    "compiled": lambda f: f.lower(2.0, k=x3).compile()(3.0, k=x3),
    "module": lambda f: f.lower(2.0, k=x3).as_text().splitlines()[0],
    "hlo": lambda f: f.lower(2.0, k=x3).as_text("hlo").split(",")[0],
    "optimised": lambda f: f.lower(2.0, k=x3).compile().as_text().split(",")[0],
    "wrong structure": lambda f: f.lower(2.0, k=x3).compile()(3.0),
    "wrong type": lambda f: f.lower(2.0, k=x3).compile()(3.0, k=x3[:2]),
}


@pytest.mark.parametrize("stage", STAGES)
def test_stages(stage):
    def program(jx):
        def fun(x, *, k):
            return {"out": (x * k, jx.numpy.sin(x))}

        return lambda: STAGES[stage](jx.jit(fun, donate_argnames="k"))

    both(program)


def test_stages_take_shapes_without_arrays():
    def program(jx):
        shape = jx.ShapeDtypeStruct((3,), F32)
        return lambda: jx.jit(lambda x: x * 2).lower(shape).compile()(x3)

    both(program)


def test_compiled_functions_cannot_be_transformed():
    def program(jx):
        compiled = jx.jit(lambda x: x * 2).lower(1.0).compile()
        return lambda: jx.jit(lambda x: compiled(x))(1.0)

    both(program, raises=TypeError)


def test_the_text_is_clean_unless_asked_for_locations():
    lowered = minijax.jit(lambda x: x * 2).lower(1.0)
    assert "loc(" not in lowered.as_text()
    assert 'loc("jit(<lambda>)/mul")' in lowered.as_text(debug_info=True)
    with pytest.raises(ValueError, match="unknown dialect"):
        lowered.as_text("french")


def test_a_module_can_be_asked_for_by_its_platform():
    def program(jx):
        traced = jx.jit(lambda x: x * 2).trace(np.float32(3.0))
        return lambda: traced.lower(lowering_platforms=("cpu",)).compile()(np.float32(3.0))

    both(program)


@pytest.mark.parametrize("use", ["nested", "scan", "make_jaxpr", "vmap", "vmap of a wrong one"])
def test_compiler_options_are_for_whole_programs(use):
    """Within another program they could not be kept, and JAX refuses them. They are never ignored."""
    def program(jx):
        options = {"no_such": 1} if "wrong" in use else {"xla_embed_ir_in_executable": True}
        f = jx.jit(lambda x: x * 2, compiler_options=options)
        return {"nested": lambda x: jx.jit(lambda x: f(x[0]))(x),
                "scan": lambda x: jx.lax.scan(lambda c, _: (f(c), None), x, None, 2),
                "make_jaxpr": jx.make_jaxpr(f)}.get(use, jx.vmap(f))

    raises = None if use == "vmap" else "JaxRuntimeError" if "wrong" in use else ValueError
    both(program, np.float32([1, 2]), raises=raises)


def test_compiler_options():
    fast = {"xla_cpu_enable_fast_math": True}
    assert minijax.jit(lambda x: x * 2, compiler_options=fast)(1.0) == 2.0
    assert minijax.jit(lambda x: x * 2).lower(1.0).compile(fast)(1.0) == 2.0
    with pytest.raises(JaxRuntimeError, match="no_such_option"):
        minijax.jit(lambda x: x * 2, compiler_options={"no_such_option": 1})(1.0)


def test_the_device_can_be_chosen():
    assert minijax.jit(lambda x: x * 2, backend="cpu")(1.0) == 2.0
    device = client.devices()[0]
    assert minijax.jit(lambda x: x * 2, device=device)(1.0) == 2.0


def test_compilation_is_logged_on_demand(caplog):
    minijax.jit(lambda x: x * 2)(1.0)
    assert not caplog.records
    with minijax.log_compiles(True):
        minijax.jit(lambda x: x * 3)(1.0)
    messages = [record.getMessage().partition(" in 0")[0] for record in caplog.records]
    assert messages == [
        "Finished tracing <lambda> for jit",
        "Compiling jit(<lambda>) with global shapes and types "
        "(ShapedArray(float32[], weak_type=True),).",
        "Finished jaxpr to MLIR module conversion jit(<lambda>)",
        "Finished XLA compilation of jit(<lambda>)",
    ]


def test_primitives_can_be_evaluated_by_compiling_them():
    twice_p, parts_p = Primitive("twice"), Primitive("parts", multiple_results=True)
    twice_p.def_abstract_eval(lambda x, *, times: x)
    parts_p.def_abstract_eval(lambda x: [x, x])
    for primitive in (twice_p, parts_p):
        primitive.def_impl(partial(apply_primitive, primitive))
    twice, calls = counted(lambda x, *, times: x * times)
    register_lowering(twice_p, lower_fun(twice))
    register_lowering(parts_p, lower_fun(lambda x: (x - 1, x + 1), multiple_results=True))
    assert [twice_p.bind(x, times=2) for x in (1.0, 2.0)] == [2.0, 4.0]
    assert len(calls) == 1
    assert parts_p.bind(5.0) == [4.0, 6.0]


def test_attributes_of_a_callable_hide_no_methods():
    class Model:
        def __init__(self):
            self._call, self._program, self.lower, self.scale = (), (), (), 3.0

        def __call__(self, x):
            return x * self.scale

    jitted = minijax.jit(Model())
    assert jitted(2.0) == 6.0 and jitted.scale == 3.0
    assert jitted.lower(2.0).compile()(2.0) == 6.0


# ----------------------------------------------------------------------------------------------
# Threads


def test_eight_threads_at_once():
    f = minijax.jit(lambda x, n: jnp.sin(x) * n, static_argnums=1)
    g = minijax.jit(lambda x: minijax.grad(lambda x: f(x, 3))(x) + f(x, 2))
    right, wrong = [], []

    def work(i):
        for j in range(20):
            x = F32(i + j / 20)
            expected = 3 * np.cos(x) + 2 * np.sin(x)
            (right if np.allclose(g(x), expected, atol=1e-5) else wrong).append((i, j))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong and len(right) == 160
