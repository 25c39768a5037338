"""Ctrl-C at random moments: while tracing, compiling, running, and in callbacks.

`python -m tests.endurance.interrupts 200` interrupts so many times, in several processes.

After each interruption what was interrupted, and something new, must give right results. Each
process must end with the exit code that it asks for.
"""

from __future__ import annotations

import sys

from tests import processes

EACH = 25  # interruptions in one process
CODE = 3

PROGRAM = """
import random
from minijax.core.core import eval_trace, state

seed, count = int(sys.argv[1]), int(sys.argv[2])
chooser = random.Random(seed)
X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)

def layers(x, n):
    for i in range(n):
        x = jnp.sin(x) * (i + 1.5) + jnp.cos(x) @ x
    return x

def loss(x):
    return jnp.sum(jax.vmap(lambda row: jax.nn.softmax(row) * row)(layers(x, 3)))

def trace():
    jax.make_jaxpr(jax.jit(jax.grad(loss)))(X)

lowered = jax.jit(lambda x: layers(x, 15)).lower(X)
def compile():
    lowered.compile()

@jax.jit
def long(x):
    return jax.lax.fori_loop(0, 100, lambda i, x: jnp.cos(x @ x), x)
big = np.ones((100, 100), 'f')
def run():
    np.asarray(long(big))

@jax.jit
def calling(x):
    def callback(x):
        for _ in range(200):
            x = np.sin(x)
        return x
    return jax.lax.fori_loop(0, 50, lambda i, x: jax.pure_callback(
        callback, jax.ShapeDtypeStruct(x.shape, x.dtype), x), x)
def call():
    np.asarray(calling(X))

def eager():
    jax.grad(loss)(X)

def check():
    assert state.trace is eval_trace, state.trace
    k = chooser.random()
    new = jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x) * k)))
    np.testing.assert_allclose(new(X), np.cos(X) * np.float32(k), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(X), right, rtol=1e-3, atol=1e-3)

right = np.asarray(jax.grad(loss)(X))
works = [trace, compile, run, call, eager]
seconds = {}
for work in works:
    work()
    start = time.perf_counter()
    work()
    seconds[work] = time.perf_counter() - start

class Alarm(threading.Thread):
    # One thread sends all signals: each after the time that it is told.
    def run(self):
        while True:
            asked.acquire()
            time.sleep(delay)
            os.kill(os.getpid(), signal.SIGINT)
asked = threading.Semaphore(0)
Alarm(daemon=True).start()

hits = 0
for i in range(count):
    work = works[(seed + i) % len(works)]
    try:
        try:
            delay = chooser.uniform(0, seconds[work])
            asked.release()
            work()
        finally:
            ended = time.perf_counter()
        for _ in range(3000):  # the signal comes after the work; a sleep that begins then lasts
            time.sleep(0.01)
    except KeyboardInterrupt:
        hits += time.perf_counter() - ended < 0.001
    check()
print(hits)
sys.exit(3)
"""

# An interruption at each call of a function, one after the other, instead of at random moments.
EVERYWHERE = """
from minijax.core.core import eval_trace, state
from minijax.source import source
first, step, all_calls = map(int, sys.argv[1:])
X = np.linspace(-1, 1, 4, dtype=np.float32)
count = 0

CONTEXTS = ["__enter__", "__exit__", "set_current_trace", "new_trace", "own_source", "invalidate"]

def interrupt_at(n):
    def look(frame, event, arg):
        global count
        code = frame.f_code
        if event in ("call", "c_return") and "minijax" in code.co_filename + str(frame.f_back) and (
                all_calls or code.co_name in CONTEXTS):
            count += 1
            if count == n:
                sys.setprofile(None)
                raise KeyboardInterrupt
    return look

def work():
    @jax.custom_jvp
    def double(x):
        return x * 2
    double.defjvp(lambda primals, tangents: (double(*primals), tangents[0] * 2))
    inner = jax.jit(lambda x: jnp.sin(double(x)))
    @jax.named_scope("scope")
    def f(x):
        return jnp.sum(jax.lax.cond(x[0] > 0, inner, jax.checkpoint(jnp.cos), x))
    return jax.jit(jax.vmap(jax.grad(f), axis_name="i"))(X.reshape(2, 2))

def works():
    state_now = state.trace is eval_trace, dict(state.axis_sizes), source.location, source.names
    assert state_now == (True, {}, None, ()), state_now
    np.testing.assert_allclose(work(), right, rtol=1e-5, atol=1e-5)

right = work()
sys.setprofile(interrupt_at(0))
work()
sys.setprofile(None)
total = count
faults = []
for n in range(first, total, step):
    count = 0
    sys.setprofile(interrupt_at(n))
    try:
        work()
        sys.setprofile(None)
    except KeyboardInterrupt as error:
        where = error.__traceback__
        while where.tb_next:
            where = where.tb_next
        where = where.tb_frame.f_code.co_filename, where.tb_lineno
    try:
        works()
    except BaseException as error:
        print(n, where, type(error).__name__, str(error)[:300], flush=True)
        sys.exit(1)
print(total)
sys.exit(3)
"""


def main(count: int) -> int:
    """Interrupt so many times; returns how many interruptions hit the work itself."""
    hits = 0
    for first in range(0, count, EACH):
        out, complaint = processes.run(
            PROGRAM, args=(first, min(EACH, count - first)), code=CODE, seconds=600)
        assert complaint == "", complaint
        hits += int(out)
    print(f"{count} interruptions, {hits} of them in the middle of the work", flush=True)
    return hits


def everywhere(first: int, step: int, all_calls: bool = True) -> int:
    """Interrupt at each `step`-th call of a function, or of one that begins or ends a `with` block.
    Returns how many such calls there are."""
    # Python may tell that an interruption was lost in a finalizer, which cannot raise anything.
    args = first, step, int(all_calls)
    out, _ = processes.run(EVERYWHERE, args=args, code=CODE, seconds=3000)
    print(f"interrupted at each {step}. of {out.strip()} calls", flush=True)
    return int(out)


if __name__ == "__main__":
    main(int(sys.argv[1]))
    everywhere(1, 1, all_calls=False)
    everywhere(1, 10)
