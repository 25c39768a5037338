"""Which tests reach which code.

The library is imported with a probe in each block: the body of a function, of a branch, of a loop.
A test reaches a block if its probe is called while the test runs.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.mutation.mutants import ROOT

PROBE = "_probe_"
reached: set[str] = set()  # the blocks reached since it was cleared


class Rewriter(importlib.abc.MetaPathFinder):
    """Imports the library's files as `rewrite(path, text)`, where that returns a program."""

    def __init__(self, rewrite: Callable[[str, str], Any]) -> None:
        self.rewrite = rewrite

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> Any:
        """The module's own spec, with a loader that rewrites."""
        if fullname.partition(".")[0] != "minijax":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
            spec.loader.rewrite = self.rewrite
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    rewrite: Any

    def get_code(self, fullname: str) -> Any:
        """The code of the rewritten program, which is not cached."""
        path = str(Path(self.path).relative_to(ROOT))
        program = self.rewrite(path, Path(self.path).read_text())
        if program is None:
            return super().get_code(fullname)
        return compile(program, self.path, "exec")

    def exec_module(self, module: Any) -> None:
        """Run the module, which can call the probe."""
        vars(module)[PROBE] = reached.add
        super().exec_module(module)


def block_of(tree: ast.AST, line: int, column: int) -> str | None:
    """The name of the innermost block that contains a position; None outside of functions."""
    best = None
    for name, nodes in blocks(tree):
        first, last = nodes[0], nodes[-1]
        if (first.lineno, first.col_offset) <= (line, column) < (
                last.end_lineno, last.end_col_offset):
            best = name  # an inner block comes after the outer one
    return best


def blocks(tree: ast.AST):
    """Each block's name, and its statements (of a lambda, its expression)."""

    def visit(node, scope, numbers):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.Lambda)):
                name = f"{scope}.{getattr(child, 'name', '<lambda>')}"
                numbers[name] = numbers.get(name, 0) + 1
                name = f"{name}#{numbers[name]}"
                body = child.body if isinstance(child, ast.FunctionDef) else [child.body]
                yield name, body, child
                inner: dict = {}
                for statement in body:
                    yield from visit(ast.Module([statement], []), name, inner)
                continue
            branches = isinstance(child, (ast.If, ast.For, ast.While))
            for field in ("body", "orelse") if branches else ():
                if scope and getattr(child, field):
                    numbers["if"] = numbers.get("if", 0) + 1
                    yield f"{scope}:{numbers['if']}", getattr(child, field), child
            yield from visit(child, scope, numbers)

    for name, nodes, _ in visit(tree, "", {}):
        yield name, nodes


def with_probes(path: str, text: str) -> ast.Module:
    """The program with a call of the probe at the beginning of each block."""
    tree = ast.parse(text)
    for name, nodes in list(blocks(tree)):
        first = nodes[0]
        call = ast.Call(ast.Name(PROBE, ast.Load()), [ast.Constant(f"{path}{name}")], [])
        ast.copy_location(call, first)
        if isinstance(first, ast.stmt):
            _insert(nodes, ast.copy_location(ast.Expr(call), first))
        else:
            _LAMBDAS[id(first)] = call
    tree = _Lambdas().visit(tree)
    _LAMBDAS.clear()
    return ast.fix_missing_locations(tree)


_LAMBDAS: dict[int, ast.expr] = {}


def _insert(statements: list, probe: ast.stmt) -> None:
    first = statements[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    statements.insert(1 if documented else 0, probe)


class _Lambdas(ast.NodeTransformer):
    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        probe = _LAMBDAS.get(id(node.body))
        node = self.generic_visit(node)
        if probe is not None:
            both = ast.copy_location(ast.Tuple([probe, node.body], ast.Load()), node.body)
            index = ast.copy_location(ast.Constant(1), node.body)
            node.body = ast.copy_location(ast.Subscript(both, index, ast.Load()), node.body)
        return node


def install(rewrite: Callable[[str, str], Any]) -> None:
    """Import the library rewritten from now on."""
    assert "minijax" not in sys.modules, "minijax has been imported already"
    sys.meta_path.insert(0, Rewriter(rewrite))
