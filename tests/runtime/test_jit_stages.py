"""What a jitted function says of itself, its stages, and its calls from several threads."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import pytest

import minijax
from minijax.core.core import Primitive
from minijax.core.lowering import register_lowering
from minijax.errors import JaxRuntimeError
from minijax.lax.families import lower_fun
from minijax.runtime import client
from minijax.runtime.dispatch import apply_primitive
from tests.core import arrays as jnp
from tests.oracle.compare import both, in_both
from tests.runtime.test_jit import counted

F32 = np.float32
x3 = np.array([1.0, -2.0, 0.5], F32)

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
@in_both
def test_stages(jx, stage):
    def fun(x, *, k):
        return {"out": (x * k, jx.numpy.sin(x))}

    return STAGES[stage](jx.jit(fun, donate_argnames="k"))


@in_both
def test_stages_take_shapes_without_arrays(jx):
    shape = jx.ShapeDtypeStruct((3,), F32)
    return jx.jit(lambda x: x * 2).lower(shape).compile()(x3)


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


@in_both
def test_a_module_can_be_asked_for_by_its_platform(jx):
    traced = jx.jit(lambda x: x * 2).trace(np.float32(3.0))
    return traced.lower(lowering_platforms=("cpu",)).compile()(np.float32(3.0))


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
