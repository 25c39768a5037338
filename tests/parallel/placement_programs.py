"""Programs about where arrays lie, as source text, so that both libraries read the same one."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np

from tests.oracle import both, oracle


def surroundings(jx: ModuleType) -> dict[str, Any]:
    """The names that the programs use: devices `d`, a mesh `m`, shardings `s*`, arrays."""
    d = jx.devices()
    sharding = jx.sharding
    P, AxisType = sharding.PartitionSpec, sharding.AxisType
    m = sharding.Mesh(np.array(d).reshape(4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    m1 = sharding.Mesh(np.array(d[2:3]), ("x",), axis_types=(AxisType.Auto,))

    def named(*axes):
        return sharding.NamedSharding(m, P(*axes))

    x = jx.numpy.arange(8.0)
    def under(device, program):
        with jx.default_device(device):
            return program()

    return {
        "under": under, "within": within, "copy": copy, "pickle": pickle, "d": d,
        "jax": jx, "jnp": jx.numpy, "lax": jx.lax, "np": np,
        "m": m, "m1": m1, "P": P, "NS": sharding.NamedSharding, "Mesh": sharding.Mesh,
        "named": named, "s": named("x"), "r": named(), "SDS": sharding.SingleDeviceSharding,
        "x": x, "x2": x.reshape(8, 1) + jx.numpy.arange(4.0), "put": jx.device_put,
        "key": jx.random.key(3), "AxisType": AxisType,
    }  # fmt: skip


def within(context: Any, program: Any) -> Any:
    """What a program returns in a context."""
    with context:
        return program()


def told(jx: ModuleType, value: Any) -> Any:
    """The value, with what each array says of its place."""
    def leaf(x):
        if isinstance(x, jx.core.Tracer) or not isinstance(x, jx.Array):
            return x if isinstance(x, (np.ndarray, np.generic, *_PLAIN)) or x is None else str(x)
        place = {"sharding": str(x.sharding), "committed": x.committed}
        is_key = jx.dtypes.issubdtype(x.dtype, jx.dtypes.prng_key)
        return place | {"value": jx.random.key_data(x) if is_key else x, "dtype": str(x.dtype)}

    return oracle.tree_util.tree_map(leaf, value)


_PLAIN = (bool, int, float, complex, str, slice)


def same(text: str) -> Any:
    """Assert that both libraries do the same: values, places, class of error."""
    def program(jx):
        return lambda: told(jx, eval(text, surroundings(jx)))

    return both(program)
