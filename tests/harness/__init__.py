"""What JAX's own test files import: the class of its tests, random values, tables, references.

`python -m tests.harness PATH/lax_test.py …` runs such files on minijax. The modules are not part of
minijax. `show` makes them importable under JAX's names, as `minijax._src.test_util`. Modules that
only serve tests are JAX's own files, which import minijax here (`theirs.py`).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import minijax._src
import minijax.experimental.sparse
from minijax.compat.first_use import show_module
from tests.harness import key_statements, sparse_parts, theirs

# module -> the modules that have its names, besides those that minijax has for it
SOURCES = {
    "_src.api_util": "tests.harness.names",
    "_src.checkify": "tests.harness.names",
    "_src.compilation_cache": "tests.harness.names",
    "_src.compilation_cache_interface": "tests.harness.names",
    "_src.config": "tests.harness.config",
    "_src.core": "tests.harness.core",
    "_src.cloud_tpu_init": "tests.harness.names",
    "_src.deprecations": "jax/_src/deprecations.py",
    "_src.dispatch": "tests.harness.names",
    "_src.dtypes": "tests.harness.dtypes",
    "_src.internal_test_util": "minijax.test_util",
    "_src.internal_test_util.deprecation_module": "jax/_src/internal_test_util/deprecation_module.py",
    "_src.internal_test_util.lax_test_util": "jax/_src/internal_test_util/lax_test_util.py",
    "_src.interpreters.partial_eval": "tests.harness.names",
    "_src.interpreters.pxla": "tests.harness.pruning",
    "_src.jaxpr_util": "tests.harness.jaxpr_util",
    "_src.lax.lax": "tests.harness.lax",
    "_src.lax.utils": "tests.harness.lax",
    "_src.lax.windowed_reductions": "tests.harness.windows",
    "_src.lax_reference": "jax/_src/lax_reference.py",
    "_src.lib": "tests.harness.names",
    "_src.monitoring": "tests.harness.names",
    "_src.named_sharding": "tests.harness.shardings",
    "_src.op_shardings": "tests.harness.shardings",
    "_src.path": "tests.harness.names",
    "_src.pretty_printer": "tests.harness.documents",
    "_src.public_test_util": "jax/_src/public_test_util.py",
    "_src.random.prng": "tests.harness.prng",
    "_src.sharding": "tests.harness.shardings",
    "_src.sharding_impls": "tests.harness.shardings",
    "_src.source_info_util": "tests.harness.source_info",
    "_src.state.discharge": "tests.harness.state",
    "_src.state.primitives": "tests.harness.state",
    "_src.state.types": "tests.harness.state",
    "_src.test_loader": "jax/_src/test_loader.py",
    "_src.test_util": "minijax.test_util jax/_src/test_util.py",
    "_src.test_warning_util": "jax/_src/test_warning_util.py",
    "_src.tree_util": "tests.harness.names",
    "_src.typing": "tests.harness.names",
    "_src.util": "jax/_src/util.py",
    "experimental.sparse.test_util": "jax/experimental/sparse/test_util.py",
}


class Borrowed(ModuleType):
    """A module of JAX that has the names of some of ours."""

    def __getattr__(self, name: str):
        place = self.__name__.removeprefix("minijax.")
        ours = minijax._src.SOURCES.get(place.removeprefix("_src."), "").split()
        sources = [*(f"minijax.{source}".rstrip(".") for source in ours), *SOURCES[place].split()]
        for source in () if name.startswith("__") else sources:
            try:
                return getattr(theirs.module(source) if "/" in source else import_module(source), name)
            except AttributeError:
                pass
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def show() -> None:
    """Make the modules importable."""
    for name in SOURCES:
        show_module(Borrowed(f"minijax.{name}"))
    sparse_parts.show()
    key_statements.show()
