"""Programs of the history test, and what is compared of a run: everything, to the bit."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

PROGRAMS = Path(__file__).with_name("programs.txt")
BLOCK = ("def ", "@", "class ")  # a paragraph that begins so is one program
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}|(?<=object id )\d+")


def mesh() -> Any:
    """Two devices in force."""
    import minijax as jax

    return jax.set_mesh(jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,)))


def state(name: str, value: Any) -> Any:
    """A setting of `config` with another value."""
    from minijax import settings

    return settings.states[name](value)


SETTINGS: dict[str, Callable] = {
    "": contextlib.nullcontext, "mesh": mesh,
    "64 bits": lambda: state("jax_enable_x64", True),
    "other keys": lambda: state("jax_default_prng_impl", "rbg"),
    "strict": lambda: state("jax_numpy_dtype_promotion", "strict"),
    "rank": lambda: state("jax_numpy_rank_promotion", "raise"),
    "without jit": lambda: state("jax_disable_jit", True),
    "NaN checks": lambda: state("jax_debug_nans", True),
    "precision": lambda: state("jax_default_matmul_precision", "highest"),
}  # fmt: skip


def setting_of(source: str, seed: str) -> str:
    """The setting under which a program also runs: another one for each seed."""
    names = [*SETTINGS]
    return names[1 + zlib.crc32((seed + source).encode()) % (len(names) - 1)]


def sources() -> list[str]:
    """The programs of programs.txt, as text."""
    found = []
    for paragraph in PROGRAMS.read_text().split("\n\n"):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        found += ["\n".join(lines)] if paragraph.startswith(BLOCK) else lines
    return [source for source in found if source]


class Program:
    """A program whose definitions are kept from one run to the next, or made anew."""

    def __init__(self, source: str):
        self.source = source
        tree = ast.parse(source, "<program>")
        *definitions, last = tree.body
        self.definitions = compile(ast.Module(definitions, []), "<program>", "exec")
        self.expression: CodeType = compile(ast.Expression(last.value), "<program>", "eval")  # type: ignore[attr-defined]
        self.space: dict[str, Any] | None = None

    def run(self, anew: bool = True, setting: str = "") -> dict[str, Any]:
        """What happens in a run under a setting of `SETTINGS`: the facts that must be the same each time.

        The program's arrays are made outside of the setting."""
        from tests.history.prelude import LASTING, arrays

        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            try:
                if anew or self.space is None:
                    self.space = {"__name__": "program", **LASTING, **arrays()}
                    exec(self.definitions, self.space)
                with SETTINGS[setting]():  # `set_mesh` sets the mesh already when it is called
                    found = facts(eval(self.expression, self.space))
            except Exception as error:
                found = facts_of_error(error)
        found["warnings"] = [f"{w.category.__name__}: {w.message}" for w in caught]
        found["printed"] = printed.getvalue()
        return found


def facts(value: Any) -> dict[str, Any]:
    """A value's structure and text, and of each array its class, type and bits."""
    from minijax.tree_util import tree_flatten

    leaves, structure = tree_flatten(value)
    return {"structure": plain(structure), "leaves": [*map(facts_of_leaf, leaves)],
            "text": plain(value), "as string": ADDRESS.sub("…", str(value))}


def facts_of_leaf(x: Any) -> list[Any]:
    """The class of a leaf, and what is known of an array."""
    name = f"{type(x).__module__}.{type(x).__qualname__}"
    if not hasattr(x, "dtype") or not hasattr(x, "shape"):
        return [name, plain(x)]
    aval = getattr(x, "aval", x)
    known = [name, list(x.shape), str(x.dtype), getattr(aval, "weak_type", False), str(aval)]
    if hasattr(x, "__array__") or isinstance(x, np.generic):
        from minijax import dtypes, random

        data = random.key_data(x) if dtypes.issubdtype(x.dtype, dtypes.prng_key) else x
        known.append(np.asarray(data).tobytes().hex())
    return known


def facts_of_error(error: Exception) -> dict[str, Any]:
    """An error's class and message, and the notes that belong to the message."""
    return {"error": type(error).__qualname__, "message": ADDRESS.sub("…", str(error)),
            "notes": [ADDRESS.sub("…", note) for note in getattr(error, "__notes__", [])]}


def plain(value: Any) -> str:
    """The `repr` of a value, without addresses."""
    return ADDRESS.sub("…", repr(value))


def difference(once: dict[str, Any], again: dict[str, Any]) -> str:
    """Where two runs differ, as text for a reader. Empty if they agree."""
    keys = [key for key in {**once, **again} if once.get(key) != again.get(key)]
    return "\n".join(f"  {key}\n    fresh: {shown(once.get(key))}\n    later: {shown(again.get(key))}"
                     for key in keys)


def shown(fact: Any) -> str:
    """A fact, not longer than a screen."""
    text = str(fact)
    return text if len(text) < 1500 else text[:1500] + " …"
