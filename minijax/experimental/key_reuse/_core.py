"""Chapter 16: is a random key used twice?

A primitive's signature says which of its operands it consumes (`Sink`), which of its results are
fresh keys (`Source`), and which results are operands handed on (`Forward`). An equation's results
that are neither fresh nor handed on count as consumed. From the signatures of its equations follows
that of a jaxpr: one walk, in which each variable that holds keys has a mask of those consumed.

Under the setting `jax_debug_key_reuse`, the same signatures are applied to each evaluation: keys
are remembered as consumed, and a jitted function is one primitive, with the signature of its jaxpr.
"""

import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...core.array import Array
from ...core.core import Primitive, RuleTable, install_methods, typeof
from ...core.dtypes import issubdtype
from ...core.extension import Extension, register, remove
from ...core.jaxpr import ClosedJaxpr, Jaxpr, Literal, open_jaxpr
from ...core.jit import jit_p
from ...core.primitives import (
    broadcast_in_dim_p,
    convert_element_type_p,
    eq_p,
    ne_p,
    reshape_p,
    squeeze_p,
)
from ...core.staging import weakref_cache
from ...debugging.callbacks import debug_callback_p
from ...errors import KeyReuseError
from ...lax.control_flow.cond import cond_p
from ...lax.control_flow.scan import scan_p
from ...lax.control_flow.while_loop import while_p
from ...lax.cutting import concatenate_p, slice_p
from ...lax.dtypes import prng_key
from ...lax.gathering import gather_p
from ...lax.scattering import scatter_p
from ...lax.selection import select_n_p
from ...lax.shaping import copy_p
from ...lax.slicing import dynamic_slice_p, dynamic_update_slice_p
from ...parallel.programs.device_put import device_put_p
from ...parallel.programs.shard_map_primitive import shard_map_p
from ...parallel.programs.sharding_constraint import sharding_constraint_p
from ...random import keys as prng
from ...random.gamma import random_gamma_p
from ...random.settings import debug_key_reuse
from ...remat import remat_p

# ----------------------------------------------------------------------------------------------
# Signatures


class _KeysAt:
    """What happens to the keys in operand or result `idx`, or to those in a `mask` of them."""

    def __init__(self, idx: int, mask: Any = True):
        mask = np.array(mask, dtype=bool)
        self.idx, self.mask = idx, mask if mask.any() and not mask.all() else bool(mask.any())

    def _facts(self) -> tuple:
        return type(self).__name__, self.idx, np.shape(self.mask), np.asarray(self.mask).tobytes()

    def __eq__(self, other):
        return isinstance(other, _KeysAt) and self._facts() == other._facts()

    def __hash__(self):
        return hash(self._facts())

    def __repr__(self):
        mask = "" if self.mask is True else f", {self.mask}"
        return f"{type(self).__name__}({self.idx}{mask})"


class Sink(_KeysAt):
    """An operand whose keys are consumed."""


class Source(_KeysAt):
    """A result whose keys are fresh."""


class Forward(NamedTuple):
    """A result that is an operand."""

    in_idx: int
    out_idx: int

    def __repr__(self):
        return f"Forward({self.in_idx}, {self.out_idx})"


class KeyReuseSignature:
    """What a primitive or a jaxpr does with keys: a set of sinks, sources and forwards.

    >>> KeyReuseSignature(Source(0), Sink(1))
    KeyReuseSignature(Sink(1), Source(0))
    """

    def __init__(self, *parts: Sink | Source | Forward):
        self.parts = frozenset(parts)

    def __eq__(self, other):
        return isinstance(other, KeyReuseSignature) and self.parts == other.parts

    def __hash__(self):
        return hash(self.parts)

    def __repr__(self):
        order = {Sink: 0, Source: 1, Forward: 2}
        parts = sorted(self.parts, key=lambda part: (
            order[type(part)], *(part if isinstance(part, Forward) else (part.idx,))))
        return f"KeyReuseSignature{tuple(parts)}"

    def _of_class(self, cls) -> Iterator[Any]:
        return (part for part in self.parts if isinstance(part, cls))

    sinks = property(lambda self: self._of_class(Sink))
    sources = property(lambda self: self._of_class(Source))
    forwards = property(lambda self: self._of_class(Forward))


