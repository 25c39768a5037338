"""The `sharding` of callbacks: one of the devices that run the program, or it is refused."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from tests.oracle import both, subject

X = np.arange(4, dtype=np.float32)


def callback(jx, name):
    return jx.pure_callback if name == "pure" else import_module(
        f"{jx.__name__}.experimental").io_callback


def program(jx, name, sharding, shape=(4,)):
    return lambda x: callback(jx, name)(
        lambda x: np.asarray(x) * 2, jx.ShapeDtypeStruct(shape, np.float32), x, sharding=sharding)


def on_device(jx, number):
    return jx.sharding.SingleDeviceSharding(jx.devices()[number])


def split(jx, n):
    mesh = jx.sharding.Mesh(np.array(jx.devices()[:n]), ("i",))
    return jx.sharding.NamedSharding(mesh, jx.sharding.PartitionSpec("i"))


RUNS = {
    "eager": lambda jx, f: f,
    "jit": lambda jx, f: jx.jit(f),
    "two devices": lambda jx, f: lambda x: jx.jit(f)(jx.device_put(x, split(jx, 2))),
    "text": lambda jx, f: jx.make_jaxpr(f),
}


@pytest.mark.parametrize("name", ["pure", "io"])
@pytest.mark.parametrize("run", RUNS)
def test_the_first_device(name, run):
    both(lambda jx: RUNS[run](jx, program(jx, name, on_device(jx, 0))), X)


@pytest.mark.parametrize("name", ["pure", "io"])
@pytest.mark.parametrize("run", ["eager", "jit", "two devices"])
def test_several_devices_are_refused(name, run):
    both(lambda jx: RUNS[run](jx, program(jx, name, split(jx, 2))), X, raises=NotImplementedError)


@pytest.mark.parametrize("name", ["pure", "io"])
def test_a_device_that_does_not_run_the_program_is_refused(name):
    both(lambda jx: RUNS["two devices"](jx, program(jx, name, on_device(jx, 2))), X,
         raises=ValueError)


@pytest.mark.parametrize("name", ["pure", "io"])
def test_within_shard_map_each_device_calls(name):
    def of(jx):
        sharding = split(jx, 2)
        return jx.jit(jx.shard_map(program(jx, name, on_device(jx, 0), (2,)), mesh=sharding.mesh,
                                   in_specs=sharding.spec, out_specs=sharding.spec))

    both(of, X, raises=NotImplementedError)


@pytest.mark.parametrize("name", ["pure", "io"])
def test_another_device_loses_no_result(name):
    """XLA gives zeros for what another device than the first returns, and JAX passes them on."""
    f = program(subject, name, on_device(subject, 1))
    np.testing.assert_array_equal(RUNS["two devices"](subject, f)(X), 2 * X)
