"""Chapter 6: compiled programs, and how arrays get into them and out again.

XLA computes asynchronously: a call returns at once, with buffers that are still being filled.
An `Array` that holds such a buffer waits for it only when somebody looks at its contents.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import settings
from ..errors import user_stacklevel
from .array import Array
from .core import ShapedArray
from .dtypes import float0
from .effects import is_ordered
from .extension import hooks
from .jaxpr import ClosedJaxpr
from .lowering import LoweredModule, contents, lower_jaxpr, stored
from .tree import BUILTIN_NODE_TYPES, register_listeners, registry


@functools.cache
def xla() -> Any:
    """The adapter to jaxlib (`client.py`). Loaded when first needed: loading XLA takes time, and
    programs that compile nothing do without it."""
    from ..runtime import client

    for join in when_loaded:
        join(client)
    return client


when_loaded: list[Callable] = []  # `(client)`: what chapter 14 has to do with it


# ----------------------------------------------------------------------------------------------
# Arrays and buffers


def read_buffer(buffer) -> np.ndarray:
    """The contents of a buffer, as soon as they are computed."""
    return xla().to_numpy(buffer)


Array._read_buffer = staticmethod(read_buffer)
Array._await_buffer = staticmethod(lambda buffer: xla().wait(buffer))


def buffer_of(x: Any, aval: ShapedArray):
    """An XLA buffer with the contents of an argument of this type; an `Array` keeps its own."""
    if type(x) is not Array:
        return xla().put(contents(x, aval), stored(aval))
    if x._buffer is None:
        x._check_alive()
        value = np.asarray(x._value)
        # XLA would take any bytes. What a wrong evaluation rule made must not get that far.
        inside = stored(aval)
        assert (value.shape, value.dtype) == (inside.shape, inside.dtype), (value, aval)
        x._buffer = xla().put(value, inside, owned=True)
    return x._buffer


def array_of(buffer, aval: ShapedArray):
    """A result of a program."""
    return np.zeros(aval.shape, float0) if aval.dtype == float0 else Array(None, aval, buffer)


# ----------------------------------------------------------------------------------------------
# Programs


class Program:
    """A compiled jaxpr: call it with a list of arrays for a list of arrays.

    `kept` numbers the arguments that XLA is given, after which come the `constants`; those
    numbered in `donated` give their memory away. It may have `effects`.
    """

    __slots__ = ("executable", "in_avals", "out_avals", "kept", "constants", "donated", "effects")

    def __init__(self, executable, module: LoweredModule, jaxpr: ClosedJaxpr):
        self.executable = executable
        self.in_avals, self.out_avals = jaxpr.in_avals, jaxpr.out_avals
        self.kept, self.donated, self.effects = module.kept, module.donated, jaxpr.effects
        self.constants = [buffer_of(x, aval) for x, aval in module.hoisted]

    def __call__(self, args: Sequence) -> list:
        in_avals = self.in_avals
        buffers = [buffer_of(args[i], in_avals[i]) for i in self.kept]
        buffers += self.constants
        outs = (run_with_effects(self.executable, self.effects, buffers) if self.effects
                else self.executable(buffers))
        self.forget_donated(args)
        return [*map(array_of, outs, self.out_avals)]

    def forget_donated(self, args: Sequence) -> None:
        """Make arrays whose memory is gone say so when they are used."""
        for i in self.donated:
            if isinstance(args[i], Array):
                args[i].delete()

    @property
    def is_simple(self) -> bool:
        """Whether a run is no more than to hand over all buffers and to wrap the results."""
        takes_all = len(self.kept) == len(self.in_avals)
        special = any(aval.dtype == float0 for aval in self.out_avals)
        return takes_all and not (self.constants or self.donated or self.effects or special)


_MOST_PENDING = 64
_pending: deque = deque()  # tokens of programs with effects that may be running still


def run_with_effects(executable, effects: frozenset, buffers: list) -> list:
    """Run a program that has effects, of which `effects_barrier` can see the end.

    If they are ordered, with the effects of other programs too, then we wait for it here.
    """
    outs, token = executable.run_with_token(buffers)
    if is_ordered(effects):
        xla().wait(token)
        return outs
    _pending.append(token)
    if len(_pending) > _MOST_PENDING:
        xla().wait(_pending.popleft())
    return outs


def effects_barrier() -> None:
    """Wait until all programs that were started have had their effects: printed, called back …

    Raises:
      JaxRuntimeError: a callback has raised an exception.

    >>> seen = []
    >>> jax.jit(lambda x: jax.debug.callback(lambda x: seen.append(float(x)), x))(1.0)
    >>> jax.effects_barrier()
    >>> seen
    [1.0]
    """
    while _pending:
        with contextlib.suppress(IndexError):  # another thread was quicker
            xla().wait(_pending.popleft())


atexit.register(effects_barrier)  # or the end of the process would cut off what is still to print


def lower(jaxpr: ClosedJaxpr, name: str, donated: tuple, keep_unused: bool) -> LoweredModule:
    """The StableHLO module of a jaxpr; warns of donations that are of no use."""
    with logged(f"Finished translating {name} to StableHLO", "jaxpr_to_mlir_module"):
        module = lower_jaxpr(jaxpr, name, donated, keep_unused, locations=True)
    if module.not_donated:
        types = ", ".join(
            jaxpr.in_avals[i].str_short(short_dtypes=False) for i in module.not_donated
        )
        warnings.warn(
            f"Some donated buffers were not usable: {types}.\nNo result has the same shape and "
            "dtype, so their memory cannot be used again (chapter 6 of the book).",
            stacklevel=user_stacklevel(),
        )
    return module


def compile_module(
    module: LoweredModule, jaxpr: ClosedJaxpr, options: dict | None = None, device=None
) -> Program:
    """Compile the module of a jaxpr."""
    in_avals, out_avals = jaxpr.in_avals, jaxpr.out_avals
    with logged(f"Finished XLA compilation for argument types {in_avals}", "backend_compile"):
        executable = xla().compile(
            module.text, [*map(stored, out_avals)], device, options, **module.for_compiler)
    return Program(executable, module, jaxpr)


_logger = logging.getLogger("minijax.jit")
duration_listeners: list[Callable] = []  # `(event, seconds)`: chapter 15 listens


@contextlib.contextmanager
def logged(what: str, event: str) -> Iterator[None]:
    """Tell the listeners how long the block took, and the log if the setting `log_compiles` asks
    for it."""
    start = time.perf_counter()
    yield
    for listener in duration_listeners:
        listener(f"/jax/core/compile/{event}_duration", time.perf_counter() - start)
    if settings.log_compiles.value:
        _logger.warning("%s in %.6f sec", what, time.perf_counter() - start)


class _Once:
    """A result that the first thread to ask computes, while the others wait for it."""

    __slots__ = ("lock", "value")

    def __init__(self):
        self.lock, self.value = threading.Lock(), None

    def get(self, make: Callable):
        if self.value is None:
            with self.lock:
                if self.value is None:
                    self.value = make()
        return self.value


_programs: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_programs_lock = threading.Lock()


class Spec(NamedTuple):
    """What a program is made of, besides a jaxpr: part of the key under which it is kept."""

    name: str
    donated: tuple[bool, ...]
    keep_unused: bool
    options: tuple[tuple[str, Any], ...] = ()
    device: Any = None
    out_shardings: tuple = ()  # chapter 14: how the results are to lie on devices


def program_of(jaxpr: ClosedJaxpr, spec: Spec, args: Sequence) -> Program:
    """The compiled program of a jaxpr for these arguments."""
    where = places_of(jaxpr, spec, args)
    if where is not None:
        return kept_program(jaxpr, (spec, where), lambda: where.compile(
            where.lower(jaxpr, spec), jaxpr, dict(spec.options)))

    def make():
        module = lower(jaxpr, spec.name, spec.donated, spec.keep_unused)
        return compile_module(module, jaxpr, dict(spec.options), spec.device)

    return kept_program(jaxpr, spec, make)


def places_of(jaxpr: ClosedJaxpr, spec: Spec, args: Sequence) -> Any:
    """Where a program for these arguments runs, as the first extension says that can tell.

    `None` stands for the default device.
    """
    for program_places in hooks.program_places:
        places = program_places(jaxpr, spec, args)
        if places is not None:
            return places
    return None


def kept_program(jaxpr: ClosedJaxpr, key: Any, make: Callable) -> Program:
    """The program of a jaxpr known by `key`, made on the first call, kept while the jaxpr lives."""
    with _programs_lock:
        once = _programs.setdefault(jaxpr, {}).setdefault(key, _Once())
    return once.get(make)


def forget_programs() -> None:
    """Drop all compiled programs."""
    with _programs_lock:
        _programs.clear()


# ----------------------------------------------------------------------------------------------
# Flattening in C++


_fast_registry = _Once()  # one for all threads: structures of two registries do not mix


def fast_registry() -> Any:
    """A copy of chapter 3's registry in XLA's C++, which flattens a pytree in half the time."""
    return _fast_registry.get(_copy_registry)


def _copy_registry():
    copy = xla().PyTreeRegistry(
        enable_none=True,
        enable_tuple=True,
        enable_namedtuple=True,
        enable_list=True,
        enable_dict=True,
    )

    def register(node_type):
        if node_type not in BUILTIN_NODE_TYPES:
            copy.register_node(node_type.python_type, node_type.flatten, node_type.unflatten)

    for node_type in list(registry.values()):
        register(node_type)
    register_listeners.append(register)
    return copy
