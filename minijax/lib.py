"""`jax.lib`: the version of jaxlib."""

# chapter 6
from .runtime.client import JAXLIB_VERSION

__version__ = ".".join(map(str, JAXLIB_VERSION))
