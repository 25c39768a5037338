"""`scipy.spatial.transform` against JAX's."""

from __future__ import annotations

import numpy as np
import pytest

import minijax.scipy.spatial.transform  # noqa: F401
from tests.oracle import both, in_both

QUATS = np.sin(np.arange(20, dtype=np.float32) ** 2 + 1).reshape(5, 4)
VECTORS = np.cos(np.arange(15, dtype=np.float32)).reshape(5, 3)
TIMES = np.array([0, 1, 2.5, 3, 7], np.float32)


def rotations(tr, quats=QUATS):
    return tr.Rotation.from_quat(quats)


CALLS = {
    "matrix": lambda tr: tr.Rotation.from_matrix(rotations(tr).as_matrix()).as_matrix(),
    "one matrix": lambda tr: tr.Rotation.from_matrix(np.eye(3, dtype=np.float32)).quat,
    "rotvec": lambda tr: (rotations(tr).as_rotvec(), rotations(tr).as_rotvec(degrees=True),
                          tr.Rotation.from_rotvec(VECTORS).quat,
                          tr.Rotation.from_rotvec(VECTORS[0] * 1e-4, degrees=True).quat),
    "mrp": lambda tr: (rotations(tr).as_mrp(), tr.Rotation.from_mrp(VECTORS).quat),
    **{f"euler {seq}": lambda tr, seq=seq: (
        tr.Rotation.from_euler(seq, VECTORS).as_quat(), rotations(tr).as_euler(seq),
        tr.Rotation.from_euler(seq, VECTORS[0] * 50, degrees=True).as_euler(seq, degrees=True))
       for seq in ("xyz", "ZXY", "zxz")},
    "gimbal lock": lambda tr: [
        tr.Rotation.from_euler(seq, np.array([40, middle, 10], np.float32), True).as_euler(seq, True)
        for seq, middle in (("zxz", 0), ("ZXZ", 0))],
    "short euler": lambda tr: (tr.Rotation.from_euler("z", 0.5).quat,
                               tr.Rotation.from_euler("XY", VECTORS[:, :2]).quat),
    "letters": lambda tr: tr.Rotation.from_euler("xYz", VECTORS),
    "twice": lambda tr: tr.Rotation.from_euler("xxz", VECTORS),
    "too many": lambda tr: tr.Rotation.from_euler("xyzx", VECTORS),
    "none": lambda tr: tr.Rotation.from_euler("", VECTORS),
    "angles": lambda tr: tr.Rotation.from_euler("xy", VECTORS),
    "two angles": lambda tr: rotations(tr).as_euler("xy"),
    "letters of angles": lambda tr: rotations(tr).as_euler("xya"),
    "apply": lambda tr: (rotations(tr).apply(VECTORS), rotations(tr).apply(VECTORS[0], True),
                         rotations(tr)[2].apply(VECTORS)),
    "product": lambda tr: (rotations(tr) * rotations(tr)[::-1]).quat,
    "inverse": lambda tr: (rotations(tr).inv().quat, rotations(tr).magnitude()),
    "quat": lambda tr: (rotations(tr).as_quat(canonical=True),
                        rotations(tr).as_quat(scalar_first=True)),
    "mean": lambda tr: (rotations(tr).mean().as_matrix(),
                        rotations(tr).mean(weights=TIMES).as_matrix()),
    "mean weights": lambda tr: rotations(tr).mean(weights=TIMES[:2]),
    "mean rank": lambda tr: rotations(tr).mean(weights=QUATS),
    "identity": lambda tr: tr.Rotation.identity().quat,
    "concatenate": lambda tr: tr.Rotation.concatenate([rotations(tr), rotations(tr)]).quat,
    "random": lambda tr: tr.Rotation.random(None),
    "length": lambda tr: (len(rotations(tr)), rotations(tr).single, rotations(tr)[1].single),
    "length of one": lambda tr: len(rotations(tr)[0]),
    "item of one": lambda tr: rotations(tr)[0][0],
    "slerp": lambda tr: (tr.Slerp.init(TIMES, rotations(tr))(np.float32([0.5, 2, 6])).quat,
                         tr.Slerp.init(TIMES, rotations(tr))(3.0).quat),
    "slerp of one": lambda tr: tr.Slerp.init(TIMES[:1], rotations(tr)[:1]),
    "slerp of arrays": lambda tr: tr.Slerp.init(TIMES, QUATS),
    "slerp times": lambda tr: tr.Slerp.init(TIMES[1:], rotations(tr)),
    "slerp rank": lambda tr: tr.Slerp.init(QUATS, rotations(tr)),
    "slerp at": lambda tr: tr.Slerp.init(TIMES, rotations(tr))(QUATS),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    both(lambda jx: lambda: CALLS[call](jx.scipy.spatial.transform), tol=1e-4)


@in_both
def test_gradient(jx):
    def loss(rotation, vectors):
        return jx.numpy.sum(rotation.apply(vectors) * vectors[::-1])

    Rotation = jx.scipy.spatial.transform.Rotation
    return jx.jit(jx.grad(loss))(Rotation.from_quat(QUATS), VECTORS).quat
