"""`python -m tests.edges`: the whole table of functions at their edges, against live JAX.

It takes about an hour of one processor, nearly all of it XLA's compilations for JAX. Of a part:

    python -m tests.edges --dtypes float32 --only "special.ndtri|jnp.sinc"
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import time

import tests.conftest  # noqa: F401  (XLA's flags, as the tests have them)
from tests.edges.compare import differences
from tests.edges.subnormals import can_flush, flushed
from tests.edges.table import DTYPES, FUNCTIONS, answers, is_left_out
from tests.oracle import jax, subject
from tools.differences import EDGES


def main() -> int:
    """Compare, print the differences that are not declared, and return how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtypes", nargs="*", default=DTYPES)
    parser.add_argument("--only", default="", help="a regular expression that finds functions")
    options = parser.parse_args()
    hows = ["jit", "eager"] if can_flush() else ["jit"]
    patterns = {pattern: 0 for group in EDGES.values() for pattern in group}
    undeclared = 0
    for dtype in options.dtypes:
        began, pairs, values, declared = time.monotonic(), 0, 0, 0
        for text, arity in FUNCTIONS:
            if not re.search(options.only, text) or is_left_out(text, dtype):
                continue
            want = answers(jax, text, arity, dtype, jit=True)
            pairs += len(want) * len(hows)
            values += len(hows) * sum(x.size for out in want.values() if not isinstance(out, str)
                                      for x in out)
            for how in hows:
                with flushed() if (how, dtype) == ("eager", "float32") else contextlib.nullcontext():
                    got = answers(subject, text, arity, dtype, how == "jit")
                for row, points in differences(text, arity, dtype, how, got, want):
                    reasons = [pattern for pattern in patterns if re.fullmatch(pattern, row)]
                    for pattern in reasons:
                        patterns[pattern] += points
                    declared += points if reasons else 0
                    if not reasons:
                        undeclared += 1
                        print(f"{row}, {points} points", flush=True)
        print(f"{dtype}: {pairs} functions and modes, {values} values, {declared} differ as "
              f"declared, {time.monotonic() - began:.0f} s", flush=True)
    if not options.only and options.dtypes is DTYPES:
        for pattern, points in patterns.items():
            if not points:
                undeclared += 1
                print(f"declared, and no longer a difference: {pattern}")
    print(f"{undeclared} undeclared")
    return undeclared


if __name__ == "__main__":
    sys.exit(bool(main()))
