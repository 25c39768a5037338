"""The public names of `jax.interpreters.mlir`: StableHLO here is text, see `minijax.xla`."""

# chapter 6
from ..xla.lowering import lower_fun, register_lowering
