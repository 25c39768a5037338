"""What flax and numpyro take from `jax._src.core`."""

# chapter 1
from ..core.core import ShapedArray, eval_trace as _eval_trace, state as _state


def trace_state_clean() -> bool:
    """Whether no transformation is in progress."""
    return _state.trace is _eval_trace
