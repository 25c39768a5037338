"""A fast path for the public functions that are one `jit` equation when they are traced.

Called with arrays, such a function runs as it is, and each of its operations looks up types that
follow from those of the arguments. So after a few calls with the same types it is traced, and its
jaxpr becomes one Python function, which calls the primitives' NumPy rules.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from .. import fast_paths  # noqa: F401  (it makes `staged_function` a point of `Extension`)
from ..core.array import Array
from ..core.core import eval_trace, state, typeof
from ..core.extension import Extension, hooks, register
from ..core.jaxpr import ClosedJaxpr, Literal, eval_jaxpr
from ..core.jit import cache_of, remember, traces
from ..core.staging import trace_to_jaxpr
from ..core.tree import tree_flatten
from ..settings import disable_jit, trace_context
from .rules import USES, Program

_NUMBERS = {int, float, bool}
_PLAIN = {int, bool, str, type(None), np.dtype}  # equal values of one of these mean the same
_LARGEST = 60  # equations: a longer program spends its time in NumPy


class TracedCall:
    """The calls of a function with arguments of some types, as a program.

    Args:
      operands: arrays and Python numbers, by whose types `fun` is traced.

    Raises:
      ValueError: the function is not made of operations that NumPy evaluates, or is too long.
    """

    __slots__ = ("_program", "_out_tree", "_casts")

    def __init__(self, fun: Callable, operands: Sequence):
        avals = [*map(typeof, operands)]
        self._out_tree: Any = None

        def flat_fun(*args):
            leaves, self._out_tree = tree_flatten(fun(args))
            return leaves

        with disable_jit(True):
            closed = without_calls(trace_to_jaxpr(flat_fun, avals))
        self._program = Program(closed)
        forwards = not {*closed.jaxpr.invars}.isdisjoint(closed.jaxpr.outvars)
        if self._program.on_numpy is None or forwards or len(closed.eqns) > _LARGEST:
            raise ValueError("This function is called as it is.")
        self._casts = [aval.dtype.type if type(x) in _NUMBERS else None
                       for x, aval in zip(operands, avals)]

    def __call__(self, operands: Sequence) -> Any:
        outs = self._program.run(eval_trace, [
            x if cast is None else cast(x) for x, cast in zip(operands, self._casts)])
        return self._out_tree.unflatten(outs)


def without_calls(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr with the programs of functions that have their own derivative in place of calls."""
    def run(*args):
        env = dict(zip([*closed.constvars, *closed.invars], [*closed.consts, *args], strict=True))

        def read(atom):
            return atom.val if type(atom) is Literal else env[atom]

        for eqn in closed.eqns:
            values = [read(atom) for atom in eqn.invars]
            if eqn.primitive.name == "stop_gradient":
                outs = values
            elif type(called := eqn.params.get("call_jaxpr")) is ClosedJaxpr:
                inner = without_calls(called)
                outs = eval_jaxpr(inner.jaxpr, inner.consts, *values)
            else:
                outs = eqn.primitive.bind(*values, **eqn.params)
                outs = outs if eqn.primitive.multiple_results else [outs]
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(atom) for atom in closed.outvars]

    if all("call_jaxpr" not in eqn.params and eqn.primitive.name != "stop_gradient"
           for eqn in closed.eqns):
        return closed
    return trace_to_jaxpr(run, closed.in_avals)


def is_plain(x: Any) -> bool:
    """Whether a static argument means the same as any equal value of its class."""
    if type(x) is tuple:
        return all(type(n) is int or type(n) is tuple and is_plain(n) for n in x)
    return type(x) in _PLAIN or isinstance(x, (type, np.dtype))


def with_traced_calls(function: Callable, static: Collection[str | int]) -> Callable:
    """`function`, with the fast path for calls whose other arguments are arrays and numbers."""
    parameters = [*inspect.signature(function).parameters]
    static = {*static, *(i for i, name in enumerate(parameters) if name in static)}
    found: dict[tuple, Any] = cache_of(traces, function, "traced calls")

    @functools.wraps(function)
    def call(*args, **kwargs):
        if (state.trace is not eval_trace or hooks.evaluate or hooks.after_evaluation
                or sys.gettrace() is not None):
            return function(*args, **kwargs)
        operands, places, key = [], [], [len(args), trace_context(), *kwargs]
        for place, x in (*enumerate(args), *kwargs.items()):
            kind = type(x)
            if place in static:
                if not is_plain(x):
                    return function(*args, **kwargs)
                key += kind, x
                continue
            if kind is Array:
                key.append(x.aval)
            elif x is None:
                key.append(None)
                continue
            elif kind in _NUMBERS:
                key.append(kind)
            else:
                return function(*args, **kwargs)
            operands.append(x)
            places.append(place)
        program = found.get(tuple(key), 0)
        if type(program) is TracedCall:
            try:
                return program(operands)
            except OverflowError:  # an integer that is too large for its type
                pass
        elif program is not None:
            remember_use(tuple(key), program, places, operands, args, kwargs)
        return function(*args, **kwargs)

    def remember_use(key, uses, places, operands, args, kwargs):
        program = uses + 1
        if uses >= USES:
            def fun(operands):
                by_place = dict(zip(places, operands))
                return function(*[by_place.get(i, x) for i, x in enumerate(args)],
                                **{name: by_place.get(name, x) for name, x in kwargs.items()})
            try:
                program = TracedCall(fun, operands)
            except Exception:  # to call the function raises what there is to raise
                program = None
        found.pop(key, None)
        remember(found, key, program)

    return call


class FastStaged(Extension):
    """Functions that are often called with the same types are called as programs."""

    def staged_function(self, function, static):
        return with_traced_calls(function, static)


register(FastStaged())
