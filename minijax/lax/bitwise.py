"""Chapter 9: logic and shifts, bit by bit."""

import numpy as np

from ..core.forward import defjvp_zero
from ..text.naming import renamed
from .dtypes import bits_as
from .families import BOOL_OR_INT, INTEGER, binary_row, unary_row

not_p, bitwise_not = unary_row("not", BOOL_OR_INT, np.invert, "Elementwise complement: ~x.",
                               lowering="not")
and_p, bitwise_and = binary_row("and", BOOL_OR_INT, np.bitwise_and, "Elementwise x & y.",
                                lowering="and")
or_p, bitwise_or = binary_row("or", BOOL_OR_INT, np.bitwise_or, "Elementwise x | y.",
                              lowering="or")


def _shift(ufunc, outside):
    """A shift that, by the width or more, gives `outside` (`None`: the sign, repeated)."""

    def rule(x, y):
        bits = x.dtype.itemsize * 8
        in_range = (y >= 0) & (y < bits)
        shifted = ufunc(x, np.where(in_range, y, bits - 1).astype(x.dtype))
        return shifted if outside is None else np.where(in_range, shifted, x.dtype.type(outside))

    return rule


def _shift_arithmetic(x, y):
    shifted = _shift(np.right_shift, None)  # the highest bit counts as the sign, as in XLA
    return shifted(bits_as("i", x), y.astype(f"i{x.dtype.itemsize}")).astype(x.dtype)


def _shift_logical(x, y):
    shifted = _shift(np.right_shift, 0)
    return shifted(bits_as("u", x), y.astype(f"u{x.dtype.itemsize}")).astype(x.dtype)


xor_p, bitwise_xor = binary_row("xor", BOOL_OR_INT, np.bitwise_xor, "Elementwise x ^ y.",
                                lowering="xor")
shift_left_p, shift_left = binary_row(
    "shift_left", INTEGER, _shift(np.left_shift, 0), "Elementwise x << y; 0 if y is out of range.",
    lowering="shift_left")
shift_right_logical_p, shift_right_logical = binary_row(
    "shift_right_logical", INTEGER, _shift_logical,
    "Elementwise shift to the right, filled with zeros.", lowering="shift_right_logical")
shift_right_arithmetic_p, shift_right_arithmetic = binary_row(
    "shift_right_arithmetic", INTEGER, _shift_arithmetic,
    "Elementwise x >> y, filled with copies of the sign bit.", lowering="shift_right_arithmetic")

for p in (not_p, and_p, or_p, xor_p, shift_left_p, shift_right_logical_p, shift_right_arithmetic_p):
    defjvp_zero(p)

bitwise_not, bitwise_and = renamed(bitwise_not, "bitwise_not"), renamed(bitwise_and, "bitwise_and")
bitwise_or, bitwise_xor = renamed(bitwise_or, "bitwise_or"), renamed(bitwise_xor, "bitwise_xor")
