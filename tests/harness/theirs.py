"""JAX's own files for tests, read from where JAX is installed, as modules that import minijax.

`module("jax/_src/test_util.py")` is that file, in which `import jax` gives minijax. JAX itself is not
imported. What such a file asks of a machine or counts of JAX's inner life is replaced by our own
functions of the same names, so that the file's other functions call these.
"""

from __future__ import annotations

import functools
import re
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

# file -> our module whose names take the place of the file's
REPLACED = {"jax/_src/test_util.py": "tests.harness.counts"}


@functools.cache
def module(file: str) -> ModuleType:
    """A file of JAX's, relative to where packages are installed, as a module of minijax."""
    path = _place() / file.removeprefix("jax/")
    made = ModuleType(file.removesuffix(".py").replace("/", ".").replace("jax", "minijax", 1))
    vars(made).update(__file__=str(path))
    exec(compile(_on_minijax(path.read_text()), path, "exec"), vars(made))
    if file in REPLACED:
        ours = import_module(REPLACED[file])
        vars(made).update((name, x) for name, x in vars(ours).items() if name in vars(made))
    return made


def _place() -> Path:
    found = PathFinder.find_spec("jax")
    if found is None or not found.submodule_search_locations:
        raise ImportError("JAX's test files use files of JAX: pip install jax absl-py")
    return Path(found.submodule_search_locations[0])


def _on_minijax(source: str) -> str:
    """The text of a file whose imports of JAX are imports of minijax.

    >>> _on_minijax("import jax\\nfrom jax._src import core")
    'import minijax as jax\\nfrom minijax._src import core'
    """
    source = re.sub(r"^(\s*)import jax$", r"\1import minijax as jax", source, flags=re.M)
    return re.sub(r"^(\s*)(from|import) jax\b(?!$)", r"\1\2 minijax", source, flags=re.M)
