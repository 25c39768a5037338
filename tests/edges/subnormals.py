"""The processor's switch for numbers below the smallest normal one, which XLA always has on."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import platform
from collections.abc import Iterator

# glibc's fenv_t on x86-64: 28 bytes of the x87 unit, then the register MXCSR.
_MXCSR = 28
_ZERO_RESULTS_AND_OPERANDS = 0x8040


def can_flush() -> bool:
    """Whether `flushed` works here."""
    return platform.machine() in ("x86_64", "AMD64") and platform.libc_ver()[0] == "glibc"


@contextlib.contextmanager
def flushed() -> Iterator[None]:
    """In this thread, arithmetic takes subnormal numbers as zero, and returns zero in their place."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    saved, changed = (ctypes.create_string_buffer(32) for _ in range(2))
    libm.fegetenv(saved)
    libm.fegetenv(changed)
    mxcsr = ctypes.c_uint32.from_buffer(changed, _MXCSR)
    mxcsr.value |= _ZERO_RESULTS_AND_OPERANDS
    libm.fesetenv(changed)
    try:
        yield
    finally:
        libm.fesetenv(saved)
