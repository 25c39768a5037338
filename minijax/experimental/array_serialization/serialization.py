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


def _use_orbax(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"{name}: minijax writes no checkpoints itself. Use `orbax.checkpoint`, or `numpy.savez` "
        "and `jax.device_put`.")


class GlobalAsyncCheckpointManager(GlobalAsyncCheckpointManagerBase):
    """A name for libraries to import. JAX's class writes arrays with TensorStore; this one cannot
    be made.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, timeout_secs: int = 300):
        raise _use_orbax("GlobalAsyncCheckpointManager")

    check_for_errors = wait_until_finished = serialize = deserialize = __init__  # type: ignore


def get_tensorstore_spec(ckpt_path: str, ocdbt: bool = True) -> dict[str, Any]:
    """A name for libraries to import, as above.

    Raises:
      NotImplementedError: always.
    """
    raise _use_orbax("get_tensorstore_spec")
