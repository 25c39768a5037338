"""Chapter 6: how the C library treats large blocks of memory that a program has freed.

It returns a block of more than 32 MB to the system. The system maps the pages of the next block
again, one by one, and for a program with large temporary memory this can take longer than the
computation. The autotuner changes that, for the whole process, by the two functions of this file.
Only glibc has the switches; with other C libraries, nothing changes.
"""

from __future__ import annotations

import ctypes
from typing import Any

LARGE = 32 << 20  # bytes
KEPT = 1 << 30  # bytes of freed memory that are kept

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8  # from glibc's malloc.h


def _set(switch: int, value: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(switch, value)


def share_arena() -> None:
    """Have threads that start later take their memory where the main thread takes it. Memory of
    other arenas is always returned to the system. XLA's threads start with its client."""
    _set(_M_ARENA_MAX, 1)


def keep_large_blocks(program: Any) -> None:
    """If a loaded program needs large blocks, keep freed memory from now on."""
    stats = program.get_compiled_memory_stats()
    if stats.temp_size_in_bytes + stats.output_size_in_bytes > LARGE:
        _set(_M_MMAP_MAX, 0)
        _set(_M_TRIM_THRESHOLD, KEPT)
