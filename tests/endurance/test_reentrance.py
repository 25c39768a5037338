"""A signal handler, a finalizer or a callback may call a jitted function wherever Python is: while the
same thread traces, compiles, or holds a lock of the library. The call ends, and so does what it interrupted."""

from __future__ import annotations

import pytest

from tests import processes

PROGRAM = '''
import faulthandler
faulthandler.dump_traceback_later(240, exit=True)  # a hang ends here, and says where
jax.config.update("jax_num_cpu_devices", 2)
HOME = os.path.dirname(jax.__file__)
f = jax.jit(lambda x: jnp.sin(x @ x) + x)
reached, calls = set(), []

def interrupt(frame, event, argument):
    """Call `f` as if it were new, at lines that are reached for the first time."""
    place = frame.f_code, frame.f_lineno
    if event == "line" and place not in reached:
        reached.add(place)
        if len(reached) % 5 == 0 or frame.f_code.co_name in WITH_LOCKS:
            sys.settrace(None)
            jax.clear_caches()
            calls.append(f(np.arange(4, dtype=np.float32)))
            sys.settrace(enter)
    return interrupt

def enter(frame, event, argument):
    return interrupt if frame.f_code.co_filename.startswith(HOME) else None

WITH_LOCKS = "cache_of remember clear_caches kept_program count_change override interned _copy_registry run_with_messages register"

def work():
    x = jnp.arange(4.0)
    outs = [f(x), jax.grad(lambda x: f(x).sum())(x), jax.vmap(f)(jnp.ones((2, 4)))]
    jax.clear_caches()
    with jax.debug_nans(True):
        outs.append(f(x))
    mesh = jax.make_mesh((2,), ("x",))
    y = jax.device_put(jnp.arange(4.0), jax.NamedSharding(mesh, jax.P("x")))
    outs.append(jax.jit(lambda y: y.sum())(y))
    outs.append(jax.shard_map(lambda y: jax.lax.psum(y, "x"), mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P())(y))
    return [np.asarray(out).tolist() for out in outs]

plain = work()
jax.clear_caches()
sys.settrace(enter)
interrupted = work()
sys.settrace(None)
assert interrupted == plain
assert len(calls) > 300, len(calls)
assert all(np.array_equal(call, plain[0]) for call in calls if not isinstance(call, jax.core.Tracer))
print("ended")
'''


@pytest.mark.long
def test_calls_at_any_line_end():
    out, _ = processes.run(PROGRAM, seconds=250)
    assert out == "ended\n"
