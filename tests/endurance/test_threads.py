"""Eight threads tracing, differentiating and jitting at once give right answers.

What is being traced is a matter of each thread; caches are shared, and must not mix programs up.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.oracle import subject as mj

THREADS = 8
X = np.array([0.3, -0.8, 1.7], np.float32)


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    """Let threads take turns a thousand times as often as usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(interval)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """`work(0) … work(7)`, each in a thread of its own, all starting together."""
    start = threading.Barrier(THREADS)

    def run(k: int) -> Any:
        start.wait()
        return work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def function(k: int) -> Callable[[Any], Any]:
    """A different program for each k, with a nested jit and an inner derivative."""
    inner = mj.jit(lambda y: mj.numpy.sin(y) * (1 + k / THREADS))

    def f(x: Any) -> Any:
        for _ in range(k + 1):
            x = inner(x) + 0.1 * mj.grad(lambda y: mj.numpy.sum(mj.numpy.tanh(y * k)))(x)
        return mj.numpy.sum(x * x)

    return f


def results(k: int) -> list[np.ndarray]:
    """One program through every transformation."""
    f = function(k)
    batch = np.stack([X, 2 * X])
    return [
        np.asarray(out)
        for out in (
            f(X),
            mj.grad(f)(X),
            mj.jit(f)(X),
            mj.jit(mj.grad(f))(X),
            mj.vmap(f)(batch),
            mj.jit(mj.vmap(mj.grad(f)))(batch),
            mj.jvp(f, (X,), (X,))[1],
            mj.linearize(f, X)[1](X),
            mj.hessian(f)(X),
        )
    ]


@pytest.mark.long
def test_every_transformation_in_every_thread():
    expected = [results(k) for k in range(THREADS)]
    for actual, want in zip(at_once(results), expected, strict=True):
        for a, b in zip(actual, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_one_jitted_function_called_first_by_all_at_once():
    f = mj.jit(lambda x, n: mj.numpy.cumsum(x) * n)
    for out in at_once(lambda k: [np.asarray(f(X[: 1 + i % 3], np.float32(k))) for i in range(30)]):
        assert len(out) == 30
    for k, out in enumerate(at_once(lambda k: np.asarray(f(X, np.float32(k))))):
        np.testing.assert_allclose(out, np.cumsum(X) * k, rtol=1e-5)


def test_traces_and_their_texts_do_not_mix():
    def text(k: int) -> str:
        return "\n".join(str(mj.make_jaxpr(mj.grad(function(k)))(X)) for _ in range(3))

    expected = [text(k) for k in range(THREADS)]
    assert at_once(text) == expected


@pytest.mark.long
def test_settings_of_one_thread_are_not_those_of_another():
    def dtype(k: int) -> list[str]:
        seen = []
        for _ in range(50):
            with mj.enable_x64(k % 2 == 0):
                seen.append(str((mj.numpy.zeros(2) + 1).dtype))
                seen.append(str(mj.jit(lambda x: x * 2)(mj.numpy.zeros(2)).dtype))
        return seen

    for k, seen in enumerate(at_once(dtype)):
        assert set(seen) == {"float64" if k % 2 == 0 else "float32"}


def test_eager_operations_and_operators():
    def work(k: int) -> np.ndarray:
        x = mj.numpy.asarray(X)
        for i in range(200):
            x = (x * (k + 1) + i) % 7
        return np.asarray(x)

    expected = [work(k) for k in range(THREADS)]
    for a, b in zip(at_once(work), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_error_in_one_thread_leaves_the_others_alone():
    def work(k: int) -> Any:
        if k % 2:
            with pytest.raises(TypeError):
                mj.jit(mj.grad(lambda x: mj.lax.add(x, "no")))(1.0)
            return None
        return np.asarray(mj.jit(mj.grad(function(k)))(X))

    expected = [None if k % 2 else np.asarray(mj.grad(function(k))(X)) for k in range(THREADS)]
    for _ in range(3):
        for a, b in zip(at_once(work), expected, strict=True):
            if b is not None:
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_tracer_of_another_thread_is_refused():
    inside, outside = threading.Event(), threading.Event()
    kept: list[Any] = []

    def trace() -> None:
        def f(x: Any) -> Any:
            kept.append(x)
            inside.set()
            outside.wait(10)
            return x + 1

        mj.jit(f)(1.0)

    thread = threading.Thread(target=trace)
    thread.start()
    inside.wait(10)
    try:
        with pytest.raises(Exception, match="tracer|Tracer"):
            mj.numpy.sin(kept[0]) + 1.0
            mj.jit(lambda y: y + kept[0])(1.0)
            float(kept[0])
    finally:
        outside.set()
        thread.join()
