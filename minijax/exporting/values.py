"""Chapter 16: a size that is not known, as a value that a program computes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.core import Primitive, ShapedArray
from ..core.forward import defjvp_zero
from ..core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from ..core.jit import Spec
from ..core.lowering import Value, register_lowering
from ..core.staging import trace_to_jaxpr
from .dimensions import Dim, is_symbolic_dim

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


def with_sizes(jaxpr: ClosedJaxpr, spec: Spec, closed: Sequence) -> tuple[ClosedJaxpr, Spec]:
    """A traced function whose first arguments are what it closed over, sizes that it used as
    arrays and arrays, without those arguments. The values of the sizes come from the shapes of the
    others. A function that closed over references stays as it is."""
    count, fun = len(closed), jaxpr_as_fun(jaxpr)
    if not closes_over_values(jaxpr, closed):
        return jaxpr, spec
    values = lambda: [dimension_as_value(x) if is_symbolic_dim(x) else x for x in closed]
    rest = trace_to_jaxpr(lambda *args: fun(*values(), *args), jaxpr.in_avals[count:],
                          jaxpr.jaxpr.debug_info)
    return rest, spec._replace(donated_invars=spec.donated_invars[count:])


def closes_over_values(jaxpr: ClosedJaxpr, closed: Sequence) -> bool:
    """Whether a function closes over something, and none of that is a reference."""
    return bool(closed) and all(isinstance(aval, ShapedArray)
                                for aval in jaxpr.in_avals[:len(closed)])


def dimension_as_value(dim: Dim) -> Any:
    """The size as an array, within an exported function."""
    return dim_as_value_p.bind(dim=dim)
