"""Chapter 16: checks that no random key is used twice.

>>> with jax.debug_key_reuse(True):
...     key = jax.random.key(0)
...     a = jax.random.normal(key)
...     b = jax.random.normal(key)
Traceback (most recent call last):
minijax.errors.KeyReuseError: Previously-consumed key passed to jit-compiled function at index 0
"""

from ._core import (
    KeyReuseSignature as KeyReuseSignature, Forward as Forward, Sink as Sink, Source as Source,
    check_key_reuse as check_key_reuse)
