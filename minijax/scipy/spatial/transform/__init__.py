"""Rotations, under the names of `jax.scipy.spatial.transform`."""

from .rotation import Rotation
from .slerp import Slerp
