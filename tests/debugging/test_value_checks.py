"""`debug_nans`, `debug_infs`, `checking_leaks`, `log_compiles`: what they report, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from minijax.core.extension import hooks
from tests.oracle import both, in_both, oracle, subject

MINUS, ZERO = np.float32(-1), np.float32(0)


def bad_vjp(jx):
    f = jx.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda res, ct: (ct * np.nan,))
    return jx.grad(f)


NANS = {
    "eager": lambda jx: jx.numpy.log,
    "operator": lambda jx: lambda x: jx.numpy.exp(-1000.0 * x) - jx.numpy.exp(-1000.0 * x),
    "lax": lambda jx: jx.lax.log,
    "jit": lambda jx: jx.jit(lambda x: jx.numpy.log(x) + 1),
    "inner jit": lambda jx: jx.jit(lambda x: jx.jit(jx.numpy.log)(x) + 1),
    "not in the result": lambda jx: jx.jit(lambda x: jx.numpy.where(True, 1.0, jx.numpy.log(x))),
    "scan": lambda jx: lambda x: jx.lax.scan(lambda c, _: (jx.numpy.log(c), c), x, length=2),
    "while": lambda jx: lambda x: jx.lax.while_loop(
        lambda c: c > -2, lambda c: jx.numpy.log(c), x),
    "vmap": lambda jx: lambda x: jx.vmap(jx.numpy.log)(jx.numpy.stack([x, x])),
    "custom_vjp": bad_vjp,
    "jit of custom_vjp": lambda jx: jx.jit(bad_vjp(jx)),
    "integers": lambda jx: jx.jit(lambda x: x.astype(int) + 1),
    "infinity": lambda jx: lambda x: 1.0 / (jx.numpy.asarray(x) + 1),
}


@pytest.mark.parametrize("name", NANS)
@pytest.mark.parametrize("setting", ["debug_nans", "debug_infs"])
@in_both
def test_debug_nans(jx, name, setting):
    x = MINUS
    with getattr(jx, setting)(True):
        return NANS[name](jx)(x)


def at_zero(jx, x):
    return jx.lax.cond(x == 0, lambda x: x, lambda x: 0 / x, x)


NOT_TAKEN = {
    "cond": lambda jx, x: at_zero(jx, x),
    "switch": lambda jx, x: jx.lax.switch((x != 0).astype(int), [lambda x: x, lambda x: 0 / x], x),
    "cond in cond": lambda jx, x: jx.lax.cond(x == 0, lambda x: x, lambda x: at_zero(jx, x), x),
    "cond in scan": lambda jx, x: jx.lax.scan(lambda c, _: (at_zero(jx, c), c), x, length=1),
    "jit in cond": lambda jx, x: jx.lax.cond(x == 0, lambda x: x, jx.jit(lambda x: 0 / x), x),
    "grad": lambda jx, x: jx.grad(lambda x: at_zero(jx, x))(x),
    "vmap": lambda jx, x: jx.vmap(lambda x: at_zero(jx, x))(x[None]),
}


@pytest.mark.parametrize("name", NOT_TAKEN)
@in_both
def test_a_branch_that_an_example_does_not_take_is_not_checked(jx, name):
    x = np.float32([0, 3])
    with jx.debug_nans(True):
        return jx.vmap(lambda x: NOT_TAKEN[name](jx, x))(x)


def test_the_branch_that_an_example_takes_is_checked():
    """JAX does not check it."""
    with subject.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        subject.vmap(lambda x: subject.lax.cond(x != 0, lambda x: x, lambda x: 0 / x, x))(
            np.float32([0, 3]))


@pytest.mark.parametrize("name", ["eager", "jit", "inner jit", "scan", "while", "vmap"])
def test_the_message_names_the_primitive(name):
    messages = []
    for jx in (oracle, subject):
        with jx.debug_nans(True), pytest.raises(FloatingPointError) as error:
            NANS[name](jx)(MINUS)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_what_xla_alone_makes_cannot_be_found():
    f = minijax.jit(lambda x: x / 2 * 4, donate_argnums=0)
    with minijax.debug_infs(True), pytest.raises(FloatingPointError, match=r"jit\(<lambda>\)"):
        f(minijax.numpy.full((), 3e38))


def test_checks_are_off_again_afterwards():
    with minijax.debug_nans(True):
        assert hooks.after_evaluation
    assert not hooks.after_evaluation
    minijax.config.update("jax_debug_infs", True)
    with minijax.debug_infs(False), minijax.debug_nans(True):
        assert np.isinf(minijax.numpy.exp(np.float32(1000)))
    assert hooks.after_evaluation
    minijax.config.update("jax_debug_infs", False)
    assert not hooks.after_evaluation
    assert np.isnan(minijax.numpy.log(MINUS))
    assert np.isnan(minijax.jit(minijax.numpy.log)(MINUS))


LEAKED = []
LEAKS = {
    "jit": lambda jx, f: jx.jit(f),
    "make_jaxpr": lambda jx, f: lambda x: jx.make_jaxpr(f)(x) and None,
    "vmap": lambda jx, f: lambda x: jx.vmap(f)(np.ones(2, np.float32) * x),
    "scan": lambda jx, f: lambda x: jx.lax.scan(lambda c, _: (f(c), None), x, length=2)[0],
    "grad of jit": lambda jx, f: jx.grad(jx.jit(f)),
    "jit of vmap": lambda jx, f: jx.jit(lambda x: jx.vmap(f)(jx.numpy.stack([x, x]))),
}


@pytest.mark.parametrize("leaks", [True, False])
@pytest.mark.parametrize("name", LEAKS)
def test_checking_leaks(name, leaks):
    def program(jx):
        def f(x):
            if leaks:
                LEAKED.append(x)
            return x * 2

        def checked(x):
            with jx.checking_leaks():
                return LEAKS[name](jx, f)(x)

        return checked

    both(program, np.float32(1))
    LEAKED.clear()


def test_a_leak_is_described():
    with minijax.checking_leaks(), pytest.raises(Exception, match="argument x") as error:
        minijax.jit(lambda x: LEAKED.append(x) or x)(1.0)
    assert "Leaked trace DynamicJaxprTrace" in str(error.value)
    LEAKED.clear()


def test_log_compiles(caplog):
    with minijax.log_compiles(), caplog.at_level("WARNING", "minijax.jit"):
        minijax.jit(lambda x: x * 3)(2.0)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 4
    for words in (
        "Finished tracing <lambda> for jit in",
        "Compiling jit(<lambda>) with global shapes and types (ShapedArray(float32[]",
        "Finished jaxpr to MLIR module conversion jit(<lambda>) in",
        "Finished XLA compilation of jit(<lambda>) in",
    ):
        assert words in caplog.text


def test_logging_level(capsys):
    """The log is shown from a level on, and no more when the setting is as before."""
    try:
        minijax.config.update("jax_logging_level", "DEBUG")
        minijax.jit(lambda x: x * 5)(2.0)
        shown = capsys.readouterr().err
        assert "DEBUG:" in shown and "Finished XLA compilation of jit(<lambda>) in" in shown
        with pytest.raises(ValueError, match="jax_logging_level: new enum value must be in.*got LOUD"):
            minijax.config.update("jax_logging_level", "LOUD")
    finally:
        minijax.config.update("jax_logging_level", "NOTSET")
    minijax.jit(lambda x: x * 7)(2.0)
    assert capsys.readouterr().err == ""


def test_a_literal_that_is_nan_is_of_no_operation():
    f = minijax.jit(lambda x: (np.nan, x + 2))
    with minijax.debug_nans(True), pytest.raises(
            FloatingPointError, match="the de-optimized function did not .* literal"):
        f(3)


def test_a_sharded_computation_has_no_single_operation():
    from minijax.sharding import PartitionSpec as P

    mesh = minijax.make_mesh((1,), ("x",), axis_types=(minijax.sharding.AxisType.Auto,))
    f = minijax.shard_map(lambda x: 0.0 / x, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    with minijax.debug_nans(True), pytest.raises(
            FloatingPointError, match="Invalid value .nan. encountered in sharded computation"):
        f(minijax.numpy.zeros(1))
