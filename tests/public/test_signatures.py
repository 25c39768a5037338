"""The parameters of JAX's functions: names, kinds and defaults are the same here."""

from __future__ import annotations

import inspect

import pytest

import minijax
from minijax.compat.absent import Absent
from tests.oracle import MODE, jax
from tools.differences import MISSING_PARAMETERS, MODULES, module

if MODE == "stored":
    pytest.skip("the parameters are those of JAX itself", allow_module_level=True)
from tests.public.test_differences import DISTRIBUTIONS, _public

# Not for users of arrays: tools for writing transformations, whose parameters are our own.
INSIDE = ("api_util", "core", "errors", "experimental", "extend", "interpreters", "typing", "version")
LEFT_OUT = {name for names in MISSING_PARAMETERS.values() for name in names.split()}
# Wrappers show `*args` in JAX, or ours take more: by name.
OWN = {"numpy.array": "`copy` by position, which JAX warns of",
       "lax.random_gamma_grad": "JAX's takes *args",
       "debug.breakpoint": "ours can be given the files that it talks to",
       "jit": "a decorator with arguments has no function yet: JAX has an object to say so, we None",
       "make_jaxpr": "ours takes static_argnames, as jit does",
       "checkpoint": "JAX takes static_argnames, and does nothing with them"}


def parameters(function):
    """What can be said of a signature that is the same in both libraries."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None  # NumPy's own
    return [(p.name, p.kind.name, _default(p.default)) for p in signature.parameters.values()
            if p.name not in LEFT_OUT]


def _default(value):
    """A default as both libraries write it: objects that mean "not given" are all the same."""
    if "object at" in repr(value) or "nspecified" in repr(value) or type(value) is type:
        return "not given"
    return getattr(value, "__name__", repr(value))


def _functions():
    for where in ["", *MODULES, *DISTRIBUTIONS]:
        theirs, ours = module("jax", where), module("minijax", where)
        for name in sorted(_public(theirs)) if ours and not where.startswith(INSIDE) else ():
            full = f"{where}.{name}".strip(".")
            function = getattr(theirs, name)
            if callable(function) and not isinstance(function, type) and hasattr(ours, name) and full not in OWN \
                    and not isinstance(getattr(ours, name), Absent):
                yield full


@pytest.mark.parametrize("name", [*_functions()])
def test_parameters(name):
    where, _, function = name.rpartition(".")
    theirs, ours = (parameters(getattr(module(library, where), function)) for library in ("jax", "minijax"))
    assert ours == theirs


def test_exceptions_are_needed():
    for name in OWN:
        where, _, function = name.rpartition(".")
        theirs, ours = (parameters(getattr(module(library, where), function)) for library in ("jax", "minijax"))
        assert ours != theirs


def test_array():
    """`copy` may be given by position in JAX, which warns of it: here by name only."""
    theirs, ours = (dict(p[::2] for p in parameters(m.numpy.array)) for m in (jax, minijax))
    assert ours == {name: default for name, default in theirs.items() if name != "args"}