# primitive -> its signature, or a function of the equation's parameters and its operands' types.
key_reuse_signatures: dict[Primitive, KeyReuseSignature | Callable] = RuleTable()


def _signature(primitive: Primitive, params: dict, avals) -> KeyReuseSignature:
    """The signature of an equation. An unknown primitive consumes all keys that it gets."""
    rule = key_reuse_signatures.get(primitive)
    if rule is None:
        return KeyReuseSignature(*(Sink(i) for i, aval in enumerate(avals) if _has_keys(aval)))
    return rule if isinstance(rule, KeyReuseSignature) else rule(params, avals)


def _has_keys(aval) -> bool:
    return issubdtype(getattr(aval, "dtype", np.bool_), prng_key)


# ----------------------------------------------------------------------------------------------
# The signature of a jaxpr


class _Walk:
    """Which keys are consumed, from equation to equation."""

    def __init__(self):
        self.consumed: dict[Any, Any] = {}  # variable -> mask
        self.same_as: dict[Any, Any] = {}  # result -> the operand that it is

    def origin(self, var):
        """The variable that this one was handed on from."""
        while not isinstance(var, Literal) and var in self.same_as:
            var = self.same_as[var]
        return var

    def mask(self, var):
        """Which of its keys are consumed."""
        var = self.origin(var)
        return False if isinstance(var, Literal) else self.consumed.get(var, False)

    def consume(self, var, mask) -> bool:
        """Note the use of keys; false if one of them has been used before."""
        if not _has_keys(var.aval):
            return True
        before = self.mask(var)
        self.consumed[self.origin(var)] = np.logical_or(before, mask)
        return not np.any(np.logical_and(before, mask))

    def equation(self, eqn) -> None:
        """One equation. It is a `KeyReuseError` to use a key for the second time."""
        signature = _signature(eqn.primitive, eqn.own_params, [x.aval for x in eqn.invars])
        for in_idx, out_idx in signature.forwards:
            self.same_as[eqn.outvars[out_idx]] = eqn.invars[in_idx]
        for sink in sorted(signature.sinks, key=lambda sink: sink.idx):
            if not self.consume(eqn.invars[sink.idx], sink.mask):
                raise KeyReuseError(f"In {eqn.primitive}, argument {sink.idx} is already consumed.")
        fresh = {source.idx for source in signature.sources}
        for i, var in enumerate(eqn.outvars):
            if var not in self.same_as and _has_keys(var.aval):
                self.consumed[var] = i not in fresh


def jaxpr_type_signature(jaxpr: Jaxpr | ClosedJaxpr) -> KeyReuseSignature:
    """What a jaxpr does with the keys among its arguments, and then among its constants.

    Raises:
      KeyReuseError: it uses a key twice.
    """
    return _walk(open_jaxpr(jaxpr))


@weakref_cache
def _walk(jaxpr: Jaxpr) -> KeyReuseSignature:
    walk = _Walk()
    for eqn in jaxpr.eqns:
        walk.equation(eqn)
    inputs = {var: i for i, var in enumerate((*jaxpr.invars, *jaxpr.constvars))}
    parts: list[Any] = [Sink(i, walk.mask(var)) for var, i in inputs.items()
                        if _has_keys(var.aval) and var not in walk.same_as
                        and np.any(walk.mask(var))]
    for i, var in enumerate(jaxpr.outvars):
        origin = walk.origin(var)
        if not _has_keys(var.aval) or isinstance(origin, Literal):
            continue
        if origin in inputs:
            parts.append(Forward(inputs[origin], i))
        elif not np.any(walk.mask(origin)):
            parts.append(Source(i))
    return KeyReuseSignature(*parts)


def function_type_signature(fun: Callable, *args) -> KeyReuseSignature:
    """The signature of a function for such arguments.

    Raises:
      KeyReuseError: the function uses a key twice.

    >>> function_type_signature(jax.random.split, jax.random.key(0))
    KeyReuseSignature(Sink(0), Source(0))
    """
    from ...core.api import make_jaxpr

    return jaxpr_type_signature(make_jaxpr(fun)(*args))


