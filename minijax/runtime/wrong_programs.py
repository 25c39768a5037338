"""Chapter 6: programs that XLA compiles wrongly for a CPU, and the options that avoid it.

They were found with jaxlib 0.10.2. A test compiles them as XLA would by itself, and fails if one
comes out right: then its row can go. `python -m minijax doctor` tries them with the jaxlib that is
installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any, NamedTuple


class WrongProgram(NamedTuple):
    """A kind of programs that XLA compiles wrongly.

    what: the kind, in a few words.
    patterns: regular expressions, all of which are found in the StableHLO of such a program. They
      are found in others, too, which lose a few per cent at most.
    flags: XLA's options that avoid it.
    default: XLA's own options, for a trial.
    trial: a program in Python that prints "right" if its result is right.
    """

    what: str
    patterns: tuple[str, ...]
    flags: dict[str, Any]
    default: dict[str, Any]
    trial: str


_LIBRARY = "xla_cpu_experimental_ynn_fusion_type"
_ALONE = {_LIBRARY: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}
_FUSED = {_LIBRARY: "LIBRARY_FUSION_TYPE_DOT,LIBRARY_FUSION_TYPE_REDUCE"}

WRONG_PROGRAMS = (
    WrongProgram(
        "a product of matrices, summed, with more than 16,384 columns",
        (r"stablehlo\.dot_general", r"stablehlo\.reduce", r"[<x](1[6-9]|[2-9]\d|\d{3,})\d{3}x"),
        _ALONE, _FUSED, """
x = np.stack([np.arange(40_000.0), np.zeros(40_000), np.zeros(40_000)], 1).astype(np.float32)
f = lambda x: jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2))(x)
print("right" if compiled(f)(x)[-1] == x[-1, 0] ** 2 else "wrong")"""),
    WrongProgram(
        "a sum in an array of seven or more dimensions: the process ends",
        (r"stablehlo\.reduce", r"tensor<(\d+x){7}"), _ALONE, _FUSED, """
f = lambda o, a: jnp.log(jnp.maximum(jnp.sum(o[(...,) + (None,) * 5] * a, axis=2), 1e-16))
out = compiled(f)(np.ones((10, 4, 6), np.float32), np.ones((10, 4, 6, 9, 9, 9, 9, 9), np.float32))
print("right" if np.allclose(out, np.log(6.0)) else "wrong")"""),
)
_SEARCHES = [(tuple(re.compile(p).search for p in wrong.patterns), wrong.flags)
             for wrong in WRONG_PROGRAMS]


def is_right(wrong: WrongProgram, flags: dict[str, Any] | None = None) -> bool:
    """Whether the trial of a row comes out right, compiled with these options, in a process of its
    own, which XLA may end."""
    beginning = f"""
import numpy as np, minijax as jax, minijax.numpy as jnp
compiled = lambda f: jax.jit(f, compiler_options={flags!r})
"""
    command = [sys.executable, "-c", beginning + wrong.trial]
    return subprocess.run(command, capture_output=True, text=True).stdout == "right\n"


def avoiding_flags(text: str, platform: str = "cpu") -> dict[str, Any]:
    """XLA's options for a StableHLO module, so that it is compiled rightly; most need none."""
    flags: dict[str, Any] = {}
    for searches, avoiding in _SEARCHES:
        if platform == "cpu" and all(search(text) for search in searches):
            flags |= avoiding
    return flags
