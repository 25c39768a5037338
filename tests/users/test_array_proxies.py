"""Objects that hold an array and show its attributes, as the variables of neural network libraries
do: `x @ variable` and jitted functions take the array that `__jax_array__` returns."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import minijax
from minijax.core.core import ArrayMethods
from tests.oracle import both, in_both

X = np.array([1.0, 2.0, 0.5], np.float32)
P = np.array([0.25, 1.5, 2.0], np.float32)


def proxy_class(library, pytree):
    class Proxy:
        def __init__(self, value):
            self.value = value

        def __jax_array__(self):
            return self.value

        def __getattr__(self, name):  # `aval`, `_trace` and all others
            if name == "value":
                raise AttributeError(name)
            return getattr(self.value, name)

    if pytree:
        library.tree_util.register_pytree_node(
            Proxy, lambda x: ((x.value,), None), lambda _, parts: Proxy(*parts))
    return Proxy


WRAPS = {
    "jit": lambda library, f: library.jit(f)(library.numpy.array(P)),
    "vmap": lambda library, f: library.vmap(f)(library.numpy.array([P, P + 1])),
    "jvp": lambda library, f: library.jvp(f, (P,), (P,)),
}
OPERATORS = "add sub mul truediv floordiv mod pow matmul eq lt".split()
FUNCTIONS = {
    "negative": lambda j, x, p: j.numpy.negative(p),
    "abs": lambda j, x, p: j.numpy.abs(p),
    "positive": lambda j, x, p: j.numpy.positive(p),
    "sum": lambda j, x, p: j.numpy.sum(p),
    "reshape": lambda j, x, p: j.numpy.reshape(p, (-1,)),
    "asarray": lambda j, x, p: j.numpy.asarray(p) * 1,
    "where": lambda j, x, p: j.numpy.where(x > 0, p, x),
    "maximum": lambda j, x, p: j.numpy.maximum(x, p),
    "matmul": lambda j, x, p: j.numpy.matmul(x, p),
    "update": lambda j, x, p: x.at[:].add(p),
    "convert": lambda j, x, p: j.lax.convert_element_type(p, np.float16),
}


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("name", OPERATORS)
@in_both
def test_operators_take_the_array(library, name, wrap):
    Proxy = proxy_class(library, pytree=False)
    x, op = library.numpy.array(X), getattr(operator, name)
    return WRAPS[wrap](library, lambda p: op(x, Proxy(p)))


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("name", FUNCTIONS)
@in_both
def test_functions_take_the_array_of_a_pytree(library, name, wrap):
    Proxy = proxy_class(library, pytree=True)
    x = library.numpy.array(X)
    return WRAPS[wrap](library, lambda p: FUNCTIONS[name](library, x, Proxy(p)))


@in_both
def test_a_condition_may_be_such_an_object(library):
    Proxy = proxy_class(library, pytree=False)
    return library.jit(lambda p: library.lax.cond(Proxy(p[0] > 1), lambda: p, lambda: -p))(X)


def test_a_primitive_refuses_it_under_jit():
    def program(library):
        Proxy = proxy_class(library, pytree=False)
        return library.jit(lambda p: library.lax.add(p, Proxy(p)))

    both(program, X, raises=ValueError)
    with pytest.raises(ValueError, match="Triggering __jax_array__"):
        program(minijax)(X)


def test_no_program_holds_such_an_object():
    """It would be evaluated after the trace of its array has ended."""
    Proxy = proxy_class(minijax, pytree=False)
    x = minijax.numpy.array(X)
    for name, f in FUNCTIONS.items():
        program = minijax.make_jaxpr(lambda p: f(minijax, x, Proxy(p)))(P)
        assert all(isinstance(c, (ArrayMethods, np.ndarray)) for c in program.consts), name
