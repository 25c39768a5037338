"""What the operators refuse: operands that are not arrays, and ranks that are mixed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import settings
from ..core import dtypes
from ..core.dtypes import ExtendedDType
from ..text.locations import user_stacklevel


def arraylike(name: str, args: Sequence[Any], is_arraylike: Callable[[Any], bool]) -> None:
    """The arguments of the function `name` are arrays or numbers."""
    for position, x in enumerate(args):
        if not is_arraylike(x):
            raise TypeError(f"{name} requires ndarray or scalar arguments, got {type(x)} "
                            f"at position {position}.")


def one_kind(name: str, args: Sequence[Any]) -> None:
    """A value that is no number, such as a key, meets only its like."""
    if len(args) > 1 and any(isinstance(getattr(x, "dtype", None), ExtendedDType) for x in args):
        found = [dtypes.dtype(x) for x in args]
        if len(set(found)) > 1:
            raise TypeError(f"{name} does not accept dtypes "
                            f"{', '.join(dtype.name for dtype in found)}.")


def broadcast(name: str, shapes: Sequence[tuple]) -> None:
    """Shapes of several ranks broadcast, and the settings allow that."""
    rank_promotion(shapes, name)
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    if any(len({*sizes} - {1}) > 1 for sizes in zip(*padded)):
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}")


# Python concatenates or repeats sequences, and it compares any two values.
_SEQUENCES = {"add": "+", "multiply": "*"}
_COMPARED = {"equal": "==", "not_equal": "!="}


def foreign_operand(function: Callable, x: Any, y: Any) -> None:
    """Raise TypeError if Python would use an array as the length of a list or a tuple, or if a
    container is compared. A named tuple may have operators of its own.
    """
    name = function.__name__
    refused = (list, tuple, dict, set) if name in _COMPARED else (list, tuple)
    symbol = (_SEQUENCES | _COMPARED).get(name)
    if symbol and (type(x) in refused or type(y) in refused):
        raise TypeError(f"unsupported operand type(s) for {symbol}: "
                        f"'{type(x).__name__}' and '{type(y).__name__}'")


def rank_promotion(shapes: Sequence[tuple], name: str) -> None:
    """Operands have one rank, or are scalars, if `jax_numpy_rank_promotion` asks for it."""
    mode = settings.numpy_rank_promotion.value
    if mode == "allow" or len({len(shape) for shape in shapes if shape}) <= 1:
        return
    listed = " ".join(map(str, shapes))
    if mode == "raise":
        raise ValueError(
            f"Operands could not be broadcast together for {name} on shapes {listed} and with the "
            "config option jax_numpy_rank_promotion='raise'.")
    warnings.warn(f"Following NumPy automatic rank promotion for {name} on shapes {listed}. The "
                  "config option jax_numpy_rank_promotion='allow' turns this warning off.",
                  stacklevel=user_stacklevel())


def rank_promotion_of_loops(args: Sequence, in_dims: Sequence, signature: str | None) -> None:
    """The same for `vectorize`: arguments that are not scalars have loops of one rank."""
    mode = settings.numpy_rank_promotion.value
    ranks = {arg.ndim - len(dims) for arg, dims in zip(args, in_dims, strict=True) if arg.ndim}
    if mode == "allow" or len(ranks) <= 1:
        return
    message = (f"operands with shapes {[arg.shape for arg in args]} require rank promotion for "
               f"jnp.vectorize function with signature {signature}. Give them the same number of "
               "dimensions before those of the signature, or set the config option "
               "jax_numpy_rank_promotion to 'allow'.")
    if mode == "raise":
        raise ValueError(message)
    warnings.warn(message, stacklevel=user_stacklevel())
