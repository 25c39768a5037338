"""Chapter 9: `x[ds(start, size)]`, a part whose size is known and whose start may be traced.

The counterpart in JAX is `jax/_src/indexing.py`.
"""

from __future__ import annotations

import builtins
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.core import ArrayMethods, Tracer
from ..pytree.registration import register_pytree_node

__all__ = ["Slice", "dslice", "ds"]


@dataclass(frozen=True)
class Slice:
    """`size` elements from `start` on, each `stride`-th; what `dslice` returns."""

    start: Any
    size: Any
    stride: int = 1

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the start is traced."""
        return isinstance(self.start, Tracer)

    @property
    def is_dynamic_size(self) -> bool:
        """Whether the size is traced; such a slice selects nothing."""
        return isinstance(self.size, Tracer)

    @property
    def known_size(self) -> int:
        """The number of selected elements.

        Raises:
          TypeError: it is traced, or no integer.
        """
        try:
            return operator.index(self.size)
        except TypeError:
            raise TypeError("The size of a slice must be a known integer, got "
                            f"{self.size} in {self}.") from None

    @classmethod
    def from_slice(cls, slc: builtins.slice, size: int) -> Slice:
        """The `Slice` that selects what a Python slice does, of a dimension of this size."""
        selected = range(*slc.indices(size))
        return cls(selected.start, len(selected), selected.step)

    def __str__(self):
        return f"ds({self.start}, {self.size}, {self.stride})"


SLICES = (builtins.slice, Slice)  # the entries of an index that keep a dimension


def _flatten(part: Slice):
    traced = tuple(x if isinstance(x, Tracer) else None for x in (part.start, part.size))
    known = tuple(None if isinstance(x, Tracer) else x for x in (part.start, part.size))
    return traced, (*known, part.stride)


def _unflatten(aux, traced) -> Slice:
    *known, stride = aux
    start, size = (old if new is None else new for old, new in zip(known, traced))
    return Slice(start, size, stride)


register_pytree_node(Slice, _flatten, _unflatten)


def dslice(start: Any, size: Any = None, stride: int | None = None) -> builtins.slice | Slice:
    """A part of an array of known size, whose start may be traced, as an index of arrays and
    references.

    Args:
      start: the first index; an integer, or an integer scalar array. `None` stands for all. If
        nothing else is given, it is the size, and the part starts at 0.
      size: the number of elements, an integer.
      stride: the distance between the elements, an integer; 1 by default.

    Returns:
      what stands between the brackets: `x[ds(i, n)]` is `x[i:i + n]`.

    Raises:
      TypeError: the start is no integer.
      ValueError: the stride is negative, or an array.

    A start too large is reduced until the part fits into the array, as in `lax.dynamic_slice`.

    >>> x = jnp.arange(10)
    >>> jax.jit(lambda i: x[jax.ds(i, 3)])(4)
    Array([4, 5, 6], dtype=int32)
    >>> x[jax.ds(1, 3, 2)]
    Array([1, 3, 5], dtype=int32)
    """
    if start is None:
        return builtins.slice(None)
    if size is None:
        start, size = 0, start
    stride = 1 if stride is None else stride
    _check(start, stride)
    return Slice(start, size, stride)


def _check(start, stride) -> None:
    """Raise an error unless these can be the start and the stride of a slice."""
    if not dtypes.issubdtype(getattr(start, "dtype", type(start)), np.integer):
        raise TypeError("index arguments to dynamic_slice must be integers of the same type, got: "
                        f"{start} as the start in `dslice`.")
    if isinstance(stride, ArrayMethods):
        raise ValueError("Non-static stride in `dslice`: only the start of a slice may be an array,"
                         f" got {stride}.")
    if stride < 0:
        raise ValueError(f"`stride` must be >= 0, got {stride}.")


ds = dslice
