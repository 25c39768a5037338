"""Chapter 12: the functions of SciPy, for our arrays, in modules named as SciPy's."""

from . import special
