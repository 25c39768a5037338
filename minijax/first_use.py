"""Packages whose names are imported when they are first used.

`lax/__init__.py` and `numpy/__init__.py` import hundreds of names from dozens of modules, and a
program uses few of them. `postpone_imports` runs such a file with an `__import__` that imports
nothing. It only writes down where each name comes from, and the first use of a name imports its
module. The file is plain Python for readers, type checkers and `python tools/cut.py`.
(Python 3.15 has `lazy import` for this.)
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import sys
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# Called before a module is imported on first use. What they return is called when that is done.
watchers: list[Callable[[], Callable[[], None]]] = []
# room -> called when the room has been loaded
doors: dict[str, list[Callable[[], None]]] = {}


@contextlib.contextmanager
def first_use_of(room: str) -> Iterator[None]:
    """Around the imports of modules that were postponed; `room` is the first of their names."""
    done = [watch() for watch in watchers]
    yield
    for open_door in doors.pop(room, ()):
        open_door()
    for finish in done:
        finish()


class Postponed:
    """A name of a module, or a module, that was not imported yet.

    It has no public attribute of its own, because `from module import load` asks it for `load`.
    """

    __slots__ = ("_module", "_name")

    def __init__(self, module: str, name: str = ""):
        self._module, self._name = module, name

    def __getattr__(self, name: str) -> Postponed:
        """What `from module import name` finds in this module."""
        return Postponed(self._module, name)


def load(postponed: Postponed) -> Any:
    """The value. Its module is imported if this has not happened."""
    path, name = postponed._module, postponed._name
    module = sys.modules.get(path)
    if module is None or getattr(module.__spec__, "_initializing", False):
        with first_use_of(path):
            module = import_module(path)
    return getattr(module, name) if name else module


class AttributeOnFirstUse:
    """Stands for an attribute of a class, and is replaced by it when its module is loaded."""

    def __init__(self, module: str, name: str):
        self._postponed, self._name = Postponed(module, ""), name

    def __get__(self, x: Any, cls: type) -> Any:
        load(self._postponed)
        return getattr(cls if x is None else x, self._name)


class _Siblings:
    """What `from . import name` finds in the package: its modules."""

    def __init__(self, package: str):
        self._package = package

    def __getattr__(self, name: str) -> Postponed:
        return Postponed(f"{self._package}.{name}")


def postpone_imports(package: str) -> None:
    """Import a package, and leave its file, and what the file imports, to the first use.

    That file must do no more than import names and compute constants.
    """
    parent = package.rpartition(".")[0]
    spec = PathFinder.find_spec(package, sys.modules[parent].__path__)
    assert spec is not None and spec.loader is not None, package
    module = _Unread(package)
    vars(module).update(__spec__=spec, __loader__=spec.loader, __package__=spec.parent,
                        __file__=spec.origin, __cached__=spec.cached)
    if spec.submodule_search_locations is not None:
        vars(module)["__path__"] = spec.submodule_search_locations
    sys.modules[package] = module


class _Unread(ModuleType):
    """A package whose file is run when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        _read(self)
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, ModuleType):  # Python sets a module that it has imported
            _read(self)
            setattr(self, name, value)

    def __dir__(self) -> list[str]:
        _read(self)
        return dir(self)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        _read(self)
        return self.__doc__


def _read(module: ModuleType) -> None:
    """Run a package's file with an `__import__` that imports nothing."""
    package, spec = module.__name__, module.__spec__
    assert spec is not None
    running = True

    def postpone(name, globals=None, locals=None, fromlist=(), level=0):
        if level == 0 or not running:
            return builtins.__import__(name, globals, locals, fromlist, level)
        above = spec.parent.rsplit(".", level - 1)[0]
        return Postponed(f"{above}.{name}") if name else _Siblings(above)

    # A dict of its own, since another thread may use the package.
    names = {**vars(module), "__builtins__": vars(builtins) | {"__import__": postpone}}
    exec(spec.loader.get_code(package), names)  # type: ignore[union-attr]
    running, names["__builtins__"] = False, vars(builtins)
    postponed = {name: x for name, x in names.items() if type(x) is Postponed}
    for name in postponed:
        del names[name]
    _load_on_first_use(module, names, postponed)


def show_module(module: ModuleType) -> None:
    """Make a module without a file importable by its name, and an attribute of its package."""
    name = module.__name__
    sys.modules[name] = module
    module.__spec__, module.__path__ = ModuleSpec(name, None, is_package=True), []
    above, _, last = name.rpartition(".")
    vars(sys.modules[above])[last] = module


def spare_the_collector() -> None:
    """Let the garbage collector not look at what was imported, since it stays to the end.

    If the program has made values of its own, these may become garbage. Then all that exists is
    moved to the oldest generation.
    """
    if gc.get_freeze_count():  # the user keeps objects frozen
        return
    gc.freeze()
    if not all(isinstance(x, ModuleType) or callable(x)
               for name, x in vars(sys.modules["__main__"]).items() if not name.startswith("__")):
        gc.unfreeze()


class _PackageOfFunctions(ModuleType):
    """A package that offers functions under the names of its modules, as `random.gamma.gamma`.

    Python sets the module as the attribute when it has imported it. The function must stay.
    """

    __functions__: Collection[str]

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in self.__functions__):
            super().__setattr__(name, value)


def keep_functions(package: str, names: Collection[str]) -> None:
    """Let a package's modules of these names not take the places of functions."""
    module = sys.modules[package]
    vars(module)["__functions__"] = names
    module.__class__ = _PackageOfFunctions


def _modules_of(package: str, names: Collection[str]) -> dict[str, ModuleType]:
    """The package's modules that are imported and whose names mean nothing else."""
    prefix = f"{package}."
    imported = {path.removeprefix(prefix): module for path, module in sys.modules.copy().items()
                if path.startswith(prefix)}
    return {name: module for name, module in imported.items() if name not in names}


def _load_on_first_use(module: ModuleType, names: dict[str, Any],
                       postponed: dict[str, Postponed]) -> None:
    package = module.__name__
    modules = {f"{package}.{name}" for name, x in postponed.items() if x._name}
    own = {*names} | {*postponed}

    def __getattr__(name: str) -> Any:
        if name not in postponed:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = vars(module)[name] = load(postponed[name])
        return value

    def __dir__() -> list[str]:
        """The package's names, without the modules that they come from."""
        return sorted(own)

    names["__getattr__"], names["__dir__"] = __getattr__, __dir__
    names.setdefault("__all__", sorted(name for name in own if not name.startswith("_")))
    vars(module).update(_modules_of(package, own), **names)
    ModuleType.__setattr__(module, "__class__", ModuleType)
    if not modules.isdisjoint(x._module for x in postponed.values()):
        keep_functions(package, postponed)
