"""Chapter 6: how the C library treats large blocks of memory that a program has freed.

It returns a block of more than 32 MB to the system. The system maps the pages of the next block
again, one by one, and for a program with large temporary memory this can take longer than the
computation. The autotuner changes that for the whole process, if a program gains by it. Only glibc
has the switches; with other C libraries, nothing changes.
"""

from __future__ import annotations

import ctypes
from typing import Any

LARGE = 32 << 20  # bytes
KEPT = 1 << 30  # bytes of freed memory that are kept

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # from glibc's malloc.h
_is_kept = False


def _set(switch: int, value: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(switch, value)


def keep_large_blocks(program: Any) -> bool:
    """If a loaded program needs large blocks, keep freed memory from now on.

    Returns:
      whether that has changed anything.
    """
    global _is_kept
    stats = program.get_compiled_memory_stats()
    if _is_kept or stats.temp_size_in_bytes + stats.output_size_in_bytes <= LARGE:
        return False
    _set(_M_MMAP_MAX, 0)
    _set(_M_TRIM_THRESHOLD, KEPT)
    _is_kept = True
    return True


def release_large_blocks() -> None:
    """Return freed memory to the system again. The C library adapts its thresholds to a program
    until they are set for the first time; these are the greatest that it comes to by itself."""
    global _is_kept
    _set(_M_MMAP_THRESHOLD, LARGE)
    _set(_M_TRIM_THRESHOLD, 2 * LARGE)
    _set(_M_MMAP_MAX, 65536)
    _is_kept = False
