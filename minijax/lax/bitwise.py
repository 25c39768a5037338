"""Chapter 9: logic and shifts, bit by bit."""

from __future__ import annotations

import numpy as np

from ..core.batching import defbroadcasting
from ..core.elsewhere import shift_right_logical_p, xor_p
from ..core.forward import defjvp_zero
from ..core.lowering import nary_rule, register_lowering
from ..core.primitives import BOOL_OR_INT, and_p, not_p, or_p
from .families import INTEGER, binary_function, binary_row, unary_function

bitwise_not = unary_function(not_p, BOOL_OR_INT, "Elementwise complement: ~x.")
bitwise_and = binary_function(and_p, "Elementwise x & y.")
bitwise_or = binary_function(or_p, "Elementwise x | y.")
bitwise_xor = binary_function(xor_p, "Elementwise x ^ y.")
shift_right_logical = binary_function(
    shift_right_logical_p, "Elementwise shift to the right, filled with zeros.")

for p in (xor_p, shift_right_logical_p):
    defbroadcasting(p)
    register_lowering(p, nary_rule(p.name))


def _shift(ufunc, outside):
    """A shift that, by the width or more, gives `outside` (`None`: the sign, repeated)."""

    def rule(x, y):
        bits = x.dtype.itemsize * 8
        in_range = (y >= 0) & (y < bits)
        shifted = ufunc(x, np.where(in_range, y, bits - 1).astype(x.dtype))
        return shifted if outside is None else np.where(in_range, shifted, x.dtype.type(outside))

    return rule


def _shift_arithmetic(x, y):
    signed = np.dtype(f"i{x.dtype.itemsize}")  # the highest bit counts as the sign, as in XLA
    return _shift(np.right_shift, None)(x.astype(signed), y.astype(signed)).astype(x.dtype)


shift_left_p, shift_left = binary_row(
    "shift_left", INTEGER, _shift(np.left_shift, 0), "Elementwise x << y; 0 if y is out of range.",
    lowering="shift_left")
shift_right_arithmetic_p, shift_right_arithmetic = binary_row(
    "shift_right_arithmetic", INTEGER, _shift_arithmetic,
    "Elementwise x >> y, filled with copies of the sign bit.", lowering="shift_right_arithmetic")

for p in (xor_p, shift_left_p, shift_right_logical_p, shift_right_arithmetic_p):
    defjvp_zero(p)
