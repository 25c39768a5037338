"""Chapter 11: algorithms for products of matrices, which machines may have.

The CPU has some of them, in name: there an algorithm is no more than the types that the operands
are converted to before, and the result after.
"""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..core import dtypes
from .precision import PRECISION_NAMES, Precision


def _multiply(algorithm, plain: Callable, x, y, dimension_numbers, dtype: np.dtype):
    """The product of NumPy arrays by the evaluation rule `plain`, in the algorithm's types."""
    x_dtype, y_dtype, out_dtype = algorithm.compute_types(x.dtype, y.dtype, dtype)
    out = plain(x.astype(x_dtype), y.astype(y_dtype), dimension_numbers=dimension_numbers,
                precision=None, preferred_element_type=out_dtype)
    return out.astype(dtype, copy=False)


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

    def compute_types(self, lhs: np.dtype, rhs: np.dtype, out: np.dtype):
        """Raise `ValueError`: the CPU has no such algorithm."""
        raise _not_on_cpu(self)

    def multiply(self, *args):
        """Evaluate the product: `_multiply`."""
        return _multiply(self, *args)


class DotAlgorithmPreset(enum.Enum):
    """Algorithms by name. The name gives the types of the operands and of the sum. X3, X6, X9
    say how many products of parts are added. The CPU has DEFAULT, those of one floating point
    type throughout, and BF16_BF16_F32 with X3 and X6."""

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

    def multiply(self, *args):
        """Evaluate the product: `_multiply`."""
        return _multiply(self, *args)

    def compute_types(self, lhs: np.dtype, rhs: np.dtype, out: np.dtype) -> tuple[Any, Any, Any]:
        """The types of the operands and of the result in which this algorithm works.

        Raises:
          ValueError: the CPU does not have it.
        """
        if self is DotAlgorithmPreset.DEFAULT:
            return lhs, rhs, out
        if self not in _ON_CPU:
            raise _not_on_cpu(self)
        storage, accumulation = _ON_CPU[self]
        lhs, rhs = (dtype if dtype in storage else storage[0] for dtype in (lhs, rhs))
        keeps = self is DotAlgorithmPreset.BF16_BF16_F32 and \
            out == _BF16 == dtypes.wider(lhs, rhs)
        return lhs, rhs, out if keeps else accumulation


def _not_on_cpu(algorithm) -> ValueError:
    return ValueError(f"The precision '{algorithm}' is not supported by dot_general on CPU")


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

PRECISION_NAMES.update(DotAlgorithmPreset.__members__)
PrecisionLike = (None | str | Precision | tuple[str, str] | tuple[Precision, Precision]
                 | DotAlgorithm | DotAlgorithmPreset)
DotDimensionNumbers = tuple[tuple[Any, Any], tuple[Any, Any]]
