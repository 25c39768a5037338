"""Chapter 14: named axes, devices and placement, one program on many devices and processes.

`meshes/` has the words for devices and splits, `types/` what an array's type says of them,
`collectives/` the operations across named axes, and `programs/` all that runs on many devices.
`answers.py` gives the engine all of it, as one extension.
"""

from . import answers
from .collectives import lowering, rules
from .programs import (
    device_put, explicit_axes, jit_shardings, out_sharding, shape_structs, shard_map_lowering,
    shard_map_printing)
