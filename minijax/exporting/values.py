"""Chapter 16: a size that is not known, as a value that a program computes with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.core import Primitive, ShapedArray
from ..core.forward import defjvp_zero
from ..core.lowering import Value, register_lowering
from .dimensions import Dim

SIZE = ShapedArray((), np.dtype("int32"))

dim_as_value_p = Primitive("dim_as_value", memoize_avals=False)
dim_as_value_p.def_abstract_eval(lambda dim: SIZE.update(weak_type=True))
defjvp_zero(dim_as_value_p)
register_lowering(dim_as_value_p, lambda ctx, *, dim: Value(ctx.size(dim), SIZE))


@dim_as_value_p.def_impl
def _evaluate(dim):
    raise NotImplementedError(
        f"Evaluation rule for 'dim_as_value' is not implemented: the symbolic dimension '{dim!s}' "
        "has a value only within a function that is exported.")


def dimension_as_value(dim: Dim) -> Any:
    """The size as an array, within an exported function."""
    return dim_as_value_p.bind(dim=dim)
