"""Chapter 16: programs that were written for JAX, on minijax.

`install()` makes `import jax` give minijax, for the whole process:

    import minijax.alias
    minijax.alias.install()
    import optax  # a library that imports jax

`python -m minijax run script.py` does the same for a script that stays as it is. Each module of
minijax is then also known by JAX's name for it, as the same object. Libraries read JAX's version
to choose between names, so the alias says which version of JAX the names are of.
"""

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

JAX_VERSION = "0.10.2"  # the release whose names and results are tested
OURS = "minijax"
VERSIONED = ("jax", "jax.version")  # modules that state the version, and so are copies
# Modules that `import jax` imports. The others get their names when a program imports them.
IMPORTED = ("ad_checkpoint api_util core custom_batching custom_derivatives debug distributed "
            "dlpack dtypes errors experimental image interpreters lax lax.linalg monitoring "
            "nn numpy numpy.fft numpy.linalg ops profiler random ref scipy sharding stages "
            "tree tree_util typing").split()
IMPORT_SYSTEMS = {"__name__", "__package__", "__loader__", "__spec__"}  # written by `import`


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata.version("jax")` reads."""

    def read_text(self, filename: str) -> str | None:
        metadata = f"Metadata-Version: 2.1\nName: jax\nVersion: {JAX_VERSION}\n"
        return metadata if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{path}: jax is minijax here, and has no files of its own.")


def _show_modules() -> None:
    """Give the modules that `import jax` imports their names in `sys.modules`.

    Libraries look there for `jax.tree_util`, `jax.numpy` and others that nobody imports by name.
    """
    for name in IMPORTED:
        if f"{OURS}.{name}" in sys.modules:
            sys.modules.setdefault(f"jax.{name}", sys.modules[f"{OURS}.{name}"])


def _subclasses(cls: type) -> list[type]:
    parts: list[type] = cls.__subclasses__()
    return [cls, *(c for part in parts for c in _subclasses(part))]


def _rename_classes() -> None:
    """Say that the classes of arrays and tracers are in modules of `jax`, which they then are.

    Libraries that serve arrays of several packages know an array's package by its class's module.
    """
    values = importlib.import_module(f"{OURS}.core.core").ArrayMethods
    for cls in _subclasses(values):
        if cls.__module__.startswith(f"{OURS}."):
            cls.__module__ = "jax" + cls.__module__.removeprefix(OURS)


class _Finder(MetaPathFinder, Loader):
    """Finds `jax.name` as the module `minijax.name`."""

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "jax":
            return None
        name = OURS + fullname.removeprefix("jax")
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # a module that minijax itself needs
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: jax is minijax here, which has no such module.",
                name=fullname) from None
        spec = ModuleSpec(fullname, self, is_package=hasattr(module, "__path__"))
        spec.loader_state = module, module.__spec__
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = spec.loader_state[0]
        if spec.name not in VERSIONED:
            return module
        copy = ModuleType(spec.name)
        given = {name: x for name, x in vars(module).items() if name not in IMPORT_SYSTEMS}
        numbers = tuple(map(int, JAX_VERSION.split(".")))
        copy.__dict__.update(given, __version__=JAX_VERSION, __version_info__=numbers)
        return copy

    def exec_module(self, module: ModuleType) -> None:
        """The module has run already. It gets back the specification that it had before."""
        if module.__name__ == "jax":
            importlib.import_module("jax.version")  # replaces the attribute `version` of the copy
            _show_modules()
        elif module.__spec__ is not None and module.__spec__.name not in VERSIONED:
            module.__spec__ = module.__spec__.loader_state[1]

    def find_distributions(self, context: Any = None) -> Iterable[_Distribution]:
        return [_Distribution()] if getattr(context, "name", None) == "jax" else []


def install() -> None:
    """Make `import jax` give minijax, in this process and from now on.

    Raises:
      ImportError: JAX itself is imported already. Its arrays would not be minijax's.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if "jax" in sys.modules:
        where = getattr(sys.modules["jax"], "__file__", None)
        raise ImportError(f"minijax.alias.install: jax is imported already, from {where}. Call "
                          "`install` before the first `import jax`, and before the imports of "
                          "libraries that import it.")
    sys.meta_path.insert(0, _Finder())
    _rename_classes()
