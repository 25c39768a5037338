"""Rotations of space, one or many of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from .... import numpy as jnp
from ....core.boundary import public
from . import quaternions


class Rotation(NamedTuple):
    """A rotation of three-dimensional space, or n of them; a pytree.

    quat: an array of shape (4,) or (n, 4): quaternions (x, y, z, w) of norm 1.

    >>> import minijax.scipy.spatial.transform as transform
    >>> quarter = transform.Rotation.from_euler("z", 90, degrees=True)
    >>> quarter.apply(jnp.array([1.0, 0.0, 0.0])).round(3).tolist()
    [0.0, 1.0, 0.0]
    """

    quat: Any

    @classmethod
    def concatenate(cls, rotations: Sequence):
        """Several objects of several rotations each, as one."""
        return cls(jnp.concatenate([rotation.quat for rotation in rotations]))

    @classmethod
    @public
    def from_euler(cls, seq: str, angles, degrees: bool = False):
        """Rotations around one to three coordinate axes.

        Args:
          seq: the axes, as "zyx" for fixed axes, or "ZYX" for those of the turned body.
          angles: an array whose last axis is as long as `seq`; or a scalar.
          degrees: whether the angles are in degrees.

        Raises:
          ValueError: other letters, one axis twice in a row, angles that do not fit.
        """
        axes, extrinsic = _axes(seq, range(1, 4))
        angles = jnp.atleast_1d(angles)
        if angles.shape[-1] != len(axes):
            raise ValueError(f"expected {len(axes)} angles along the last axis, for the axes "
                             f"{seq!r}; got angles of shape {angles.shape}")
        angles = jnp.where(degrees, jnp.deg2rad(angles), angles)
        return cls(quaternions.from_euler(angles, axes, not extrinsic))

    @classmethod
    @public
    def from_matrix(cls, matrix):
        """From orthogonal matrices, an array of shape (..., 3, 3)."""
        return cls(quaternions.from_matrix(jnp.asarray(matrix)))

    @classmethod
    def from_mrp(cls, mrp):
        """From modified Rodrigues parameters, an array of shape (..., 3)."""
        return cls(quaternions.from_mrp(jnp.asarray(mrp)))

    @classmethod
    def from_quat(cls, quat):
        """From quaternions of any norm, an array of shape (..., 4)."""
        return cls(quaternions.normalize(jnp.asarray(quat)))

    @classmethod
    def from_rotvec(cls, rotvec, degrees: bool = False):
        """From axes whose length is the angle, an array of shape (..., 3)."""
        return cls(quaternions.from_rotvec(jnp.asarray(rotvec), degrees))

    @classmethod
    def identity(cls, num: int | None = None, dtype=float):
        """No rotation; `num` must be `None`."""
        assert num is None
        return cls(jnp.array([0.0, 0.0, 0.0, 1.0], dtype=dtype))

    @classmethod
    def random(cls, random_key, num: int | None = None):
        """Not there, as in JAX."""
        raise NotImplementedError("Rotation.random: use from_quat of four normal samples")

    def __getitem__(self, indexer):
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self):
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    def __mul__(self, other) -> Rotation:
        """First the rotation `other`, then this one."""
        return Rotation.from_quat(quaternions.compose(self.quat, other.quat))

    def apply(self, vectors, inverse: bool = False):
        """The rotated vectors.

        Args:
          vectors: an array of shape (..., 3).
          inverse: whether to rotate the other way.
        """
        matrix = self.as_matrix()
        matrix = jnp.where(inverse, matrix.mT, matrix)
        return (matrix @ jnp.asarray(vectors)[..., None])[..., 0]

    def as_euler(self, seq: str, degrees: bool = False):
        """The angles of rotations around three axes; see `from_euler`.

        Raises:
          ValueError: other than three letters, or one axis twice in a row.
        """
        axes, extrinsic = _axes(seq, [3])
        angles = quaternions.to_euler(self.quat, axes, extrinsic)
        return jnp.where(degrees, jnp.rad2deg(angles), angles)

    def as_matrix(self):
        """Orthogonal matrices, of shape (..., 3, 3)."""
        return quaternions.to_matrix(self.quat)

    def as_mrp(self):
        """Modified Rodrigues parameters, of shape (..., 3)."""
        return quaternions.to_mrp(self.quat)

    def as_rotvec(self, degrees: bool = False):
        """Axes whose length is the angle, of shape (..., 3)."""
        return quaternions.to_rotvec(self.quat, degrees)

    def as_quat(self, canonical: bool = False, scalar_first: bool = False):
        """Quaternions, (x, y, z, w) or with w first; `canonical`: with positive w."""
        quat = quaternions.canonical(self.quat) if canonical else self.quat
        return jnp.roll(quat, shift=1, axis=-1) if scalar_first else quat

    def inv(self):
        """The inverse rotations."""
        return Rotation(quaternions.invert(self.quat))

    def magnitude(self):
        """The angles."""
        sine = quaternions.norm(self.quat[..., :3])[..., 0]
        return 2.0 * jnp.arctan2(sine, abs(self.quat[..., 3]))

    def mean(self, weights=None):
        """The rotation that is nearest to all: the main eigenvector of a matrix. Markley et al.,
        "Averaging quaternions", 2007.

        Args:
          weights: an array of shape (n,).

        Raises:
          ValueError: another shape.
        """
        dtype = self.quat.dtype
        w = jnp.ones(len(self), dtype) if weights is None else jnp.asarray(weights, dtype=dtype)
        if w.ndim != 1:
            raise ValueError(f"Expected `weights` to be 1 dimensional, got shape {w.shape}.")
        if w.shape[0] != len(self):
            raise ValueError(f"Expected one weight for each rotation, got {w.shape[0]} weights and "
                             f"{len(self)} rotations.")
        _, vectors = jnp.linalg.eigh((w[None, :] * self.quat.T) @ self.quat)
        return Rotation(vectors[:, -1])

    @property
    def single(self) -> bool:
        """Whether there is one rotation, and no axis of them."""
        return self.quat.ndim == 1


def _axes(seq: str, lengths) -> tuple[list[int], bool]:
    """The numbers of the axes, and whether they are fixed."""
    if len(seq) not in lengths:
        raise ValueError(f"expected {' or '.join(map(str, lengths))} axes; got {seq!r}")
    if not re.fullmatch("[XYZ]+|[xyz]+", seq):
        raise ValueError(f"expected axes out of 'xyz' or out of 'XYZ'; got {seq!r}")
    if any(first == second for first, second in zip(seq, seq[1:])):
        raise ValueError(f"expected consecutive axes to be different; got {seq!r}")
    return ["xyz".index(letter) for letter in seq.lower()], seq.islower()
