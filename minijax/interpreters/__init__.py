"""The tables of rules and the ways to fill them, under the names of `jax.interpreters`."""

# chapter 4
from . import batching

# chapter 6
from . import mlir, xla

# chapter 7
from . import partial_eval

# chapter 8
from . import ad
