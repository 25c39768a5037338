"""The release, as JAX has it: a text, and a tuple to compare with."""

__version__ = "0.1.0"
__version_info__ = tuple(map(int, __version__.split(".")))
