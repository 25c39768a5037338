"""What a fresh process does first: a program to be compiled, or to be read from disk."""

from __future__ import annotations

import importlib
from typing import Any

from tests.benchmarks.measure import ROOT
from tests.benchmarks.workloads import transformer_step


def lowered(library: str, cached: bool = True) -> Any:
    """A step of a transformer's training, all but compiled; `compile()` finds it on disk if an
    earlier process had it `cached`."""
    jx = importlib.import_module(library)
    importlib.import_module(f"{library}.numpy")
    step, args = transformer_step(jx)
    if cached:
        folder = ROOT / "build" / "bench" / f"programs-{library}"
        jx.config.update("jax_compilation_cache_dir", str(folder))
        jx.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jx.jit(lambda x: x + 1)(1.0)  # XLA itself is ready
    return jx.jit(step).lower(*args)
