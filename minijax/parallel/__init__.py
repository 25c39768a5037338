"""Chapter 14: named axes, devices and placement, one program on many devices and processes."""

from ..first_use import first_use_of as _first_use_of

with _first_use_of(__name__):
    from . import (
        answers, collective_lowering, collective_rules, explicit, placement, shard_map_lowering,
        sharded_jit, shown, stated, struct_types,
    )
