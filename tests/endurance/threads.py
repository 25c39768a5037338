"""Eight threads trace, compile and run at once, and are cancelled again and again.

`python -m tests.endurance.threads 600` runs for so many seconds.

A thread is cancelled by an exception that Python raises in it at whatever instruction it is at. Then
its next results must be right. All results are compared with NumPy's.
"""

from __future__ import annotations

import contextlib
import ctypes
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import minijax as jax
from minijax.core.core import eval_trace, state
from minijax.errors import JaxRuntimeError

jnp = jax.numpy
THREADS = 8
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


class Cancelled(BaseException):
    """What a thread gets while it is at work."""


class Failing(Exception):
    """What a program raises while it is traced."""


def traced(c: float) -> tuple[Any, Any]:
    jaxpr = jax.make_jaxpr(jax.grad(lambda x: jnp.sum(jnp.sin(x) * c)))(X)
    return jax.extend.core.jaxpr_as_fun(jaxpr)(X)[0], np.cos(X) * c


def compiled(c: float) -> tuple[Any, Any]:
    return jax.jit(lambda x: jnp.tanh(x) * c + jnp.sum(x))(X), np.tanh(X) * c + X.sum()


def differentiated(c: float) -> tuple[Any, Any]:
    return jax.jit(jax.grad(lambda x: jnp.sum(jax.lax.fori_loop(0, 3, lambda i, y: y * c, x))))(X), np.full_like(X, c**3)


def mapped(c: float) -> tuple[Any, Any]:
    return jax.vmap(jax.value_and_grad(lambda row: jnp.sum(row * row) * c))(X)[1], 2 * c * X


def called(c: float) -> tuple[Any, Any]:
    return shared_call(X, np.float32(c)), X * np.float32(c)


shared = jax.jit(lambda x, c: jnp.cumsum(x * c, axis=1))
shared_call = jax.jit(lambda x, c: jax.pure_callback(
    lambda x, c: np.asarray(x) * np.asarray(c), jax.ShapeDtypeStruct(X.shape, X.dtype), x, c))


def together(c: float) -> tuple[Any, Any]:
    return shared(X, np.float32(c)), np.cumsum(X * np.float32(c), axis=1)


def failing(c: float) -> tuple[Any, Any]:
    def f(x):
        raise Failing(jax.jit(jnp.sin)(x) * c)

    with contextlib.suppress(Failing):
        jax.jit(jax.grad(f))(1.0)
    return compiled(c)


WORKS: list[Callable[[float], tuple[Any, Any]]] = [
    traced, compiled, differentiated, mapped, called, together, failing]


class Worker:
    """A thread that computes until `deadline`, and what has become of it."""

    def __init__(self, seed: int, deadline: float):
        self.random, self.deadline = random.Random(seed), deadline
        self.done: Counter = Counter()
        self.faults: list[str] = []
        self.may_cancel = threading.Lock()  # Python uses the number of a thread that has ended again
        self.at_work = self.ended = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while time.monotonic() < self.deadline and not self.faults:
            try:
                self.step(self.random.choice(WORKS), self.random.uniform(-1, 1))
            except Exception as error:
                self.faults.append(f"{type(error).__name__}: {error}")
        with self.may_cancel:
            self.ended = True

    def step(self, work: Callable, c: float) -> None:
        try:
            try:
                self.at_work = True
                actual, expected = work(c)
                np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)
                self.done[work.__name__] += 1
            finally:
                self.at_work = False
                time.sleep(0.001)  # a cancellation that is under way arrives
        except (Cancelled, JaxRuntimeError) as error:
            # XLA tells of one that comes while a callback begins by its name alone.
            if not (isinstance(error, Cancelled) or str(error).rstrip(" :").endswith("Cancelled")):
                raise
            self.at_work = False
            self.done["cancelled"] += 1
        if state.trace is not eval_trace:
            self.faults.append(f"after {work.__name__}, the thread traces on: {state.trace}")

    def starts_a_thread(self) -> bool:
        """Python gives a new thread its number late. Until then, a cancellation of the one that
        starts it hits the new one, for whose first words the other waits for ever."""
        frame = sys._current_frames().get(self.thread.ident or 0)
        while frame is not None and frame.f_code is not threading.Thread.start.__code__:
            frame = frame.f_back
        return frame is not None

    def cancel(self) -> None:
        with self.may_cancel:
            if self.at_work and not self.ended and not self.starts_a_thread():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self.thread.ident or 0), ctypes.py_object(Cancelled))


def main(seconds: float) -> list[str]:
    """Let the threads work for so long; returns what went wrong."""
    for work in WORKS:  # Python's imports do not bear to be cancelled
        work(0.5)
    deadline = time.monotonic() + seconds
    workers = [Worker(seed, deadline) for seed in range(THREADS)]
    chooser = random.Random(0)
    while any(worker.thread.is_alive() for worker in workers):
        time.sleep(chooser.uniform(0, 0.2))
        chooser.choice(workers).cancel()
    done = sum((worker.done for worker in workers), Counter())
    faults = [fault for worker in workers for fault in worker.faults]
    print(dict(done), faults, flush=True)
    return faults


if __name__ == "__main__":
    sys.exit(bool(main(float(sys.argv[1]))))
