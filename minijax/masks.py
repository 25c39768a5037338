"""What is an array times a mask, where the array is infinite or NaN?

NumPy multiplies, and the product with False is NaN, or -0.0 for a negative number. XLA selects: it
rewrites `x * convert(mask)` so that False gives 0, whatever `x` is. It does so if the mask has the
shape of the product, and if NumPy has the floating point or complex dtype as well. Evaluation gives
what a compiled program gives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .core import primitives as prim
from .core.core import eval_trace, state, typeof
from .core.extension import Extension, register
from .core.operators import BINARY, binary_function, install_binary_operators, promote_args

# dtype -> an integer type as wide: its product with a truth value is all bits, or none
_BITS = {np.dtype(kind): np.dtype(f"i{np.dtype(kind).itemsize}") for kind in "efdF"}


def is_bool(x: Any) -> bool:
    """Whether an operand is a boolean, or an array of booleans."""
    return getattr(x, "dtype", type(x)) == bool


def selects(x: Any, y: Any, product: Any) -> bool:
    """Whether XLA computes x * y by a selection. `product` is the result, or its type."""
    if is_bool(x) == is_bool(y) or (product.dtype not in _BITS and product.dtype != np.complex128):
        return False
    return np.shape(x if is_bool(x) else y) == product.shape


def selected(values: np.ndarray, mask: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The values as this dtype where the mask is True, and 0 elsewhere."""
    bits = _BITS.get(dtype)
    if bits is None:
        return np.where(mask, values, dtype.type(0))
    return np.multiply(values.astype(dtype, copy=False).view(bits), mask).view(dtype)


def selecting(multiply: Callable) -> Callable:
    """`multiply`, whose evaluation selects by a mask where a compiled program does."""

    @functools.wraps(multiply)
    def function(x, y, /):
        if state.trace is not eval_trace or is_bool(x) == is_bool(y):
            return multiply(x, y)
        a, b = promote_args("multiply", x, y)
        out = prim.mul_p.out_aval((typeof(a), typeof(b)), {})
        values, mask = (b, x) if is_bool(x) else (a, y)
        if not selects(x, y, out):
            return prim.mul_p.bind(a, b)
        dims = range(out.ndim - np.ndim(values), out.ndim)
        values = prim.broadcast_in_dim(values, out.shape, dims)
        return prim.select(prim.ensure_array(mask), values, prim.full_like(values, 0))

    return function


class Masks(Extension):
    """Products with masks are evaluated as in compiled programs."""

    def operator_function(self, primitive, kinds, function):
        return selecting(function) if primitive is prim.mul_p else function


register(Masks())
install_binary_operators({"mul": binary_function(*BINARY["mul"])})
