"""Programs on placed arrays that once failed, or did otherwise than in JAX."""

from __future__ import annotations

import subprocess
import sys

import pytest

import minijax
from tests.parallel.placement_programs import same


@pytest.mark.parametrize("text", [
    # A copy that was asked for has memory of its own: it outlives the original.
    "gone(lambda: put(x + 0, s), lambda y: put(y, s, may_alias=False))",
    "gone(lambda: put(x + 0, s), lambda y: put(y, may_alias=False))",
    "gone(lambda: put(x + 0, d[3]), lambda y: put(y, d[3], may_alias=False))",
    "gone(lambda: jax.jit(jnp.sin)(x), lambda y: put(y, d[0], may_alias=False))",
    # Lists of placed arrays become an array where they lie.
    "jnp.array([put(1.0, d[1]), 2.0])",
    "jnp.array([[put(1.0, d[1]), 2.0], [x[0], 3.0]])",
    "jnp.asarray([put(x, s), put(x, s)])",
    "jnp.array([put(1.0, d[1]), put(1.0, d[2])])",
    "jax.make_array_from_single_device_arrays((8,), s, [np.arange(2.0) for _ in d])",
    # The quick way keeps apart what has a place from what has none.
    "(lambda f: [f(a) for _ in 'ab' for a in (x, put(x, d[1]), put(x, s), np.ones(8), 2.0)])"
    "(jax.jit(lambda a: a + 1))",
    "(lambda f: [f(a, b=a) for _ in 'ab' for a in (x, put(x, d[1]), put(x, s))])"
    "(jax.jit(lambda a, b: a + b))",
    "(lambda f: [f(a) for _ in 'ab' for a in (x[:2], under(d[3], lambda: jnp.ones(2)))])"
    "(jax.jit(lambda a: a + 1))",
])  # fmt: skip
def test_as_jax(text):
    same(f"(lambda gone: {text})({GONE})")


GONE = "lambda make, put: (lambda y: (lambda z: (y.delete(), z + 1)[1])(put(y)))(make())"

ONE_LEAVES = """
import sys
import minijax as jax
jax.distributed.initialize()
if jax.process_index() == 1:
    sys.exit(3)
x = jax.make_array_from_callback((2,), jax.NamedSharding(jax.make_mesh((2,), ("x",)), jax.P("x")),
                                 lambda index: jax.numpy.ones(1))
jax.jit(lambda x: x.sum())(x).block_until_ready()
"""


def test_a_process_that_calls_sys_exit_waits_for_nobody(tmp_path):
    """It would wait for the other, which waits for it; and its exit code would be lost."""
    script = tmp_path / "script.py"
    script.write_text(ONE_LEAVES)
    done = subprocess.run([sys.executable, "-m", "minijax", "launch", "-n", "2", str(script)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "process 1 failed with exit code 3" in done.stderr


@pytest.mark.parametrize("address, kind", [
    ("127.0.0.1:0", ValueError), ("127.0.0.1:70000", ValueError), (":1234", ValueError),
    (1234, TypeError),
])  # fmt: skip
def test_addresses_that_are_none(address, kind):
    """Some of them XLA would have waited at for ever."""
    with pytest.raises(kind, match="address"):
        minijax.distributed.initialize(address, num_processes=1, process_id=0)
