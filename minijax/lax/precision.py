"""Chapter 9: how exactly to compute, where a machine has several ways.

The CPU has one: there, the accuracy of a function and the `Precision` of a product of matrices
change no value. An accuracy changes derivatives: some rules have a formula that is more exact, and
slower.
"""

import enum
from typing import Any

from ..settings import add_traced, choice_state


class Precision(enum.Enum):
    """How exactly an accelerator multiplies; on the CPU all are the same."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value):
        found = PRECISION_NAMES.get(value)
        return found if isinstance(found, cls) else None

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"Precision.{self.name}"


PRECISION_NAMES: dict[str, Any] = {
    "default": Precision.DEFAULT, "fastest": Precision.DEFAULT, "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH, "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST,
}


default_matmul_precision = choice_state(
    "jax_default_matmul_precision",
    (None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
     "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
     "ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
     "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
     "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"), None,
    "The precision of matrix products that do not ask for one.")
add_traced(default_matmul_precision)


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


def is_default_accuracy(accuracy) -> bool:
    """Whether this asks for nothing, as `None` does; a mode or a tolerance asks for something.

    Raises:
      NotImplementedError: it is anything else.
    """
    if not isinstance(accuracy, AccuracyMode | Tolerance | None):
        raise NotImplementedError(f"Accuracy {accuracy} not supported")
    return accuracy is None


def canonical_precision(precision) -> Any:
    """`None`, a pair of `Precision`s, one for each operand, or an algorithm (chapter 11), which is
    an object that has a method `compute_types`.

    Raises:
      ValueError: no such precision.
    """
    if precision is None:
        precision = default_matmul_precision.value
    if isinstance(precision, str):
        precision = PRECISION_NAMES.get(precision, precision)
    if precision is None or hasattr(precision, "compute_types"):
        return precision
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    members = tuple([PRECISION_NAMES.get(p) if isinstance(p, str) else p for p in pair])
    if len(pair) != 2 or type(pair[0]) is not type(pair[1]) or not all(
            isinstance(p, Precision) for p in members):
        raise ValueError("A precision is None, a Precision or its name, two of these in a tuple, "
                         f"or a DotAlgorithmPreset or its name; got {precision}.")
    return members
