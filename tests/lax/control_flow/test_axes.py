"""Chapter 9: the sizes of the named axes of `vmap`; against JAX's."""

from __future__ import annotations

import numpy as np
import pytest

from minijax import core, lax
from minijax.core.api import vmap
from minijax.lax import axis_size
from tests.oracle import jax

x23 = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_nested_names():
    def inner(x):
        return lax.add(x, np.float32(100 * axis_size("i") + axis_size("j")))

    def outer(x):
        y = vmap(inner, axis_name="i")(x)
        return lax.add(y, np.float32(10000 * axis_size("i")))

    outermost = vmap(vmap(outer, axis_name="i"), axis_name="j")
    assert (np.asarray(outermost(np.zeros((2, 3, 4)))) == 10000 * 3 + 100 * 4 + 2).all()
    assert core.state.axis_sizes == {}


def test_product_of_sizes():
    f = vmap(vmap(lambda x: axis_size(("i", "j")), axis_name="i"), axis_name="j")
    assert f(x23).tolist() == jax.vmap(jax.vmap(
        lambda x: jax.lax.axis_size(("i", "j")), axis_name="i"), axis_name="j")(x23).tolist()


def test_unbound_name():
    with pytest.raises(NameError, match="unbound axis name: k.*in scope here: .'i'.") as error:
        vmap(lambda x: axis_size("k"), axis_name="i")(x23)
    with pytest.raises(type(error.value)):
        jax.vmap(lambda x: jax.lax.axis_size("k"), axis_name="i")(x23)
