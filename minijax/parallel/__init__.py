"""Chapter 14: named axes, devices and placement, one program on many devices and processes."""

from . import collective_lowering, collective_rules, shard_map_lowering, sharded_jit, shown
