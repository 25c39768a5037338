"""Programs that run in a process of their own, because they are interrupted, forked or killed."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
# XLA's flags for cheap code rather than fast code.
QUICK_COMPILATION = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1 --xla_cpu_multi_thread_eigen=false"
    if version("jaxlib").startswith("0.10.") else ""  # XLA's internal affair: names change
)

BEGINNING = """
import os, signal, sys, threading, time, warnings
import numpy as np
import minijax as jax
jnp = jax.numpy

def interrupt_after(seconds):
    def interrupt():
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
"""


def start(*parts: str, args: tuple = (), **options) -> subprocess.Popen:
    """Start the program that consists of these parts, with `BEGINNING` before them."""
    signals = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    source = "\n".join([signals, BEGINNING, *map(textwrap.dedent, parts)])
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", source, *map(str, args)], cwd=ROOT,
                            env=os.environ | {"JAX_PLATFORMS": "cpu"}, **pipes | options)


def run(*parts: str, args: tuple = (), seconds: float = 100, code: int = 0) -> tuple[str, str]:
    """What a program prints and complains of. It must end in time, with the exit code `code`."""
    process = start(*parts, args=args)
    try:
        out, complaint = process.communicate(timeout=seconds)
    finally:
        process.kill()
    assert process.returncode == code, (process.returncode, out, complaint)
    return out, complaint
