"""The public names of `jax.experimental.compilation_cache.compilation_cache`."""

from ...runtime.compilation_cache import reset_cache, set_cache_dir
