"""What `core/` shows is what runs: a breakpoint in it is hit in the first call and in the hundredth.

Nothing replaces a method of the core's classes. One short cut is legitimate: a primitive on plain
arrays may be evaluated without `EvalTrace.process_primitive` while that trace is current.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest

from tests.oracle import subject as jax

jnp, lax = jax.numpy, jax.lax
CORE = Path(importlib.import_module("minijax.core").__file__).parent
PACKAGE = CORE.parent
TRACES = {"JVPTrace", "JaxprTrace", "BatchTrace", "DynamicJaxprTrace"}
LOOKED_AT = (1, 2, 3, 100)
FILES = sorted(CORE.rglob("*.py"))


@jax.custom_vjp
def tripled(x):
    return 3 * x


tripled.defvjp(lambda x: (tripled(x), None), lambda _, ct: (3 * ct,))
squared = jax.jit(lambda x: x * x)


# The parts of control flow are functions of their own, so that they are compiled once.
def times(c, a):
    return c * a, c


def below_9(c):
    return c[0] < 9


def step(c):
    return c[0] + c[1], c[1]


def grown(x):
    return lax.while_loop(below_9, step, (x, x))[0]


def f(x):
    x = lax.cond(x > 0, jnp.cos, jnp.exp, jnp.sin(x) * x)
    x = lax.scan(times, x, jnp.full(1, 2.0))[0]
    return jax.checkpoint(jnp.tanh)(x) + squared(x)


def everything() -> None:
    """Each transformation, made anew."""
    s, v = jnp.float32(0.5), jnp.arange(3.0)
    jax.grad(f)(s)
    jax.grad(jax.grad(jnp.sin))(s)
    jax.grad(tripled)(s)
    jax.jvp(f, (s,), (s,))
    jax.linearize(f, s)[1](s)
    jax.vjp(f, s)[1](s)
    jax.vmap(f)(v)
    jax.vmap(jax.grad(f))(v)
    jax.jit(f)(s)
    jax.make_jaxpr(jax.vmap(jax.grad(f)))(v)
    jax.jacfwd(jnp.sin)(v)
    jax.vmap(grown)(v + 1)
    jax.jvp(grown, (s,), (s,))


def calls_of(program: Callable[[], Any]) -> Counter[CodeType]:
    """How often each Python function of the library was called."""
    seen: Counter[CodeType] = Counter()

    def look(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            seen[frame.f_code] += 1

    sys.setprofile(look)
    try:
        program()
    finally:
        sys.setprofile(None)
    return seen


@pytest.fixture(scope="module")
def calls() -> dict[int, Counter[CodeType]]:
    """What was called in some of a hundred calls of the program."""
    found = {}
    for number in range(1, 101):
        if number in LOOKED_AT:
            found[number] = calls_of(everything)
        else:
            everything()
    return found


def interpreters(seen: Counter[CodeType]) -> Counter[str]:
    """How often each trace interpreted a primitive, by the file and class that defines it."""
    return Counter({f"{Path(code.co_filename).relative_to(PACKAGE)} {code.co_qualname}": n
                    for code, n in seen.items() if code.co_name == "process_primitive"})


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 2, 100])
def test_every_trace_of_the_core_interprets(calls, number):
    found = {path: n for path, n in interpreters(calls[number]).items()
             if path.startswith("core/")}
    classes = {path.split()[1].partition(".")[0] for path in found}
    assert classes >= TRACES, found
    others = [path for path in interpreters(calls[number]) if not path.startswith("core/")]
    assert not others, "another function stands in for a trace's interpreter"


def test_the_traces_interpret_as_often_in_the_hundredth_call_as_in_the_third(calls):
    def counted(number: int) -> dict[str, int]:
        return {k: n for k, n in interpreters(calls[number]).items() if "EvalTrace" not in k}

    assert counted(3) == counted(100)


def test_no_call_goes_another_way_because_others_came_before(calls):
    """The functions that are called are the same; but caches are emptied at times that vary."""
    third, last = (set(calls[n]) for n in (3, 100))
    new = {f"{Path(c.co_filename).relative_to(PACKAGE)}:{c.co_firstlineno} {c.co_qualname}"
           for c in last - third | third - last}
    assert not {path for path in new if not path.startswith(("core/util.py", "runtime/"))}, new


# --- the classes of the core have the methods that their bodies have ---


def module_of(path: Path) -> Any:
    """The module that a file of the core defines."""
    parts = ["minijax", *path.relative_to(PACKAGE).with_suffix("").parts]
    return importlib.import_module(".".join(part for part in parts if part != "__init__"))


def classes_in(tree: ast.Module) -> Iterator[ast.ClassDef]:
    """The classes at a module's level."""
    return (node for node in tree.body if isinstance(node, ast.ClassDef))


