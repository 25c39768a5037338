"""No module assigns attributes of what it imports: there are extensions and tables for that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from minijax.core.array import Array
from minijax.core.core import ArrayMethods, Primitive, Tracer, install_methods

ROOT = Path(__file__).parents[2] / "minijax"
MODULES = sorted(ROOT.rglob("*.py"))

# What may be assigned all the same: (module, target) -> why.
ALLOWED = {
    ("runtime/distributed.py", "sys.exit"):
        "Python has no other way to tell an exit with an error; `shutdown` puts it back.",
    ("cli/run.py", "sys.argv"): "The program that is run reads its own arguments there.",
}
# Attributes that are set by a name that is computed: (module, the object) -> why.
BY_NAME = {
    ("core/core.py", "cls"): "`install_methods`: new methods of arrays and tracers, and only new ones.",
    ("core/extension.py", "hooks"): "The extensions in force, which is what `hooks` is for.",
    ("compat/first_use.py", "sys.modules[above]"): "A module without a file is an attribute of its package.",
    ("extend/core/primitives.py", "globals()"): "Its own names: the primitives of all rooms.",
    ("compat/alias.py", "copy"): "A module that `import jax` finds, which it has just made.",
    ("runtime/compiler.py", "options.executable_build_options"): "The options for one compilation.",
    ("parallel/programs/pmap.py", "jitted"): "A function that it has just made.",
}
# Imported objects whose attributes are meant to be assigned: name -> why.
STATE = {
    "state": "the thread's current trace and named axes, declared as such in core/core.py",
    "source": "the thread's source location, declared as such in source.py",
}


def root_name(node: ast.expr) -> str | None:
    """The name at the head of `a.b[c].d`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def names_in(node: ast.expr) -> set[str]:
    """All names in `a.b[c].d`."""
    return {getattr(part, "attr", None) or getattr(part, "id", "") for part in ast.walk(node)}


def imported_names(tree: ast.AST) -> set[str]:
    names = [alias.asname or alias.name.partition(".")[0]
             for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))
             for alias in node.names]
    return set(names)


def scopes(tree: ast.Module) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """Each function, or the module, with the nodes that are in it and in no inner function."""
    pending: list[ast.AST] = [tree]
    while pending:
        scope = pending.pop()
        inside, found = list(ast.iter_child_nodes(scope)), []
        while inside:
            node = inside.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                pending.append(node)
                continue
            found.append(node)
            inside.extend(ast.iter_child_nodes(node))
        yield scope, found


