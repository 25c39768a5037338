"""Chapter 14 asks to be asked only as long as something has a place."""

import gc

import numpy as np

import minijax
from minijax import numpy as jnp
from minijax.core.extension import hooks


def test_placed_arrays_leave_nothing_behind():
    gc.collect()
    before = hooks.evaluate
    arrays = [minijax.device_put(np.float32(i), minijax.devices()[0]) for i in range(3)]
    assert len(hooks.evaluate) == len({*before, *hooks.evaluate}) > 0
    assert jnp.sin(arrays[0]).committed
    del arrays
    gc.collect()
    assert hooks.evaluate == before


def test_default_devices_leave_nothing_behind():
    gc.collect()
    before = hooks.evaluate
    with minijax.default_device("cpu"):
        assert len(hooks.evaluate) >= 1
        with minijax.default_device(None):
            pass
        assert len(hooks.evaluate) >= 1
    assert hooks.evaluate == before
