"""Interpolation between rotations."""

from typing import Any, NamedTuple

from .... import numpy as jnp
from .rotation import Rotation


class Slerp(NamedTuple):
    """Rotations at given times, with turns of constant speed between; a pytree. Made by `init`."""

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times, rotations: Rotation):
        """From n times, increasing, and n rotations.

        Raises:
          TypeError: `rotations` is no `Rotation`.
          ValueError: fewer than two of them, or another number of times.

        >>> import minijax.scipy.spatial.transform as transform
        >>> turns = transform.Rotation.from_euler("z", jnp.array([[0.0], [1.0]]))
        >>> transform.Slerp.init([0, 1], turns)(0.25).magnitude().round(3).item()
        0.25
        """
        if not isinstance(rotations, Rotation):
            raise TypeError(f"`rotations` must be a `Rotation` instance; got {rotations!r}")
        if rotations.single or len(rotations) == 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        times = jnp.asarray(times, dtype=rotations.quat.dtype)
        if times.ndim != 1:
            raise ValueError(f"Expected times to be a vector, got {times.ndim} dimensions.")
        if times.shape[0] != len(rotations):
            raise ValueError("Expected one time for each rotation, got "
                             f"{len(rotations)} rotations and {times.shape[0]} times.")
        first, second = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), first, (first.inv() * second).as_rotvec())

    def __call__(self, times):
        """The rotations at some times.

        Args:
          times: a scalar or a vector.

        Raises:
          ValueError: an array of more dimensions.
        """
        wanted = jnp.asarray(times, dtype=self.times.dtype)
        if wanted.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        at = jnp.atleast_1d(wanted)
        i = jnp.maximum(jnp.searchsorted(self.times, at) - 1, 0)
        share = (at - self.times[i]) / self.timedelta[i]
        result = self.rotations[i] * Rotation.from_rotvec(self.rotvecs[i] * share[:, None])
        return result if wanted.ndim else result[0]
