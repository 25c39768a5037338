"""Every difference from JAX is declared, with its reason, in tools/differences.py; and is one."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import textwrap
import warnings
from types import ModuleType

import numpy as np
import pytest

import minijax
from minijax.compat.absent import ABSENT, ABSENT_NAMES, REMOVED
from tests.oracle import jax
from tools import differences
from tools.differences import IGNORED, MISSING, MISSING_MODULES, MODULES, OTHERWISE, PACKAGES

DISTRIBUTIONS = [f"scipy.stats.{m.name}" for m in pkgutil.iter_modules(jax.scipy.stats.__path__)]


def _public(module: ModuleType) -> set[str]:
    """The names that a module of JAX shows, without what it imports: modules, other libraries'.

    Most modules show what JAX's own `_src` defines; those named below define their own.
    """
    own = module.__name__.startswith(("jax.experimental.", "jax.example_libraries."))
    homes = (module.__name__,) if own else ("jax", "jaxlib", "numpy")
    return {name for name in dir(module) if not name.startswith("_")
            and not _borrowed(getattr(module, name), homes)}


def _borrowed(value, homes: tuple[str, ...]) -> bool:
    home = getattr(value, "__module__", None) or homes[0]
    return (isinstance(value, ModuleType) or type(value).__module__ == "__future__"
            or not home.startswith(homes))


@pytest.mark.parametrize("name", ["", *MODULES, *DISTRIBUTIONS])
def test_missing_names_are_those_that_are_declared(name):
    theirs, ours = (differences.module(library, name) for library in ("jax", "minijax"))
    assert theirs is not None, "JAX has no such module"
    assert ours is not None, "no such module: declare it in MISSING_MODULES, and drop it from MODULES"
    missing = {n for n in _public(theirs) if not hasattr(ours, n)}
    declared = differences.declared_missing(MISSING, name)
    assert missing - declared == set(), "missing, and no reason declared in tools/differences.py"
    assert declared - missing == set(), "declared in tools/differences.py as missing, but not so"


@pytest.mark.parametrize("name", PACKAGES)
def test_missing_modules_are_those_that_are_declared(name):
    theirs = differences.module("jax", name)
    found = [m.name for m in pkgutil.iter_modules(theirs.__path__) if not m.name.startswith("_")]
    missing = {n for n in found if differences.module("minijax", f"{name}.{n}".strip(".")) is None}
    assert missing == differences.declared_missing(MISSING_MODULES, name)


@pytest.mark.parametrize("where", [*ABSENT, *ABSENT_NAMES])
def test_absent_names_can_be_imported_and_not_called(where):
    theirs, ours = (differences.module(library, where) for library in ("jax", "minijax"))
    names = ABSENT[where][1].split() if where in ABSENT else " ".join(ABSENT_NAMES[where].values()).split()
    if theirs is not None:  # some modules of JAX need a package that is not here
        assert all(hasattr(theirs, name) for name in names)
    for name in names:
        stand_in = getattr(ours, name)
        assert not isinstance(1.0, stand_in)
        with pytest.raises(NotImplementedError, match=f"{name}: minijax does not have `jax.{where}.{name}`"):
            stand_in(1.0, option=2)


@pytest.mark.parametrize("where", REMOVED)
def test_names_that_jax_removed_say_what_to_use(where):
    for name, instead in REMOVED[where].items():
        theirs, ours = (differences.module(library, where) for library in ("jax", "minijax"))
        with pytest.raises(AttributeError):
            getattr(theirs, name)
        with pytest.raises(AttributeError, match=re.escape(f"Use {instead}")):
            getattr(ours, name)


def test_no_name_is_declared_twice():
    for table in (MISSING, MISSING_MODULES):
        names = [(where, name) for modules in table.values() for where, text in modules.items()
                 for name in text.split()]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("call", [call for calls in OTHERWISE.values() for call in calls])
def test_other_behaviour_is_other(call):
    def outcome(library):
        # A call may set a mesh, which the end of the block takes back.
        with warnings.catch_warnings(), library.set_mesh(None):
            warnings.simplefilter("ignore")
            try:
                return np.asarray(eval(call, {"jax": library, "jnp": library.numpy, "np": np})).tolist()
            except Exception as error:
                return type(error).__name__

    assert outcome(minijax) != outcome(jax)


def test_the_page_has_every_name():
    page = differences.page()
    for table in (MISSING, MISSING_MODULES):
        for modules in table.values():
            for text in modules.values():
                assert all(f"`{name}`" in page for name in text.split())


def _only_raises(node: ast.FunctionDef) -> bool:
    body = node.body[ast.get_docstring(node) is not None:]
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def _unused_parameters(function) -> list[str]:
    """The parameters of a function whose names its body does not mention, if it does not only raise."""
    try:
        node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):  # not written in Python, or a lambda in a table
        return []
    if not isinstance(node, ast.FunctionDef) or _only_raises(node):
        return []
    spec = node.args
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    mentioned = {x.id for line in node.body for x in ast.walk(line) if isinstance(x, ast.Name)}
    return [p.arg for p in parameters if p and p.arg not in {"self", "cls"} | mentioned]


def _public_functions():
    """(name, function) of all functions and methods that the public modules show, each once.

    All modules are loaded before: some give classes of others their methods (hijax, `ShapedArray`).
    """
    seen = set()
    modules = {where: differences.module("minijax", where) for where in ("", *MODULES)}
    for where, module in modules.items():
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or not getattr(value, "__module__", "").startswith("minijax"):
                continue
            methods = {f"{name}.{key}": getattr(value, key) for key in vars(value)
                       if key == "__init__" or not key.startswith("_")} if isinstance(value, type) else {name: value}
            for path, function in methods.items():
                function = inspect.unwrap(function) if callable(function) else None
                if inspect.isroutine(function) and function not in seen:
                    seen.add(function)
                    yield f"{where}.{path}".strip("."), function


def test_ignored_parameters_are_those_that_are_declared():
    anywhere = {p for functions in IGNORED.values() for p in functions.get("*", "").split()}
    declared = {(name, p) for functions in IGNORED.values() for name, text in functions.items()
                if name != "*" for p in text.split()}
    found = {(name, p) for name, function in _public_functions()
             for p in _unused_parameters(function) if p not in anywhere}
    assert found - declared == set(), "ignored, and no reason declared in tools/differences.py"
    assert declared - found == set(), "declared in tools/differences.py as ignored, but not so"
