"""Chapter 6: what a stage says of the arguments of a call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.core import ShapedArray


@dataclass(frozen=True)
class ArgInfo:
    """A description of one argument: its type, and whether it is donated."""

    _aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self._aval.dtype
