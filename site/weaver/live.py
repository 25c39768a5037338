"""Live cells: the blocks ```` ```python live ````, which the reader can change and run on the page.

There they run in MicroPython, which has tiny, a stand-in for NumPy, and few other modules. So the
build runs them on the same ground: tiny as it stands after the chapter, on the stand-in, and no
syntax that MicroPython does not have. It cannot see that MicroPython's dicts have no order, and
that `set.union` takes one set there, so a test runs every cell in MicroPython. Live cells see the
names of the live cells above them.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

from . import tiny

LAST = 9  # the last chapter that adds to tiny
IMPORTS = set("collections functools itertools math operator numpy tiny tiny_loops".split())
IMPORTS.add("minijax.runtime")  # which tiny does without if it is not there


def files(chapter: int) -> dict[str, str]:
    """The files that the cells of a chapter can import, by their names; sources of Python."""
    found = {"numpy.py": (tiny.FOLDER / "numpy_stand_in.py").read_text()}
    if chapter >= 1:
        found["tiny.py"] = tiny.source_until(chapter)
    if chapter >= LAST:
        found["tiny_loops.py"] = (tiny.FOLDER / "tiny_loops.py").read_text()
    return found


class World:
    """What the live cells of a page see: their common names, and modules made for them alone."""

    def __init__(self, chapter: int):
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self._sources, self._modules = files(chapter), dict[str, types.ModuleType]()

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Within, `import tiny` and `import numpy` find what they find on the page."""
        names = ["numpy", "tiny", "tiny_loops", "minijax.runtime"]
        outside = {name: sys.modules[name] for name in names if name in sys.modules}
        try:
            sys.modules.update({name: self._modules.get(name) for name in names})  # type: ignore[misc]
            for file, source in self._sources.items():
                name = file.removesuffix(".py")
                if name not in self._modules:
                    sys.modules[name] = self._modules[name] = _module(name, source)
            yield
        finally:
            for name in names:
                sys.modules.pop(name, None)
            sys.modules.update(outside)

    def shared(self) -> dict[str, Any]:
        """The names that later blocks, which are no live cells, see: those that cells define."""
        modules = self._modules.values()
        imported = {id(value) for module in modules for value in vars(module).values()}
        return {name: value for name, value in self.names.items()
                if not name.startswith("__") and not isinstance(value, types.ModuleType)
                and id(value) not in imported}


def _module(name, source):
    module = types.ModuleType(name)
    exec(_compiled(name, source), vars(module))
    return module


@functools.cache
def _compiled(name, source):
    return compile(source, f"{name}.py", "exec")


# ----------------------------------------------------------------------------------------------
# What MicroPython has not


def not_in_micropython(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that MicroPython, as the page runs it, cannot parse or import."""
    for node in ast.walk(tree):
        if any(found(node) for found in _UNKNOWN):
            yield node


def _starred_display(node):
    is_display = isinstance(node, ast.List | ast.Tuple | ast.Set)
    is_target = isinstance(getattr(node, "ctx", None), ast.Store)
    return is_display and not is_target and any(isinstance(x, ast.Starred) for x in node.elts)


def _import(node):
    names = [name.name for name in node.names] if isinstance(node, ast.Import) else (
        [node.module] if isinstance(node, ast.ImportFrom) else [])
    return not set(names) <= IMPORTS


_UNKNOWN = [
    _starred_display, _import,
    lambda node: isinstance(node, ast.Dict) and None in node.keys,
    lambda node: isinstance(node, ast.Match | ast.AsyncFunctionDef | ast.AnnAssign),
    lambda node: isinstance(node, ast.arguments) and bool(node.posonlyargs),
    lambda node: isinstance(node, ast.keyword) and node.arg == "strict",
]
