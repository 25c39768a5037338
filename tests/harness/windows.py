"""Functions of `jax._src.lax.windowed_reductions` that JAX's tables of test cases call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minijax.lax.pooling_derivatives import select_and_gather_add_p, select_and_scatter_add_p


def _select_and_scatter_add(source: Any, operand: Any, select_prim: Any,
                            window_dimensions: Sequence[int], window_strides: Sequence[int],
                            padding: Sequence[tuple[int, int]]) -> Any:
    """Adds each element of `source` to the place that `select_prim` selects in its window."""
    return select_and_scatter_add_p.bind(
        source, operand, select_prim=select_prim, window_dimensions=tuple(window_dimensions),
        window_strides=tuple(window_strides), padding=tuple(padding))


def _select_and_gather_add(tangents: Any, operand: Any, select_prim: Any,
                           window_dimensions: Sequence[int], window_strides: Sequence[int],
                           padding: Sequence[tuple[int, int]], base_dilation: Sequence[int],
                           window_dilation: Sequence[int]) -> Any:
    """The tangent at the place that `select_prim` selects in each window of `operand`."""
    return select_and_gather_add_p.bind(
        tangents, operand, select_prim=select_prim, window_dimensions=tuple(window_dimensions),
        window_strides=tuple(window_strides), padding=tuple(padding),
        base_dilation=tuple(base_dilation), window_dilation=tuple(window_dilation))
