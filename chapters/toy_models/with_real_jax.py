"""`python with_real_jax.py IN OUT` runs functions of this folder on real JAX.

IN is a pickled list of ("module.function", arguments); OUT receives (JAX's version, the results).
A process of its own, because minijax's must never import jax. Exit code 3: jax is not installed.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from pathlib import Path

import numpy as np

NO_JAX = 3


def pretend() -> str:
    """Let `import minijax` mean real JAX in this process; return JAX's version."""
    try:
        import jax
    except ImportError:
        sys.exit(NO_JAX)
    sys.modules["minijax"] = jax
    sys.modules["minijax.numpy"] = jax.numpy
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    return jax.__version__


def run(name: str, arguments: tuple):
    """The result of one function, with NumPy arrays for JAX's (texts stay texts)."""
    import minijax as jax

    module, function = name.split(".")
    result = getattr(importlib.import_module(f"toy_models.{module}"), function)(*arguments)
    return result if isinstance(result, str) else jax.tree.map(np.asarray, result)


if __name__ == "__main__":
    source, target = sys.argv[1:]
    version = pretend()
    with open(source, "rb") as file:
        requests = pickle.load(file)
    with open(target, "wb") as file:
        pickle.dump((version, [run(*request) for request in requests]), file)
