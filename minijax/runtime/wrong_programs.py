"""Chapter 6: programs that XLA compiles wrongly for a CPU, and the options that avoid it.

They were found with jaxlib 0.10.2. A test compiles them as XLA would by itself, and fails if one
comes out right: then its row can go. `python -m minijax doctor` tries them with the jaxlib that is
installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class WrongProgram(NamedTuple):
    """A kind of programs that XLA compiles wrongly.

    what: the kind, in a few words.
    patterns: regular expressions, all of which are found in the StableHLO of such a program. They
      are found in others, too, which lose a few per cent at most.
    flags: XLA's options that avoid it.
    default: XLA's own options, for a trial.
    trial: a program in Python that prints "right" if its result is right.
    is_wrong: whether the optimised program shows it. A program that does is compiled again, with
      the flags. Without this function, programs with the patterns get the flags at once.
    """

    what: str
    patterns: tuple[str, ...]
    flags: dict[str, Any]
    default: dict[str, Any]
    trial: str
    is_wrong: Callable[[str], bool] | None = None


def overwrites_what_it_reads(hlo: str) -> bool:
    """Whether a fused computation updates a slice of its parameter in place, and reads the same
    parameter elsewhere. XLA does not see this if the update sees the parameter in another shape."""
    return any(_reads_elsewhere(computation, update[1])
               for computation in hlo.split("\n}") if "ENTRY" not in computation
               for update in re.finditer(r"dynamic-update-slice\(%([^,]+),", computation))


def _reads_elsewhere(computation: str, updated: str) -> bool:
    """Whether `updated` is another shape of a parameter that has more uses."""
    source = re.search(rf"%{re.escape(updated)} = \S+ bitcast\(%([^)]+)\)", computation)
    if source is None or f"%{source[1]} = " not in computation:
        return False
    uses = re.findall(rf"%{re.escape(source[1])}(?:[,)]| = \S+ parameter)", computation)
    return len(uses) > 2  # its definition and the bitcast are two


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
def f(o, a):
    sums = jnp.sum(o[(...,) + (None,) * 5] * a, axis=2)
    return jnp.log(jnp.maximum(sums, 1e-16))
o, a = np.ones((10, 4, 6), np.float32), np.ones((10, 4, 6, 9, 9, 9, 9, 9), np.float32)
out = compiled(f)(o, a)
print("right" if np.allclose(out, np.log(6.0)) else "wrong")"""),
    WrongProgram(
        "a slice of an array, written to another place in it, and reshaped (openxla/xla#49176)",
        (r"stablehlo\.(dynamic_update_slice|scatter)",),
        {"xla_disable_hlo_passes": "algsimp"}, {"xla_disable_hlo_passes": ""}, """
f = lambda x: x.at[1:].set(x[:-1])[None]
print("right" if compiled(f)(np.arange(8))[0, -1] == 6 else "wrong")""",
        overwrites_what_it_reads),
)
_SEARCHES = [(wrong, tuple(re.compile(p).search for p in wrong.patterns))
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


def avoiding_flags(text: str, platform: str = "cpu",
                   optimised: Callable[[], str] | None = None) -> dict[str, Any]:
    """XLA's options for a StableHLO module, so that it is compiled rightly; most need none.

    `optimised` returns the text of the program that XLA made of it, if there is one already.
    """
    flags: dict[str, Any] = {}
    for wrong, searches in _SEARCHES:
        if (platform == "cpu" and all(search(text) for search in searches)
                and _is_wrong(wrong, optimised)):
            flags |= wrong.flags
    return flags


def _is_wrong(wrong: WrongProgram, optimised: Callable[[], str] | None) -> bool:
    """Whether a module in which the words of a wrong program stand is to be compiled otherwise."""
    if wrong.is_wrong is None or optimised is None:
        return wrong.is_wrong is None and optimised is None
    return wrong.is_wrong(optimised())
