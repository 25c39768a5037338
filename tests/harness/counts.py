"""Counters of what the library does, which replace those of JAX's `test_util.py` (`theirs.py`).

`with count_…() as count:` counts within the block, in this thread, and `count()` is the number so
far. JAX compiles each operation that it evaluates, while ours are computed by NumPy where that has
them, so a number can be smaller than JAX's.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import minijax
from minijax import settings
from minijax.core.core import typeof
from minijax.core.extension import Extension
from minijax.debugging.registering import registered
from minijax.runtime.jit import jit

Counter = Callable[[], contextlib.AbstractContextManager]


class _Counting(Extension):
    """Counts the events of one kind in the thread that made it."""

    def __init__(self) -> None:
        self.number, self._thread = 0, threading.get_ident()

    def count(self) -> None:
        self.number += threading.get_ident() == self._thread


class _Steps(_Counting):
    """Counts one step of compilations."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self._event = f"/jax/core/compile/{step}_duration"

    def record(self, event, seconds, about):
        if event == self._event:
            self.count()


class _FirstCalls(_Counting):
    """Counts the calls whose program is not there yet."""

    def program_places(self, jaxpr, spec, args):
        kept = settings.traces.get(jaxpr, {})
        if not any("program" in cache for key, cache in kept.items() if type(key) is tuple and key[0] == spec):
            self.count()
        return None


class _Modules(_Counting):
    """Collects the jaxprs that are lowered, each with its module."""

    def __init__(self) -> None:
        super().__init__()
        self.lowered: list = []

    def program_module(self, module, jaxpr, spec):
        self.lowered.append((jaxpr, module))
        return module


class _Operations(_Counting):
    """Counts the different operations that are evaluated: primitive, parameters and types."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set = set()

    def after_evaluation(self, primitive, args, params, out):
        simple = {name: x for name, x in params.items() if not callable(x)}
        self._seen.add((primitive, str(simple), tuple(map(typeof, args))))
        self.number = len(self._seen)


def _counter(extension: Callable[..., _Counting], *args: Any) -> Counter:
    @contextlib.contextmanager
    def counting() -> Iterator[Callable[[], int]]:
        counts = extension(*args)
        with registered(counts):
            yield lambda: counts.number

    return counting


count_jit_tracing_cache_miss = _counter(_Steps, "jaxpr_trace")
count_jit_and_pmap_lowerings = _counter(_Steps, "jaxpr_to_mlir_module")
count_jit_compilation_cache_miss = _counter(_Steps, "backend_compile")
count_compilation_after_persistent_cache_miss = _counter(_Steps, "backend_compile")
count_pjit_cpp_cache_miss = _counter(_FirstCalls)
count_primitive_compiles = _counter(_Operations)


@contextlib.contextmanager
def collect_lowered_jaxprs() -> Iterator[list]:
    """The pairs (jaxpr, module) of what is lowered within the block."""
    modules = _Modules()
    with registered(modules):
        yield modules.lowered


@contextlib.contextmanager
def assert_num_jit_and_pmap_compilations(times: int) -> Iterator[None]:
    """Check that exactly so many programs are lowered within the block."""
    with count_jit_and_pmap_lowerings() as count:
        yield
    if count() != times:
        raise AssertionError(f"Expected exactly {times} XLA compilations, but executed {count()}")


def _jit(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """`jax.jit`, one of `JIT_IMPLEMENTATION`."""
    return jit(fun, *args, **kwargs)


def _noop(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """A function as it is, one of `JIT_IMPLEMENTATION`."""
    return fun


vars(_jit)["_name"], vars(_noop)["_name"] = "jit", "noop"
JIT_IMPLEMENTATION = _jit, _noop

# ----------------------------------------------------------------------------------------------
# What else JAX's file asks of JAX's inner life


def _always(*args: Any) -> bool:
    """The answer to questions about versions: jaxlib is as new as this JAX."""
    return True


stablehlo_version_at_least = pjrt_c_api_version_at_least = _always
assert_global_configs_unchanged = contextlib.nullcontext
_bazel_subprocess_env_patched = True  # so PYTHONPATH stays


def device_supports_buffer_donation() -> Callable:
    """Decorator: a test of donated arguments. All devices take them."""
    return lambda test: test


def request_cpu_devices(nr_devices: int) -> None:
    """Have so many CPU devices, if they have not been counted yet."""
    with contextlib.suppress(RuntimeError):
        minijax.config.update("jax_num_cpu_devices", nr_devices)


@contextlib.contextmanager
def global_config_context(**kwds: Any) -> Iterator[None]:
    """Settings of the process within a block."""
    before = {name: settings.states[name].process_value for name in kwds}
    try:
        for name, value in kwds.items():
            minijax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            minijax.config.update(name, value)
