"""XLA, and whatever else belongs to the machine: devices, processes, the cache on disk."""
