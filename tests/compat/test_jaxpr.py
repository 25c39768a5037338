"""JAX's names for parts of jaxprs, and its arguments of `replace`."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import minijax
from minijax import core
from minijax.compat.jaxpr import gensym, new_jaxpr_eqn, subjaxprs
from minijax.core.jaxpr import Literal, Var, no_effects

F32 = core.ShapedArray((), "float32")
VEC = core.ShapedArray((3,), "float32")


def test_gensym_makes_fresh_variables():
    newvar = gensym()
    assert newvar(F32) != newvar(F32) and newvar(VEC).aval is VEC


@pytest.mark.parametrize("value", [1.0, np.float32(2), True, np.array(3), np.array(3.5, "float32")])
def test_literal_hash_goes_by_value(value):
    aval = core.typeof(value)
    other = np.array(value) if isinstance(value, np.ndarray) else type(value)(value)
    assert Literal(value, aval).hash == Literal(other, aval).hash is not None


def test_literal_without_hash():
    assert Literal(np.ones(3), VEC).hash is None


def test_new_jaxpr_eqn_has_jaxs_order_of_arguments():
    a, b = Var(F32), Var(F32)
    power = minijax.lax.integer_pow_p
    new = new_jaxpr_eqn([a], [b], power, {"y": 2}, no_effects)
    assert (new.invars, new.outvars, new.primitive, new.params) == ([a], [b], power, {"y": 2})


def test_new_jaxpr_eqn_knows_its_line():
    new = new_jaxpr_eqn([], [], minijax.lax.sin_p, {})
    line = sys._getframe().f_lineno - 1
    assert str(new.source_info).startswith(f"{__file__}:{line}:")
    assert str(new.source_info).endswith("(test_new_jaxpr_eqn_knows_its_line)")


def test_subjaxprs_are_those_of_one_level():
    jaxpr = minijax.make_jaxpr(minijax.jit(minijax.jit(lambda x: 2 * x)))(1.0)
    assert list(subjaxprs(jaxpr)) == [jaxpr.eqns[0].params["jaxpr"].jaxpr]


def test_closed_jaxpr_has_jaxs_names():
    closed = minijax.make_jaxpr(lambda x: x + np.ones(3))(1.0)
    assert closed.literals is closed.consts


def test_an_equation_has_a_context():
    (eqn,) = minijax.make_jaxpr(minijax.lax.sin)(1.0).eqns
    assert eqn.replace(ctx=eqn.ctx).primitive is eqn.primitive
    with eqn.ctx.manager, pytest.raises(TypeError, match="must be `None` or the `ctx`"):
        eqn.replace(ctx="another")
