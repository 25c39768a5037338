"""The two libraries under comparison: `oracle` is JAX, `subject` is minijax.

JAX is imported here and nowhere else. With `MINIJAX_ORACLE=stored` it is not imported at all:
`jax` is then a stand-in, and `both` compares with the stored answers (`tests.oracle.stored`).
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

# live     JAX answers every question
# auto     JAX answers the questions that have no stored answer
# daily    like auto; besides, each day a thirtieth of the stored answers is compared with JAX's
# stored   JAX is not imported
# refresh  JAX answers, and its answers are stored; minijax is not asked
MODES = ("live", "auto", "daily", "stored", "refresh")
MODE = os.environ.get("MINIJAX_ORACLE", "auto")
assert MODE in MODES, f"MINIJAX_ORACLE must be one of {MODES}, not {MODE!r}"

JAX_VERSION = "0.10.2"  # pyproject.toml's, and that of the stored answers

# What `import jax` does not import by itself, and tests use.
JAX_SUBMODULES = (
    "ad_checkpoint", "api_util", "core", "custom_batching", "custom_derivatives", "debug",
    "dtypes", "errors", "example_libraries.optimizers", "example_libraries.stax",
    "experimental.checkify", "experimental.compilation_cache.compilation_cache",
    "experimental.jet", "experimental.ode", "experimental.sparse", "extend.core",
    "extend.linear_util", "extend.random", "flatten_util", "image", "monitoring", "nn.initializers", "numpy", "scipy.interpolate",
    "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.sparse.linalg",
    "scipy.spatial.transform", "scipy.special", "scipy.stats", "test_util",
)  # fmt: skip
SUBJECT_SUBMODULES = ("numpy", "lax", "tree_util", "tree", "dtypes", "extend.core")


class NoJax(importlib.abc.MetaPathFinder):
    """Refuses to import `jax`, which jaxlib's C++ would otherwise do on the side."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:
        """Refuse `jax`, and leave every other module to the other finders."""
        if fullname.partition(".")[0] == "jax":
            raise ModuleNotFoundError(f"{fullname} is not imported: MINIJAX_ORACLE={MODE}")


def _import_jax() -> Any:
    """JAX itself, or its stand-in."""
    if MODE == "stored":
        from tests.oracle.absent import Absent

        sys.meta_path.insert(0, NoJax())
        return Absent("jax", __version__=JAX_VERSION, __name__="jax")
    # JAX comes before minijax: once jaxlib is in use it would import a half-made `jax` from C++.
    library = importlib.import_module("jax")
    for submodule in JAX_SUBMODULES:
        importlib.import_module(f"jax.{submodule}")
    return library


jax: Any = _import_jax()
jnp: Any = jax.numpy
oracle: Any = jax

subject: ModuleType = importlib.import_module(os.environ.get("MINIJAX_TEST_SUBJECT", "minijax"))
for _submodule in SUBJECT_SUBMODULES:
    with contextlib.suppress(ModuleNotFoundError):  # minijax, cut at an earlier chapter
        importlib.import_module(f"{subject.__name__}.{_submodule}")
