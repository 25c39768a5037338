"""The two libraries under comparison: `oracle` is JAX, `subject` is minijax."""

from __future__ import annotations

import contextlib
import importlib
import os
from types import ModuleType

# JAX comes first: once jaxlib is in use it would import a half-made `jax` from C++.
import jax
import jax.extend.core
import jax.numpy

oracle: ModuleType = jax

subject: ModuleType = importlib.import_module(os.environ.get("MINIJAX_TEST_SUBJECT", "minijax"))
for _submodule in ("numpy", "lax", "tree_util", "tree", "dtypes", "extend.core"):
    with contextlib.suppress(ModuleNotFoundError):  # minijax, cut at an earlier chapter
        importlib.import_module(f"{subject.__name__}.{_submodule}")
