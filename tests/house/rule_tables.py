"""Who sets the rules of primitives, and where?

Run as a program, this imports all of minijax. Each dictionary that a module gives a name is replaced
by one that notes who sets an entry for a primitive, and so are the rules that are attributes. It
prints a JSON list of entries `[table, name, number, [file:line, …]]`: the number tells primitives of
one name apart, and there is a place for each time that the entry was set.
"""

from __future__ import annotations

import ast
import collections
import importlib.util
import json
import pkgutil
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "minijax"
NOT_IMPORTED = ("minijax.__main__", "minijax.alias", "minijax.cli.__main__")

settings: dict[tuple, list[str]] = collections.defaultdict(list)


def note(table: str, key) -> None:
    """Note that the line of the library that runs now sets the entry of a primitive."""
    names = [*(key if isinstance(key, tuple) else (key,))]
    if not any(type(x).__module__.startswith("minijax") and hasattr(x, "def_impl") for x in names):
        return
    frame, places = sys._getframe(1), []
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(str(ROOT)):
            places.append(f"{Path(path).relative_to(ROOT.parent)}:{frame.f_lineno}")
            if frame.f_code.co_name == "<module>":
                break
        frame = frame.f_back
    settings[table, "/".join(map(str, names)), tuple(map(id, names))].append(places[-1] if places else "?")


class Table(dict):
    """A dictionary that notes each entry that is set."""

    def __init__(self, name, *args):
        self._table_name = name
        super().__init__()
        self.update(*args)

    def __setitem__(self, key, value):
        note(self._table_name, key)
        super().__setitem__(key, value)

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __ior__(self, other):
        self.update(other)
        return self

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key, *default):
        note(self._table_name, key)
        return super().pop(key, *default)

    def __delitem__(self, key):
        note(self._table_name, key)
        super().__delitem__(key)


class _Tables(ast.NodeTransformer):
    """Makes a `Table` of each dictionary that a module or a class gives a name."""

    def __init__(self, module):
        self.module = module

    def _named(self, node, target):
        if isinstance(node.value, ast.Call) and ast.unparse(node.value).startswith(("RuleTable()", "RuleTable({")):
            node.value = next(iter(node.value.args), ast.Dict([], []))
        if isinstance(node.value, (ast.Dict, ast.DictComp)) and isinstance(target, ast.Name):
            call = ast.parse("__import__('sys').modules['rule_tables'].Table(0)", mode="eval").body
            call.args = [ast.Constant(f"{self.module}.{target.id}"), node.value]
            node.value = call
            ast.fix_missing_locations(ast.copy_location(call, node))
        return node

    def visit_Assign(self, node):
        return self._named(node, node.targets[0])

    def visit_AnnAssign(self, node):
        return self._named(node, node.target) if node.value is not None else node

    def visit_FunctionDef(self, node):
        return node


class _Loader(SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):
        tree = _Tables(self.name).visit(ast.parse(data, path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)

    def exec_module(self, module):
        super().exec_module(module)
        if self.name == "minijax.core.core":
            watch(module.Primitive)


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] != "minijax":
            return None
        base = ROOT.parent.joinpath(*name.split("."))
        for file in (base / "__init__.py", base.with_suffix(".py")):
            if file.exists():
                return importlib.util.spec_from_file_location(
                    name, file, loader=_Loader(name, str(file)),
                    submodule_search_locations=[str(base)] if file.stem == "__init__" else None)
        return None


def watch(cls: type) -> None:
    """Note the rules that are attributes of a primitive."""

    def setattr_and_note(self, name, value):
        if name in ("impl", "abstract_eval", "effects"):
            note(name, self)
        object.__setattr__(self, name, value)

    cls.__setattr__ = setattr_and_note


def everything() -> None:
    """Import each module of the library."""
    import minijax

    for module in pkgutil.walk_packages(minijax.__path__, "minijax.", onerror=lambda name: None):
        if module.name not in NOT_IMPORTED:
            importlib.import_module(module.name)


if __name__ == "__main__":
    sys.modules["rule_tables"] = sys.modules["__main__"]
    sys.meta_path.insert(0, _Finder)
    everything()
    numbers = {ids: i for i, ids in enumerate(dict.fromkeys(ids for _, _, ids in settings))}
    json.dump([[table, name, numbers[ids], places]
               for (table, name, ids), places in settings.items()], sys.stdout)
