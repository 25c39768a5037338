"""Cut minijax at a chapter: `python tools/cut.py 4` makes what stands at the end of chapter 4.

The rooms of chapters 1..N are copied to build/cut/chNN/minijax as they are. The facades, which only
re-export, are shortened: a line `# chapter M` begins what chapter M adds, and it goes if M > N.
With `--test`, the tests of the core run against the result, as far as they need chapters 1..N only.
Other options go to pytest: `--sample 20` takes every 20th case. `--core` cuts out the engine alone.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "minijax"
ENGINE_TESTS = "tests/core/test_engine.py"  # they use nothing but the core
LAST = 10  # the last chapter at which the package can be cut

# A room is a module or a folder, named from the package on. The same rooms, in the same order, are
# pyproject.toml's contract. `lax.*` stands for what no other room of that folder names.
ROOMS = {
    1: ("settings", "compat.config", "errors", "source", "text.differences", "text.documents",
        "text.key_paths", "text.naming", "text.locations", "text.scopes", "text.debug_info",
        "text.origins", "text.printing",
        "compat.first_use", "compat.optional", "compat.typing", "compat.util",
        "core.extension", "core.placements", "core.util", "core.dtypes", "checks.dtypes",
        "checks.advice", "checks.tracebacks",
        "core.avals", "core.core", "checks.core", "core.boundary", "core.array", "checks.array",
        "core.evaluation", "core.primitives", "checks.primitives", "core.operators",
        "checks.operators"),
    2: ("core.forward",),
    3: ("core.tree", "core.api_util", "checks.sequences",
        "checks.arguments", "checks.tree", "checks.api", "pytree", "runtime.placements"),
    4: ("core.batching",),
    5: ("core.jaxpr", "checks.jaxpr", "checks.typecheck", "core.staging",
        "checks.staging", "core.traced", "text.cache_misses", "text.reprs",
        "runtime.effect_sets", "runtime.settings", "runtime.structs"),
    6: ("runtime.exits", "runtime.interruptions", "runtime.forks", "runtime.autotune",
        "runtime.memory",
        "core.lowering", "core.lowering_rules", "checks.lowering", "core.calls", "core.jit",
        "checks.jit", "runtime.jit", "runtime.jit_equations", "runtime.dispatch", "runtime.modules",
        "runtime.arguments", "runtime.platforms",
        "runtime.client", "runtime.compiler", "runtime.wrong_programs", "runtime.backends",
        "runtime.transfers",
        "runtime.lib", "runtime.devices", "runtime.effects",
        "runtime.seen_calls", "runtime.stages"),
    7: ("core.partial_eval", "checks.partial_eval"),
    8: ("core.transposition", "checks.transposition"),
    9: ("lax.families", "lax.conversions", "lax.dtypes", "lax.precision", "lax.sizes",
        "lax.elementwise",
        "lax.bitwise", "lax.complex_numbers", "lax.complex_rules", "lax.rounding",
        "lax.shaping", "lax.cutting", "lax.stacking", "lax.slicing", "lax.windows",
        "lax.gathering", "lax.scattering", "lax.scatter_evaluation", "lax.fewer_bits",
        "lax.dynamic_slices", "lax.reductions", "lax.sums", "lax.selection", "lax.cumulative",
        "lax.products",
        "lax.operators", "lax.indexing", "lax.out_shardings", "lax.compile_time",
        "lax.control_flow",
        "lax.jacobians"),
    10: ("compat.*", "custom_rules", "remat", "checks.remat", "debugging.scopes"),
    11: ("lax.*",),
    12: ("numpy", "compat.dlpack"),
    13: ("random", "scipy", "nn"),
    14: ("parallel", "runtime.*"),
    15: ("debugging.*", "state"),
    16: ("compat.alias", "experimental", "example_libraries", "debugging.derivative_checks", "cli",
         "__main__"),
}
# The files of the core in the order in which they are read. Those of the last line are small, and
# nearly every other file uses them: read them when you wonder what they do.
READING_ORDER = (
    "core", "avals", "array", "evaluation", "primitives", "dtypes", "operators", "forward",
    "tree", "api_util",
    "batching", "jaxpr", "staging", "traced", "lowering", "lowering_rules",
    "calls", "jit", "partial_eval", "transposition", "api",
    "util", "boundary", "placements", "extension",
)  # fmt: skip
# The engine that stands alone.
CORE = ("core", "settings", "errors", "source", "runtime.__init__", "runtime.client")
FACADE_OF_THE_CORE = '''"""The engine of minijax, alone: `minijax.lax` has its operations."""

from .core import operators as _operators  # arrays and tracers get theirs
from .core import primitives as lax
from .core.api import eval_shape, grad, jvp, linearize, make_jaxpr, value_and_grad, vjp, vmap
from .core.jit import jit
from .settings import disable_jit, enable_x64
'''
# They re-export. A line `# chapter M` begins what chapter M adds. The public transformations,
# `core.api`, grow in the same manner.
FACADES = ("__init__", "core.__init__", "core.api", "checks.__init__", "compat.__init__",
           "text.__init__",
           "lax.__init__", "runtime.__init__", "debugging.__init__", "_src", "ad_checkpoint",
           "api_util", "custom_batching", "custom_derivatives", "debug", "distributed", "dlpack",
           "dtypes", "extend", "flatten_util", "interpreters", "lib", "monitoring",
           "ops", "profiler", "ref", "sharding", "stages", "tree", "tree_util", "typing",
           "util", "version", "dlpack", "image", "alias", "test_util")
IGNORED = shutil.ignore_patterns("__pycache__")
MARKER = re.compile(r"\s*# chapter (\d+)\b")


def cut_facade(text: str, chapter: int) -> str:
    """The lines of a facade that chapters 1..`chapter` wrote, with those before any marker."""
    kept, owner = [], 1
    for line in text.splitlines(keepends=True):
        marker = MARKER.match(line)
        owner = int(marker[1]) if marker else owner
        if owner <= chapter:
            kept.append(line)
    return "".join(kept)


def sources(name: str) -> list[Path]:
    """The files of a room or a facade, relative to the package."""
    if name.endswith(".*"):
        return [path for room in members(name) for path in sources(room)]
    place = PACKAGE.joinpath(*name.split("."))
    module = place.with_name(f"{place.name}.py")
    found = [module] if module.exists() else sorted(place.rglob("*.py"))
    return [path.relative_to(PACKAGE) for path in found]


def members(room: str) -> list[str]:
    """The modules that `folder.*` stands for; of any other room, the room itself."""
    folder, star, _ = room.partition(".*")
    if not star:
        return [room]
    named = {name for rooms in ROOMS.values() for name in rooms}
    modules = {f"{folder}.{path.stem}" for path in (PACKAGE / folder).iterdir()
               if path.stem not in ("__init__", "__pycache__")}
    return sorted(modules - named)


def copy(path: Path, target: Path, text: str) -> None:
    """Write a file of the cut package, making its folders."""
    (target / path).parent.mkdir(parents=True, exist_ok=True)
    (target / path).write_text(text)


def cut(chapter: int, folder: Path) -> Path:
    """Make `folder`/minijax as at the end of a chapter, and `folder`/tests; return `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    package = folder / "minijax"
    for owner, rooms in ROOMS.items():
        for path in (path for room in rooms if owner <= chapter for path in sources(room)):
            copy(path, package, (PACKAGE / path).read_text())
    for path in (path for facade in FACADES for path in sources(facade)):
        copy(path, package, cut_facade((PACKAGE / path).read_text(), chapter))
    copy_tests(folder / "tests")
    return folder


def cut_core(folder: Path) -> Path:
    """Make `folder`/minijax of the engine alone, and `folder`/tests; return `folder`.

    It has `core/`, what stands beside it, and the door to XLA. The checks are taken out.
    """
    shutil.rmtree(folder, ignore_errors=True)
    package = folder / "minijax"
    for path, text in engine_files().items():
        copy(path, package, without_checks(text))
    copy(Path("__init__.py"), package, FACADE_OF_THE_CORE)
    copy_tests(folder / "tests")
    return folder


def engine_files() -> dict[Path, str]:
    """The text of each file that the engine needs, with its checks.

    The files beside `core/` serve all rooms. What the engine does not name is left out of them: an
    error that it does not raise, or a setting that it does not read. `core/__init__.py` has the
    public names of `jax.core`, which the engine does not use.
    """
    files = {path: (PACKAGE / path).read_text() for room in CORE for path in sources(room)}
    files[Path("core/__init__.py")] = '"""The engine of minijax."""\n'
    engine = {path: without_checks(text) for path, text in files.items()}
    for path in (path for path in files if path.parts[0] != "core"):
        others = [text for other, text in engine.items() if other != path]
        files[path] = engine[path] = without_unused(files[path], [*others, FACADE_OF_THE_CORE])
    return files


def without_unused(text: str, others: list[str]) -> str:
    """A module without the definitions that neither `others` nor the rest of it name."""
    definitions = {name: node for node in ast.parse(text).body for name in names_of(node)}
    todo: list[ast.AST] = [*map(ast.parse, others)]
    todo += [node for node in ast.parse(text).body if not names_of(node)]
    unused = {*definitions}
    while todo:
        used = names_in(todo.pop()) & unused
        unused -= used
        todo += [definitions[name] for name in used]
    gone = {line for name in unused
            for line in range(definitions[name].lineno, definitions[name].end_lineno + 1)}
    lines = text.splitlines(keepends=True)
    kept = "".join(line for number, line in enumerate(lines, 1) if number not in gone)
    return re.sub(r"\n{4,}", "\n\n\n", kept)


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names if alias.name != "annotations"]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def names_in(node: ast.AST) -> set[str]:
    """The names that code reads, as variables, attributes or imports."""
    return {getattr(part, {"Name": "id", "Attribute": "attr", "alias": "name"}[kind])
            for part in ast.walk(node)
            if (kind := type(part).__name__) in ("Name", "Attribute", "alias")}


def without_checks(text: str) -> str:
    """A module of the core without its checks: each is a statement of its own, and its lines go."""
    tree, lines = ast.parse(text), [*text.splitlines()]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level
               and f"{node.module}.".startswith("checks.")]
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    blocks = [block for node in ast.walk(tree) for part in ("body", "orelse", "finalbody")
              if isinstance(block := getattr(node, part, None), list)]
    gone = {line for node in imports for line in range(node.lineno - 1, node.end_lineno)}
    for block in blocks:
        checks = [node for node in block if is_check(node, names)]
        gone |= {line for node in checks for line in range(node.lineno - 1, node.end_lineno)}
        if checks == block and block:
            first = block[0]
            gone.remove(first.lineno - 1)
            lines[first.lineno - 1] = " " * first.col_offset + "pass"
    return "".join(f"{line}\n" for number, line in enumerate(lines) if number not in gone)


def is_check(node: ast.stmt, names: set[str]) -> bool:
    """Whether a statement is the call of a function of one of these names, or a part of it."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    function = node.value.func
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in names


def copy_tests(target: Path) -> None:
    """The tests of the core, and what they need."""
    target.mkdir(parents=True)
    shutil.copytree(ROOT / "tools", target.parent / "tools", ignore=IGNORED)
    for path in (ROOT / "tests").glob("*.py"):
        if not path.name.startswith("test_"):
            shutil.copy(path, target)
    shutil.copytree(ROOT / "tests" / "oracle", target / "oracle", ignore=IGNORED)
    copy(Path(ENGINE_TESTS), target.parent, (ROOT / ENGINE_TESTS).read_text())


def run(folder: Path, *arguments: str) -> int:
    """Run Python in a cut, where `import minijax` means the cut one; return the exit code."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment).returncode


def import_all(folder: Path) -> int:
    """Import every module of the cut package, in a fresh process."""
    package = folder / "minijax"
    modules = [path.relative_to(folder).with_suffix("") for path in sorted(package.rglob("*.py"))]
    names = [".".join(module.parts).removesuffix(".__init__") for module in modules]
    lines = [f"import {name}" for name in names]
    lines.append(f"assert minijax.__file__ == {str(package / '__init__.py')!r}, minijax.__file__")
    return run(folder, "-c", "\n".join(lines))


def test(folder: Path, chapter: int, *options: str) -> int:
    """Run what the tests of the core test of chapters 1 to `chapter` against a cut package."""
    return test_paths(folder, ENGINE_TESTS, "--chapter", str(chapter), *options)


def test_paths(folder: Path, *options: str) -> int:
    """Run pytest in a cut, where `import minijax` means the cut one; return the exit code."""
    plugins = ["-p", "no:cacheprovider", "-p", "tools.sampling"]
    config = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    config += ["-o", f"pythonpath={folder}"]
    return run(folder, "-m", "pytest", "-q", *plugins, *config, *options)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("chapter", type=int, nargs="?", choices=range(1, LAST + 1),
                        metavar="CHAPTER")
    parser.add_argument("--core", action="store_true", help="cut out the engine alone")
    parser.add_argument("--test", action="store_true", help="run the tests of chapters 1..CHAPTER")
    parser.add_argument("--folder", type=Path, help="default: build/cut/chNN")
    options, for_pytest = parser.parse_known_args()
    number = options.chapter
    if options.core:
        folder = cut_core((options.folder or ROOT / "build" / "cut" / "core").resolve())
        code = import_all(folder)
        print(f"the engine of minijax is in {os.path.relpath(folder)}", flush=True)
        return code or (test_paths(folder, ENGINE_TESTS, *for_pytest) if options.test else 0)
    folder = cut(number, (options.folder or ROOT / "build" / "cut" / f"ch{number:02}").resolve())
    code = import_all(folder)
    print(f"minijax at the end of chapter {number} is in {os.path.relpath(folder)}", flush=True)
    if code or not options.test:
        return code
    return test(folder, number, *for_pytest)


if __name__ == "__main__":
    sys.exit(main())
