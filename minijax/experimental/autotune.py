"""The autotuner for programs on the CPU: what it chose, and how to wait for it (minijax's own)."""

from ..runtime.autotune import Choice, choices, wait
