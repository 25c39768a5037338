"""The interface of a manager that writes arrays to files while the program goes on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any


class GlobalAsyncCheckpointManagerBase(ABC):
    """What a manager of checkpoints has to offer.

    `serialize` returns while arrays are still being written; `check_for_errors` and
    `wait_until_finished` tell how the writing went.

    >>> GlobalAsyncCheckpointManagerBase()
    Traceback (most recent call last):
    TypeError: Can't instantiate abstract class GlobalAsyncCheckpointManagerBase ...
    """

    @abstractmethod
    def check_for_errors(self) -> None:
        """Raise what failed while arrays were written, without waiting."""

    @abstractmethod
    def wait_until_finished(self) -> None:
        """Wait until all arrays are written."""

    @abstractmethod
    def serialize(self, arrays: Sequence[Any], tensorstore_specs: Sequence[dict], *,
                  on_commit_callback: Callable[[], None]) -> None:
        """Begin to write arrays, each to the place that its specification names."""

    @abstractmethod
    def deserialize(self, shardings: Sequence[Any], tensorstore_specs: Sequence[dict],
                    global_shapes: Sequence[Any] | None = None,
                    dtypes: Sequence[Any] | None = None) -> Any:
        """Read arrays, each with the sharding given."""
