"""Statements about random keys, which JAX's tests of `key_reuse` make: used already, or not yet."""

from __future__ import annotations

import numpy as np

from minijax.core.batching import defvectorized
from minijax.core.core import Primitive
from minijax.core.forward import defjvp_zero
from minijax.core.jaxpr import Effect
from minijax.core.lowering import register_lowering
from minijax.experimental.key_reuse import _core
from minijax.experimental.key_reuse._core import Forward, KeyReuseSignature, Sink
from minijax.runtime.effect_sets import (
    control_flow_allowed_effects,
    lowerable_effects,
    remat_allowed_effects,
)


class _KeyEffect(Effect):
    """Keeps these equations in jaxprs, although nobody needs their results."""

    __slots__ = ()


for _allowed in (control_flow_allowed_effects, lowerable_effects, remat_allowed_effects):
    _allowed.add_type(_KeyEffect)
_effect = _KeyEffect()


def _identity_with_effect(name: str) -> Primitive:
    primitive = Primitive(name)
    primitive.def_impl(lambda x, **params: x)
    primitive.def_effectful_abstract_eval(lambda x, **params: (x, {_effect}))
    defvectorized(primitive)
    defjvp_zero(primitive)
    register_lowering(primitive, lambda ctx, x, **params: x)
    return primitive


class _Expected:
    """A mask as a parameter of an equation, which must be hashable."""

    def __init__(self, mask):
        self.mask = np.array(mask, bool)

    def __hash__(self):
        return hash(self.mask.tobytes())

    def __eq__(self, other):
        return isinstance(other, _Expected) and np.array_equal(self.mask, other.mask)

    def __repr__(self):
        return str(self.mask.tolist())


consume_p = _identity_with_effect("consume")
assert_consumed_value_p = _identity_with_effect("assert_consumed_value")


def consume(key):
    """The keys, which count as used from here on."""
    return consume_p.bind(key)


def assert_unconsumed(key) -> None:
    """Say that no key has been used yet; `check_key_reuse` raises `AssertionError` otherwise."""
    assert_consumed_value_p.bind(key, value=_Expected(False))


def assert_consumed(key, value=True) -> None:
    """Say that these keys have been used: all, or those where `value` is true."""
    assert_consumed_value_p.bind(key, value=_Expected(value))


def check_key_reuse_jaxpr(jaxpr) -> None:
    """Raise `KeyReuseError` if the jaxpr uses a key twice."""
    _core.jaxpr_type_signature(jaxpr)


def _check_statement(expected, actual) -> None:
    if not np.all(expected == actual):
        raise AssertionError(f"Keys are said to be consumed where {np.asarray(expected).tolist()}, "
                             f"and are consumed where {np.asarray(actual).tolist()}.")


def _equation(usual, walk, eqn) -> None:
    if eqn.primitive is assert_consumed_value_p:
        _check_statement(eqn.own_params["value"].mask, walk.mask(eqn.invars[0]))
    usual(walk, eqn)


SHOWN = ("consume", "consume_p", "assert_consumed", "assert_unconsumed", "assert_consumed_value_p",
         "check_key_reuse_jaxpr")


def _shown(name: str):
    if name in SHOWN:
        return globals()[name]
    raise AttributeError(f"module {_core.__name__!r} has no attribute {name!r}")


def show() -> None:
    """Let the module in which JAX has these names find them. They are no attributes of it: the
    primitives that the library's modules have are those of the atlas."""
    if hasattr(_core, "consume"):
        return
    _core._Walk.equation = lambda walk, eqn, usual=_core._Walk.equation: _equation(usual, walk, eqn)
    _core.key_reuse_signatures.update({
        consume_p: KeyReuseSignature(Sink(0), Forward(0, 0)),
        assert_consumed_value_p: KeyReuseSignature(Forward(0, 0))})
    _core.__getattr__ = _shown
