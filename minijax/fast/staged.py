"""A fast path for the public functions that are one `jit` equation when they are traced.

Called with arrays, such a function runs as it is, and each of its operations looks up types that
follow from those of the arguments. So after a few calls with the same types it is traced, and its
jaxpr becomes one Python function, which calls the primitives' NumPy rules.
"""

from __future__ import annotations

import enum
import functools
import inspect
import threading
from collections.abc import Callable, Collection, Sequence
from sys import gettrace
from types import FunctionType
from typing import Any

import numpy as np

from .. import fast_paths  # noqa: F401  (it makes `staged_function` a point of `Extension`)
from ..core.array import Array, quiet
from ..core.core import eval_trace, state, typeof
from ..core.extension import Extension, hooks, register
from ..core.jit import cache_of, remember, traces
from ..core.staging import trace_to_jaxpr
from ..core.tree import tree_flatten
from ..settings import disable_jit, numpy_rank_promotion, trace_context
from .evaluation import SCALAR_AVALS
from .large import SOME, Compiled, is_compiled, is_large, is_long_and_exact, is_slow, takes_long
from .programs import numpy_function, only
from .repeated import DIFFERENT
from .rules import USES

_NUMBERS = {int, float, bool, complex}
_OPERANDS = {Array, np.ndarray, *_NUMBERS, *SCALAR_AVALS}
_PLAIN = {int, bool, str, type(None), np.dtype}  # equal values of one of these mean the same
_INTEGERS = {int}
_LEAF = tree_flatten(0)[1]
_LARGEST = 60  # equations: a longer program spends its time in NumPy


class _Inlining(threading.local):
    """Whether this thread traces a call, in which functions stand instead of `jit` equations."""

    active = False


_inlining = _Inlining()


def never_inlined(function: Callable) -> Callable:
    """`function`, which is always compiled, so that no program on NumPy can do what it does."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        if _inlining.active:
            raise NotImplementedError(f"{function.__name__} is compiled.")
        return function(*args, **kwargs)

    return call


def traced_call(fun: Callable, operands: Sequence) -> Any:
    """The calls of a function with arguments of some types: as a function of NumPy values, or
    `Compiled`.

    Args:
      operands: arrays and Python numbers, by whose types `fun` is traced.

    Raises:
      NotImplementedError: an operation is not evaluated on NumPy.
      ValueError: the program is too long, or returns an argument.
    """
    avals = [*map(typeof, operands)]
    out_tree: Any = None

    def flat_fun(*args):
        nonlocal out_tree
        leaves, out_tree = tree_flatten(fun(args))
        return leaves

    with disable_jit(True):
        _inlining.active = True
        try:
            closed = trace_to_jaxpr(flat_fun, avals)
        finally:
            _inlining.active = False
    forwards = not {*closed.jaxpr.invars}.isdisjoint(closed.jaxpr.outvars)
    slow = any(map(is_slow, operands)) and takes_long(closed)
    if not forwards and (slow or is_compiled(closed, operands) or is_long_and_exact(closed)):
        return Compiled(fun)
    if forwards or len(closed.eqns) > _LARGEST:
        raise ValueError("This function is called as it is.")
    casts = [aval.dtype.type if type(x) in _NUMBERS else None for x, aval in zip(operands, avals)]
    return numpy_function(closed, casts, only if out_tree == _LEAF else out_tree.unflatten)


def _value(x: Any) -> Any:
    """What NumPy takes for an operand. An array of the user's can change, so it is copied."""
    if type(x) is Array:
        return x._numpy()
    return np.array(x, x.dtype.type) if type(x) is np.ndarray else x


def is_plain(x: Any) -> bool:
    """Whether a static argument means the same as any equal value of its class."""
    if type(x) is tuple:
        return {*map(type, x)} <= _INTEGERS or all(
            type(n) is int or type(n) is tuple and is_plain(n) for n in x)
    return type(x) in _PLAIN or isinstance(x, (type, np.dtype, enum.Enum))


def is_sequence(x: Any) -> bool:
    """Whether it is a list or a tuple of arrays."""
    return type(x) in (list, tuple) and {*map(type, x)} == {Array}


