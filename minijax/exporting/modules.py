"""Chapter 16: the StableHLO module of an exported function.

It holds all constants, since nobody passes them later, and says which arguments may be donated. If
it is for several platforms, its first argument is the number of the platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.core import ShapedArray
from ..core.jaxpr import ClosedJaxpr
from ..core.jit import Spec
from ..core.lowering import Body, Value
from ..runtime.modules import DonatingModule, ProgramBody


class ExportedBody(ProgramBody):
    """A function of an exported module."""

    module: ExportedModule  # type: ignore[assignment]

    def constant_name(self, value: Any, aval: ShapedArray) -> str:
        return Body.constant_name(self, value, aval)

    def text(self, arguments: Sequence[str], results: Sequence[Value], visibility: str) -> str:
        if visibility == "public" and len(self.module.platforms) > 1:
            arguments = [_PLATFORM, *arguments]
        return super().text(arguments, results, visibility)


_PLATFORM = '%platform: tensor<i32> {jax.global_constant = "_platform_index"}'


class ExportedModule(DonatingModule):
    """The module of a function that is exported for some platforms."""

    body_class = ExportedBody

    def __init__(self, jaxpr: ClosedJaxpr, spec: Spec, platforms: tuple[str, ...]):
        super().__init__(jaxpr, spec)
        self.platforms = platforms
        self.is_symbolic = False
        polymorphic = self.is_symbolic or len(platforms) > 1
        self.attributes = (f"jax.uses_shape_polymorphism = {str(polymorphic).lower()}, "
                           f"{DonatingModule.attributes}")
