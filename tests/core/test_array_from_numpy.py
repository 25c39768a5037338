"""Which values of NumPy's are operands, and which would lose something."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

MASKED = np.ma.masked_array(np.array([1.0, 2.0], np.float32), [False, True])
SWAPPED = np.array([1.0, 2.0], ">f4")
USES = {
    "asarray": lambda jx, x: jx.numpy.asarray(x),
    "sin": lambda jx, x: jx.numpy.sin(x),
    "lax": lambda jx, x: jx.lax.sin(x),
    "operator": lambda jx, x: jx.numpy.ones(2) + x,
    "jit": lambda jx, x: jx.jit(lambda x: x)(x),
    "constant": lambda jx, x: jx.jit(lambda: jx.numpy.sin(x))(),
    "vmap": lambda jx, x: jx.vmap(lambda x: x * 2)(x),
    "grad": lambda jx, x: jx.grad(lambda x: x.sum())(x),
    "jvp": lambda jx, x: jx.jvp(jx.numpy.sin, (np.ones(2, "f"),), (x,)),
    "cond": lambda jx, x: jx.lax.cond(True, lambda x: x, lambda x: x + 1, x),
    "scan": lambda jx, x: jx.lax.scan(lambda c, x: (c, x), 0.0, x),
    "device_put": lambda jx, x: jx.device_put(x),
    "typeof": lambda jx, x: jx.typeof(x),
}


@pytest.mark.parametrize("use", USES)
def test_a_mask_is_not_lost(use):
    both(lambda jx: lambda x: USES[use](jx, x), MASKED, raises=ValueError)


COPIES = {
    "array": lambda jx, x: jx.numpy.array(x),
    "asarray": lambda jx, x: jx.numpy.asarray(x, copy=True),
    "dtype": lambda jx, x: jx.numpy.array(x, np.int32),
    "ndmin": lambda jx, x: jx.numpy.array(x, ndmin=2),
    "list": lambda jx, x: jx.numpy.array([x, x]),
    "constant": lambda jx, x: jx.jit(lambda: jx.numpy.array(x))(),
}


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_of_a_masked_array_has_all_values(copy):
    both(lambda jx: lambda x: COPIES[copy](jx, x), MASKED)


def test_without_a_copy_a_mask_is_not_lost():
    both(lambda jx: lambda x: jx.numpy.array(x, copy=False), MASKED, raises=ValueError)


@pytest.mark.parametrize("use", USES)
def test_a_swapped_byte_order_is_refused(use):
    both(lambda jx: lambda x: USES[use](jx, x), SWAPPED, raises=TypeError)


@pytest.mark.parametrize("value", [
    np.longdouble(1), np.ones(2, np.longdouble), np.ones(2, np.clongdouble),
    np.zeros(2, [("a", "f4")]), np.datetime64(1, "s"), np.array(["a"]), np.array([None]),
    np.arange(2, dtype=">i8"),
], ids=lambda value: value.dtype.name + str(value.shape))
@pytest.mark.parametrize("use", ["asarray", "lax", "jit"])
def test_other_dtypes_of_numpys_are_refused(use, value):
    both(lambda jx: lambda: USES[use](jx, value), raises=TypeError)


def test_subclasses_without_a_mask_are_arrays():
    both(lambda jx: lambda x: jx.jit(lambda x: x * 2)(x), np.matrix([[1.0, 2.0]], np.float32))
