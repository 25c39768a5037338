"""Chapter 16: what JAX calls experimental; each module is imported when it is asked for."""

from ..debugging.callbacks import io_callback
