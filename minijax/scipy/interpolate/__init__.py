"""Interpolation, under the names of `jax.scipy.interpolate`."""

from .regular_grid import RegularGridInterpolator
