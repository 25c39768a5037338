"""Rotations as quaternions (x, y, z, w) of norm 1, along the last axis of an array."""

import numpy as np

from .... import numpy as jnp


def components(array) -> tuple:
    """The slices along the last axis."""
    return tuple(array[..., i] for i in range(array.shape[-1]))


def norm(vectors):
    return jnp.sqrt(jnp.sum(vectors * vectors, axis=-1, keepdims=True))


def normalize(quat):
    return quat / norm(quat)


def compose(p, q):
    """The product: first the rotation `q`, then `p`."""
    p, q = jnp.broadcast_arrays(p, q)
    cross = jnp.cross(p[..., :3], q[..., :3])
    vector = p[..., 3:] * q[..., :3] + q[..., 3:] * p[..., :3] + cross
    scalar = p[..., 3:] * q[..., 3:] - jnp.sum(p[..., :3] * q[..., :3], axis=-1, keepdims=True)
    return jnp.concatenate([vector, scalar], axis=-1)


def invert(quat):
    return quat * jnp.array([-1, -1, -1, 1], dtype=quat.dtype)


def canonical(quat):
    """Of the two quaternions of a rotation, that with positive w; if w is 0, with positive x …"""
    x, y, z, w = components(quat)
    negative = (w < 0) | (w == 0) & ((x < 0) | (x == 0) & ((y < 0) | (y == 0) & (z < 0)))
    return jnp.where(negative[..., None], -quat, quat)


# ----------------------------------------------------------------------------------------------
# Matrices


def to_matrix(quat):
    x, y, z, w = components(quat)
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(matrix):
    """Four formulas, one for each component; the largest of these serves best as a divisor."""
    if matrix.shape[-2:] != (3, 3):
        raise ValueError("Rotation.from_matrix: expected matrices, of shape (..., 3, 3), got shape "
                         f"{matrix.shape}.")
    m = [[matrix[..., i, j] for j in range(3)] for i in range(3)]
    trace = m[0][0] + m[1][1] + m[2][2]
    choice = jnp.argmax(jnp.stack([m[0][0], m[1][1], m[2][2], trace], axis=-1), axis=-1)[..., None]
    quat = jnp.stack([m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1], 1 + trace], axis=-1)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        entries = {i: 1 - trace + 2 * m[i][i], j: m[j][i] + m[i][j], k: m[k][i] + m[i][k],
                   3: m[k][j] - m[j][k]}
        candidate = jnp.stack([entries[n] for n in range(4)], axis=-1)
        quat = jnp.where(choice == i, candidate, quat)
    return normalize(quat)


# ----------------------------------------------------------------------------------------------
# Vectors


def to_rotvec(quat, degrees):
    """The axis, times the angle; by a series where the angle is small."""
    quat = jnp.where(quat[..., 3:] < 0, -quat, quat)
    angle = 2.0 * jnp.arctan2(norm(quat[..., :3]), quat[..., 3:])
    square = angle * angle
    series = 2 + square / 12 + 7 * square * square / 2880
    scale = jnp.where(angle <= 1e-3, series, angle / jnp.sin(angle / 2))
    return jnp.where(degrees, jnp.rad2deg(scale), scale) * quat[..., :3]


def from_rotvec(rotvec, degrees):
    rotvec = jnp.where(degrees, jnp.deg2rad(rotvec), rotvec)
    angle = norm(rotvec)
    square = angle * angle
    series = 0.5 - square / 48 + square * square / 3840
    scale = jnp.where(angle <= 1e-3, series, jnp.sin(angle / 2) / angle)
    return jnp.concatenate([scale * rotvec, jnp.cos(angle / 2)], axis=-1)


def to_mrp(quat):
    """Modified Rodrigues parameters: the axis, times the tangent of a quarter of the angle."""
    sign = jnp.where(quat[..., 3:] < 0, -1.0, 1.0)
    return sign * quat[..., :3] / (1.0 + sign * quat[..., 3:])


def from_mrp(mrp):
    more = jnp.sum(mrp * mrp, axis=-1, keepdims=True) + 1
    return jnp.concatenate([2 * mrp, 2 - more], axis=-1) / more


# ----------------------------------------------------------------------------------------------
# Euler's angles


def around_axis(axis: int, angle):
    """The rotation around one of the coordinate axes."""
    entries = [jnp.zeros_like(angle)] * 3 + [jnp.cos(angle / 2)]
    entries[axis] = jnp.sin(angle / 2)
    return jnp.stack(entries, axis=-1)


def from_euler(angles, axes: list[int], intrinsic: bool):
    """Rotations around several axes, one after the other: those of the turned body, if
    `intrinsic`, or fixed ones."""
    result = None
    for axis, angle in zip(axes, components(angles)):
        quat = around_axis(axis, angle)
        if result is None:
            result = quat
        else:
            result = compose(result, quat) if intrinsic else compose(quat, result)
    return result


def to_euler(quat, axes: list[int], extrinsic: bool):
    """Bernardes and Viollet, "Quaternion to Euler angles conversion", 2022."""
    i, j, k = axes if extrinsic else axes[::-1]
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    q = components(quat)
    a, b, c, d = q[3], q[i], q[j], q[k] * sign
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    first, third = half_sum - half_difference, half_sum + half_difference
    if not symmetric:
        third, middle_angle = third * sign, middle - np.pi / 2
    else:
        middle_angle = middle
    first, third = (first, third) if extrinsic else (third, first)
    # If the first and the third axis coincide, only the sum of two angles is known.
    straight, folded = abs(middle) <= 1e-7, abs(middle - np.pi) <= 1e-7
    known = jnp.where(straight, 2 * half_sum, 2 * half_difference * (-1 if extrinsic else 1))
    if not symmetric and not extrinsic:
        known = known * sign
    first = jnp.where(straight | folded, known, first)
    third = jnp.where(straight | folded, 0, third)
    angles = jnp.stack([first, middle_angle, third], axis=-1)
    return (angles + np.pi) % (2 * np.pi) - np.pi
