"""`jax.extend.mlir.dialects`: `func`, `stablehlo` and others, from jaxlib."""

# chapter 14
from ...runtime.mlir import (
    arith, builtin, chlo, func, math, memref, scf, sdy, sparse_tensor, stablehlo, vector)
