"""Public functions are the core's objects: what the book shows is what users call."""

from __future__ import annotations

import pytest

import minijax
from minijax.core import api
from minijax.core.jit import JitFunction
from minijax.runtime.jit import PjitFunction


@pytest.mark.parametrize("name", ["jvp", "vjp", "grad", "value_and_grad", "linearize", "vmap",
                                  "make_jaxpr", "eval_shape"])
def test_transformations_are_those_of_the_core(name):
    assert getattr(minijax, name) is getattr(api, name)


@pytest.mark.parametrize("options", [
    {}, {"static_argnums": 0}, {"donate_argnums": 0}, {"out_shardings": None}, {"backend": "cpu"},
    {"device": minijax.devices()[0]}, {"in_shardings": minijax.P()},
], ids=str)
def test_jit_returns_the_one_subclass_of_the_cores_class(options):
    kind = type(minijax.jit(lambda x: x, **options))
    assert kind is PjitFunction and issubclass(kind, JitFunction)


def test_one_trace_serves_all():
    traced = []

    def f(x):
        traced.append(x)
        return 2 * x

    assert minijax.jit(f)(1.0) == 2.0
    assert minijax.eval_shape(f, 1.0).shape == minijax.eval_shape(minijax.jit(f), 1.0).shape == ()
    assert len(minijax.make_jaxpr(f)(1.0).eqns) == 1
    assert len(traced) == 1
