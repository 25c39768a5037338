"""What XLA compiles wrongly by itself, and rightly with the options that minijax gives it."""

from __future__ import annotations

import numpy as np
import pytest

import minijax as jax
from minijax import numpy as jnp
from minijax.runtime.wrong_programs import WRONG_PROGRAMS, avoiding_flags, is_right


@pytest.mark.parametrize("wrong", WRONG_PROGRAMS, ids=lambda wrong: wrong.what)
def test_known_programs(wrong):
    assert is_right(wrong)
    assert not is_right(wrong, wrong.default), "XLA is mended: this row can go"


def test_in_double_precision():
    with jax.enable_x64():
        x = jnp.stack([jnp.arange(16385.0)] + [jnp.zeros(16385)] * 2, 1)
        out = jax.jit(jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2)))(x)
        assert np.array_equal(out, x[:, 0] ** 2)


def test_other_programs_are_compiled_as_before():
    for f, shape in ((lambda x: jax.nn.softmax(x @ x), (512, 512)), (lambda x: x.var(1), (10**6, 8)),
                     (lambda x: (x * 2).sum(), (2,) * 6)):
        assert avoiding_flags(jax.jit(f).lower(jnp.ones(shape)).as_text()) == {}
