"""What flax takes from `jax._src.state`."""

from . import types