def check_key_reuse(fun: Callable, /, *args) -> None:
    """Raise `KeyReuseError` if the function would use a key twice, without running it.

    >>> check_key_reuse(lambda key: jax.random.normal(key) + jax.random.uniform(key),
    ...                 jax.random.key(0))
    Traceback (most recent call last):
    minijax.errors.KeyReuseError: In jit, argument 0 is already consumed.
    """
    function_type_signature(fun, *args)


# ----------------------------------------------------------------------------------------------
# The signatures of primitives

_FIRST_HANDED_ON = KeyReuseSignature(Forward(0, 0))
_NEW = KeyReuseSignature(Source(0))
_USED = KeyReuseSignature(Sink(0))
_NOTHING = KeyReuseSignature()

key_reuse_signatures.update({
    **dict.fromkeys((broadcast_in_dim_p, copy_p, convert_element_type_p, reshape_p, squeeze_p,
                     sharding_constraint_p, dynamic_slice_p, gather_p), _FIRST_HANDED_ON),
    **dict.fromkeys((prng.random_clone_p, prng.random_fold_in_p, prng.random_seed_p,
                     prng.random_wrap_p), _NEW),
    **dict.fromkeys((prng.random_bits_p, random_gamma_p), _USED),
    **dict.fromkeys((prng.random_unwrap_p, debug_callback_p, eq_p, ne_p), _NOTHING),
    prng.random_split_p: KeyReuseSignature(Sink(0), Source(0)),
    dynamic_update_slice_p: KeyReuseSignature(Sink(1), Forward(0, 0)),
    scatter_p: KeyReuseSignature(Sink(2), Forward(0, 0)),
    device_put_p: lambda params, avals: KeyReuseSignature(
        *(Forward(i, i) for i in range(len(avals)))),
})


def _rule(*primitives: Primitive) -> Callable:
    """Decorator: the function of parameters and types is the rule of these primitives."""
    def decorate(rule):
        key_reuse_signatures.update(dict.fromkeys(primitives, rule))
        return rule

    return decorate


@_rule(slice_p)
def _slice(params, avals):
    """A slice takes its keys out of the array: each of them can be taken once."""
    if not _has_keys(avals[0]):
        return _FIRST_HANDED_ON
    starts, limits = params["start_indices"], params["limit_indices"]
    taken = np.zeros(avals[0].shape, bool)
    taken[tuple(map(slice, starts, limits, params["strides"] or [1] * len(starts)))] = True
    return KeyReuseSignature(Sink(0, taken), Source(0))


@_rule(concatenate_p)
def _concatenate(params, avals):
    if len(avals) == 1:
        return _FIRST_HANDED_ON
    return KeyReuseSignature(*(Sink(i) for i in range(len(avals))), Source(0))


@_rule(select_n_p)
def _select_n(params, avals):
    """All arrays of keys are used: a key of the result may be used elsewhere as well."""
    return KeyReuseSignature(*(Sink(i) for i in range(1, len(avals)) if _has_keys(avals[i])))


@_rule(jit_p, shard_map_p)
def _call(params, avals):
    return jaxpr_type_signature(params["jaxpr"])


@_rule(remat_p)
def _remat(params, avals):
    """The backward pass uses again what the forward pass, which counts, has used."""
    return _NOTHING if params["differentiated"] else jaxpr_type_signature(params["jaxpr"])


@_rule(cond_p)
def _cond(params, avals):
    """A key that one branch consumes is consumed; what all make is fresh."""
    branches = [jaxpr_type_signature(branch) for branch in params["branches"]]
    used: dict[int, Any] = {}
    for branch in branches:
        for sink in branch.sinks:
            used[sink.idx] = np.logical_or(used.get(sink.idx, False), sink.mask)
    common = frozenset.intersection(*(branch.parts for branch in branches))
    handed_on = [Forward(part.in_idx + 1, part.out_idx) for part in common
                 if isinstance(part, Forward)]
    fresh = [part for part in common if isinstance(part, Source)]
    return KeyReuseSignature(*(Sink(i + 1, mask) for i, mask in used.items()), *fresh, *handed_on)


