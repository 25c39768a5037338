"""JAX's tables of batching rules that take more than `primitive_batchers`' do.

Here all rules are in one table. These views of it are for libraries that add rules to JAX's.
"""

from collections.abc import Callable, Iterator, MutableMapping

from ..core.batching import BatchTrace, WithTrace, primitive_batchers
from ..core.core import Primitive, current_trace


class FancyPrimitiveBatchers(MutableMapping):
    """Rules `(axis_data, args, dims, **params) -> (out, out_dim)`."""

    def __getitem__(self, primitive: Primitive) -> Callable:
        rule = primitive_batchers[primitive]
        if type(rule) is not WithTrace:
            raise KeyError(primitive)

        def fancy(axis_data, args, dims, **params):
            return rule.rule(BatchTrace(current_trace(), axis_data), args, dims, **params)

        return fancy

    def __setitem__(self, primitive: Primitive, rule: Callable) -> None:
        def with_trace(trace, args, dims, **params):
            return rule(trace.axis_data, args, dims, **params)

        primitive_batchers[primitive] = WithTrace(with_trace)

    def __delitem__(self, primitive: Primitive) -> None:
        self[primitive]
        del primitive_batchers[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter([p for p, rule in primitive_batchers.items() if type(rule) is WithTrace])

    def __len__(self) -> int:
        return len([*self])


class AxisPrimitiveBatchers(FancyPrimitiveBatchers):
    """Rules `(axis_size, axis_name, trace_type, args, dims, **params) -> (out, out_dim)`."""

    def __setitem__(self, primitive, rule):
        super().__setitem__(primitive, lambda axis_data, args, dims, **params: rule(
            axis_data.size, axis_data.name, None, args, dims, **params))


fancy_primitive_batchers = FancyPrimitiveBatchers()
axis_primitive_batchers = AxisPrimitiveBatchers()
