"""Chapter 9: how exactly to compute, where a machine has several ways.

The CPU has one: there, the accuracy of a function and the `Precision` of a product of matrices
change nothing.
"""

from __future__ import annotations

import enum
from typing import Any

from .. import settings
from ..settings import PRECISION_NAMES as PRECISION_NAMES
from ..settings import Precision as Precision


def is_algorithm(precision) -> bool:
    """Whether this is an algorithm of chapter 11."""
    return hasattr(precision, "compute_types")


def precision_names(precision) -> list[str]:
    """`DEFAULT`, `HIGH` or `HIGHEST` for each operand."""
    precision = None if is_algorithm(precision) else precision
    both = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    return ["DEFAULT" if p is None else getattr(p, "name", str(p)).upper() for p in both]


# ----------------------------------------------------------------------------------------------
# Elementwise functions


class AccuracyMode(enum.Enum):
    """How exactly an elementwise function is computed, as XLA may choose."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """How exactly an elementwise function is computed, in numbers.

    Args:
      atol, rtol: absolute and relative errors.
      ulps: an error in units in the last place.

    Raises:
      ValueError: a negative number, or no number at all.
    """

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0):
        if min(atol, rtol, ulps) < 0:
            raise ValueError("Tolerances must be non-negative.")
        if not (atol or rtol or ulps):
            raise ValueError("At least one of atol, rtol, or ulps must be set.")
        self.atol, self.rtol, self.ulps = atol, rtol, ulps


def is_accuracy(accuracy) -> bool:
    """Whether this is an accuracy: `None`, a mode or a tolerance. All are met in one way.

    Raises:
      NotImplementedError: it is anything else.
    """
    if not isinstance(accuracy, AccuracyMode | Tolerance | None):
        raise NotImplementedError(f"Accuracy {accuracy} not supported")
    return True


def canonical_precision(precision) -> Any:
    """`None`, a pair of `Precision`s, one for each operand, or an algorithm (chapter 11), which is
    an object that has a method `compute_types`.

    Raises:
      ValueError: no such precision.
    """
    if precision is None:
        precision = settings.default_matmul_precision.value
    if isinstance(precision, str):
        precision = settings.PRECISION_NAMES.get(precision, precision)
    if precision is None or hasattr(precision, "compute_types"):
        return precision
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    members = tuple([settings.PRECISION_NAMES.get(p) if isinstance(p, str) else p for p in pair])
    if len(pair) != 2 or type(pair[0]) is not type(pair[1]) or not all(
            isinstance(p, settings.Precision) for p in members):
        raise ValueError("A precision is None, a Precision or its name, two of these in a tuple, "
                         f"or a DotAlgorithmPreset or its name; got {precision}.")
    return members