def _check_loop(what: str, signature: KeyReuseSignature, n_consts: int, carries: int,
                renewed: set) -> set[int]:
    """A loop's body must not consume constants, nor carries that are not `renewed`; returns the
    carries that it consumes."""
    used = {sink.idx for sink in signature.sinks}
    again = {i for i in used if i < n_consts + carries} - {i + n_consts for i in renewed}
    if again:
        raise KeyReuseError(
            f"{what} function leads to key reuse when repeatedly executed: it consumes "
            f"the keys at index {sorted(again)} of its arguments in each round. Split the key that "
            f"is carried along, and carry a fresh one to the next round.")
    return {i - n_consts for i in used if n_consts <= i < n_consts + carries}


@_rule(scan_p)
def _scan(params, avals):
    signature = jaxpr_type_signature(params["jaxpr"])
    renewed = {source.idx for source in signature.sources if source.idx < params["num_carry"]}
    _check_loop("scan body", signature, params["num_consts"], params["num_carry"], renewed)
    return signature


@_rule(while_p)
def _while(params, avals):
    condition, body = (jaxpr_type_signature(params[f"{part}_jaxpr"]) for part in ("cond", "body"))
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    n_carry = len(avals) - n_cond - n_body
    renewed = {source.idx for source in body.sources}
    by_condition = _check_loop("while_loop cond", condition, n_cond, n_carry, renewed)
    if by_condition & _check_loop("while_loop body", body, n_body, n_carry, renewed):
        raise KeyReuseError("while_loop cond and body functions both use the same key. Carry one "
                            "key for each.")
    parts = [Sink(sink.idx + n_cond, sink.mask) for sink in body.sinks]
    parts += [Sink(i + n_cond + n_body) for i in by_condition]
    return KeyReuseSignature(*parts, *body.sources, *(
        Forward(part.in_idx + n_cond, part.out_idx) for part in body.forwards))


# ----------------------------------------------------------------------------------------------
# While programs run

_consumed: dict[int, Any] = {}  # by the id of an array of keys that is alive: which are consumed


def _is_consumed(key: Array):
    """Which keys of the array were used under `jax_debug_key_reuse`."""
    return _consumed.get(id(key), False)


install_methods({"_consumed": property(_is_consumed)}, Array)


def _remember(key: Array, mask) -> None:
    if id(key) not in _consumed:
        weakref.finalize(key, _consumed.pop, id(key), None)
    _consumed[id(key)] = mask


def _operands(primitive, args, params) -> list:
    """The operands that a signature speaks of."""
    return [*args, *params["jaxpr"].consts] if primitive is jit_p else [*args]


def _is_key(x) -> bool:
    return type(x) is not np.ndarray and isinstance(x, Array) and _has_keys(x.aval)


class KeyReuseChecks(Extension):
    """Every evaluation of a primitive with a signature is checked, and remembered."""

    def evaluate(self, primitive, args, params):
        if primitive in key_reuse_signatures:
            signature = _signature(primitive, params, [*map(typeof, args)])
            operands = _operands(primitive, args, params)
            for sink in signature.sinks:
                key = operands[sink.idx]
                if _is_key(key) and np.any(np.logical_and(_is_consumed(key), sink.mask)):
                    # JAX's name for a selection among keys, which it jits
                    jitted = primitive in (jit_p, select_n_p)
                    name = "jit-compiled function" if jitted else str(primitive)
                    raise KeyReuseError(
                        f"Previously-consumed key passed to {name} at index {sink.idx}")
        return NotImplemented

    def after_evaluation(self, primitive, args, params, out):
        if primitive not in key_reuse_signatures:
            return
        signature = _signature(primitive, params, [*map(typeof, args)])
        operands = _operands(primitive, args, params)
        outs = out if primitive.multiple_results else [out]
        for key in outs:
            if _is_key(key) and not any(key is x for x in operands):
                _remember(key, True)
        for sink in signature.sinks:
            key = operands[sink.idx]
            if _is_key(key):
                _remember(key, np.logical_or(_is_consumed(key), sink.mask))
        for in_idx, out_idx in signature.forwards:
            if _is_key(operands[in_idx]) and outs[out_idx] is not operands[in_idx]:
                _remember(outs[out_idx], _is_consumed(operands[in_idx]))
        for source in signature.sources:
            _consumed.pop(id(outs[source.idx]), None)


_checks = KeyReuseChecks()


def _watch(value: bool, begins: bool) -> None:
    """Register the checks for as long as the setting is on somewhere."""
    if value:
        (register if begins else remove)(_checks)


debug_key_reuse.watched_by(_watch)
