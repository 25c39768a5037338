"""Chapter 13: the functions of SciPy, for our arrays, in modules named as SciPy's.

A module is imported when it is first used.
"""

import importlib

# As in JAX, `optimize` and `spatial` are not here: they want `import minijax.scipy.optimize`.
__all__ = ["cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "sparse",
           "special", "stats"]


def __getattr__(name: str):
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
