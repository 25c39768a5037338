"""Large arrays: XLA computes what it does much faster than NumPy.

NumPy makes a pass over the memory, and new memory, for each operation; a program of XLA's makes one
for all of them. For arrays of many elements this is worth compiling a program, as JAX does at any
size. The size alone decides, so that a function gives the same bits in each call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array, numpy_rules
from ..core.batching import primitive_batchers
from ..core.extension import Extension, register
from ..core.jaxpr import ClosedJaxpr
from ..core.jit import jit
from ..core.primitives import add_p, sin_p
from ..fast_paths import on_numpy_if
from ..runtime import forks
from ..runtime.dispatch import apply_primitive

MANY = 2**18  # elements: with fewer, a program has to be called often to pay for its compilation
_SHORT = 64  # elements: NumPy reduces shorter rows one by one

# Primitives for which NumPy takes more than one and a half times as long, or several passes.
SLOW = {"acosh", "atanh", "clz", "log1p", "logistic", "mulhi", "population_count", "round",
        "select_n", "shift_left", "shift_right_arithmetic", "shift_right_logical"}
REDUCTIONS = {"reduce_max", "reduce_min", "reduce_prod", "reduce_sum"}
_MOVES = {"broadcast_in_dim", "convert_element_type", "select_n"}
# The batching rules of elementwise primitives have the code of one of these two.
_BY_ELEMENT = {getattr(primitive_batchers[p], "__code__", None) for p in (sin_p, add_p)} - {None}


class Compiled:
    """A function of large arrays as a program of XLA's."""

    __slots__ = ("run",)

    def __init__(self, fun: Callable):
        self.run = jit(lambda *operands: fun(operands))


def is_large(x: Any) -> bool:
    """Whether an operand has so many elements, of a dtype of NumPy's, and XLA can be used."""
    if type(x) is not Array or x.aval.size < MANY:
        return False
    dtype = x.aval.dtype
    return isinstance(dtype, np.dtype) and dtype.isbuiltin == 1 and not forks.inherited


def is_elementwise(closed: ClosedJaxpr) -> bool:
    """Whether each element of the results depends on one element of each operand. At most other
    operations NumPy is no worse than XLA, and at sorting it is much better."""
    return all(
        is_elementwise(called) if type(called := eqn.params.get("call_jaxpr")) is ClosedJaxpr
        else eqn.primitive.name in _MOVES or (
            getattr(primitive_batchers.get(eqn.primitive), "__code__", None) in _BY_ELEMENT)
        for eqn in closed.eqns)


def _has_short_rows(aval: Any, axes: tuple) -> bool:
    """Whether the last dimension is reduced, and is short."""
    return aval.ndim - 1 in axes and len(axes) < aval.ndim and aval.shape[-1] < _SHORT


class FastLarge(Extension):
    """Gives the slow primitives a rule that compiles them for large arrays."""

    def evaluation_rule(self, primitive, rule, evaluate):
        reduces = primitive.name in REDUCTIONS
        if not reduces and primitive.name not in SLOW:
            return evaluate

        def of_any_size(*args, **params):
            x = args[-1]
            if is_large(x) and (not reduces or _has_short_rows(x.aval, params["axes"])):
                return apply_primitive(primitive, *args, **params)
            return evaluate(*args, **params)

        on_numpy_if[primitive] = of_any_size, lambda *avals: avals[-1].size < MANY
        return of_any_size


fast_large = FastLarge()
register(fast_large)
for primitive, rule in numpy_rules.items():  # of primitives that were defined before
    primitive.def_impl(fast_large.evaluation_rule(primitive, rule, primitive.impl))
