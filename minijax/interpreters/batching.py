"""The public names of `jax.interpreters.batching`."""

# chapter 4
from ..core.batching import (
    AxisData,
    BatchTrace,
    BatchTracer,
    bdim_at_front,
    broadcast,
    fancy_primitive_batchers,
    matchaxis,
    moveaxis,
    not_mapped,
    primitive_batchers,
)
from ..core.batching import defbroadcasting, defreducer, defvectorized


class _AxisPrimitiveBatchers:
    """A way to fill `fancy_primitive_batchers`: with rules
    `(axis_size, axis_name, trace_type, args, dims, **params) -> (out, out_dim)`."""

    def __setitem__(self, primitive, rule):
        fancy_primitive_batchers[primitive] = lambda axis_data, args, dims, **params: rule(
            axis_data.size, axis_data.name, None, args, dims, **params)


axis_primitive_batchers = _AxisPrimitiveBatchers()
