"""`checkpoint`: arguments, errors, policies, what is saved, and how much memory it takes."""

from __future__ import annotations

import gc
import re

import numpy as np
import pytest

import minijax
from minijax.checks.typecheck import check_jaxpr
from minijax.core.jaxpr import ClosedJaxpr
from tests.oracle import both, in_both, oracle, subject

W = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)
X = np.array([0.3, 0.8, -0.5], np.float32)

CALLS = {
    "static": lambda jx: jx.checkpoint(lambda x, b: x * 2 if b else x, static_argnums=1)(1.0, True),
    "static from the end": lambda jx: jx.checkpoint(
        lambda x, b: x * 2 if b else x * 3, static_argnums=(-1,))(1.0, False),
    "static function": lambda jx: jx.grad(jx.checkpoint(
        lambda f, x: f(x), static_argnums=0), 1)(jx.numpy.sin, 1.0),
    "static list": lambda jx: jx.checkpoint(lambda b, x: x * b[0], static_argnums=0)([2], 3.0),
    "not static": lambda jx: jx.checkpoint(lambda x, b: x * 2 if b else x)(1.0, True),
    "static out of bounds": lambda jx: jx.checkpoint(lambda x: x, static_argnums=3)(1.0),
    "static of another type": lambda jx: jx.checkpoint(lambda x: x, static_argnums="a")(1.0),
    "static in a list": lambda jx: jx.checkpoint(lambda x: x, static_argnums=[0])(1.0),
    "prevent_cse of another type": lambda jx: jx.checkpoint(lambda x: x, prevent_cse=1)(1.0),
    "prevent_cse for each": lambda jx: jx.grad(jx.checkpoint(
        lambda x, y: jx.numpy.sin(jx.numpy.sin(x * y)), prevent_cse=(True, False)))(1.0, 2.0),
    "prevent_cse for too few": lambda jx: jx.checkpoint(
        lambda x, y: x, prevent_cse=[True])(1.0, 2.0),
    "options by position": lambda jx: jx.checkpoint(lambda x: x, True)(1.0),
    "string": lambda jx: jx.checkpoint(lambda x: x)("a"),
    "string result": lambda jx: jx.checkpoint(lambda x: "a")(1.0),
    "constant as aux": lambda jx: jx.grad(lambda x: (x * 1.0, jx.checkpoint(
        lambda x: jx.numpy.tril_indices(2)[0])(x)), has_aux=True)(1.0)[1].at[0].set(7),
    "by keyword": lambda jx: jx.grad(jx.checkpoint(lambda x, y: x * x * y))(2.0, y=3.0),
    "tree": lambda jx: jx.grad(lambda d: jx.checkpoint(
        lambda d: {"c": jx.numpy.sin(d["a"]) * d["b"]})(d)["c"])({"a": 1.0, "b": 2.0}),
    "closure": lambda jx: jx.grad(lambda y: jx.checkpoint(lambda x: jx.numpy.sin(x * y))(1.0))(2.0),
    "text": lambda jx: jx.make_jaxpr(
        lambda y: jx.checkpoint(lambda x: jx.numpy.sin(x * y))(1.0))(2.0),
    "text of jvp": lambda jx: jx.make_jaxpr(lambda x: jx.jvp(
        jx.checkpoint(lambda x: jx.numpy.sin(jx.numpy.sin(x))), (x,), (x,)))(1.0),
    "text of grad": lambda jx: jx.make_jaxpr(jx.grad(
        jx.checkpoint(lambda x: jx.numpy.sin(jx.numpy.sin(x)))))(1.0),
    "text of grad of grad": lambda jx: jx.make_jaxpr(jx.grad(jx.grad(
        jx.checkpoint(lambda x: jx.numpy.sin(jx.numpy.sin(x))))))(1.0),
    "text, everything saved": lambda jx: jx.make_jaxpr(jx.grad(jx.checkpoint(
        lambda x: jx.numpy.sin(jx.numpy.sin(x)),
        policy=jx.checkpoint_policies.everything_saveable)))(1.0),
    "names": lambda jx: jx.ad_checkpoint.checkpoint_name({"a": X}, "n"),
    "name's text": lambda jx: jx.make_jaxpr(
        lambda x: jx.ad_checkpoint.checkpoint_name(x, "n"))(1.0),
    "barrier": lambda jx: jx.grad(lambda x: jx.jit(jx.lax.optimization_barrier)((x, 2 * x))[1])(3.0),
    "barrier's text": lambda jx: jx.make_jaxpr(
        lambda x: jx.lax.optimization_barrier((x, x)))(1.0),
    "barrier, batched": lambda jx: jx.vmap(jx.lax.optimization_barrier)(X),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_as_in_jax(call):
    both(lambda jx: lambda: CALLS[call](jx))


# --- policies ---


def layers(jx):
    """Products, one of them with a batch dimension and one inside `jit`; and a name."""
    np = jx.numpy
    inner = jx.jit(lambda w, x: np.cos(np.dot(w, x)))

    def f(w, x):
        y = jx.ad_checkpoint.checkpoint_name(np.sin(np.dot(w, x)), "sine")
        y = jx.ad_checkpoint.checkpoint_name(inner(w, y), "cosine")
        y = jx.lax.dot_general(np.stack([w, w]), np.stack([y, y]), (((2,), (1,)), ((0,), (0,))))
        return np.sum(np.tanh(y))

    return f


POLICIES = {
    "none": lambda p: None,
    "everything": lambda p: p.everything_saveable,
    "nothing": lambda p: p.nothing_saveable,
    "dots": lambda p: p.dots_saveable,
    "dots without batch": lambda p: p.dots_with_no_batch_dims_saveable,
    "one name": lambda p: p.save_only_these_names("sine"),
    "two names": lambda p: p.save_only_these_names("sine", "cosine"),
    "names but": lambda p: p.save_any_names_but_these("cosine"),
    "anything but": lambda p: p.save_anything_except_these_names("cosine"),
    "both": lambda p: p.save_from_both_policies(
        p.dots_with_no_batch_dims_saveable, p.save_only_these_names("cosine")),
    "own": lambda p: lambda primitive, *avals, **params: primitive.name in ("sin", "tanh"),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_save_what_they_save_in_jax(policy, capsys):
    """The same values, derivatives, and the same residuals by type and origin."""
    saved = {}
    for jx in (subject, oracle):
        f = jx.checkpoint(layers(jx), policy=POLICIES[policy](jx.checkpoint_policies))
        jx.ad_checkpoint.print_saved_residuals(f, W, X)
        lines = capsys.readouterr().out.splitlines()
        saved[jx] = sorted(re.sub(r"from \S+:\d+:\d+ .*", "", line) for line in lines)
    assert saved[subject] == saved[oracle]

    def program(jx):
        f = jx.checkpoint(layers(jx), policy=POLICIES[policy](jx.checkpoint_policies))
        grad = jx.grad(f, (0, 1))
        return lambda: (f(W, X), grad(W, X), jx.jit(grad)(W, X),
                        jx.jacrev(lambda x: jx.grad(f)(W, x))(X),
                        jx.vmap(grad, (None, 0))(W, np.stack([X, 2 * X])),
                        jx.linearize(f, W, X)[1](W, X))

    both(program)


def test_residuals_of_a_plain_function(capsys):
    """With the line that each comes from."""
    def f(d, x):
        return np_.sin(d["a"]) * x

    lines = {}
    for jx in (subject, oracle):
        np_ = jx.numpy
        jx.ad_checkpoint.print_saved_residuals(f, {"a": X}, X)
        lines[jx] = capsys.readouterr().out
    assert lines[subject] == lines[oracle]
    assert "from the argument x" in lines[subject] and "test_remat.py" in lines[subject]


@pytest.mark.live_jax
@in_both
def test_both_policies_must_answer_with_a_bool(jx):
    policies = jx.checkpoint_policies
    policy = policies.save_from_both_policies(lambda *a, **k: 3, policies.dots_saveable)
    return jx.grad(jx.checkpoint(lambda x: jx.numpy.sin(jx.numpy.sin(x)), policy=policy))(1.0)


def test_static_arguments_that_are_equal_are_told_apart_by_type():
    """JAX takes 1.0 for the 1 of an earlier call, and returns integers."""
    f = minijax.checkpoint(lambda x, n: x + n, static_argnums=1)
    dtypes = [f(minijax.numpy.arange(3), n).dtype for n in (1, True, 1.0, 1)]
    assert dtypes == [np.int32, np.int32, np.float32, np.int32]


def test_partly_known():
    """Where one operand is differentiated only, the rest is computed in advance."""
    def program(jx):
        f = jx.checkpoint(lambda w, x: jx.numpy.sin(jx.numpy.dot(w, x)) * jx.numpy.cos(x))
        return lambda: [jx.make_jaxpr(jx.grad(lambda w: f(w, X).sum()))(W),
                        jx.make_jaxpr(jx.grad(lambda x: f(W, x).sum()))(X)]

    both(program, text=False)
    for jaxpr in program(minijax)():
        check_jaxpr(jaxpr)


@in_both
def test_nested_checkpoints(jx):
    def chain(fs):
        if len(fs) == 1:
            return fs[0]
        first, second = chain(fs[: len(fs) // 2]), chain(fs[len(fs) // 2:])
        return lambda x: second(jx.checkpoint(first)(x))

    f = chain([jx.numpy.sin, jx.numpy.cos, jx.numpy.exp, jx.numpy.tanh, jx.numpy.sin])
    return (jx.grad(f)(0.5), jx.grad(jx.grad(f))(0.5), jx.jit(jx.grad(f))(0.5))


def test_traced_once_for_all_calls():
    calls = []

    @minijax.checkpoint
    def f(x):
        calls.append(x)
        return x * 2

    minijax.grad(f)(1.0), minijax.grad(f)(2.0), f(3.0)
    assert len(calls) == 1


# --- memory ---


def gradient_of_chain(jx, layer):
    """64 layers, one after the other."""
    def loss(w, x):
        for i in range(64):
            x = layer(w[i], x)
        return jx.numpy.sum(x)

    shapes = [jx.ShapeDtypeStruct(s, np.float32) for s in ((64, 32, 32), (128, 32))]
    return jx.jit(jx.grad(loss, (0, 1))).lower(*shapes).compile()


def gradient_of_scan(jx, layer):
    """The same by `scan`, whose residuals are stacked."""
    def loss(w, x):
        return jx.numpy.sum(jx.lax.scan(lambda x, w: (layer(w, x), None), x, w)[0])

    shapes = [jx.ShapeDtypeStruct(s, np.float32) for s in ((64, 32, 32), (128, 32))]
    return jx.jit(jx.grad(loss, (0, 1))).lower(*shapes).compile()


def temporary_bytes(jx, gradient, **options):
    np = jx.numpy
    layer = lambda w, x: np.tanh(np.dot(np.sin(np.dot(x, w)), w))
    if options.pop("checkpointed", True):
        layer = jx.checkpoint(layer, **options)
    return gradient(jx, layer).memory_analysis().temp_size_in_bytes


@pytest.mark.parametrize("gradient", [gradient_of_chain, gradient_of_scan])
@pytest.mark.parametrize("options", [
    {"checkpointed": False}, {}, {"prevent_cse": False}], ids=str)
def test_memory_is_that_of_jax(gradient, options):
    ours, jaxs = (temporary_bytes(jx, gradient, **options) for jx in (subject, oracle))
    assert abs(ours - jaxs) <= 0.1 * jaxs


def test_checkpoint_saves_memory():
    with_it = temporary_bytes(subject, gradient_of_scan)
    without = temporary_bytes(subject, gradient_of_scan, checkpointed=False)
    assert with_it < 0.5 * without


def test_a_barrier_guards_the_recomputation():
    f = lambda x: minijax.numpy.sin(minijax.numpy.sin(x))
    text = {cse: minijax.jit(minijax.grad(minijax.checkpoint(f, prevent_cse=cse))).lower(1.0).as_text()
            for cse in (True, False)}
    assert "optimization_barrier" in text[True]
    assert "optimization_barrier" not in text[False]
    assert "optimization_barrier" not in minijax.jit(minijax.checkpoint(f)).lower(1.0).as_text()


@pytest.mark.parametrize("policy", ["nothing_saveable", "dots_saveable",
                                    "dots_with_no_batch_dims_saveable"])
def test_policies_see_inside_of_scan(policy):
    """What a step saves is stacked: the same memory as JAX's, and the same gradient."""
    weights = np.stack([np.eye(8, dtype=np.float32) / 3] * 5)

    def program(jx):
        def step(c, w):
            return jx.numpy.tanh(jx.numpy.sin(w @ c)), c.sum()

        def f(ws, x):
            return sum(map(jx.numpy.sum, jx.lax.scan(step, x, ws)))

        f = jx.checkpoint(f, policy=getattr(jx.checkpoint_policies, policy))

        def run(ws, x):
            compiled = jx.jit(jx.grad(f)).lower(ws, x).compile()
            return jx.grad(f)(ws, x), compiled.memory_analysis().temp_size_in_bytes

        return run

    both(program, weights, np.ones(8, np.float32))


FLEETING = {
    "checkpoint": lambda: minijax.grad(minijax.checkpoint(lambda x: minijax.lax.sin(x)))(1.0),
    "solve": lambda: minijax.grad(lambda a: minijax.lax.custom_linear_solve(
        lambda y: a * y, 3.0, lambda matvec, b: b / a, symmetric=True))(2.0),
}


@pytest.mark.parametrize("name", FLEETING)
def test_functions_that_are_gone_leave_no_jaxprs_behind(name):
    def jaxprs():
        gc.collect()
        return sum(type(x) is ClosedJaxpr for x in gc.get_objects())

    FLEETING[name]()
    before = jaxprs()
    for _ in range(3):
        FLEETING[name]()
    assert jaxprs() <= before  # fewer, if something older was freed
