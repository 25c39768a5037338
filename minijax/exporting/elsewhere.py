"""Chapter 16: `trace(…).lower(lowering_platforms=…)`, for platforms that this process does not run.

The module is that of an exported function, without what only readers of exported functions need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ..core.lowering import LoweredModule
from ..runtime import load
from ..runtime.platforms import lowered_for
from ..runtime.stages import CallInfo, Lowered, Traced
from .exported import callback_message, check_platforms, default_export_platform, lower_for


class LoweredElsewhere(Lowered):
    """A function translated for other platforms. It can be looked at."""

    def __init__(self, info: CallInfo, module: LoweredModule, platforms: tuple[str, ...]):
        super().__init__(info, module)
        self._platforms = platforms

    def compile(self, compiler_options: dict | None = None) -> NoReturn:
        """Raise an error: this process has no compiler for these platforms.

        Raises:
          ValueError: the platforms are several.
          NotImplementedError: there is only the one, and it is another than the process's.
        """
        kind = ValueError if len(self._platforms) > 1 else NotImplementedError
        raise kind(f"compile: the function was lowered for {self._platforms}, and this process "
                   f"runs on {default_export_platform()!r}. Lower it without lowering_platforms.")


def lower_elsewhere(trace: Callable[[], Traced], platforms: tuple[str, ...]) -> Lowered:
    """The stage after what `trace()` returns, for other platforms than this process's."""
    if "gpu" in platforms:
        raise RuntimeError("Unknown backend: 'gpu' requested. Name 'cuda' or 'rocm' in "
                           "lowering_platforms.")
    with lowered_for(platforms):
        info = trace()._info
        _, _, module, lowered = lower_for(info, platforms)
    if module.for_compiler:
        raise ValueError(callback_message(platforms))
    if "custom_call" in lowered.text:
        calls = load("minijax.runtime.portable").custom_calls(lowered.text)
        check_platforms({target for target, _ in calls}, platforms)
    polymorphic = f"jax.uses_shape_polymorphism = {str(module.polymorphic).lower()}, "
    text = lowered.text.replace(polymorphic, "", 1)
    return LoweredElsewhere(info, lowered._replace(text=text), platforms)
