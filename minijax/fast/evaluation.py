"""Fast paths for the evaluation of primitives on NumPy.

`core/array.py` asks each argument for its type and its value, in Python functions. Here the usual
arguments, arrays whose contents are in NumPy, are read in place. Operations of one or two arguments
without parameters are so frequent that each has a path of its own, which skips all but two
look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any

import ml_dtypes
import numpy as np

from ..core.array import Array, _apart, _Quiet, contents, numpy_rules, quiet
from ..core.core import _CACHE_LIMIT, Primitive, ShapedArray, install_methods
from ..core.extension import Extension, register
from ..core.jit import traces
from ..fast_paths import on_numpy_if

# NumPy scalars that mean the same whether 64-bit types are enabled or not.
SCALAR_AVALS = {dtype.type: ShapedArray((), dtype) for dtype in map(np.dtype, (
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32",
    "complex64"))}

# With these, NumPy often computes as with int8: the lowest bits of the results are right.
NARROW = frozenset(map(np.dtype, (
    ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.uint4)))

run = _Quiet().run  # as `quiet.run`, without a look-up of the thread; for one thread at a time


def quietly(function: Callable, *values: Any) -> Any:
    """What a NumPy function returns for these values, without warnings."""
    try:
        return run(function, *values)
    except RuntimeError:  # another thread is there, or this one is
        return quiet.run(function, *values)


# primitive -> the evaluation rule made here, which does nothing else than call its NumPy rule
evaluations: dict[Primitive, Callable] = {}


def is_on_numpy(primitive: Primitive, avals: Sequence[ShapedArray]) -> bool:
    """Whether the evaluation of a primitive, at operands of these types, calls its NumPy rule."""
    if primitive.impl is evaluations.get(primitive):
        return True
    impl, condition = on_numpy_if.get(primitive, (None, bool))
    return primitive.impl is impl and condition(*avals)


def any_arguments(primitive: Primitive, rule: Callable) -> Callable:
    """An evaluation rule for any arguments and parameters."""

    def evaluate(*args, **params):
        avals, values, foreign = [], [], []
        for x in args:
            if type(x) is Array:
                value = x._host
                avals.append(x.aval)
                values.append(x._numpy() if value is None else value)
            else:
                aval, value = SCALAR_AVALS.get(type(x)), x
                if aval is None:
                    aval, value = contents(x)
                avals.append(aval)
                values.append(value)
                if isinstance(x, np.ndarray):
                    foreign.append(x)
        out_aval = primitive.out_aval(tuple(avals), params)
        out = quiet.run(rule, *values, **params)
        if primitive.multiple_results:
            out = [_apart(part, foreign) for part in out] if foreign else out
            return [*map(Array, out, out_aval)]
        if out.dtype is not out_aval.dtype and out_aval.dtype in NARROW:
            out = out.astype(out_aval.dtype)
        return Array(_apart(out, foreign) if foreign else out, out_aval)

    return evaluate


def one_array(rule: Callable, evaluate: Callable) -> Callable:
    """`evaluate`, with a fast path for an array in NumPy, of a type that was met before."""
    known: dict[tuple, ShapedArray] = {}

    def fast(x):
        if type(x) is Array and x._host is not None:
            out_aval = known.get((x.aval,))
            if out_aval is not None:
                return Array(quiet.run(rule, x._host), out_aval)
            return _remembered(known, (x.aval,), evaluate(x))
        return evaluate(x)

    return fast


def two_arrays(rule: Callable, evaluate: Callable) -> Callable:
    """`evaluate`, with a fast path for an array and an array or a NumPy scalar."""
    known: dict[tuple, ShapedArray] = {}

    def fast(x, y):
        if type(x) is Array:
            if type(y) is Array:
                y_value, y_aval = y._host, y.aval
            else:
                y_value, y_aval = y, SCALAR_AVALS.get(type(y))
            out_aval = known.get((x.aval, y_aval))
            x_value = x._host
            if x_value is not None and y_value is not None:
                if out_aval is not None:
                    return Array(quiet.run(rule, x_value, y_value), out_aval)
                if y_aval is not None:
                    return _remembered(known, (x.aval, y_aval), evaluate(x, y))
        return evaluate(x, y)

    return fast


def _remembered(known: dict, avals: tuple, out: Array) -> Array:
    """The result, whose type is remembered if NumPy computes in it."""
    if len(known) >= _CACHE_LIMIT:
        known.clear()
    if out.aval.dtype not in NARROW and out._host is not None:  # else XLA has computed it
        known[avals] = out.aval
    return out


def _number_of_arguments(rule: Callable) -> int | None:
    """How many arguments a NumPy rule takes, if it takes no parameters."""
    if isinstance(rule, np.ufunc):
        return rule.nin
    if not isinstance(rule, FunctionType):
        return None
    code = rule.__code__
    only_arguments = not (code.co_kwonlyargcount or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS))
    return code.co_argcount if only_arguments else None


def for_known_types(primitive: Primitive, rule: Callable, evaluate: Callable) -> Callable:
    """`evaluate`, with a fast path for types of operands for which it has called the NumPy rule."""
    number = _number_of_arguments(rule)
    if number not in (1, 2) or primitive.multiple_results:
        return evaluate
    return (one_array if number == 1 else two_arrays)(rule, evaluate)


class FastEvaluation(Extension):
    """Gives each primitive that is evaluated on NumPy the fast path for its arguments."""

    def evaluation_rule(self, primitive, rule, evaluate):
        evaluate = for_known_types(primitive, rule, any_arguments(primitive, rule))
        evaluations[primitive] = evaluate
        return evaluate


def register_evaluation(extension: Extension) -> None:
    """Register an extension, whose rules primitives that were defined before get as well."""
    register(extension)
    for primitive, rule in numpy_rules.items():
        primitive.def_impl(extension.evaluation_rule(primitive, rule, primitive.impl))


register_evaluation(FastEvaluation())


def forget_when_replaced() -> None:
    """From now on, what was learned of an evaluation rule is forgotten when another one replaces
    it."""
    install_methods({"def_impl": def_impl}, Primitive)


def def_impl(self, impl):
    """`Primitive.def_impl`. Fast paths have looked up the rule that there was."""
    if "impl" in self.__dict__:
        forget_evaluations()
    return def_impl_in_the_core(self, impl)


def forget_evaluations() -> None:
    """Forget what was learned of evaluation rules: the caches that have a name. Those of a jitted
    function have its options; its traces and programs depend on no evaluation rule."""
    for reference in traces.keyrefs():
        owner = reference()
        for name, cache in [*traces.get(owner, {}).items()] if owner is not None else ():
            if type(name) is str:
                cache.clear()


def_impl_in_the_core = Primitive.def_impl
