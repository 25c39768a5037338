"""`trace(…).lower(lowering_platforms=…)` for platforms that this process does not run."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from tests.oracle import both

X = np.arange(6, dtype="float32")


def lowered(jx, fun, platforms, *args, **options):
    return jx.jit(fun, **options).trace(*(args or (X,))).lower(lowering_platforms=platforms)


def twice(x):
    return x + x


def depends(jx):
    return lambda x: jx.lax.platform_dependent(x, cpu=twice, default=lambda x: x * x * x)


@pytest.mark.parametrize("platforms", [("cuda",), ("tpu",), ("cuda", "tpu"), ("foo",), ()])
def test_the_text(platforms):
    both(lambda jx: lambda: lowered(jx, twice, platforms).as_text())
    both(lambda jx: lambda: str(lowered(jx, twice, platforms).out_info))
    both(lambda jx: lambda: str(lowered(jx, twice, platforms).as_text("hlo")).count("add"))


@pytest.mark.parametrize("platforms", [("cpu",), ("cuda",), ("tpu", "cuda"), ("cpu", "tpu")])
def test_what_depends_on_the_platform(platforms):
    """The function is traced again: a branch was chosen for the platform of the process."""
    def program(jx):
        text = lowered(jx, depends(jx), platforms).as_text()
        return ["stablehlo.add" in text, "stablehlo.multiply" in text, "_platform_index" in text]

    both(lambda jx: lambda: program(jx))


def test_what_is_said_of_a_call():
    def program(jx):
        one = lowered(jx, twice, ("cuda",), donate_argnums=0)
        return "tf.aliasing_output" in one.as_text(), one.donate_argnums, str(one.in_tree)

    both(lambda jx: lambda: program(jx))
    both(lambda jx: lambda: "custom_call" in lowered(
        jx, jx.numpy.linalg.cholesky, ("tpu",), np.eye(2, dtype="float32")).as_text())
    with_constant = lambda jx: lowered(jx, lambda x: x.sum() + np.arange(
        5000, dtype="float32"), ("cuda",))
    both(lambda jx: lambda: with_constant(jx).as_text().count("%arg"))


def test_several_devices():
    def program(jx):
        mesh = jx.make_mesh((jx.device_count(),), ("x",), (jx.sharding.AxisType.Auto,))
        split = jx.NamedSharding(mesh, jx.P("x"))
        text = lowered(jx, twice, ("cuda",), np.zeros(8 * mesh.size), in_shardings=split).as_text()
        return [text.count(word) for word in ("sdy.mesh", "sdy.sharding", "stablehlo.add")]

    both(lambda jx: lambda: program(jx))


REFUSED = {
    "a list": (TypeError, lambda jx: lowered(jx, twice, ["cuda"])),
    "gpu": (RuntimeError, lambda jx: lowered(jx, twice, ("gpu",))),
    "a callback": (ValueError, lambda jx: lowered(
        jx, lambda x: jx.pure_callback(np.sin, x, x), ("cuda",))),
    "printing": (ValueError, lambda jx: lowered(jx, lambda x: jx.debug.print("{}", x), ("tpu",))),
    "printing in order": (ValueError, lambda jx: lowered(
        jx, lambda x: jx.debug.print("{}", x, ordered=True), ("tpu",))),
    "compiling for several": (ValueError, lambda jx: lowered(
        jx, twice, ("cpu", "cuda")).compile()(X)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    error, call = REFUSED[name]
    both(lambda jx: lambda: call(jx), raises=error)


def test_what_minijax_refuses():
    with pytest.raises(NotImplementedError, match="lowered for .'cuda',., and this process runs"):
        lowered(minijax, twice, ("cuda",)).compile()
    with pytest.raises(NotImplementedError, match="no LAPACK routine geqrf for the platform 'tpu'"):
        lowered(minijax, jnp.linalg.qr, ("tpu",), np.eye(2, dtype="float32"))
    with pytest.raises(TypeError, match="must be a tuple"):
        lowered(minijax, twice, "cuda")


def test_calls_are_not_changed_by_it():
    f = minijax.jit(depends(minijax))
    traced = f.trace(X)
    traced.lower(lowering_platforms=("cuda",))
    np.testing.assert_array_equal(f(X), 2 * X)
    np.testing.assert_array_equal(traced.lower().compile()(X), 2 * X)
