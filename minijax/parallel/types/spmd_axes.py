"""Chapter 14: which axes of the mesh split the batches of the `vmap`s around.

`spmd_axis_name` says it, or the types of the arguments do. A `vmap` without an `axis_name` gets one
that no user can write. So the axes are known wherever names of axes are in scope, also while a
`jit` inside the `vmap` is traced, and they are part of the key of what was traced.
"""

from typing import Any, NamedTuple

from ...core.batching import AxisData, BatchTrace
from ...core.core import state


class BatchAxes(NamedTuple):
    """The name of a `vmap` whose batch is split over these axes."""

    names: tuple

    def __repr__(self) -> str:
        return "None"  # messages show the name that the user gave


def split_over(axis_data: AxisData, entry: Any) -> AxisData:
    """`axis_data` of a batch that is split over the axes of an entry of a spec."""
    if axis_data.name is not None:
        return axis_data
    return axis_data._replace(name=BatchAxes(_names(entry)))


def axes_of_batches() -> frozenset:
    """The axes over which `vmap`s around split their examples. Along these, all devices have the
    same values of one example."""
    names = {name for key in state.axis_sizes if isinstance(key, BatchAxes) for name in key.names}
    trace: Any = state.trace
    while trace is not None:
        if isinstance(trace, BatchTrace):
            names.update(axes_of_batch(trace.axis_data) or ())
        trace = trace.parent
    return frozenset(names)


def axes_of_batch(axis_data: AxisData) -> tuple | None:
    """The axes over which a batch is split."""
    if axis_data.spmd_name is None and axis_data.placement is not None:
        return _names(*axis_data.placement.entries)
    return None if axis_data.spmd_name is None else _names(axis_data.spmd_name)


def _names(entry: Any) -> tuple:
    return entry if isinstance(entry, tuple) else (entry,)