def _program_of(function: Callable, static: Collection[str | int], args: tuple,
                kwargs: dict) -> Any:
    """The program of calls like this one; `None` if the function is called as it is."""
    if numpy_rank_promotion.value == "warn":  # in each call
        return None
    given = {**dict(enumerate(args)), **kwargs}
    places = [place for place, x in given.items() if type(x) is Array or (
        place not in static and (type(x) in _OPERANDS or is_sequence(x)))]
    operands, tree = tree_flatten([given.pop(place) for place in places])
    number, names = len(args), [*kwargs]

    def fun(operands):
        by_place = given | dict(zip(places, tree.unflatten(operands)))
        return function(*map(by_place.get, range(number)),
                        **{name: by_place[name] for name in names})

    try:
        return traced_call(fun, operands)
    except Exception:  # to call the function raises what there is to raise
        return None


def with_traced_calls(function: Callable, static: Collection[str | int]) -> Callable:
    """`function`, with the fast path for calls whose other arguments are arrays and numbers."""
    code = inspect.unwrap(function).__code__  # a signature takes long to make
    parameters = code.co_varnames[:code.co_argcount]
    static = {*static, *(i for i, name in enumerate(parameters) if name in static)}
    # With no more positional arguments than this, none is static.
    before_static = min((i for i in static if type(i) is int), default=len(code.co_varnames))
    found: dict[tuple, Any] = cache_of(traces, function, "traced calls")

    @functools.wraps(function)
    def call(*args, **kwargs):
        if (state.trace is not eval_trace or hooks.evaluate or hooks.after_evaluation
                or gettrace() is not None):
            return function(*args, **kwargs)
        if kwargs or len(args) > before_static:
            return described(args, kwargs)
        key, values, in_numpy = [trace_context()], [], True
        for x in args:
            if type(x) is Array:
                key.append(x.aval)
                values.append(value := x._host)
                if value is None:
                    in_numpy = False
            else:
                key.append(type(x))
                values.append(x)
        program = found.get(tuple(key), 0)
        try:
            if type(program) is FunctionType:
                return quiet.run(program, *(values if in_numpy else map(_value, args)))
            if type(program) is Compiled:
                return program.run(args)
        except OverflowError:  # an integer that is too large for its type
            program = None
        return function(*args) if program is None else described(args, kwargs)

    def described(args, kwargs):
        """The same for any call. The key has the names and the static arguments."""
        key, operands = [trace_context(), *kwargs], []
        for place, x in (*enumerate(args), *kwargs.items()):
            kind = type(x)
            if place in static and kind is not Array:
                if kind not in _PLAIN and not is_plain(x):
                    return function(*args, **kwargs)
                key += kind, x
            elif kind is np.ndarray:
                if x.dtype.type not in SCALAR_AVALS:
                    return function(*args, **kwargs)
                key += kind, x.dtype, x.shape
                operands.append(x)
            elif kind in _OPERANDS:
                key.append(x.aval if kind is Array else kind)
                operands.append(x)
            elif x is None:
                key.append(None)
            elif is_sequence(x):
                key += kind, len(x), *[y.aval for y in x]
                operands += x
            else:
                return function(*args, **kwargs)
        program = found.get(signature := tuple(key), 0)
        if type(program) is int:
            program = program + 1
            if program > USES or any(is_large(x, SOME) or is_slow(x) for x in operands):
                program = _program_of(function, static, args, kwargs)
            found.pop(signature, None)
            remember(found, signature, program)
        try:
            if type(program) is FunctionType:
                return quiet.run(program, *map(_value, operands))
            if type(program) is Compiled:
                return program.run(tuple(operands))
        except OverflowError:  # an integer that is too large for its type
            pass
        return function(*args, **kwargs)

    return call


def with_last_program(call: Callable, jitted: Callable) -> Callable:
    """`call`, which calls the jitted function that `jitted()` returns. Where calls look alike, it
    goes straight to their program."""
    repeated: dict[str, Callable] | None = None

    @functools.wraps(call)
    def straight(*args, **kwargs):
        nonlocal repeated
        if repeated and state.trace is eval_trace and not hooks.after_evaluation:
            try:
                result = repeated["run"](args, kwargs)
                if result is not DIFFERENT:
                    return result
            except RuntimeError:  # the other way says what it means
                pass
        elif repeated is None:
            repeated = getattr(jitted(), "_repeated", {})
        return call(*args, **kwargs)

    return straight


class FastStaged(Extension):
    """Functions that are often called with the same types are called as programs."""

    def staged_function(self, function, static):
        return with_traced_calls(function, static)

    def compiled_call(self, call, jitted):
        return with_last_program(call, jitted)

    def compiled_function(self, function):
        return never_inlined(function)


register(FastStaged())
