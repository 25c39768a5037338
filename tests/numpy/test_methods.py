"""The methods of arrays and tracers, what arrays and namespaces say of themselves: as in JAX."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import minijax
import minijax.numpy
from tests.oracle import jax
from tests.oracle.compare import both, in_both

# Where an array lies, on several devices: chapter 14.
PLACES = {"addressable_data", "addressable_shards", "committed", "global_shards", "sharding"}
PUBLIC = [name for name in dir(jax.Array) if not name.startswith("_")]


def parameters(method):
    """Names, kinds and defaults of all parameters but the first."""
    found = list(inspect.signature(method).parameters.values())[1:]
    return {(p.kind == p.VAR_POSITIONAL or p.name, p.kind.name, p.default) for p in found
            if p.name != "out_sharding"}


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in PLACES])
def test_methods_have_jax_s_parameters(name):
    theirs, ours = (getattr(type(m.numpy.ones(3)), name) for m in (jax, minijax))
    if inspect.isfunction(theirs):
        assert parameters(ours) == parameters(theirs)


def test_tracers_have_the_methods_too():
    of_device = {"copy_to_host_async", "device", "is_fully_addressable", "is_fully_replicated"}
    names = []
    minijax.jit(lambda x: names.extend(dir(x)))(1.0)
    assert {*PUBLIC} - PLACES - of_device <= {*names}


DTYPES = ["int8", "uint16", "float32", "float16", "bfloat16", "bool", "complex64", "int32"]


@pytest.mark.parametrize("old", DTYPES)
def test_view(old):
    x = np.arange(-4, 4)
    for new in [*DTYPES, "float64", None]:
        both(lambda m: lambda: m.numpy.asarray(x).astype(old).view(new))
        both(lambda m: lambda: m.numpy.asarray(x[:6].reshape(2, 3)).astype(old).view(new))
        both(lambda m: lambda: m.numpy.asarray(x[0]).astype(old).view(new))
    both(lambda m: lambda: m.numpy.asarray(x).astype(old).byteswap())
    both(lambda m: lambda: m.numpy.asarray(x).view(type=np.ndarray))


@pytest.mark.parametrize("kind", [None, "bool", "integral", "signed integer", "real floating",
                                  "complex floating", "numeric", ("bool", "unsigned integer"), "other"])
def test_namespace(kind):
    program = lambda m: lambda: {name: str(dtype) for name, dtype in
                                 m.numpy.__array_namespace_info__().dtypes(kind=kind).items()}
    both(program)
    with jax.enable_x64(True), minijax.enable_x64(True):
        both(program)


def test_namespace_of_an_array():
    both(lambda m: lambda: m.numpy.ones(2).__array_namespace__().__name__.endswith("jax.numpy"))
    both(lambda m: lambda: m.numpy.ones(2).__array_namespace__(api_version="2021.12"))
    both(lambda m: lambda: m.jit(lambda x: x.__array_namespace__().sin(x))(1.0))
    both(lambda m: lambda: m.numpy.__array_api_version__)
    for what in ("capabilities", "default_device", "default_dtypes"):
        both(lambda m: lambda: str(getattr(m.numpy.__array_namespace_info__(), what)()))
    both(lambda m: lambda: len(m.numpy.__array_namespace_info__().devices()))


def test_places():
    """Arrays move to the device that is asked for, and say that they are there."""
    device = minijax.devices()[0]
    jnp = minijax.numpy
    for x in (jnp.zeros(2, device=device), jnp.asarray([1.0, 2.0], device=device), jnp.ones(2).to_device(device),
              jnp.arange(3, device=device), jnp.ones(2).astype(int, device=device), jnp.eye(2, device=device),
              jnp.linspace(0, 1, 3, device=device), jnp.full(2, 1, device=device), jnp.zeros_like(jnp.ones(2), device=device)):
        assert x.devices() == {device} and x.is_ready() and x.is_fully_replicated
        x.copy_to_host_async()
    for make in (jnp.zeros, jnp.arange, jnp.eye):
        with pytest.raises(ValueError, match="the moon"):
            make(2, device="the moon")
    with pytest.raises(NotImplementedError):
        jnp.ones(2).to_device(device, stream=1)
    assert minijax.jit(lambda x: x + 1)(jnp.ones(3)).on_device_size_in_bytes() == 12


@pytest.mark.parametrize("make", [
    "jnp.arange(3)", "jnp.asarray(1)", "jnp.ones(2)", "jnp.asarray(1.5)", "jnp.asarray(1j)",
    "jnp.arange(3, dtype='uint64')", "jnp.arange(3, dtype='int8')"])
@in_both
def test_pickled_with_64_bits(jx, make):
    """Read where x64 is off, an array has half its bits; where it is on, all of them."""
    with jx.enable_x64(True):
        text = pickle.dumps(eval(make, {"jnp": jx.numpy}))
        wide = pickle.loads(text)
    return wide, pickle.loads(text)


@pytest.mark.parametrize("axes", [np.array([1, 0]), [1, 0], (1, 0), range(1, -1, -1)], ids=str)
@in_both
def test_transpose_takes_any_sequence_of_axes(jx, axes):
    x = np.arange(6.0).reshape(2, 3)
    return (x.transpose(axes), jx.jit(lambda x: np.transpose(x, axes))(x))
