"""Chapter 14 asks to be asked only as long as something has a place."""

import gc

import numpy as np
import pytest

import minijax
from minijax import numpy as jnp
from minijax.core.extension import hooks
from tests.processes import run


@pytest.mark.long
def test_placed_arrays_leave_nothing_behind():
    gc.collect()
    before = hooks.evaluate_placed
    arrays = [minijax.device_put(np.float32(i), minijax.devices()[0]) for i in range(3)]
    assert len(hooks.evaluate_placed) == len({*before, *hooks.evaluate_placed}) > 0
    assert jnp.sin(arrays[0]).committed
    del arrays
    gc.collect()
    assert hooks.evaluate_placed == before


def test_scalars_near_placed_arrays_leave_nothing_behind():
    out = run("""
        import gc
        from minijax.core.extension import hooks
        x = jax.device_put(np.ones(3, np.float32), jax.devices()[0])
        print((x * np.float32(1.75) + 2.0).tolist(), len(hooks.evaluate_placed))
        del x
        gc.collect()
        print(len(hooks.evaluate_placed))
        """)
    assert out == ("[3.75, 3.75, 3.75] 1\n0\n", "")


def test_default_devices_leave_nothing_behind():
    gc.collect()
    before = hooks.evaluate
    with minijax.default_device("cpu"):
        assert len(hooks.evaluate) >= 1
        with minijax.default_device(None):
            pass
        assert len(hooks.evaluate) >= 1
    assert hooks.evaluate == before
