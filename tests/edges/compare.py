"""How two answers about the edges of a function are compared, and what kinds of difference there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from tests.edges.table import dtype_of, points
from tools.differences import EDGES

# Relative, and for derivatives absolute, too: their terms cancel.
VALUE = {"float32": 1e-5, "float64": 1e-11, "bfloat16": 3e-2, "float16": 4e-3, "complex64": 2e-5,
         "complex128": 1e-10}
DERIVATIVE = {"float32": (1e-3, 1e-5), "float64": (1e-8, 1e-10), "bfloat16": (0.1, 0.05),
              "float16": (0.01, 0.005), "complex64": (1e-3, 1e-5), "complex128": (1e-8, 1e-10)}


class Difference(NamedTuple):
    """Points of a function in one mode at which the libraries differ in one way."""

    row: str  # what would declare it: `dtype how function mode: kind`
    points: int
    examples: list[str]


def differences(text: str, arity: int, dtype: str, how: str, ours: dict, theirs: dict,
                also: dict | None = None, few: bool = False) -> Iterator[Difference]:
    """All differences from JAX's answers. At a point, an answer in `also` is as good.

    Kinds: `error`, `type`, `nan` (JAX's is NaN, ours a number), `subnormal` and `infinite` (an
    operand is), `zero` (its sign), and `value`.
    """
    args = [wide(x) for x in points(dtype, arity, few)]
    least = 0.0 if dtype_of(dtype).kind in "iu" else float(ml_dtypes.finfo(dtype_of(dtype)).smallest_normal)
    subnormal = np.any([(abs(p) > 0) & (abs(p) < least) for x in args for p in parts(x)], axis=0)
    infinite = ~np.all([np.isfinite(x) for x in args], axis=0)
    for mode, want in theirs.items():
        row, got = f"{dtype} {how} {text} {mode}", ours[mode]
        if isinstance(got, str) or isinstance(want, str):
            refused = isinstance(theirs["value"], str)  # then its derivatives are of no interest
            if got != want and (mode == "value" or not refused):
                yield Difference(f"{row}: error", 1, [f"    {_class(got)}, JAX: {_class(want)}\n"])
            continue
        if [(x.shape, x.dtype) for x in got] != [(x.shape, x.dtype) for x in want]:
            yield Difference(f"{row}: type", 1, [])
            continue
        second = also[mode] if also and not isinstance(also[mode], str) else want
        found: dict[str, Difference] = {}
        for mine, other, single in zip(got, want, second, strict=True):
            agrees = np.ones(mine.shape, bool)
            if single is not other and single.shape == mine.shape:
                for bad in _differing(mine, single, mode, subnormal, infinite).values():
                    agrees &= ~bad
            else:
                agrees &= False
            for kind, bad in _differing(mine, other, mode, subnormal, infinite).items():
                where = np.argwhere(bad & ~agrees)
                old = found.get(kind, Difference(f"{row}: {kind}", 0, []))
                found[kind] = Difference(old.row, old.points + len(where), old.examples + [
                    _example(args, tuple(i), mine, other) for i in where[:4]])
        yield from (difference for difference in found.values() if difference.points)


def _class(answer: list | str) -> str:
    return answer if isinstance(answer, str) else "a result"


def _example(args: list[np.ndarray], i: tuple[int, ...], mine: np.ndarray, other: np.ndarray) -> str:
    at = ", ".join(str(x[i]) for x in args) if mine.shape == args[0].shape else f"index {i}"
    return f"    at {at}: {mine[i]}, JAX: {other[i]}\n"


def _differing(mine: np.ndarray, other: np.ndarray, mode: str, subnormal: np.ndarray,
               infinite: np.ndarray) -> dict[str, np.ndarray]:
    """Each kind of difference, with the elements that differ so."""
    relative, absolute = VALUE.get(mine.dtype.name, 0.0), 0.0
    if mode != "value":
        relative, absolute = DERIVATIVE.get(mine.dtype.name, (0.0, 0.0))
    if mine.dtype.kind in "fcV":
        absolute += float(ml_dtypes.finfo(mine.dtype).smallest_normal)
    x, y = wide(mine), wide(other)
    bad = ~_close(x, y, relative, absolute)
    here = x.shape == subnormal.shape
    is_subnormal = bad & subnormal if here else np.zeros(x.shape, bool)
    is_infinite = bad & infinite & ~is_subnormal & (x.dtype.kind == "c") if here else is_subnormal
    is_nan = bad & ~is_subnormal & ~is_infinite & np.isnan(y) & ~np.isnan(x)
    zero = np.any([(p == 0) & (q == 0) & (np.signbit(p) != np.signbit(q)) & (mode == "value")
                   for p, q in zip(parts(x), parts(y), strict=True)], axis=0) & ~bad
    if x.dtype.kind == "c" or here and subnormal.any():  # products of tiny parts: any sign
        zero = zero & False if x.dtype.kind == "c" else zero & ~subnormal
    return {"subnormal": is_subnormal, "infinite": is_infinite, "nan": is_nan, "zero": zero,
            "value": bad & ~is_subnormal & ~is_infinite & ~is_nan}


def _close(x: np.ndarray, y: np.ndarray, relative: float, absolute: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        by_parts = np.all([(p == q) | (np.isnan(p) & np.isnan(q)) | _near(p, q, relative, absolute)
                           for p, q in zip(parts(x), parts(y), strict=True)], axis=0)
        return by_parts | _near(x, y, relative, absolute)


def _near(x: Any, y: Any, relative: float, absolute: float) -> Any:
    """Both finite, and their distance within the tolerance."""
    return np.isfinite(x) & np.isfinite(y) & (abs(x - y) <= relative * abs(y) + absolute)


def wide(x: np.ndarray) -> np.ndarray:
    """In double precision, which holds every number of a smaller type."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def parts(x: np.ndarray) -> list[Any]:
    """The real and the imaginary part; of real numbers, themselves."""
    return [x.real, x.imag] if x.dtype.kind == "c" else [x]


def is_declared(row: str) -> bool:
    """Whether tools/differences.py has a reason for this difference."""
    return any(re.fullmatch(pattern, row) for patterns in EDGES.values() for pattern in patterns)
