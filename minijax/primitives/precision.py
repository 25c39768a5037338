"""Chapter 1: how exactly to compute, where a machine has several ways.

The CPU has one. There, the accuracy of a function and the `Precision` of a product of matrices
change nothing, and an algorithm for one no more than the types that the operands are converted to
before, and the result after.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from .. import dtypes, settings


class Precision(enum.Enum):
    """How exactly an accelerator multiplies; on the CPU all are the same."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value):
        return _PRECISION_NAMES.get(value)

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"Precision.{self.name}"


_PRECISION_NAMES = {
    "default": Precision.DEFAULT, "fastest": Precision.DEFAULT, "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH, "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST,
}


class DotAlgorithm(NamedTuple):
    """A way to multiply matrices, for machines that have several; not for the CPU.

    Args:
      lhs_precision_type, rhs_precision_type: the types that the operands are rounded to.
      accumulation_type: the type to add up in.
      lhs_component_count, rhs_component_count: into how many parts each number is split.
      num_primitive_operations: how many products of such parts are added.
      allow_imprecise_accumulation: whether some sums may be in less precision.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms by name: the types of the operands and of the sum; X3, X6, X9: by how many
    products of parts. The CPU knows DEFAULT, and those of one floating point type throughout, and
    BF16_BF16_F32 with X3 and X6."""

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"DotAlgorithmPreset.{self.name}"


ALGORITHMS = (DotAlgorithm, DotAlgorithmPreset)
PrecisionLike = (None | str | Precision | tuple[str, str] | tuple[Precision, Precision]
                 | DotAlgorithm | DotAlgorithmPreset)
DotDimensionNumbers = tuple[tuple[Any, Any], tuple[Any, Any]]


def canonical_precision(precision) -> Any:
    """`None`, a pair of `Precision`s, one for each operand, or an algorithm.

    Raises:
      ValueError: no such precision.
    """
    if precision is None:
        precision = settings.default_matmul_precision.value
    if precision is None or isinstance(precision, ALGORITHMS):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    if len(pair) != 2 or not (all(isinstance(p, str) for p in pair)
                              or all(isinstance(p, Precision) for p in pair)):
        raise ValueError(
            "A precision is None, a Precision or its name, two of these in a tuple, or a "
            f"DotAlgorithmPreset or its name; got {precision}.")
    left, right = pair
    return Precision(left), Precision(right)


# For each algorithm of the CPU: the types that operands may have (the first is the one to convert
# others to), and the type of the sum.
_BF16, _F16, _F32, _F64 = (np.dtype(t) for t in (ml_dtypes.bfloat16, "f2", "f4", "f8"))
_ON_CPU = {
    DotAlgorithmPreset.F16_F16_F16: ((_F16,), _F16),
    DotAlgorithmPreset.BF16_BF16_F32: ((_BF16, _F32), _F32),
    DotAlgorithmPreset.BF16_BF16_F32_X3: ((_F32,), _F32),
    DotAlgorithmPreset.BF16_BF16_F32_X6: ((_F32,), _F32),
    DotAlgorithmPreset.F32_F32_F32: ((_F32,), _F32),
    DotAlgorithmPreset.F64_F64_F64: ((_F64,), _F64),
}


def compute_types(algorithm, lhs: np.dtype, rhs: np.dtype, out: np.dtype) -> tuple[Any, Any, Any]:
    """The types of the operands and of the result in which an algorithm works.

    Raises:
      ValueError: the CPU does not have it.
    """
    if algorithm is DotAlgorithmPreset.DEFAULT:
        return lhs, rhs, out
    if algorithm not in _ON_CPU:
        raise ValueError(f"The precision '{algorithm}' is not supported by dot_general on CPU")
    storage, accumulation = _ON_CPU[algorithm]
    lhs, rhs = (dtype if dtype in storage else storage[0] for dtype in (lhs, rhs))
    keeps = algorithm is DotAlgorithmPreset.BF16_BF16_F32 and out == _BF16 == \
        dtypes.promote_types(lhs, rhs)
    return lhs, rhs, out if keeps else accumulation


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


def check_accuracy(accuracy) -> None:
    """Raise `NotImplementedError` unless it is a mode or a tolerance."""
    if not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise NotImplementedError(f"Accuracy {accuracy} not supported")
