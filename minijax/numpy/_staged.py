"""Chapter 12: functions that are one `jit` equation when traced, and plain Python when not."""

from ..lax.staged import compiled as compiled
from ..lax.staged import staged as staged
