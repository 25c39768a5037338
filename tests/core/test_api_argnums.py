"""The same argument given twice by number: refused where it would be differentiated apart from
itself, accepted, as in JAX, where twice means once."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both

TWICE = [(0, 0), (0, -2), (1, -1), (-1, -1), (0, 1, 0), (1, 0, -1)]


@pytest.mark.parametrize("argnums", TWICE)
@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacfwd", "jacrev", "hessian"])
def test_no_argument_is_differentiated_twice(name, argnums):
    both(lambda jx: getattr(jx, name)(lambda x, y: x * y**2, argnums), np.float32(2), np.float32(3),
         raises=TypeError)
    with pytest.raises(TypeError, match="more than once"):
        getattr(minijax, name)(lambda x, y: x * y**2, argnums)(2.0, 3.0)


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacfwd", "jacrev", "hessian"])
def test_different_numbers_in_any_order(name):
    for argnums in [(0, 1), (1, 0), (-1, 0), (1, -2)]:
        both(lambda jx: getattr(jx, name)(lambda x, y: x * y**2, argnums), 2.0, 3.0)


@pytest.mark.parametrize("argnums", TWICE)
def test_static_twice_is_static(argnums):
    both(lambda jx: jx.jit(lambda x, y: x * y**2, static_argnums=argnums), 2, 3)
    both(lambda jx: jx.jit(lambda x, y: x * y**2, donate_argnums=argnums), 2, 3)
    both(lambda jx: jx.make_jaxpr(lambda x, y: x * y**2, static_argnums=argnums), 2, 3)
    both(lambda jx: lambda x, y: float(
        jx.checkpoint(lambda x, y: x * y**2, static_argnums=argnums)(x, y)), 2.0, 3.0)


def scaled_twice(v, w=2.5, *, z=3.0):
    return v * w * z


@pytest.mark.parametrize("argnums", [1, (1,), [1], (1, 1), None, (), 2, 5, -3, (-3,)])
@pytest.mark.parametrize(
    "args, kwargs", [((2.0,), {}), ((2.0, 4.0), {}), ((2.0,), {"w": 4.0}), ((2.0, 4.0), {"z": 5.0})])
def test_static_arguments_of_a_jaxpr_are_those_of_jit(argnums, args, kwargs):
    """A number may be that of an argument that has its default, or comes by its name."""
    both(lambda jx: lambda: str(jx.make_jaxpr(scaled_twice, static_argnums=argnums)(*args, **kwargs)),
         raises=ValueError if argnums in [2, 5, -3, (-3,)] else None)


@pytest.mark.parametrize("argnums", [1, 3, -1])
def test_static_arguments_that_the_call_does_not_have(argnums):
    for args in [(2.0,), (2.0, 3)]:
        both(lambda jx: lambda: str(
            jx.make_jaxpr(lambda *a: a[0] * 2, static_argnums=argnums)(*args)))


def scaled(decorator, numbers):
    """n * x with a rule of its own, where the arguments with these numbers are constants."""
    f = decorator(lambda n, x: n * x, nondiff_argnums=numbers)
    if decorator is minijax.custom_jvp:
        f.defjvp(lambda n, x, t: (n * x[0], 10.0 * t[0]))
    else:
        f.defvjp(lambda n, x: (n * x, None), lambda n, _, ct: (10.0 * ct,))
    return f


@pytest.mark.parametrize("numbers", [(0,), (0, 0), (-2,), (0, -2)])
@pytest.mark.parametrize("decorator", [minijax.custom_jvp, minijax.custom_vjp])
def test_an_argument_of_a_custom_rule_is_not_differentiated_however_it_is_counted(decorator, numbers):
    assert minijax.grad(lambda x: scaled(decorator, numbers)(3.0, x))(2.0) == 10.0
