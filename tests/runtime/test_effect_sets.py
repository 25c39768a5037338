"""Effects of a program's own making: kept by every transformation, refused where JAX refuses them."""

from __future__ import annotations

import numpy as np
import pytest

from minijax.core.jaxpr import Effect, no_effects
from minijax.runtime.effect_sets import EffectTypeSet
from tests.oracle import in_both, jax, oracle, subject

jax_effects = jax._src.effects

ONE = np.float32(1)
SETS = {oracle: jax_effects, subject: subject._src.effects}


def primitive(jx, allowed: bool):
    """An identity with an effect that may, or may not, happen in control flow."""
    kind = type("Ping", (SETS[jx].Effect,), {"__str__": lambda self: "Ping"})
    if allowed:
        SETS[jx].control_flow_allowed_effects.add_type(kind)
    p = jx.extend.core.Primitive("ping")
    p.def_effectful_abstract_eval(lambda x: (x, {kind()}))
    p.def_impl(lambda x: x)
    jx.interpreters.ad.primitive_jvps[p] = lambda primals, tangents: (p.bind(*primals), tangents[0])
    jx.interpreters.batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), dims[0])
    return p


PROGRAMS = {
    "plain": lambda jx, p: lambda x: (p.bind(x), x)[1],
    "jit": lambda jx, p: jx.jit(lambda x: (p.bind(x), x)[1]),
    "scan": lambda jx, p: lambda x: jx.lax.scan(lambda c, _: (p.bind(c), None), x, None, length=2),
    "unread scan": lambda jx, p: lambda x: (
        jx.lax.scan(lambda c, _: (p.bind(c), None), x, None, length=2), x)[1],
    "while": lambda jx, p: lambda x: jx.lax.while_loop(lambda x: x < 2, p.bind, x),
    "while condition": lambda jx, p: lambda x: jx.lax.while_loop(
        lambda x: p.bind(x) < 2, lambda x: x + 1, x),
    "cond": lambda jx, p: lambda x: jx.lax.cond(x < 2, p.bind, lambda x: x, x),
    "switch": lambda jx, p: lambda x: jx.lax.switch(0, [p.bind, lambda x: x, lambda x: -x], x),
    "vmap": lambda jx, p: jx.vmap(lambda x: (p.bind(x), x)[1], in_axes=None, axis_size=2),
    "jvp": lambda jx, p: lambda x: jx.jvp(lambda x: (p.bind(x), x * x)[1], (x,), (x,)),
    "grad of jit": lambda jx, p: jx.grad(jx.jit(lambda x: (p.bind(x), x * x)[1])),
    "grad of scan": lambda jx, p: jx.grad(lambda x: jx.lax.scan(
        lambda c, y: (p.bind(c) * y, None), x, np.ones(2, np.float32))[0]),
}


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
@in_both
def test_effects_of_jaxprs(jx, name, allowed):
    f = PROGRAMS[name](jx, primitive(jx, allowed))
    # In a scan with effects JAX saves what it is given anyway: there the text differs.
    text = str if name != "grad of scan" else lambda jaxpr: str(jaxpr).count("ping")
    x = ONE
    return [len(jx.make_jaxpr(f)(x).effects), text(jx.make_jaxpr(f)(x))]


def test_sets_of_effects():
    class One(Effect):
        pass

    class Two(Effect):
        pass

    allowed, one, two = EffectTypeSet(), One(), Two()
    allowed.add_type(One)
    assert allowed.contains(one) and not allowed.contains(two)
    assert allowed.filter_in([one, two]) == [one]
    assert allowed.filter_not_in([one, two]) == [two]
    assert subject.make_jaxpr(lambda x: x + 1)(1.0).effects == no_effects == jax.extend.core.no_effects
