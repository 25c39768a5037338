"""The public names of `jax.interpreters.batching`."""

# chapter 4
from ..batching import (
    AxisData,
    BatchTrace,
    BatchTracer,
    bdim_at_front,
    broadcast,
    defbroadcasting,
    defreducer,
    defvectorized,
    fancy_primitive_batchers,
    matchaxis,
    moveaxis,
    not_mapped,
    primitive_batchers,
)
