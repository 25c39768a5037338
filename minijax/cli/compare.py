"""Compares results: with what they should be, and with what real JAX makes of the same programs."""

import importlib
import math
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minijax as jax

from .book import chapters
from .errors import Failure

NO_JAX = 3  # the exit code of with_real_jax.py where jax is not installed


class Result(NamedTuple):
    """What minijax computed, by which function ("module.name" in the toy models) of what."""

    what: str
    function: str
    arguments: tuple
    value: Any
    tolerance: float


def call(function: str, arguments: tuple) -> Any:
    """Call a toy models' function; arrays come back as NumPy's, which another process can read."""
    module, name = function.split(".")
    value = getattr(importlib.import_module(f"toy_models.{module}"), name)(*arguments)
    return as_numpy(value)


def as_numpy(tree: Any) -> Any:
    """A pytree with NumPy leaves; a text stays a text."""
    return tree if isinstance(tree, str) else jax.tree.map(np.asarray, tree)


def difference(ours: Any, theirs: Any) -> float:
    """The largest difference in any leaf, relative to the largest number in that leaf."""

    def in_leaf(a, b):
        if np.shape(a) != np.shape(b):
            return math.inf
        return np.max(np.abs(np.subtract(a, b))) / (np.max(np.abs(b)) or 1)

    leaves = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    return float(np.max([in_leaf(a, b) for a, b in leaves]))  # NumPy's max keeps a NaN


def close(ours: Any, theirs: Any, tolerance: float) -> bool:
    """Texts are equal, numbers within the tolerance (NaN is close to nothing)."""
    return ours == theirs if isinstance(theirs, str) else difference(ours, theirs) <= tolerance


def agreement(ours: Any, theirs: Any) -> str:
    """How well two results agree, in words."""
    if isinstance(theirs, str):
        return "the same, character by character" if ours == theirs else "not the same"
    largest = difference(ours, theirs)
    return "equal to the last bit" if largest == 0 else f"largest relative difference {largest:.0e}"


def ask_real_jax(results: list[Result]) -> tuple[str, list] | None:
    """Real JAX's version, and what it makes of the same calls; None if it is not installed."""
    script = chapters() / "toy_models" / "with_real_jax.py"
    requests = [(result.function, result.arguments) for result in results]
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder, "question"), Path(folder, "answer")
        question.write_bytes(pickle.dumps(requests))
        command = [sys.executable, str(script), str(question), str(answer)]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode == NO_JAX:
            return None
        if process.returncode:
            last_words = process.stderr.strip().splitlines()[-1:]
            raise Failure(f"real JAX failed on the tour's programs: {last_words}", exit_code=1)
        return pickle.loads(answer.read_bytes())
