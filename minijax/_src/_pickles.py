"""The names that JAX's pickles of arrays refer to, so that they can be read here."""

# chapter 12
from collections.abc import Callable
from typing import Any

from ..core.array import Array
from ..core.core import ShapedArray
from ..numpy._array_protocols import restored


def _reconstruct_array(fun: Callable, args: tuple, contents: Any, aval_state: dict) -> Array:
    """An array of JAX's from a pickle: how to make the NumPy array, what it holds, and whether its
    type is weak."""
    value = fun(*args)
    value.__setstate__(contents)
    return restored(value, ShapedArray(value.shape, value.dtype, aval_state["weak_type"]))
