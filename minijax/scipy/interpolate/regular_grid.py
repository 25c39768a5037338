"""Interpolation on a grid."""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...core.boundary import public
from ...lax.dtypes import can_cast
from ...numpy._arguments import check_arraylike, promote_dtypes_inexact
from ...pytree.registration import register_pytree_node

METHODS = ("linear", "nearest")


class RegularGridInterpolator:
    """A function that interpolates values on a rectangular grid.

    Args:
      points: for each of d dimensions a vector, the increasing coordinates of the grid.
      values: an array, whose first d dimensions are those of the grid.
      method: "linear" or "nearest".
      bounds_error: must be False.
      fill_value: the value outside of the grid; `None` to extrapolate.

    Raises:
      NotImplementedError: `bounds_error`.
      ValueError: an unknown method, too many points, a fill value of another kind.

    >>> f = RegularGridInterpolator([jnp.array([0.0, 1.0])], jnp.array([3.0, 5.0]))
    >>> f(jnp.array([0.5, 2.0])).tolist()
    [4.0, nan]
    """

    @public
    def __init__(self, points: Sequence, values, method: str = "linear",
                 bounds_error: bool = False, fill_value=np.nan):
        self.method, self.bounds_error = _checked(method), bounds_error
        if bounds_error:
            raise NotImplementedError("`bounds_error`: compiled functions cannot raise errors")
        check_arraylike("RegularGridInterpolator", values)
        if len(points) > values.ndim:
            raise ValueError(f"there are {len(points)} point arrays, but values has {values.ndim} "
                             "dimensions")
        (self.values,) = promote_dtypes_inexact(values)
        self.fill_value = fill_value
        if fill_value is not None:
            check_arraylike("RegularGridInterpolator", fill_value)
            self.fill_value = jnp.asarray(fill_value)
            if not can_cast(self.fill_value.dtype, self.values.dtype, casting="same_kind"):
                raise ValueError("fill_value must be None or of a type compatible with values; "
                                 f"got {self.fill_value.dtype} for {self.values.dtype}")
        check_arraylike("RegularGridInterpolator", *points)
        self.grid = tuple(jnp.asarray(p) for p in points)

    @public
    def __call__(self, xi, method: str | None = None):
        """The interpolated values.

        Args:
          xi: an array whose last axis is of length d, or a tuple of d arrays that broadcast.
          method: instead of the one given before.

        Raises:
          ValueError: an unknown method, points of another dimension.
        """
        method, ndim = _checked(self.method if method is None else method), len(self.grid)
        xi = _as_points(xi, ndim)
        if xi.shape[-1] != ndim:
            raise ValueError(f"the requested sample points xi have dimension {xi.shape[-1]}, but "
                             f"this RegularGridInterpolator has dimension {ndim}")
        columns = xi.reshape(-1, ndim).T
        cells = [_cell(x, grid) for x, grid in zip(columns, self.grid)]
        result = (self._linear if method == "linear" else self._nearest)(cells)
        if self.fill_value is not None:
            outside = [(x < grid[0]) | (x > grid[-1]) for x, grid in zip(columns, self.grid)]
            outside = functools.reduce(operator.or_, outside)
            result = jnp.where(_like_rows(outside, result), self.fill_value, result)
        return result.reshape(xi.shape[:-1] + self.values.shape[ndim:])

    def _linear(self, cells):
        """The sum over a cell's corners, each with the product of its weights."""
        sides = [((i, 1 - share), (i + 1, share)) for i, share in cells]
        total = jnp.asarray(0.0)
        for corner in itertools.product(*sides):
            indices, weights = zip(*corner)
            values = self.values[indices]
            total = total + values * _like_rows(functools.reduce(operator.mul, weights), values)
        return total

    def _nearest(self, cells):
        return self.values[tuple(jnp.where(share <= 0.5, i, i + 1) for i, share in cells)]


def _checked(method: str) -> str:
    if method not in METHODS:
        raise ValueError(f"method {method!r} is not defined; there are {METHODS}")
    return method


def _as_points(xi, ndim: int):
    """An array whose last axis has the coordinates."""
    if isinstance(xi, tuple):
        if len(xi) == 1:
            return _as_points(xi[0], ndim)
        return jnp.stack([x.astype(float) for x in jnp.broadcast_arrays(*xi)], axis=-1)
    check_arraylike("RegularGridInterpolator", xi)
    xi = jnp.asarray(xi)
    return xi.reshape(-1, ndim) if xi.ndim == 1 else xi


def _cell(x, grid):
    """The index of the grid's point before `x`, and how far `x` is on the way to the next one."""
    i = jnp.clip(jnp.searchsorted(grid, x) - 1, 0, grid.size - 2)
    return i, (x - grid[i]) / (grid[i + 1] - grid[i])


def _like_rows(x, rows):
    """A vector with dimensions of 1, to go with the rows of an array."""
    return x.reshape(x.shape + (1,) * (rows.ndim - 1))


def _flatten(f: RegularGridInterpolator) -> tuple:
    return (f.grid, f.values, f.fill_value), (f.method, f.bounds_error)


def _unflatten(aux: Any, children: Any) -> RegularGridInterpolator:
    (grid, values, fill_value), (method, bounds_error) = children, aux
    return RegularGridInterpolator(grid, values, method, bounds_error, fill_value)


register_pytree_node(RegularGridInterpolator, _flatten, _unflatten)
