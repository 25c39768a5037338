"""Programs on many devices, and their arrays.

Arrays in parts, `device_put`, `jit` with shardings, `shard_map` and `pmap`, and arrays that several
processes put together.
"""
