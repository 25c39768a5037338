"""The parameters of the functions of `jax.numpy`: names, kinds and defaults are JAX's."""

from __future__ import annotations

import inspect

import jax.numpy
import pytest

import minijax.numpy

# Where arrays lie on several devices is another chapter's subject: no function takes a sharding.
NOT_OURS = {"out_sharding", "_dot_general"}


def parameters(function):
    """What can be said of a signature that is the same in both libraries."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None  # NumPy's own
    return [(p.name, p.kind.name, _default(p.default)) for p in signature.parameters.values()
            if p.name not in NOT_OURS]


def _default(value):
    return getattr(value, "__name__", value) if not isinstance(value, float) else repr(value)


NAMES = [name for name in dir(jax.numpy) if callable(getattr(jax.numpy, name))
         and not isinstance(getattr(jax.numpy, name), type) and not name.startswith("_")
         and hasattr(minijax.numpy, name)]


def test_array():
    """`copy` may be given by position in JAX, which warns of it: here by name only."""
    theirs, ours = (dict(p[::2] for p in parameters(m.numpy.array)) for m in (jax, minijax))
    assert ours == {name: default for name, default in theirs.items() if name != "args"}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "array"])
def test_parameters(name):
    theirs, ours = (parameters(getattr(m.numpy, name)) for m in (jax, minijax))
    assert ours == theirs
