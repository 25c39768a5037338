"""Names of `jax._src.random.prng` that JAX's tests use, and that carry no idea of their own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minijax.core.core import Primitive, ShapedArray
from minijax.core.lowering import register_lowering
from minijax.lax.families import lower_fun
from minijax.lax.shaping import broadcast, full
from minijax.random.threefry_keys import counters
from minijax.runtime.dispatch import apply_primitive


def _both_words(*, shape: tuple[int, ...]) -> list:
    high, low = counters(shape)
    return [broadcast(high, shape) if np.ndim(high) == 0 else high, low]


def _types(*, shape: tuple[int, ...]) -> list[ShapedArray]:
    return [ShapedArray(shape, np.dtype(np.uint32))] * 2


iota_2x32_shape_p = Primitive("iota_2x32_shape", multiple_results=True)
iota_2x32_shape_p.def_impl(partial(apply_primitive, iota_2x32_shape_p))
iota_2x32_shape_p.def_abstract_eval(_types)
register_lowering(iota_2x32_shape_p, lower_fun(_both_words, multiple_results=True))


def iota_2x32_shape(shape: tuple[int, ...]) -> Any:
    """0, 1, 2 … in row-major order, as the high and the low words of 64-bit numbers."""
    if not shape:
        return (full((), 0, np.uint32),) * 2
    return iota_2x32_shape_p.bind(shape=tuple(shape))
