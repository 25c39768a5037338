"""Chapter 9: the order of complex numbers, evaluated on NumPy.

NumPy and XLA order complex numbers alike, by real parts and then by imaginary parts, until a part
is NaN. NumPy's maximum of a NaN is that NaN. XLA selects its second operand then, because no
comparison with NaN is true, and so XLA's result also depends on the order of the operands.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.array import def_numpy, numpy_rules
from ..core.core import Primitive, eval_trace, set_current_trace
from ..runtime.dispatch import apply_primitive


def _extreme(ufunc: np.ufunc, is_before: np.ufunc) -> Callable:
    """`maximum` or `minimum`, for complex numbers with XLA's choice."""

    def rule(x, y):
        if x.dtype.kind != "c":
            return ufunc(x, y)
        tie = x.real == y.real
        first = np.where(tie, is_before(x.imag, y.imag), is_before(x.real, y.real))
        return np.where(first, x, y)

    return rule


maximum, minimum = _extreme(np.maximum, np.greater), _extreme(np.minimum, np.less)


def clamp(low, x, high):
    """`x` in the interval from `low` to `high`; XLA compares only the real parts of each."""
    if x.dtype.kind != "c":
        return np.minimum(np.maximum(low, x), high)
    raised = np.where(low.real >= x.real, low, x)
    return np.where(high.real >= raised.real, raised, high)


def leave_nan_to_xla(*primitives: Primitive) -> None:
    """Let XLA evaluate these reductions by maxima or minima if there are complex NaNs.

    XLA decides in which order it reduces, and the result depends on that order.
    """
    for primitive in primitives:
        def_numpy(primitive, _without_nan(primitive, numpy_rules[primitive]))


def _without_nan(primitive: Primitive, plain: Callable) -> Callable:
    def rule(x, *others, **params):
        if x.dtype.kind != "c" or not any(map(_has_nan, (x, *others))):
            return plain(x, *others, **params)
        with set_current_trace(eval_trace):
            return np.asarray(apply_primitive(primitive, x, *others, **params))

    return rule


def _has_nan(x: np.ndarray) -> bool:
    return x.dtype.kind == "c" and bool(np.isnan(x).any())


def sort_keys(x: np.ndarray) -> list[np.ndarray]:
    """The real arrays that order an array, the first one first. A NaN comes after all numbers."""
    return [x.real, x.imag] if x.dtype.kind == "c" else [x]
