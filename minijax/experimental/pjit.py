"""Chapter 14: `pjit`, the old name of `jit` with shardings."""

from ..parallel.sharded_jit import pjit
