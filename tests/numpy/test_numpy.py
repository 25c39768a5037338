"""What the table of calls cannot say: staging, methods of tracers, copies, names, dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import lax
from minijax.core import jit as jit_room
from tests.oracle import jax
from tests.oracle.compare import both


def equation_names(jaxpr):
    """The primitives of a jaxpr, with the names of `jit` equations."""
    return [eqn.params.get("name", eqn.primitive.name) for eqn in jaxpr.eqns]


def test_functions_are_jit_equations_only_while_staging(monkeypatch):
    x = jnp.arange(3.0)
    assert equation_names(minijax.make_jaxpr(lambda x: jnp.clip(x, 0, 1))(x)) == ["clip"]
    assert equation_names(minijax.make_jaxpr(minijax.grad(lambda x: jnp.var(x)))(x))[0] == "_var"
    monkeypatch.setattr(jit_room.JitFunction, "__call__", lambda *args: pytest.fail("compiled"))
    jnp.where(x > 0, x, 0)
    minijax.grad(lambda x: jnp.mean(jnp.clip(x, 0, 1)))(x)
    minijax.vmap(jnp.linspace, (0, None))(x, 1.0)


@pytest.mark.parametrize("name", """sum mean max min any all std var prod ptp argmax argmin cumsum
    cumprod round conj conjugate flatten ravel squeeze copy trace nonzero""".split())
def test_methods_of_arrays_and_tracers(name):
    m = np.arange(6, dtype=np.float32).reshape(2, 3)
    both(lambda jax: lambda: getattr(jax.numpy.asarray(m), name)())
    if name != "nonzero":
        both(lambda jax: lambda: jax.jit(lambda m: getattr(m, name)())(m))
        both(lambda jax: lambda: jax.make_jaxpr(lambda m: getattr(m, name)())(m))


def test_array_methods_of_jax_exist():
    later = {"argpartition", "argsort", "at", "byteswap", "choose", "compress", "searchsorted",
             "sort", "take"}
    placed = {"addressable_data", "addressable_shards", "clone", "committed", "copy_to_host_async",
              "device_buffer", "device_buffers", "format", "global_shards", "is_fully_replicated", "is_ready", "layout",
              "on_device_size_in_bytes", "sharding", "to_device", "traceback", "unsafe_buffer_pointer",
              "unsafe_raw_array", "device", "devices", "platform", "is_fully_addressable"}
    public = {name for name in dir(jax.numpy.ones(2)) if not name.startswith("_")}
    assert not [n for n in sorted(public - later - placed) if not hasattr(minijax.Array, n)]


def test_arrays_do_not_share_memory_with_what_they_were_made_of():
    source = np.zeros(3, np.float32)
    arrays = [jnp.array(source), jnp.asarray(source), jnp.array(source, dtype=jnp.float32),
              jnp.array([source])[0], jnp.concatenate([source, source])[:3], jnp.add(source, 0.0)]
    source[:] = 7
    for array in arrays:
        np.testing.assert_array_equal(array, [0, 0, 0])


def test_asarray_returns_an_array_as_it_is():
    x = jnp.ones(3)
    assert jnp.asarray(x) is x and jnp.asarray(x, jnp.float32) is x
    assert jnp.array(x) is not None and jnp.array(x, copy=False) is x


def test_scalar_types_are_dtypes():
    assert jnp.zeros(2, jnp.bfloat16).dtype == jnp.bfloat16
    assert np.zeros(2, jnp.int8).dtype == np.int8
    assert jnp.float32 == np.float32 and hash(jnp.float32) == hash(np.float32)
    assert jnp.float32 != jnp.float64 and jnp.int_ is jnp.int64 and jnp.bool is jnp.bool_
    assert {np.dtype("float32"): 1}[jnp.float32(1).dtype] == 1
    assert isinstance(np.float32(1), jnp.float32) and not isinstance(jnp.ones(1), jnp.float32)
    assert issubclass(jnp.float32.dtype.type, jnp.floating)
    assert repr(jnp.float32) == "<class 'minijax.numpy.float32'>"


def test_float64_is_cut_with_a_warning():
    with pytest.warns(UserWarning, match="float64 requested in zeros is not available"):
        assert jnp.zeros(2, "float64").dtype == np.float32
    with minijax.enable_x64(True):
        assert jnp.zeros(2).dtype == np.float64 and jnp.arange(2).dtype == np.int64


@pytest.mark.parametrize("name", [
    "sum", "prod", "mean", "var", "std", "cumsum", "cumprod", "nansum", "nanprod", "nanmean",
    "nanvar", "nanstd", "nancumsum"])
def test_each_call_warns_as_the_first(name):
    x = jnp.arange(3.0)
    for _ in range(3):
        with pytest.warns(UserWarning, match="float64 requested in"):
            getattr(jnp, name)(x, dtype="float64")


def test_names_are_those_of_jax():
    """No name that JAX lacks, and no public helper that leaked."""
    ours = {name for name in dir(jnp) if not name.startswith("_")} - {"annotations"}
    assert ours <= set(dir(jax.numpy)), ours - set(dir(jax.numpy))
    assert {n for n in dir(lax) if not n.startswith("_")} <= set(dir(jax.lax))


def test_every_public_function_says_what_it_does():
    for name in dir(jnp):
        function = getattr(jnp, name)
        if callable(function) and not name.startswith("_") and \
                getattr(function, "__module__", "").startswith("minijax"):
            assert function.__doc__, name


@pytest.mark.parametrize("call", [
    lambda jnp, x: jnp.sum(x, axis=x), lambda jnp, x: jnp.zeros(x), lambda jnp, x: jnp.arange(x),
    lambda jnp, x: jnp.reshape(jnp.ones(4), (x, 2)), lambda jnp, x: jnp.linspace(0, 1, x),
    lambda jnp, x: jnp.repeat(jnp.ones(2), x), lambda jnp, x: jnp.nonzero(jnp.ones(2) * x),
    lambda jnp, x: jnp.split(jnp.ones(4), x), lambda jnp, x: jnp.eye(x), lambda jnp, x: jnp.tri(x),
    lambda jnp, x: jnp.round(1.0, x),
    lambda jnp, x: jnp.expand_dims(jnp.ones(2), x), lambda jnp, x: jnp.diff(jnp.ones(3), x),
])
def test_what_must_be_static(call):
    """A traced value where the shape or the program depends on it: the same class of error."""
    both(lambda jax: lambda: jax.jit(lambda x: call(jax.numpy, x))(2))


def test_gradients_at_the_edges():
    both(lambda jax: lambda: jax.grad(lambda x: jax.numpy.where(x > 0, x, 0.0).sum())(np.zeros(2, "f")))
    both(lambda jax: lambda: jax.grad(jax.numpy.sinc)(0.0))
    both(lambda jax: lambda: jax.grad(jax.grad(jax.numpy.sinc))(0.0))
    both(lambda jax: lambda: jax.grad(jax.numpy.logaddexp, (0, 1))(1.0, 1.0))
    both(lambda jax: lambda: jax.grad(lambda x: jax.numpy.var(x, ddof=1))(np.arange(4, dtype="f")))
    both(lambda jax: lambda: jax.grad(lambda x: jax.numpy.linspace(x, 2.0, 5).sum())(1.0))
    both(lambda jax: lambda: jax.grad(lambda x: jax.numpy.max(x))(np.array([1.0, 3.0, 3.0], "f")))


@pytest.mark.parametrize("name", "stack vstack hstack dstack column_stack".split())
def test_stacking_under_vmap(name):
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    both(lambda jax: lambda: jax.vmap(lambda v: getattr(jax.numpy, name)([v, v * 2]))(x))


def test_unknown_arguments_of_jax_are_refused_as_there():
    for call in (lambda jnp: jnp.sum(jnp.ones(2), out=jnp.ones(2)),
                 lambda jnp: jnp.einsum("i->", jnp.ones(2), out=1),
                 lambda jnp: jnp.argmax(jnp.ones(2), out=1), lambda jnp: jnp.stack([1], out=1),
                 lambda jnp: jnp.meshgrid(jnp.ones(2), copy=False),
                 lambda jnp: jnp.array([1], order="F"), lambda jnp: jnp.ravel(jnp.ones(2), "K")):
        both(lambda jax: lambda: call(jax.numpy))
