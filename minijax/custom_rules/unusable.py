"""Chapter 10: values that cannot be computed, and do no harm where nothing reads them.

The tangent of a `custom_vjp` function in forward mode is such a value. A program may have it in
dead code, also inside of loops and branches. So the dead code of a program is dropped before the
program is lowered.
"""

from collections.abc import Callable

from ..core.core import ShapedArray
from ..core.extension import Extension, register
from ..core.jaxpr import ClosedJaxpr
from ..core.lowering import Value
from ..core.partial_eval import without_dead_code


class Unusable(Value):
    """Stands in a module for a value that cannot be computed.

    Args:
      refuse: raises the error; called if an operation reads the value.
    """

    __slots__ = ("_refuse",)

    def __init__(self, aval: ShapedArray, refuse: Callable):
        self.aval, self._refuse = aval, refuse

    name = property(lambda self: self._refuse())


class _WithoutDeadCode(Extension):
    """Chapter 6 asks for the jaxpr that it lowers."""

    def jaxpr_to_lower(self, jaxpr: ClosedJaxpr) -> ClosedJaxpr:
        return without_dead_code(jaxpr)


register(_WithoutDeadCode())
