"""What flax takes from `jax._src.state.types`."""

# chapter 15
from ...state.refs import AbstractRef
