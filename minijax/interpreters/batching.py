"""The public names of `jax.interpreters.batching`."""

# chapter 4
from ..core.batching import (
    AxisData, BatchTrace, BatchTracer, bdim_at_front, broadcast, matchaxis, moveaxis, not_mapped,
    primitive_batchers, defbroadcasting, defreducer, defvectorized)

# chapter 10
from ..compat.batching import axis_primitive_batchers, fancy_primitive_batchers
from ..compat.params import primitive_batchers  # type: ignore[assignment]  # noqa: F811
from ..custom_rules.vmappables import register_vmappable, unregister_vmappable
