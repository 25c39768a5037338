"""Chapter 14: `pjit`, the old name of `jit` with shardings."""

from ..parallel.programs.jit_shardings import pjit
