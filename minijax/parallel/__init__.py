"""Chapter 14: named axes, devices and placement, one program on many devices and processes."""

from . import (
    answers, collective_lowering, collective_rules, explicit, placement, shard_map_lowering,
    sharded_jit, shown, stated, struct_types,
)
