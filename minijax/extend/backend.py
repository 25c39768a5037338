"""The public names of `jax.extend.backend`: XLA's clients, which minijax drives through jaxlib."""

# chapter 6
from ..settings import clear_caches as _clear_caches
from ..runtime import xla as _xla
from ..runtime.platforms import platforms as _platforms


def clear_in_memory_compilation_cache() -> None:
    """Drop all compiled programs, and what was traced for them."""
    _clear_caches()


def get_backend(platform=None):
    """The client of a platform, by name; by default of the first one.

    Raises:
      RuntimeError: there is no such platform here.

    >>> from minijax.extend import backend
    >>> backend.get_backend().platform
    'cpu'
    """
    return _xla().backend(platform) if platform is None or isinstance(platform, str) else platform


def backends() -> dict:
    """The clients of all platforms that are in use, by name."""
    return {name: _xla().backend(name) for name in _platforms()}


def get_default_device():
    """Where work goes that names no device."""
    return _xla().default_device()


def backend_xla_version(platform=None):
    """The version of a platform's XLA, or `None` if it does not say."""
    return getattr(get_backend(platform), "xla_version", None)


def clear_backends() -> None:
    """Forget what was traced and compiled. (The clients stay: arrays live in their memory.)"""
    _clear_caches()
