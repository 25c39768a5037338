"""A module with deprecated names, for tests of deprecations."""

from tests.harness.deprecations import deprecation_getattr

x = 42
_deprecations = {"y": ("Use x instead of y.", 101), "z": ("There is no z any more. Use x.", None)}
__getattr__ = deprecation_getattr(__name__, _deprecations)