def functions_of(attribute: Any) -> list[FunctionType]:
    """The Python functions behind a method, property, or function in a cache."""
    parts = [getattr(attribute, name, None) for name in ("__func__", "fget", "fset", "func", "__wrapped__")]
    inner = [f for part in parts if part is not None for f in functions_of(part)]
    return inner + [attribute] * isinstance(attribute, FunctionType)


def lines_of(node: ast.FunctionDef) -> range:
    """The lines of a method, with those of its decorators."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return range(first, (node.end_lineno or first) + 1)


def changed(cls: type, node: ast.ClassDef, path: Path) -> Iterator[str]:
    """The names of a class body that mean something else at run time."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef):
            found = vars(cls).get(statement.name)
            codes = [f.__code__ for f in functions_of(found)]
            if not any(Path(c.co_filename) == path and c.co_firstlineno in lines_of(statement)
                       for c in codes):
                # Later statements may define a name again: a property's setter, an overload.
                yield f"{node.name}.{statement.name}"
        elif isinstance(statement, ast.Assign) and is_path(statement.value):
            yield from (f"{node.name}.{target.id}" for target in statement.targets
                        if isinstance(target, ast.Name)
                        and not is_assigned(cls, target.id, statement.value, module_of(path)))


def is_path(node: ast.expr) -> bool:
    """Whether an expression is a name or `module.name`."""
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and is_path(node.value)


def is_assigned(cls: type, name: str, value: ast.expr, module: Any) -> bool:
    """Whether the class has what the assignment in its body says."""
    text = ast.unparse(value)
    names = {**vars(module), **vars(cls)}
    expected = eval(text, names) if text.partition(".")[0] in names else eval(text)
    return vars(cls).get(name) is expected


def everything_loaded() -> None:
    """Load every room, since each could change a class."""
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(["minijax", *path.relative_to(PACKAGE).with_suffix("").parts])
        if not name.endswith("__main__") and "cuda" not in name:
            importlib.import_module(name.removesuffix(".__init__"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_no_method_of_the_core_is_replaced(path):
    everything_loaded()
    module = module_of(path)
    found = [name for node in classes_in(ast.parse(path.read_text()))
             for name in changed(getattr(module, node.name), node, path)]
    assert not found


ARRAYS = {"ArrayMethods", "Array", "Tracer"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_only_arrays_and_tracers_gain_methods(path):
    """A class has the names of its body; a dataclass or named tuple has generated ones too."""
    everything_loaded()
    module, gained = module_of(path), []
    for node in classes_in(ast.parse(path.read_text())):
        if node.name in ARRAYS:
            continue
        for name, attribute in vars(getattr(module, node.name)).items():
            if name not in names_of(node):
                gained += [f"{node.name}.{name}" for f in functions_of(attribute)
                           if f.__code__.co_filename.startswith(str(PACKAGE))]
    assert not gained


def names_of(node: ast.ClassDef) -> set[str]:
    """The names that a class body defines or assigns, which the test above compares."""
    defined = {s.name for s in node.body if isinstance(s, ast.FunctionDef)}
    return defined | {ast.unparse(target) for s in node.body if isinstance(s, ast.Assign)
                      for target in s.targets}


def test_public_functions_are_the_cores():
    from minijax.core import api

    for name in ("jvp", "vjp", "grad", "value_and_grad", "linearize", "vmap", "make_jaxpr", "eval_shape"):
        assert getattr(jax, name) is getattr(api, name), name
        assert Path(inspect.getfile(inspect.unwrap(getattr(jax, name)))) == CORE / "api.py", name


def test_values_are_right_in_every_call():
    f = jax.grad(lambda x: jnp.sin(x) * x)
    assert len({np.asarray(f(0.5)).tobytes() for _ in range(30)}) == 1
