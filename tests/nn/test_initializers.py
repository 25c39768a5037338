"""`nn.initializers`: for the same key, the same weights as JAX's, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, oracle, subject

FAMILY = """glorot_uniform glorot_normal xavier_uniform xavier_normal lecun_uniform lecun_normal
    he_uniform he_normal kaiming_uniform kaiming_normal""".split()

BUILT = {
    **{name: lambda init, name=name: getattr(init, name)() for name in FAMILY},
    "zeros": lambda init: init.zeros,
    "ones": lambda init: init.ones,
    "constant": lambda init: init.constant(3),
    "uniform": lambda init: init.uniform(),
    "normal": lambda init: init.normal(0.3),
    "truncated_normal": lambda init: init.truncated_normal(2.0, lower=-1.0, upper=3.0),
    "fan_out": lambda init: init.variance_scaling(1.5, "fan_out", "normal"),
    "fan_geo_avg": lambda init: init.variance_scaling(0.5, "fan_geo_avg", "uniform"),
    "axes": lambda init: init.glorot_normal(in_axis=0, out_axis=(1,), batch_axis=2),
    "dtype": lambda init: init.he_normal(dtype="float16"),
}  # fmt: skip


def drawn(jx, name, shape, *dtype):
    """The weights that one library begins with."""
    init = BUILT[name](jx.nn.initializers)
    return jx.tree.map(np.asarray, init(jx.random.key(7), shape, *dtype))


@pytest.mark.parametrize("name", BUILT)
def test_bits(name):
    for shape, *dtype in [((3, 4, 5),), ((3, 2, 4), "bfloat16")]:
        ours, theirs = (drawn(jx, name, shape, *dtype) for jx in (subject, oracle))
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("shape", [(4, 2), (2, 3, 4), (3, 3), (0, 2)], ids=str)
def test_orthogonal(shape):
    both(lambda jx: lambda: [
        jx.nn.initializers.orthogonal(2.0)(jx.random.key(3), shape),
        jx.nn.initializers.orthogonal(column_axis=0)(jx.random.key(3), shape)])


@pytest.mark.parametrize("shape", [(3, 2, 2), (3, 4, 2, 3), (2, 3, 3, 2, 2), (2, 2), (3, 3, 2)],
                         ids=str)
def test_delta_orthogonal(shape):
    both(lambda jx: lambda: jx.nn.initializers.delta_orthogonal()(jx.random.key(3), shape))


@pytest.mark.parametrize("distribution", ["normal", "uniform", "truncated_normal"])
def test_complex(distribution):
    """The logarithm under the radius differs by a unit in the last place."""
    both(lambda jx: lambda: jx.nn.initializers.variance_scaling(1.0, "fan_in", distribution)(
        jx.random.key(1), (40, 3), "complex64"), tol=1e-6)


def test_64_bits():
    with subject.enable_x64(True), oracle.enable_x64(True):
        ours, theirs = (drawn(jx, "glorot_normal", (3, 4)) for jx in (subject, oracle))
    assert ours.dtype == theirs.dtype == np.float64
    assert np.allclose(ours, theirs, rtol=1e-14)


CALLS = {
    "few dimensions": lambda jx, init: init.he_normal()(jx.random.key(0), (3,)),
    "mode": lambda jx, init: init.variance_scaling(1, "fan", "normal")(jx.random.key(0), (3, 3)),
    "distribution": lambda jx, init: init.variance_scaling(1, "fan_in", "flat")(jx.random.key(0),
                                                                              (3, 3)),
    "integers": lambda jx, init: init.normal()(jx.random.key(0), (3,), "int32"),
    "orthogonal vector": lambda jx, init: init.orthogonal()(jx.random.key(0), (3,)),
    "no inputs": lambda jx, init: init.he_normal()(jx.random.key(0), (0, 3)),
    "protocol": lambda jx, init: isinstance(init.he_normal(), init.Initializer),
    "traced": lambda jx, init: jx.jit(lambda k: init.lecun_normal()(k, (2, 3)))(jx.random.key(0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    both(lambda jx: lambda: CALLS[name](jx, jx.nn.initializers))
