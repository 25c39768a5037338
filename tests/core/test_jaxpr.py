"""Chapter 5: the data types of jaxprs."""

from __future__ import annotations

import weakref

import pytest

from minijax.core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    Literal,
    Var,
    jaxprs_in_params,
    no_effects,
    open_jaxpr,
)
from minijax.source import SourceInfo
from minijax.text.locations import new_source_info
from tests.core.small_jaxprs import (
    F32,
    eqn,
    scale,
    sin_plus_const,
    variables,
)
from tests.oracle import jax

jex = jax.extend.core

# ----------------------------------------------------------------------------------------------
# Atoms.


def test_atoms():
    a, b = variables(2)
    assert a == a and a != b and len({a, b}) == 2
    assert repr(a) == f"Var(id={id(a)}):float32[]"
    drop, literal = DropVar(F32), Literal(1.0, F32)
    assert isinstance(drop, Var) and repr(drop) == "_" and drop.aval is F32
    assert literal in {literal, a} and Literal(1.0, F32) not in {literal}
    real = jax.make_jaxpr(lambda x: x * 2)(1.0).eqns[0].invars[1]
    assert repr(Literal(2.0, F32)) == repr(real) == "Literal(2.0)"
    assert not any(hasattr(atom, "__dict__") for atom in (a, drop, literal))


# ----------------------------------------------------------------------------------------------
# Equations and jaxprs.


def test_eqn_replace():
    a, b, c = variables(3)
    old = eqn(scale, [a], [b], by=2)
    new = old.replace(invars=[c], params={"by": 3})
    assert (new.invars, new.outvars, new.primitive, new.params) == ([c], [b], scale, {"by": 3})
    assert new.source_info is old.source_info and old.invars == [a]


def test_eqn_replace_treats_none_as_jax_does():
    old = eqn(scale, [Var(F32)], [Var(F32)], by=2)
    assert old.replace(params=None, effects=no_effects).params is old.params


def test_source_info_as_jax():
    """The same file, line, column and function."""
    summarize = jax._src.source_info_util.summarize

    found = []

    def program(x):
        for g in (jax.lax.sin, new_source_info):
            found.append(g(x))  # one place for both
        return found[0]

    real = jax.make_jaxpr(program)(1.0)
    assert str(found[1]) == summarize(real.eqns[0].source_info)


def test_source_info_without_location():
    assert str(SourceInfo()) == "unknown"


def test_nothing_has_effects():
    jaxpr = sin_plus_const()
    assert (
        jaxpr.effects == jaxpr.eqns[0].effects == ClosedJaxpr(jaxpr, [1.0]).effects == frozenset()
    )


def test_jaxpr_replace():
    jaxpr = sin_plus_const()
    short = jaxpr.replace(eqns=jaxpr.eqns[:1], outvars=jaxpr.eqns[0].outvars)
    assert len(short.eqns) == 1 and short.invars == jaxpr.invars and len(jaxpr.eqns) == 2


def test_jaxpr_replace_of_unknown_names():
    with pytest.raises(ValueError, match="Unknown keyword arguments"):
        sin_plus_const().replace(equations=[])


def test_jaxpr_copies_its_lists():
    eqns = []
    jaxpr = Jaxpr((), (), (), eqns)
    eqns.append(None)
    assert jaxpr.eqns == [] and isinstance(jaxpr.invars, list)


def test_debug_info_is_kept():
    jaxpr = sin_plus_const().replace(debug_info="info")
    assert ClosedJaxpr(jaxpr.replace(eqns=[]), [1.0]).debug_info == "info"


def test_jaxprs_are_hashed_by_identity():
    jaxpr = sin_plus_const()
    assert len({jaxpr, jaxpr, jaxpr.replace()}) == 2
    assert weakref.ref(jaxpr)() is jaxpr


def test_closed_jaxpr_shows_its_jaxpr():
    jaxpr = sin_plus_const()
    closed = ClosedJaxpr(jaxpr, [1.0])
    for name in ("invars", "outvars", "constvars", "eqns", "in_avals", "out_avals"):
        assert getattr(closed, name) == getattr(jaxpr, name)
    assert closed.consts == [1.0]
    assert closed.in_avals == [F32] and closed.out_avals == [F32]


def test_closed_jaxpr_needs_all_constants():
    with pytest.raises(ValueError, match="1 constvars cannot be closed by 2"):
        ClosedJaxpr(sin_plus_const(), [1.0, 2.0])


def test_closed_jaxpr_replace():
    closed, other = ClosedJaxpr(sin_plus_const(), [1.0]), sin_plus_const()
    assert closed.replace(consts=[2.0]).consts == [2.0]
    assert closed.replace(jaxpr=other).jaxpr is other


def test_open_jaxpr():
    jaxpr = sin_plus_const()
    assert open_jaxpr(jaxpr) is open_jaxpr(ClosedJaxpr(jaxpr, [1.0])) is jaxpr


def test_jaxprs_in_params():
    j, k, m = sin_plus_const(), sin_plus_const(), sin_plus_const()
    params = {"jaxpr": ClosedJaxpr(j, [1.0]), "branches": (k, ClosedJaxpr(m, [1.0])), "n": 3}
    assert list(jaxprs_in_params(params)) == [j, k, m]


@pytest.mark.parametrize("name", ["Var", "Literal", "Jaxpr", "ClosedJaxpr", "JaxprEqn"])
@pytest.mark.live_jax
def test_attributes_are_among_jaxs(name):
    """Whoever knows ours knows JAX's."""
    import minijax.core.jaxpr as ours

    allowed = {"ref_count", "own_params"} | set(dir(getattr(jex, name)))
    if name == "JaxprEqn":
        allowed |= set(jax.make_jaxpr(jax.lax.sin)(1.0).eqns[0].__slots__)
    public = {a for a in dir(getattr(ours, name)) if not a.startswith("_")}
    assert public <= allowed
