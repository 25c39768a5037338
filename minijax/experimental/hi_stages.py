"""Chapter 16: the stages of a jitted function of values that are no arrays."""

from __future__ import annotations

from typing import Any


class HiStage:
    """A stage of a jitted function (traced, lowered, compiled) for values that are no arrays.

    What it lacks is that of the stage of the program for their arrays.
    """

    def __init__(self, stage: Any, framed: Any, function: Any):
        self._stage, self._framed, self._function = stage, framed, function

    def lower(self, *args: Any, **kwargs: Any) -> HiStage:
        """The next stage."""
        return HiStage(self._stage.lower(*args, **kwargs), self._framed, self._function)

    def compile(self, *args: Any, **kwargs: Any) -> HiStage:
        """The last stage, which can be called."""
        return HiStage(self._stage.compile(*args, **kwargs), self._framed, self._function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def out_info(self) -> Any:
        """The types of the results."""
        assert self._framed.out is not None
        tree, forms = self._framed.out
        return tree.unflatten([x if form is None else form.type
                               for x, form in zip(self._stage.out_info[0], forms)])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)
