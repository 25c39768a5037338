"""`check_compiled`: it agrees with programs that are right, and finds the equation that is wrong."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import minijax as jax
from minijax import lax, numpy as jnp
from minijax.interpreters import mlir
from tests.oracle.programs import PROGRAMS

check_compiled = jax.debug.check_compiled
X = np.linspace(-1.2, 2.3, 6, dtype=np.float32).reshape(2, 3)


def test_it_returns_what_the_jitted_function_returns():
    def f(x, *, scale, flag):
        return {"a": jnp.sin(x) * scale, "b": (x > 0, 3)} if flag else None

    f = jax.jit(f, static_argnames="flag")
    out, expected = check_compiled(f)(X, scale=2.0, flag=True), f(X, scale=2.0, flag=True)
    assert jax.tree.structure(out) == jax.tree.structure(expected)
    for got, want in zip(jax.tree.leaves(out), jax.tree.leaves(expected), strict=True):
        assert np.array_equal(got, want) and jax.typeof(got) == jax.typeof(want)
    assert check_compiled(f)(X, scale=2.0, flag=False) is None


# --- programs that are right ---


@pytest.mark.parametrize("name", [*PROGRAMS][::8])
def test_base_functions_and_their_gradients_agree(name):
    base = PROGRAMS[name]
    f = base.program(jax)
    check_compiled(f)(*base.args)
    if all(np.asarray(x).dtype.kind == "f" for x in jax.tree.leaves(base.args)):
        check_compiled(lambda *args: jax.jvp(f, args, args))(*base.args)


def images():
    random = np.random.RandomState(0)
    return random.rand(8, 64).astype(np.float32), random.randint(0, 10, 8)


def mlp_step(adam, mlp, cnn, transformer):
    params = mlp.init(np.random.default_rng(0), (64, 32, 10))
    return jax.jit(lambda state, *batch: adam.update(
        state, jax.grad(mlp.loss)(state.params, *batch), 0.1)), adam.init(params), *images()


def cnn_step(adam, mlp, cnn, transformer):
    return cnn.step, adam.init(cnn.init(jax.random.key(0))), np.float32(0.1), *images()


def transformer_gradient(adam, mlp, cnn, transformer):
    text = np.random.RandomState(0).randint(0, 20, (2, 9))
    return jax.value_and_grad(transformer.loss), transformer.init(jax.random.key(0), 20), text


@pytest.mark.parametrize("model", [mlp_step, cnn_step, transformer_gradient])
def test_toy_models_agree(model, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "chapters")
    names = ("adam", "mlp", "cnn", "transformer")
    f, *args = model(*[importlib.import_module(f"toy_models.{name}") for name in names])
    check_compiled(f)(*args)


def new_ref(x):
    ref = jax.new_ref(x)
    ref[0] += 1
    return ref[...] * 2


AGREE = {
    "cancellation": lambda x: jnp.log(1 - jnp.cos(x) ** 2 - jnp.sin(x) ** 2),
    "a long sum": lambda x: jnp.sum(jax.random.normal(jax.random.key(0), (10**5,)) * x[0, 0]),
    "a root by Newton": lambda x: lax.while_loop(lambda c: abs(c * c - 7) > 1e-3, lambda c: (c + 7 / c) / 2, x[1, 2]),
    "chaos": lambda x: lax.fori_loop(0, 60, lambda i, c: 3.9 * c * (1 - c), x[0, 2] / 4),
    "a scan of keys": lambda x: lax.scan(lambda k, _: tuple(jax.random.split(k)), jax.random.key(1), length=3),
    "a reversed scan of nothing": lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x[0, :0], reverse=True),
    "a batched loop": jax.vmap(lambda r: lax.while_loop(lambda c: c.sum() < 9, lambda c: c * 1.5 + 1, r)),
    "a loop that converges": lambda x: jax.scipy.special.exp1(jnp.linspace(0.01, 30, 3001) + 0 * x[0, 0]),
    "a branch": lambda x: lax.cond(x.sum() > 0, jnp.sin, lambda x: x, x),
    "references": new_ref,
    "a solve": lambda x: jax.grad(lambda a: jnp.linalg.solve(a @ a.T, a).sum())(x),
    "16 bits": lambda x: jax.nn.softmax((x.T @ x).astype("bfloat16")),
    "special functions": lambda x: (jax.scipy.special.gammaln(x), jax.scipy.special.digamma(x)),
    "infinities": lambda x: (1 / (x - x), jnp.log(x), jnp.exp(1000 * x)),
    "a key": lambda x: jax.random.key(3),
}


@pytest.mark.parametrize("name", AGREE)
def test_what_rounding_explains_is_no_difference(name):
    check_compiled(AGREE[name])(X)


def test_on_several_devices():
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    f = jax.shard_map(lambda x: lax.psum(jnp.sin(x), "i"), mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P())
    check_compiled(lambda x: f(x) * 2)(X)


# --- faults on purpose ---


wrong_p = jax.extend.core.Primitive("wrongly_compiled")
wrong_p.def_impl(lambda x: x * 2)
wrong_p.def_abstract_eval(lambda aval: aval)
mlir.register_lowering(wrong_p, mlir.lower_fun(lambda x: jnp.where(x > 2, x * 2.001, x * 2), multiple_results=False))
jax.interpreters.batching.defvectorized(wrong_p)


def wrong(x):
    return wrong_p.bind(x)  # the fault


custom = jax.custom_jvp(wrong)
custom.defjvps(lambda t, out, x: t)
PLANTED = {
    "alone": lambda x: wrong(x),
    "among others": lambda x: jnp.sum(jnp.sin(wrong(x)) ** 2),
    "jit": lambda x: jax.jit(wrong)(x) + 1,
    "checkpoint": lambda x: jax.checkpoint(wrong)(x),
    "custom rule": lambda x: custom(x),
    "vmap": jax.vmap(wrong),
    "cond": lambda x: lax.cond(x.sum() > 0, wrong, jnp.sin, x),
    "scan": lambda x: lax.scan(lambda c, y: (c + wrong(y), c), x[0], x)[1],
    "a late step": lambda x: lax.scan(lambda c, _: (wrong(c), None), x[1] / 9, length=5)[0],
    "while body": lambda x: lax.while_loop(lambda c: c.sum() < 99, lambda c: wrong(c) + 1, x),
    "while condition": lambda x: lax.while_loop(lambda c: wrong(c.max()) < 9, lambda c: c + 1, x),
    "dead for the result": lambda x: (x, jnp.floor(wrong(x) / 1000))[1],
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_lowering_rule_is_found(name):
    with pytest.raises(jax.debug.CompiledValueError, match="wrongly_compiled") as caught:
        check_compiled(PLANTED[name])(X)
    error = caught.value
    assert "test_compiled_values.py" in str(error) and " (wrong)" in str(error)
    assert error.eqn.primitive is wrong_p
    found = error.compiled != error.evaluated
    assert np.allclose(error.compiled[found], 1.0005 * error.evaluated[found])


def test_both_values_are_in_the_message():
    with pytest.raises(jax.debug.CompiledValueError, match=(
            r"element \[1\]: 8.003\S* compiled, 8.0 evaluated. The difference is 0.004")):
        check_compiled(wrong)(np.array([1, 4], np.float32))


def squares(x):
    return jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2))(x)


TABLE = np.outer(np.arange(40_000), [1, 0, 0]).astype(np.float32)
FUSED = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT,LIBRARY_FUSION_TYPE_REDUCE"}
ALONE = {"xla_disable_hlo_passes": ""}
BY_XLA = {
    "a fused product": (squares, TABLE, FUSED, "dot_general"),
    "a shifted update": (lambda x: x.at[1:].set(x[:-1])[None], X.reshape(6, 1), ALONE, "scatter"),
    "in jit": (jax.jit(lambda x: x.at[1:].set(x[:-1])[None]), TABLE[:9], ALONE, "scatter"),
}


@pytest.mark.parametrize("name", BY_XLA)
def test_wrong_programs_of_xla_are_found(name):
    """They are right if they return all values. The options undo what minijax does against them."""
    f, x, options, primitive = BY_XLA[name]
    check_compiled(f)(x)
    with pytest.raises(jax.debug.CompiledValueError, match="the right one if it also returns") as caught:
        check_compiled(f, options)(x)
    assert caught.value.eqn.primitive.name == primitive


def test_references_of_the_user_are_refused():
    with pytest.raises(TypeError, match="Pass its contents"):
        check_compiled(lambda ref: ref[...])(jax.new_ref(1.0))
