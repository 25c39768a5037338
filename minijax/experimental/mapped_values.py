"""Chapter 16: `vmap` over values that are no arrays.

A `HiType` does not say along which dimensions its arrays are batched. A `MappingSpec` in `in_axes`
does, in a way that only the library knows. So one example of such a value is a `BatchTracer` whose
batch dimension is the spec, and whose type is `dec_rank(size, spec)` of the whole value's type. The
rules of operations on it (`VJPHiPrimitive.batch`) get the spec, and return one for their results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.batching import (
    BatchTrace,
    BatchTracer,
    WithTrace,
    primitive_batchers,
    spec_types,
    unmapped_aval,
)
from ..core.core import Tracer, current_trace, set_current_trace, state, typeof
from ..core.forward import JVPTrace
from ..core.partial_eval import JaxprTrace
from ..core.primitives import add_any_p
from ..custom_rules.vmappables import Vmappable
from ..source import user_location
from .mutable_values import hi_type, is_high


class MappingSpec:
    """How a value of a `HiType` is mapped by `vmap`. Specs are compared with `==`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        spec_types.add(cls)


def example_of(trace: BatchTrace, x: Any, dim: Any) -> Any:
    """One example of `x`, which is batched by a dimension or a spec, or not at all."""
    if dim is None:
        return x
    if not isinstance(dim, MappingSpec):
        return BatchTracer(trace, x, dim)
    tracer: Any = object.__new__(BatchTracer)
    tracer._trace, tracer.val, tracer.batch_dim = trace, x, dim
    tracer.aval = _rule(typeof(x), "dec_rank")(trace.axis_data.size, dim)
    tracer._birthplace = user_location()
    return tracer


def unmapped(size: int, dim: Any, aval: Any) -> Any:
    """The type of `size` examples of this type."""
    if isinstance(dim, MappingSpec):
        return _rule(aval, "inc_rank")(size, dim)
    return unmapped_aval(size, dim, aval)


def _rule(aval: Any, name: str) -> Any:
    if not hasattr(aval, name):
        raise NotImplementedError(f"vmap requires the type {type(aval).__name__} to implement the "
                                  f"`{name}` method.")
    return getattr(aval, name)


def batch_trace_of(leaves: Sequence) -> BatchTrace | None:
    """The trace of a `vmap` of whose values an operand is one example. Operands without a tangent
    pass by the traces of derivatives."""
    trace: Any = state.trace
    while isinstance(trace, (JVPTrace, JaxprTrace)):
        trace = trace.parent
    if isinstance(trace, BatchTrace) and any(
            trace.to_batch_info(x)[1] is not None for x in leaves):
        return trace
    return None


def _sum_of_examples(trace: BatchTrace, args: Sequence, dims: Sequence) -> tuple[Any, Any]:
    """The sum of two tangents or cotangents for one example, as their type says."""
    if not any(isinstance(dim, MappingSpec) for dim in dims):
        mapped = any(dim is not None for dim in dims)
        return _sum_of_arrays(args, dims) if mapped else (add_any_p.bind(*args), None)
    x, y = (example_of(trace, x, dim) for x, dim in zip(args, dims))
    aval: Any = typeof(x)
    with set_current_trace(trace):
        return aval.vspace_add(x, y), None  # a tracer already, as `BatchTrace` makes none


_sum_of_arrays: Any = primitive_batchers[add_any_p]
sum_of_examples = WithTrace(_sum_of_examples)

# ----------------------------------------------------------------------------------------------
# Arguments and results of `vmap`


def _example(part: Any, get_idx: Any, x: Any, spec: Any) -> Any:
    """One example of an argument."""
    if spec is None:
        return x
    if not isinstance(spec, MappingSpec):
        raise ValueError(f"vmap was requested to map its argument along axis {spec}, which implies "
                         "that its rank should be at least 1, but is only 0 (its shape is ()). For "
                         f"a value of type {type(x).__name__}, a `MappingSpec` says how to map it.")
    return example_of(get_idx()._trace, x, spec)


def _all_examples(part: Any, axis_size: int, x: Any, spec: Any) -> Any:
    """All examples of a result."""
    trace: Any = current_trace()
    value, dim = trace.to_batch_info(x)
    if dim is None and is_high(value):
        _check_no_examples(trace, value)
    if dim != spec:
        raise ValueError(f"at vmap out_axes, got axis spec {spec} but output was batched on axis "
                         f"{dim}. Write that spec in out_axes.")
    return value


def _check_no_examples(trace: BatchTrace, x: Any) -> None:
    arrays = [] if hi_type(x).has_qdd else hi_type(x).lower_val(x)
    if any(isinstance(part, Tracer) and trace.to_batch_info(part)[1] is not None
           for part in arrays):
        raise NotImplementedError(
            f"A function under vmap returned a value of type {type(x).__name__} that was made by "
            "an operation without a batching rule. Define its method `batch`.")


mapped_by_spec = Vmappable(int, _example, _all_examples)
