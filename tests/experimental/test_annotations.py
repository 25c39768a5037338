"""What is said to the compiler about a call or a value, and changes no value: the modules
`compute_on`, `scheduling_groups`, `xla_metadata`, `shard_alike`, `control_deps` and `topologies`."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import minijax
from tests.oracle import both

X, Y = np.arange(3, dtype="float32"), np.float32(2.0)


def module(jx, name):
    return import_module(f"{jx.__name__}.experimental.{name}")


def on_host(jx):
    return module(jx, "compute_on").compute_on2(
        lambda x, y: (x * 2, {"z": jx.numpy.sin(y) * x}), compute_type="device_host",
        out_memory_spaces=jx.memory.Space.Device)


def grouped(jx):
    return module(jx, "scheduling_groups").scheduling_group("group 1")(
        lambda x, y: (jx.numpy.sin(x) * y, y))


def noted(jx):
    return lambda x, y: module(jx, "xla_metadata").set_xla_metadata(
        {"a": jx.numpy.sin(x) * y}, note="text", number=2)


def alike(jx):
    return lambda x, y: module(jx, "shard_alike").shard_alike({"a": x * y}, {"a": x})


def inside(jx):
    """The contexts, which leave no trace."""
    def f(x, y):
        with module(jx, "compute_on").compute_on("device_host"):
            z = x * y
        with module(jx, "xla_metadata").set_xla_metadata(note="text"):
            return z + 1

    return f


FUNCTIONS = {"compute_on2": on_host, "scheduling_group": grouped, "set_xla_metadata": noted,
             "shard_alike": alike, "contexts": inside}
total = lambda jx, f: lambda *args: sum(x.sum() for x in jx.tree.leaves(f(*args)))
TRANSFORMED = {
    "eager": lambda jx, f: f, "jit": lambda jx, f: jx.jit(f), "jaxpr": lambda jx, f: jx.make_jaxpr(f),
    "vmap": lambda jx, f: jx.vmap(f, in_axes=(0, None)),
    "grad": lambda jx, f: jx.grad(total(jx, f), argnums=(0, 1)),
    "jvp": lambda jx, f: lambda x, y: jx.jvp(f, (x, y), (x, y)),
    "jaxpr of jvp": lambda jx, f: jx.make_jaxpr(lambda x, y: jx.jvp(f, (x, y), (x, y))),
    "jaxpr of vmap": lambda jx, f: jx.make_jaxpr(jx.vmap(f, in_axes=(0, None))),
    "jaxpr of grad": lambda jx, f: jx.make_jaxpr(jx.grad(total(jx, f))),
    "grad of checkpoint": lambda jx, f: jx.grad(jx.checkpoint(total(jx, f))),
    "loop": lambda jx, f: lambda x, y: jx.lax.scan(lambda c, _: (c, f(c, y)), x, None, length=2),
    "closure": lambda jx, f: lambda x, y: jx.vmap(lambda z: f(z, y + x[0]))(x),
}


@pytest.mark.parametrize("transformed", TRANSFORMED)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_transformations(name, transformed):
    both(lambda jx: TRANSFORMED[transformed](jx, FUNCTIONS[name](jx)), X, Y)


on = lambda jx, *args, **options: module(jx, "compute_on").compute_on2(*args, **options)
REFUSED = {
    "no string": (TypeError, lambda jx, x: module(jx, "compute_on").compute_on(3).__enter__()),
    "no place": (ValueError, lambda jx, x: module(jx, "compute_on").compute_on("moon").__enter__()),
    "no place for a call": (ValueError, lambda jx, x: on(
        jx, lambda x: x, compute_type="moon", out_memory_spaces=None)(x)),
    "nested": (ValueError, lambda jx, x: on(
        jx, lambda x: on_host(jx)(x, x), compute_type="device_host",
        out_memory_spaces=jx.memory.Space.Device)(x)),
    "no text": (NotImplementedError, lambda jx, x: module(jx, "scheduling_groups").xla_metadata_call(
        lambda x: x + 1, note=1)(x)),
    "trees": (ValueError, lambda jx, x: module(jx, "shard_alike").shard_alike(x, [x])),
    "shapes": (ValueError, lambda jx, x: module(jx, "shard_alike").shard_alike(x, x[:2])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    error, program = REFUSED[name]
    both(lambda jx: lambda x: program(jx, x), X, raises=error)


def test_modules_say_it():
    text = lambda f: minijax.jit(f).lower(X, Y).as_text()
    assert 'mhlo.frontend_attributes = {_xla_compute_type = "host"}' in text(on_host(minijax))
    assert 'mhlo.frontend_attributes = {scheduling_group = "group 1"}' in text(grouped(minijax))
    options = {"compute_type": "gpu_stream:1", "out_memory_spaces": minijax.memory.Space.Device,
               "compiler_options": {"a": 1}}
    said = text(on(minijax, lambda x, y: x * y, **options))
    assert '_xla_stream_annotation = "1"' in said and 'backend_config = "{\\22a\\22: 1}"' in said
    assert 'inlineable = "false"' in text(on(minijax, lambda x, y: x * y, compute_type="device",
                                               out_memory_spaces=minijax.memory.Space.Device))
    assert "control_dep" in text(lambda x, y: module(minijax, "control_deps").schedule([x, y]))
    decorator = on(minijax, compute_type="device", out_memory_spaces=minijax.memory.Space.Device)
    assert decorator(lambda x: x + 1)(Y) == 3.0


def test_other_memories_are_refused():
    with pytest.raises(NotImplementedError, match="keeps arrays in Space.Device"):
        on(minijax, lambda x: x, compute_type="device_host",
           out_memory_spaces=minijax.memory.Space.Host)(X)


def test_order():
    both(lambda jx: lambda x: module(jx, "control_deps").schedule([x, x]), X)
    both(lambda jx: jx.make_jaxpr(lambda x: module(jx, "control_deps").schedule([x, x + 1, x])), X)


def test_devices_hold_them_alike():
    mesh = minijax.sharding.Mesh(np.array(minijax.devices()), ("i",))
    split = minijax.NamedSharding(mesh, minijax.P("i"))
    x = np.zeros(2 * mesh.size, "float32")
    f = minijax.jit(lambda x, y: alike(minijax)(x, minijax.lax.with_sharding_constraint(y, split)),
                    out_shardings=(None, None))
    one, other = f(minijax.device_put(x, split), x)
    assert one["a"].sharding.is_equivalent_to(other["a"].sharding, 1)
    if mesh.size > 1:
        lowered = minijax.jit(alike(minijax)).lower(minijax.device_put(x, split), x)
        assert lowered.as_text().count("sdy.sharding_group") == 2


def test_topologies():
    topologies = module(minijax, "topologies")
    machine = topologies.get_attached_topology("cpu")
    assert machine.devices == minijax.devices("cpu")
    mesh = topologies.make_mesh(machine, (len(machine.devices), 1), ("x", "y"))
    assert mesh.axis_names == ("x", "y") and [*mesh.devices.flat] == machine.devices
    with pytest.raises(NotImplementedError, match="get_attached_topology"):
        topologies.get_topology_desc("v5e:2x2", "tpu")
