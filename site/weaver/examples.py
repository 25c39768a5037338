"""Examples: the `python` blocks of a chapter, run in order in one namespace.

What a block prints, and then the value of its last expression, is its output: the `text` block
after it holds it. The words after `python` say more:

- `raises=TypeError`: the block ends with this error; its output is the error's class and message.
- `jax`: the block runs with real JAX, too (there `minijax` means `jax`), and gives the same;
  `jax=other`: it gives something else, which is shown beside ours and is declared in the page of
  intended differences.
- `plot="what is seen"`: the figure that matplotlib has open at the end is shown; the words are for
  those who do not see it.
- `theatre="title"`: the run of this block is recorded, for the trace theatre.
- `hidden`: runs, but is not shown. `norun`: shown, but does not run.
- `live`: the reader can change it and run it on the page. It can import tiny, as it stands after
  the chapter, and little else; see `live.py`.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import WeaveError, live

FENCE = re.compile(r"^(?P<marks>`{3,})(?P<info>.*)$")
OPTIONS = {"raises", "jax", "plot", "theatre", "hidden", "norun", "live"}


@dataclass
class Block:
    """A fenced block: lines `first` to `last` of a page (counted from 1), fences included."""

    kind: str
    options: dict[str, str]
    body: list[str]
    first: int
    last: int
    file: str = "example"

    @property
    def code(self) -> str:
        return "\n".join(self.body)


@dataclass
class Outcome:
    """What running an example gave."""

    text: str
    of_jax: str | None = None  # if it was run with real JAX and gave something else
    same_in_jax: bool = False
    figure: str | None = None  # SVG
    recording: Any = None


@dataclass
class Example:
    """A `python` block, and the `text` block with its stored output, if there is one."""

    block: Block
    stored: Block | None
    outcome: Outcome | None = field(default=None)
    chapter: int = live.LAST  # whose tiny it sees, if it is live


def blocks(lines: list[str], where: str) -> list[Block]:
    """The fenced blocks of a page.

    Raises:
      WeaveError: a block has no end, or an option has no known name.
    """
    found, i = [], 0
    while i < len(lines):
        match = FENCE.match(lines[i])
        i += 1
        if not match:
            continue
        start = i
        while i < len(lines) and lines[i].rstrip() != match["marks"]:
            i += 1
        if i == len(lines):
            raise WeaveError(f"{where}:{start}", "this block has no end")
        kind, options = _parse_info(match["info"], f"{where}:{start}")
        found.append(Block(kind, options, lines[start:i], start, i + 1))
        i += 1
    return found


def _parse_info(info, where):
    words = shlex.split(info)
    options = dict(word.partition("=")[::2] for word in words[1:])
    kind = words[0] if words else ""
    if kind == "python" and (unknown := options.keys() - OPTIONS):
        raise WeaveError(where, f"unknown option {', '.join(sorted(unknown))}")
    return kind, options


def examples(found: list[Block], lines: list[str]) -> list[Example]:
    """The `python` blocks; a `text` block that follows, with blank lines between, is the output."""
    result = []
    chapter = ([int(block.code) for block in found if block.kind == "rooms"] + [live.LAST])[0]
    for i, block in enumerate(found):
        if block.kind == "python" and "norun" not in block.options:
            after = found[i + 1] if i + 1 < len(found) else None
            adjacent = after and after.kind == "text" and not "".join(
                lines[block.last : after.first - 1]).strip()
            result.append(Example(block, after if adjacent else None, chapter=chapter))
    return result


# ----------------------------------------------------------------------------------------------
# Running


def run(page: list[Example], where: str) -> None:
    """Run the examples of a page, in order, and fill in their outcomes.

    The third example is the file "example 3" to Python: errors and recordings quote its lines by
    numbers that do not change when the text around it does.

    Raises:
      WeaveError: one of them raises what it does not announce, warns, exits, or differs from JAX.
    """
    if any("jax" in example.block.options for example in page):
        import jax  # noqa: F401  (before jaxlib is in use: it would import a half-made jax)
    ours: dict[str, Any] = {"__name__": "__main__"}
    theirs: dict[str, Any] = {"__name__": "__main__"}
    world = live.World(page[0].chapter if page else live.LAST)
    with _sandbox():
        for number, example in enumerate(page, start=1):
            example.block.file = f"example {number}"
            if "live" in example.block.options:
                example.outcome = _run_live(example.block, where, world)
                ours.update(world.shared())
            else:
                example.outcome = _run_one(example.block, where, ours, theirs)


def _run_live(block, where, world):
    here = f"{where}:{block.first}"
    if others := block.options.keys() - {"live", "raises", "hidden"}:
        raise WeaveError(here, f"a live cell cannot have the option {', '.join(sorted(others))}")
    with contextlib.suppress(SyntaxError):  # which may be announced
        for node in live.not_in_micropython(ast.parse(block.code)):
            what = ast.unparse(node)
            raise WeaveError(here, f"MicroPython, which runs live cells, cannot do this: {what}")
    with world.entered():
        return Outcome(normalise(_output(block, block.code, where, world.names)))


def _run_one(block, where, ours, theirs):
    outcome = Outcome("")
    with _recording(block, outcome):
        outcome.text = normalise(_output(block, block.code, where, ours))
    if "plot" in block.options:
        outcome.figure = _figure(f"{where}:{block.first}")
    if "jax" in block.options:
        in_jax = normalise(_output(block, re.sub(r"\bminijax\b", "jax", block.code), where, theirs))
        outcome.same_in_jax = _squeezed(in_jax) == _squeezed(outcome.text)
        declared = block.options["jax"] == "other"
        if outcome.same_in_jax == declared:
            what = "is declared to differ from JAX, and does not" if declared else (
                f"JAX gives something else:\n{in_jax}")
            raise WeaveError(f"{where}:{block.first}", what)
        outcome.of_jax = None if outcome.same_in_jax else in_jax
    return outcome


@contextlib.contextmanager
def _recording(block, outcome) -> Iterator[None]:
    if "theatre" not in block.options:
        yield
        return
    from minijax.debugging.theatre import record

    with record(block.options["theatre"]) as recording:
        yield
    outcome.recording = recording


def _output(block: Block, code: str, where: str, namespace: dict) -> str:
    """What a block prints, with the repr of its last expression."""
    here = f"{where}:{block.first}"
    expected = block.options.get("raises")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            _execute(code, block.file, namespace)
    except SystemExit as error:
        raise WeaveError(here, f"the example exits with {error.code!r}") from error
    except Warning as error:
        raise WeaveError(here, f"the example warns: {type(error).__name__}: {error}") from error
    except Exception as error:
        if type(error).__name__ != expected:
            raise WeaveError(here, f"the example raises {type(error).__name__}: {error}") from error
        print(f"{type(error).__name__}: {error}", file=printed)
    else:
        if expected:
            raise WeaveError(here, f"the example does not raise {expected}")
    return printed.getvalue().rstrip("\n")


def _execute(code, file, namespace):
    """Run code, and show the value of its last expression."""
    linecache.cache[file] = (len(code), None, [line + "\n" for line in code.splitlines()], file)
    tree = ast.parse(code, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), namespace)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), file, "eval"), namespace)
        if value is not None:
            print(repr(value))


@contextlib.contextmanager
def _sandbox() -> Iterator[None]:
    """What examples change for all is put back after them."""
    import numpy as np

    path, options = list(sys.path), np.get_printoptions()
    np.set_printoptions(precision=4, suppress=True, linewidth=80)
    linecache.checkcache()
    try:
        yield
    finally:
        sys.path[:] = path
        np.set_printoptions(**options)


def _figure(here):
    """The open figure of matplotlib as SVG, the same bytes each time."""
    import matplotlib
    import matplotlib.pyplot as plt

    if not plt.get_fignums():
        raise WeaveError(here, "the example draws nothing")
    svg = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "minijax", "svg.fonttype": "none"}):
        plt.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
    plt.close("all")
    return svg.getvalue()[svg.getvalue().index("<svg") :]


# ----------------------------------------------------------------------------------------------
# Comparing

_LONG_FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d{5,}(e[-+]?\d+)?(?![\w.])")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_ONLY_IN_JAX = re.compile(r"\s*\baccuracy=None|np\.int64\((?=\d+\))")


def normalise(text: str) -> str:
    """Round long numbers, and take out what differs from run to run."""
    text = _LONG_FLOAT.sub(lambda match: f"{float(match[0]):.5g}", text)
    return "\n".join(line.rstrip() for line in _ADDRESS.sub("0x...", text).splitlines())


def _squeezed(text):
    """Without line breaks, and without the parameters that only JAX's primitives have."""
    text = re.sub(r"np\.int64\((\d+)\)", r"\1", text)
    return re.sub(r"\s+|\[\s*\]", "", _ONLY_IN_JAX.sub("", text))


def check(page: list[Example], where: str) -> None:
    """Compare each outcome with the stored output.

    Raises:
      WeaveError: they differ, or there is an output and nothing is stored.
    """
    for example in page:
        stored = example.stored.code if example.stored else ""
        if stored != example.outcome.text:
            raise WeaveError(
                f"{where}:{example.block.first}",
                f"the output has changed. Stored:\n{stored}\nNow:\n{example.outcome.text}\n"
                "`make update` stores what it is now.",
            )


def updated(lines: list[str], page: list[Example]) -> list[str]:
    """The page's lines with the outcomes as stored outputs."""
    lines = list(lines)
    for example in reversed(page):
        text = example.outcome.text
        output = ["```text", *text.splitlines(), "```"] if text else []
        if example.stored:
            lines[example.stored.first - 1 : example.stored.last] = output
        elif output:
            lines[example.block.last : example.block.last] = ["", *output]
    return lines


def load(path: Path) -> tuple[list[str], list[Block], list[Example]]:
    """A chapter's lines, its blocks, and its examples."""
    lines = path.read_text().splitlines()
    found = blocks(lines, str(path))
    return lines, found, examples(found, lines)
