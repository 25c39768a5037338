"""Chapter 4: batching. A function of one example, run once, on all of them at a time.

`trace.py` has the tracer with a batch dimension and the trace that makes it; `rules.py` the column
of batching rules, one for each starter primitive; `vmap.py` the public transformation.
"""

from minijax.batching.trace import (
    AxisData,
    BatchTrace,
    BatchTracer,
    axis_size,
    batch_fun,
    bdim_at_front,
    broadcast,
    fancy_primitive_batchers,
    mapped_aval,
    matchaxis,
    moveaxis,
    not_mapped,
    primitive_batchers,
    trace_batchers,
    unmapped_aval,
)
from minijax.batching.rules import defbroadcasting, defreducer, defvectorized
from minijax.batching.vmap import vmap
