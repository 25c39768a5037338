"""`jax.extend.mlir`: MLIR's own classes, as jaxlib brings them.

They read and write modules, for example those of `Lowered.compiler_ir`. Our lowering rules make
text (`jax.interpreters.mlir`), so a rule that builds operations of these classes cannot be used.
"""

# chapter 14
from ...runtime.mlir import ir, passmanager
from . import dialects
