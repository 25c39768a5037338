"""What minijax is asked about a program without JAX: does XLA compute what the jaxpr says, and does
the program give the same bits again, whatever ran in between?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.fuzz.compare import Mismatch, attempt, facts, library, namespace, numbers, run
from tests.fuzz.staged import as_function, jitted

SETTINGS = {"default_matmul_precision": "highest", "numpy_dtype_promotion": "strict",
            "numpy_rank_promotion": "raise", "debug_nans": True, "disable_jit": True}  # fmt: skip
CHANGED = ("sin", "exp", "mul", "neg", "dot_general", "reduce_sum", "scan", "cond")


def check_compiled(text: str, x64: bool = False) -> Mismatch | None:
    """Whether each value of the compiled program is that of its jaxpr."""
    function, names = as_function(text)
    checked = f"{function}result = jax.debug.check_compiled(program)({names})\n"
    outcome = attempt("minijax", checked, namespace("minijax"), "result", x64)
    if type(outcome).__name__ == "CompiledValueError":
        return Mismatch("compiled", str(outcome), "what the jaxpr says")
    if not isinstance(outcome, Exception) or isinstance(run("minijax", jitted(text), x64), Exception):
        return None
    return Mismatch("error", f"{type(outcome).__name__}: {outcome}", "no error without check_compiled")


def check_history(text: str, x64: bool = False) -> Mismatch | None:
    """Whether a program gives the same bits before and after it ran with other rules and settings,
    which are switched one after the other."""
    first = run("minijax", text, x64)
    with other_rules():
        run("minijax", text, x64)
    for name, value in SETTINGS.items():
        with getattr(library("minijax"), name)(value):
            run("minijax", text, x64 ^ (name == "debug_nans"))
    return same_bits(first, run("minijax", text, x64))


@contextmanager
def other_rules() -> Iterator[None]:
    """Derivatives of the usual primitives are twice as large, forwards and backwards."""
    ad = library("minijax").interpreters.ad
    with ExitStack() as stack:
        for table, doubled in ((ad.primitive_jvps, twice_the_tangent), (ad.primitive_transposes, twice)):
            for primitive in [p for p in table if p.name in CHANGED]:
                stack.callback(table.__setitem__, primitive, table[primitive])
                table[primitive] = doubled(table[primitive])
        yield


def twice_the_tangent(rule: Callable) -> Callable:
    """A JVP rule with twice the tangents."""
    def doubled(*args: Any, **params: Any) -> Any:
        out, tangents = rule(*args, **params)
        return out, [*map(double, tangents)] if isinstance(tangents, (list, tuple)) else double(tangents)

    return doubled


def twice(rule: Callable) -> Callable:
    """A transpose rule with twice the cotangents."""
    return lambda *args, **params: [*map(double, rule(*args, **params))]


def double(x: Any) -> Any:
    """Twice a tangent, unless it is zero."""
    return x * 2 if hasattr(x, "dtype") and x.dtype.kind in "fc" else x


def same_bits(first: Any, second: Any) -> Mismatch | None:
    """The first difference between two runs."""
    if isinstance(first, Exception) or isinstance(second, Exception):
        same = type(first) is type(second) and (isinstance(second, Exception))
    else:
        pairs = zip(*(library("minijax").tree_util.tree_leaves(x) for x in (first, second)), strict=True)
        same = all(facts(a) == facts(b) and bits(a) == bits(b) for a, b in pairs)
    return None if same else Mismatch("history", f"{second!r} later"[:400], f"{first!r} at first"[:400])


def bits(x: Any) -> Any:
    """What is the same to the bit, if the leaf is."""
    plain = facts(x)[2] in ("float0", "") or facts(x)[0] == "struct"
    return None if plain else numbers(x).tobytes()
