"""`jax.experimental.buffer_callback`: Python writes results in place."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import minijax
from tests.oracle import both

X = np.arange(6, dtype="float32").reshape(2, 3)
METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]


def calling(jx, function, results, **options):
    return import_module(f"{jx.__name__}.experimental.buffer_callback").buffer_callback(
        function, results, **options)


def scale(ctx, out, x, *, by):
    """One function for both libraries; jaxprs show its name."""
    np.asarray(out["y"])[...] = np.asarray(x) * np.asarray(by)


def scaled(jx, shape=X.shape, **options):
    result = {"y": jx.ShapeDtypeStruct(shape, "float32")}
    return lambda x, by: calling(jx, scale, result, **options)(x, by=by)


PROGRAMS = {
    "eager": lambda jx, **options: scaled(jx, **options),
    "jit": lambda jx, **options: jx.jit(scaled(jx, **options)),
    "loop": lambda jx, **options: lambda x, by: jx.lax.fori_loop(
        0, 3, lambda i, x: scaled(jx, **options)(x, by)["y"], x),
    "jaxpr": lambda jx, **options: lambda x, by: str(
        jx.make_jaxpr(scaled(jx, **options))(x, by)).split("function scale")[0],
}


@pytest.mark.parametrize("options", [{}, {"has_side_effect": True}, {"input_output_aliases": {0: 0}}], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_calls(name, options):
    both(lambda jx: PROGRAMS[name](jx, **options), X, np.float32(2))


@pytest.mark.parametrize("method", METHODS)
def test_batches(method):
    both(lambda jx: jx.vmap(scaled(jx, (3,), vmap_method=method)), X, X + 1)
    if method in ("broadcast_all", "sequential"):
        both(lambda jx: jx.vmap(scaled(jx, (3,), vmap_method=method), in_axes=(0, None)), X, X[0])


def wrong(ctx, out, x):
    return 1


REFUSED = {
    "jvp": (ValueError, lambda jx, x: jx.jvp(lambda x: scaled(jx)(x, x), (x,), (x,))),
    "vmap": (NotImplementedError, lambda jx, x: jx.vmap(lambda x: scaled(jx)(x, x))(x)),
    "alias": (ValueError, lambda jx, x: scaled(jx, (3,), input_output_aliases={0: 0})(x, x)),
    "result": ("JaxRuntimeError", lambda jx, x: jx.block_until_ready(calling(jx, wrong, x)(x))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    error, program = REFUSED[name]
    both(lambda jx: lambda x: program(jx, x), X, raises=error)


def test_memory_is_given_and_effects_happen():
    module = import_module("minijax.experimental.buffer_callback")
    seen = []

    def look(ctx, out, x):
        seen.append((type(ctx) is module.ExecutionContext, ctx.stage == module.ExecutionStage.EXECUTE,
                     type(x) is module.Buffer, x.writeable, out[0].writeable, np.asarray(x).tolist()))

    f = calling(minijax, look, (minijax.ShapeDtypeStruct((1,), "float32"),), has_side_effect=True)
    minijax.jit(lambda x: (f(x), None)[1])(X[0])
    minijax.effects_barrier()
    assert seen == [(True, True, True, False, True, [0.0, 1.0, 2.0])]
    with pytest.raises(AttributeError, match="no attribute 'Buffers'"):
        module.Buffers  # noqa: B018


def test_several_devices_are_refused():
    mesh = minijax.sharding.Mesh(np.array(minijax.devices()), ("i",))
    x = minijax.device_put(np.zeros((mesh.size, 3), "float32"), minijax.NamedSharding(mesh, minijax.P("i")))
    if mesh.size > 1:
        with pytest.raises(NotImplementedError, match="one device"):
            minijax.jit(scaled(minijax, x.shape))(x, x)
