"""Chapter 9: integers of fewer than eight bits wrap around.

NumPy computes many functions of `ml_dtypes.int4` in int8. The lowest bits of such a result are
right, and here the others are dropped.
"""

from __future__ import annotations

import functools

import numpy as np

from ..core import array
from ..core.array import Array, numpy_rules
from ..core.dtypes import issubdtype
from ..core.extension import Extension, register


class WrapAround(Extension):
    """Converts results of NumPy to the narrow element type that they should have."""

    def evaluation_rule(self, primitive, rule, evaluate):
        if primitive.multiple_results or evaluate.__module__ != array.__name__:
            return evaluate  # a fast path converts by itself

        @functools.wraps(evaluate)
        def narrowed(*args, **params):
            out = evaluate(*args, **params)
            dtype, value = out.aval.dtype, out._host
            if dtype.kind != "V" or value is None or value.dtype == dtype:
                return out
            return Array(value.astype(dtype), out.aval) if issubdtype(dtype, np.integer) else out

        return narrowed


wrap_around = WrapAround()
register(wrap_around)
for primitive, rule in numpy_rules.items():  # of the engine's primitives
    primitive.def_impl(wrap_around.evaluation_rule(primitive, rule, primitive.impl))
