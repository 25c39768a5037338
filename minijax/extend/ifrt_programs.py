"""The public name of `jax.extend.ifrt_programs`: jaxlib's module."""

# chapter 6

from ..runtime.lib import ifrt_programs
