"""`jax._src.test_util`, with which JAX's own tests are written."""

from __future__ import annotations

import logging
import unittest

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax._src import config, core
from tests import harness
from tests.oracle import both, in_both

harness.show()
from minijax._src import test_util as jtu  # noqa: E402


def count(counter, act):
    with counter() as number:
        act()
    return number()


def test_counters_count_what_is_new():
    f = jax.jit(lambda x: jnp.sin(x) + 1)
    for counter in (jtu.count_jit_tracing_cache_miss, jtu.count_jit_and_pmap_lowerings,
                    jtu.count_jit_compilation_cache_miss, jtu.count_pjit_cpp_cache_miss):
        f.clear_cache()
        assert [count(counter, lambda: f(1.0)) for _ in range(3)] == [1, 0, 0]
    with jtu.collect_lowered_jaxprs() as lowered:
        jax.jit(lambda x: x * 2)(3.0)
    assert [eqn.primitive.name for eqn in lowered[0][0].eqns] == ["mul"]
    assert count(jtu.count_primitive_compiles, lambda: [jax.lax.add(1, 2), jax.lax.add(2, 3)]) == 1


@pytest.mark.parametrize("wrong, test", {
    "equal": lambda case: case.assertArraysEqual(jnp.ones(2), np.zeros(2, "f")),
    "close": lambda case: case.assertAllClose(jnp.ones(2), np.full(2, 1.1, "f")),
    "dtype": lambda case: case.assertAllClose(jnp.ones(2), np.ones(2, "i")),
    "structure": lambda case: case.assertAllClose({"a": 1.0}, {"b": 1.0}),
    "lines": lambda case: case.assertMultiLineStrippedEqual("a\n  b", "a\n c"),
    "deleted": lambda case: case.assertDeleted(jnp.ones(2)),
    "misses": lambda case: case.assertCacheMisses(lambda: jax.jit(abs)(1.0), tracing=0),
    "numpy": lambda case: case._CheckAgainstNumpy(np.cos, jnp.sin, lambda: [np.ones(2, "f")]),
    "compiled": lambda case: case._CompileAndCheck(
        lambda x: x + isinstance(x, core.Tracer), lambda: [np.float32(1)]),
}.items())
def test_a_case_fails(wrong, test):
    case = jtu.BufferDonationTestCase("assertTrue")
    with pytest.raises(AssertionError):
        test(case)


def test_a_case_passes_under_its_settings():
    seen = {}

    @jtu.with_config(jax_enable_x64=True)
    class Case(jtu.JaxTestCase):
        @jtu.skip_on_devices("tpu")
        def test(self):
            seen.update(x64=config.enable_x64.value, promotion=config.numpy_dtype_promotion.value)
            self.assertAllClose([jnp.ones(2), (1.0,)], [np.ones(2), (1.0,)])
            self._CompileAndCheck(jnp.sin, lambda: [self.rng().randn(3)])
            self._CheckAgainstNumpy(np.sin, jnp.sin, lambda: [self.rng().randn(3)], tol=1e-12)

        @jtu.run_on_devices("tpu")
        def test_elsewhere(self):
            raise AssertionError

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert (result.errors, result.failures, len(result.skipped)) == ([], [], 1)
    assert seen == {"x64": True, "promotion": "strict"}
    assert not jax.config.jax_enable_x64


def test_a_pmapped_function_is_compiled_once():
    def f(x, y):
        return x, y

    x = np.ones((1, 1, 1))
    for call, lowerings in ((lambda: jax.pmap(f)(x, x), 1),
                            (lambda: jax.pmap(f, "i", in_axes=(0, 1))(x, x), 1),
                            (lambda: jax.jvp(jax.pmap(f), (x, x), (x, x)), 1),
                            (lambda: jax.vjp(jax.pmap(f), x, x)[1]((x, x)), 2)):
        assert [count(jtu.count_jit_and_pmap_lowerings, call) for _ in range(2)] == [lowerings, 0]


def test_the_linear_function_shows_its_jaxpr():
    both(lambda jx: lambda x: str(
        jx.linearize(lambda x: jx.lax.integer_pow(x, 11), x)[1].func.args[0]), 1.0)


@in_both
def test_names_of_make_jaxpr(jx):
    def foo(x):
        return x

    made = jx.make_jaxpr(foo)
    return made.__name__, made.__qualname__.replace(foo.__qualname__, "")


def test_broadcast_to_no_new_dimension_is_no_equation():
    both(lambda jx: lambda: str(jx.make_jaxpr(lambda: jx.lax.broadcast(np.float32(3), ()))()))


@pytest.mark.parametrize("policy, has, lacks", [
    (None, ["saving inputs with shapes:\n  f32[3]"], ["intermediates"]),
    (lambda *_, **__: True, ["saving these intermediates:", " sin ", " cos "], ["saving inputs"]),
    (lambda p, *_, **__: str(p) == "cos", ["saving inputs", "and saving these inter", " cos "], [" sin "]),
], ids=["nothing", "all", "cos"])  # fmt: skip
def test_what_checkpoint_saves_is_logged(caplog, policy, has, lacks):
    f = jax.checkpoint(lambda x: jnp.cos(jnp.sin(x).sum()), policy=policy)
    with caplog.at_level(logging.WARNING), config.log_checkpoint_residuals(True):
        jax.grad(f)(jnp.arange(3.0))
    assert all(words in caplog.text for words in ["remat-decorated function ", *has]), caplog.text
    assert not any(words in caplog.text for words in lacks), caplog.text


def test_a_leaked_tracer_is_found():
    class Box:
        pass

    box = Box()
    box.kept = {}

    def leak(x):
        def foo():
            return x

        box.kept["hi"] = [foo]
        return x

    with jax.checking_leaks(), pytest.raises(Exception, match=(
            r"This BatchTracer with object id [0-9]+ was created on line:\n  .*\n"
            r"<BatchTracer [0-9]+> is referred to by <function [0-9]+> \(foo\) closed-over variable x\n"
            r"<function [0-9]+> is referred to by <list [0-9]+>\[0\]\n"
            r"<list [0-9]+> is referred to by <dict [0-9]+>\['hi'\]\n"
            r"<dict [0-9]+> is referred to by <Box [0-9]+>\.kept")):
        jax.vmap(leak)(jnp.arange(3))


def test_bwd_checks_can_be_switched_off():
    f = jax.custom_vjp(lambda x, y: x)
    f.defvjp(lambda x, y: (x, None), lambda _, g: (jnp.zeros(3), jnp.zeros(3)))
    with config.disable_bwd_checks(True):
        assert jax.grad(lambda x, y: f(x, y).sum(), 1)(jnp.ones(3), jnp.ones(4)).shape == (3,)


def test_jaxprs_can_be_written_to():
    jaxpr = jax.make_jaxpr(jax.jit(lambda x, y: x + 1))(1.0, 2.0).jaxpr
    jaxpr.eqns[0] = jaxpr.eqns[0].replace(invars=())
    with pytest.raises(core.JaxprTypeError, match="0 operands cannot call jaxpr with 2 inputs"):
        core.check_jaxpr(jaxpr)
