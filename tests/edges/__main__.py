"""`python -m tests.edges`: the whole table of functions at their edges, against live JAX.

It takes some minutes of one processor. Of a part:

    python -m tests.edges --dtypes float32 --only "special.ndtri|jnp.sinc" --show
    python -m tests.edges --part 7f3a --of 10
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import time

import tests.conftest  # noqa: F401  (XLA's flags, as the tests have them)
from tests.edges.compare import Difference, differences
from tests.edges.subnormals import can_flush, flushed
from tests.edges.table import DTYPES, LOOPS, TABLE, answers, dtype_of, is_left_out
from tests.oracle import jax, subject
from tools.differences import EDGES


def compared(text: str, arity: int, dtype: str, hows: list[str]) -> tuple[int, list[Difference]]:
    """How many values of a function were compared, and all differences."""
    has_loop = LOOPS.search(text) is not None
    want = answers(jax, text, arity, dtype, jit=True, together=not has_loop)
    found: list[Difference] = []
    for how in hows:
        is_flushed = how == "eager" and dtype_of(dtype).kind not in "iu"
        with flushed() if is_flushed else contextlib.nullcontext():
            got = answers(subject, text, arity, dtype, how == "jit")
        rows = [*differences(text, arity, dtype, how, got, want)]
        if how == "eager" and rows and not has_loop:
            # XLA simplifies a whole program. JAX's operations one by one are a second opinion.
            with jax.disable_jit():
                single = answers(jax, text, arity, dtype, jit=False)
            rows = [*differences(text, arity, dtype, how, got, want, single)]
        found += rows
    values = sum(x.size for out in want.values() if not isinstance(out, str) for x in out)
    return values * len(hows), found


def part(digits: str, of: int) -> list[tuple[str, int]]:
    """One of so many parts of the table: every n-th function."""
    number = int(digits, 16) if digits else 0
    return TABLE[number % of::of]


def main() -> int:
    """Compare, print the differences that are not declared, and return how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtypes", nargs="*", default=DTYPES)
    parser.add_argument("--only", default="", help="a regular expression that finds functions")
    parser.add_argument("--part", default="", help="which part, as a hexadecimal number: a commit's")
    parser.add_argument("--of", type=int, default=1, help="the number of parts")
    parser.add_argument("--show", action="store_true", help="print the first points of a difference")
    parser.add_argument("--declared", action="store_true", help="print declared differences, too")
    options = parser.parse_args()
    hows = ["jit", "eager"] if can_flush() else ["jit"]
    patterns = {pattern: 0 for group in EDGES.values() for pattern in group}
    undeclared = 0
    for dtype in options.dtypes:
        began, functions, values, declared = time.process_time(), 0, 0, 0
        for text, arity in part(options.part, options.of):
            if not re.search(options.only, text) or is_left_out(text, dtype):
                continue
            number, found = compared(text, arity, dtype, hows)
            functions, values = functions + 1, values + number
            for difference in found:
                reasons = [p for p in patterns if re.fullmatch(p, difference.row)]
                for pattern in reasons:
                    patterns[pattern] += difference.points
                declared += difference.points if reasons else 0
                undeclared += not reasons
                if not reasons or options.declared:
                    print(f"{difference.row}, {difference.points} points", flush=True)
                    print("".join(difference.examples if options.show else []), end="")
        print(f"{dtype}: {functions} functions, {values} values, {declared} differ as declared, "
              f"{time.process_time() - began:.0f} s", flush=True)
    if not options.only and options.of == 1 and options.dtypes is DTYPES:
        for pattern, points in patterns.items():
            if not points:
                undeclared += 1
                print(f"declared, and no longer a difference: {pattern}")
    print(f"{undeclared} undeclared")
    return undeclared


if __name__ == "__main__":
    sys.exit(bool(main()))
