"""Fast paths for `x + y` and its like, where both operands are of one type, or one is a number.

The operators of `core/operators.py` promote their operands and bind a primitive. Here operands that
need no promotion are handed to the current trace at once. If nothing is traced, `x + y` and its
like go straight to the primitive's evaluation rule, and NumPy's own function takes a third of the
time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.array import Array, is_arraylike, quiet
from ..core.core import Primitive, eval_trace, install_methods, state
from ..core.dtypes import short_of
from ..core.extension import Extension, hooks, register
from ..core.operators import BINARY, binary_function, install_binary_operators
from ..settings import enable_x64

_SCALAR_KINDS = {bool: 0, int: 1, float: 2, complex: 3}
_ARRAY_KINDS = {"i": 1, "u": 1, "f": 2, "c": 3}


def scalar_operand(x: Any, aval) -> Any:
    """The Python scalar `x` beside an array of strong type `aval`, or `None` if it widens it."""
    kind = _SCALAR_KINDS.get(type(x))
    if kind is None or aval.weak_type or kind > _ARRAY_KINDS.get(aval.dtype.kind, -1):
        return None
    if kind == 1 and not -2**31 <= x < 2**31:  # refused, or an integer of 64 bits
        return None
    if aval.dtype in short_of and not enable_x64.value:  # the core shortens the dtype
        return None
    try:
        return quiet.run(aval.dtype.type, x)
    except OverflowError:  # too large for a short type, in which it wraps around
        return None


def fast_function(primitive: Primitive, kinds: str, function: Callable) -> Callable:
    """`function`, with a fast path for operands of these kinds that need no promotion."""

    def fast(x, y, /):
        aval = getattr(x, "aval", None)
        if aval is not None:
            if aval.dtype.kind in kinds:
                if aval is getattr(y, "aval", None):
                    return state.trace.process_primitive(primitive, (x, y), {})
                scalar = scalar_operand(y, aval)
                if scalar is not None:
                    return state.trace.process_primitive(primitive, (x, scalar), {})
        elif hasattr(y, "aval") and y.aval.dtype.kind in kinds:
            scalar = scalar_operand(x, y.aval)
            if scalar is not None:
                return state.trace.process_primitive(primitive, (scalar, y), {})
        return function(x, y)

    return fast


def fast_operator(function: Callable, primitive: Primitive, kinds: str) -> Callable:
    """The operator of a function, with a fast path for evaluation."""
    evaluate = primitive.impl

    def method(self, other):
        if (type(self) is Array and state.trace is eval_trace
                and not (hooks.evaluate or hooks.after_evaluation)):
            aval = self.aval
            if type(other) is Array:
                if other.aval is aval and aval.dtype.kind in kinds:
                    return evaluate(self, other)
            elif (type(other) is float and aval.dtype.kind == "f" and not aval.weak_type
                  and (aval.dtype.itemsize < 8 or enable_x64.value)):
                return evaluate(self, quiet.run(aval.dtype.type, other))
        return function(self, other) if is_arraylike(other) else NotImplemented

    return method


class FastOperators(Extension):
    """Gives each function behind a binary operator its fast path."""

    def operator_function(self, primitive, kinds, function):
        return fast_function(primitive, kinds, function)


register(FastOperators())
for operator, row in BINARY.items():
    function = binary_function(*row)
    install_binary_operators({operator: function})
    if operator in ("add", "sub", "mul", "truediv"):
        primitive, kinds = row[1], "fc" if operator == "truediv" else "iufc"
        install_methods({f"__{operator}__": fast_operator(function, primitive, kinds)})
