"""Optimization, under the names of `jax.scipy.optimize`."""

from .minimize import OptimizeResults, minimize
