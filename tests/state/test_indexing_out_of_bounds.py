"""An index of a reference that is out of bounds: refused if it is known, and clamped if staged."""

import numpy as np
import pytest

from tests.oracle import both

INDICES = {
    "int": lambda jx: 200,
    "NumPy's": lambda jx: np.int32(200),
    "NumPy's array": lambda jx: np.array(200),
    "an array": lambda jx: jx.numpy.int32(200),
    "the size": lambda jx: jx.numpy.uint8(4),
}
USES = {
    "get": lambda jx, i: jx.new_ref(jx.numpy.arange(4.0))[i],
    "get a row": lambda jx, i: jx.new_ref(jx.numpy.arange(12.0).reshape(4, 3))[i, 1:3],
    "get of a row": lambda jx, i: jx.new_ref(jx.numpy.arange(12.0).reshape(3, 4))[1, i],
    "swap": lambda jx, i: jx.ref.swap(jx.new_ref(jx.numpy.arange(4.0)), i, 9.0),
}


def _set(jx, i):
    ref = jx.new_ref(jx.numpy.arange(4.0))
    ref[i] = 7.0
    jx.ref.addupdate(ref, i, 2.0)
    return ref[...]


USES["set and add"] = _set


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("use", USES)
def test_a_known_index_is_refused(use, index):
    both(lambda jx: lambda: USES[use](jx, INDICES[index](jx)), raises=ValueError)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("use", USES)
def test_under_vmap_alone_it_is_refused(use, index):
    def program(jx):
        return lambda: jx.vmap(lambda _: USES[use](jx, INDICES[index](jx)))(np.ones(2))

    both(program, raises=ValueError)


@pytest.mark.parametrize("index", [*INDICES, "negative"])
@pytest.mark.parametrize("use", USES)
def test_a_staged_index_is_clamped(use, index):
    index = INDICES.get(index, lambda jx: -200)
    both(lambda jx: jx.jit(lambda: USES[use](jx, index(jx))))


def test_arrays_of_indices_are_clamped():
    for modes in (lambda jx: lambda f: f, lambda jx: jx.jit):
        both(lambda jx: modes(jx)(lambda: USES["get"](jx, np.array([0, 200, -1, -200]))))
