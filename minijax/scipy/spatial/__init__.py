"""Spatial algorithms, under the names of `jax.scipy.spatial`."""