def bound_names(scope: ast.AST, nodes: list[ast.AST]) -> set[str]:
    """The names that a function binds itself, and so hides."""
    bound = {node.id for node in nodes
             if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound -= {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    if not isinstance(scope, ast.Module):
        arguments = scope.args  # type: ignore[attr-defined]
        bound |= {a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)}
    return bound


def loop_names(nodes: list[ast.AST]) -> set[str]:
    return {name.id for node in nodes if isinstance(node, ast.For)
            for name in ast.walk(node.target) if isinstance(name, ast.Name)}


def backdoors(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the target of every assignment to what was imported."""
    imported = imported_names(tree)
    for scope, nodes in scopes(tree):
        at_module = isinstance(scope, ast.Module)
        foreign = imported - (set() if at_module else bound_names(scope, nodes))
        if at_module:  # `for f in (imported, …): f.attribute = …`
            foreign = foreign | loop_names(nodes)
        for node in nodes:
            for target in targets(node):
                if root_name(target) in foreign and not STATE.keys() & names_in(target):
                    yield node.lineno, ast.unparse(target)  # type: ignore[attr-defined]


def targets(node: ast.AST) -> Iterator[ast.expr]:
    """The attributes, and the slots numbered 0, that a statement or call sets."""
    if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(
            node.ctx, (ast.Store, ast.Del)):
        slot = node.slice if isinstance(node, ast.Subscript) else None
        if slot is None or isinstance(slot, ast.Constant) and slot.value == 0:
            yield node
    if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
            and node.func.id in ("setattr", "delattr")):
        yield node.args[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and (
                owner.func.id == "vars") and owner.args and node.func.attr == "update":
            yield owner.args[0]


_SETTERS = "setattr", "delattr"
_CHANGES = "update", "pop", "popitem", "setdefault", "clear", "__setitem__", "__delitem__"


def set_by_name(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the object of every change of an object's attributes by a computed name, unless
    a method does it to its own object."""
    for node in ast.walk(tree):
        for target in objects_changed(node):
            if (text := ast.unparse(target)) not in ("self", "self.__dict__"):
                yield node.lineno, text  # type: ignore[attr-defined]


def objects_changed(node: ast.AST) -> Iterator[ast.expr]:
    """What `setattr(x, …)`, `object.__setattr__(x, …)`, `slot.__set__(x, …)`, `vars(x)[…] = …`,
    `x.__dict__.update(…)` or `globals().pop(…)` changes: `x`, or the call of `globals`."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield from namespace_of(node.value)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in (*_SETTERS, "__setattr__", "__delattr__", "__set__") and node.args:
            yield node.args[0]
        if isinstance(node.func, ast.Attribute) and name in _CHANGES:
            yield from namespace_of(node.func.value)


def namespace_of(node: ast.expr) -> Iterator[ast.expr]:
    """`x` for `vars(x)` and `x.__dict__`; `globals()` for itself."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        yield node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "vars" and node.args:
            yield node.args[0]
        elif node.func.id == "globals":
            yield node


def one_element_slots(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Uses of a short list at the module's level as a slot: its first element is read or set."""
    slots = {target.id for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))
             for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
             if isinstance(target, ast.Name) and isinstance(node.value, ast.List)
             and len(node.value.elts) <= 1}
    for node in ast.walk(tree):
        if (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
                and node.value.id in slots and ast.unparse(node.slice) == "0"):
            yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_of_another_module_is_assigned(path):
    tree = ast.parse(path.read_text())
    name = str(path.relative_to(ROOT))
    found = [f"{name}:{line}: {target}" for line, target in
             [*backdoors(tree), *one_element_slots(tree)] if (name, target) not in ALLOWED]
    assert not found, "use an extension (core/extension.py), or a table"
    changed = [f"{name}:{line}: {target}" for line, target in set_by_name(tree)
               if (name, target) not in BY_NAME]
    assert not changed, "write the attribute in the class body, or in a table"


@pytest.mark.long
def test_what_is_allowed_is_there():
    found = {(str(path.relative_to(ROOT)), target) for path in MODULES
             for _, target in set_by_name(ast.parse(path.read_text()))}
    assert BY_NAME.keys() <= found


@pytest.mark.parametrize("code", [
    "setattr(C, name, f)", "object.__setattr__(x, 'y', 1)", "vars(m)['x'] = 1", "del vars(m)['x']",
    "m.__dict__['x'] = 1", "m.__dict__.update(x=1)", "globals().pop('vjp')", "globals()['x'] = 1",
    "type.__setattr__(C, 'f', f)", "C.f.__set__(x, 1)",
])  # fmt: skip
def test_changes_by_name_are_found(code):
    assert [*set_by_name(ast.parse(code))]


@pytest.mark.parametrize("methods, cls, words", [
    ({"bit_count": len}, Primitive, "not a class of arrays"),
    ({"reshape": len}, ArrayMethods, "has `reshape` already, from ArrayMethods"),
    ({"__add__": len}, Array, "has `__add__` already, from ArrayMethods"),
    ({"concrete_value": len}, Tracer, "has `concrete_value` already, from Tracer"),
    ({"__init__": len}, Array, "has `__init__` already"),
    ({"__repr__": len}, ArrayMethods, "has `__repr__` already, from Printed"),
])  # fmt: skip
def test_methods_are_new(methods, cls, words):
    with pytest.raises(TypeError, match=words):
        install_methods(methods, cls)


@pytest.mark.parametrize("code", [
    "import m\nm.x = 1",
    "import m\nm.x.y += 1",
    "from m import C\nC.method = lambda self: 1",
    "from m import f\ndef g():\n    f.x = 1",
    "from m import f\ndel f.x",
    "from m import C, D\nfor c in (C, D):\n    c.x = 1",
    "from m import C\nsetattr(C, 'x', 1)",
    "from m import slot\nslot[0] = 1",
    "import m\nvars(m).update(x=1)",
])
def test_backdoors_are_found(code):
    assert [*backdoors(ast.parse(code))]


@pytest.mark.parametrize("code", [
    "class C:\n    def f(self):\n        self.x = 1",
    "import m\ndef f(m):\n    m.x = 1",
    "from m import C\ndef f():\n    c = C()\n    c.x = 1",
    "from m import table\ntable['name'] = 1",
    "from m import state\nstate.trace = 1",
])
def test_assignments_to_ones_own_are_not(code):
    assert not [*backdoors(ast.parse(code))]


def test_slots_are_found():
    assert [*one_element_slots(ast.parse("slot = [None]\ndef f(x):\n    slot[0] = x"))]
    assert [*one_element_slots(ast.parse("slot: list = []\ndef f(x):\n    return slot[0](x)"))]
