"""The tables of wrong calls, and how a row is run."""

from __future__ import annotations

import builtins
import functools
import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.oracle import run, subject
from tests.oracle.calls import arrays_in, function_of
from tests.oracle.namespaces import JAX_SUBMODULES

ROWS = Path(__file__).with_name("rows")
RETURNS = "returns"

for _submodule in JAX_SUBMODULES:  # rows name them without importing them
    importlib.import_module(f"{subject.__name__}.{_submodule}")

# The arrays that rows give by name: each library gets its own.
ARRAYS = {
    "V": np.array([0.5, 1.5, 2.5], np.float32),  # a vector
    "W": np.array([1.0, 2.0], np.float32),  # another, of another size
    "M": np.arange(6, dtype=np.float32).reshape(2, 3),  # a matrix
    "Q": np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]], np.float32),  # a square one
    "T": np.arange(24, dtype=np.float32).reshape(2, 3, 4),  # three dimensions
    "S": np.array(2.0, np.float32),  # a scalar
    "N": np.array(1, np.int32),  # an integer
    "I": np.array([1, 2, 0], np.int32),  # integers
    "U": np.array([1, 2, 3], np.uint8),  # unsigned integers
    "B": np.array([True, False, True]),  # booleans
    "C": np.array([1j, 2, 3], np.complex64),  # complex numbers
    "H": np.array([1, 2, 3], np.float16),  # half precision
    "E": np.zeros(0, np.float32),  # empty
    "Z": np.zeros((0, 3), np.float32),  # an empty matrix
}


@dataclass(frozen=True)
class Row:
    """A call, what becomes of it in JAX, and what of it in minijax where that is declared to differ."""

    part: str  # of the API: the file's name
    call: str
    jax: str  # the outcomes in JAX: of the call, and of the call while its arrays are traced
    ours: str = ""  # the outcomes in minijax, if they are declared to differ
    reason: str = ""

    @property
    def line(self) -> str:
        """The row as it stands in its file."""
        declared = f" => {self.ours} because {self.reason}" if self.ours else ""
        return f"{self.jax:<15} {self.call}{declared}"

    @property
    def ways(self) -> list[tuple[bool, str]]:
        """(traced, outcome) of each way in which the row is run in minijax."""
        eager, _, traced = (self.ours or self.jax).partition("/")
        ways = [(False, eager), (True, traced or eager)]
        return ways if arrays_in(self.call, ARRAYS) else ways[:1]


def parse(part: str, text: str) -> list[Row]:
    """The rows of a file's text. A line that begins with `#` is a comment."""
    return [_parse_line(part, line) for line in text.splitlines()
            if line.strip() and not line.startswith("#")]


def _parse_line(part: str, line: str) -> Row:
    outcomes, call = line.split(maxsplit=1)
    call, _, declared = call.partition(" => ")
    ours, _, reason = declared.partition(" because ")
    return Row(part, call.strip(), outcomes, ours, reason)


@functools.cache
def all_rows() -> list[Row]:
    """The rows of all files."""
    return [row for path in sorted(ROWS.glob("*.txt")) for row in parse(path.stem, path.read_text())]


def answered(row: Row, library: Any) -> Row:
    """The row with JAX's outcomes, when `library` is JAX."""
    outcomes = [outcome(library, run(library, program(row.call, traced))) for traced, _ in row.ways]
    return replace(row, jax="/".join(dict.fromkeys(outcomes)))


def outcome(library: Any, answer: Any) -> str:
    """RETURNS, or the name of the public class of the exception that was raised."""
    if not isinstance(answer, Exception):
        return RETURNS
    classes = type(answer).__mro__
    return next(c.__name__ for c in classes
                if c is getattr(builtins, c.__name__, getattr(library.errors, c.__name__, None)))


def program(call: str, traced: bool = False) -> Callable[[Any], Callable[[], Any]]:
    """What `run` takes: the call, on a library's own arrays.

    `traced`: the arrays are arguments of a function that is traced, and nothing is computed.
    """
    names = arrays_in(call, ARRAYS)

    def of(library: Any) -> Callable[[], Any]:
        def run() -> Any:
            function = function_of(call, names, **_names(library))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                arrays = [library.numpy.asarray(ARRAYS[name]) for name in names]
                if traced:
                    return library.eval_shape(lambda *arrays: _do(function(*arrays), None), *arrays)
                return function(*arrays)

        return run

    return of


def _names(library: Any) -> dict[str, Any]:
    """What a row may call by a short name."""
    return {
        "jax": library, "jnp": library.numpy, "lax": library.lax, "nn": library.nn,
        "random": library.random, "linalg": library.numpy.linalg, "fft": library.numpy.fft,
        "scipy": library.scipy, "special": library.scipy.special, "tu": library.tree_util,
        "P": library.P, "K": library.random.key(0), "OLD": library.random.PRNGKey(0),
        "f": lambda x: x * 2.0, "total": lambda x: (x * x).sum(), "NS": SimpleNamespace,
        "mesh": library.sharding.Mesh(np.array(library.devices()[:2]), ("x",)),
        "leak": _leak, "do": _do, "fails": _fails, "within": _within,
    }  # fmt: skip


def _leak(transform: Callable, *args: Any) -> Any:
    """The tracer of an argument, kept after the transformation that made it."""
    kept: list[Any] = []
    transform(lambda x: _do(kept.append(x), x * 2.0))(*args)
    return kept[0]


def _do(*steps: Any) -> Any:
    """The last of some values: for a row of several steps."""
    return steps[-1]


def _within(context: Any) -> None:
    """Enters a context, and leaves it again."""
    with context:
        pass


def _fails(*_: Any) -> Any:
    """A user's function that raises an error of its own."""
    raise LookupError("a user's own error")
