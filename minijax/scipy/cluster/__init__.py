"""Clustering, under the names of `jax.scipy.cluster`."""

from . import vq
