"""Chapter 9: running sums of -0, eagerly as compiled: they begin with 0, and 0 + -0 is 0."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64"])
@in_both
def test_the_sign_of_a_running_sum(jx, dtype):
    x = jx.numpy.asarray([[-0.0, -0.0, 0.0, -0.0], [-0.0, 1.0, -1.0, -0.0]]).astype(dtype)
    sums = [f(x, 1, reverse) for f in (jx.lax.cumsum, jx.jit(jx.lax.cumsum, static_argnums=(1, 2)))
            for reverse in (False, True)]
    return [jx.numpy.signbit(jx.numpy.real(out)) for out in sums]


def test_the_sign_of_a_running_logsumexp():
    x = np.array([-0.0, 0.0, -0.0], np.float32)
    both(lambda jx: lambda: jx.numpy.signbit(jx.lax.cumlogsumexp(x)[:1]))
