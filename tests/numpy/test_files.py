"""Files of arrays that are damaged, or hostile, are refused: nothing of them runs."""

from __future__ import annotations

import io
import os
import pickle
import random
from zipfile import BadZipFile

import numpy as np
import pytest

import minijax.numpy as jnp


def written(save, *args, **kwargs) -> bytes:
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


FILES = {
    "npy": written(np.save, np.arange(20, dtype=np.float32)),
    "npz": written(np.savez, a=np.arange(5.0), b=np.ones((2, 3))),
    "bfloat16": written(jnp.save, jnp.ones(4, jnp.bfloat16)),
}


def damaged(data: bytes, choose: random.Random) -> bytes:
    """Bits flipped, bytes replaced, or the end missing."""
    changed = bytearray(data)
    if choose.random() < 0.3:
        return bytes(changed[:choose.randrange(len(changed))])
    for _ in range(choose.choice([1, 1, 20])):
        changed[choose.randrange(len(changed))] ^= choose.randrange(1, 256)
    return bytes(changed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", FILES)
def test_a_damaged_file_is_read_or_refused(kind):
    choose = random.Random(kind)
    for _ in range(700):
        try:
            out = jnp.load(io.BytesIO(damaged(FILES[kind], choose)))
            [out[name] for name in getattr(out, "files", ())]
        except (ValueError, EOFError, BadZipFile, NotImplementedError, KeyError, OSError):
            pass


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("hostile",)


def test_no_code_of_a_file_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for data in (written(np.save, np.array([Hostile()], object), allow_pickle=True), pickle.dumps(Hostile())):
        with pytest.raises(ValueError, match="pickle"):
            jnp.load(io.BytesIO(data))
    assert not [*tmp_path.iterdir()]
