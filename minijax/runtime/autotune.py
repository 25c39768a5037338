"""Chapter 6: which of XLA's options suit a program? They are tried, and measured.

XLA compiles all programs for the CPU with the same options by default. With others, some programs
are several times faster and some are slower. Only a measurement can tell, and the autotuner makes
it. It is off by default. `jax.config.update("jax_cpu_autotune", True)` tunes every program that is
compiled from then on, and `jit(f, compiler_options="autotune")` tunes those of one function.

A program is first compiled as always. Its third call keeps copies of the arguments. A thread in the
background then does the following, while the program is used:

* It compiles the same module with each of the `VARIANTS` of options. One of them is no option: the
  module becomes a loop over parts of its arrays (`lax/control_flow/in_parts.py`).
* It runs each variant on the copies. A variant whose results differ from the program's by more than
  rounding is dropped, and so is one that raises an error. No variant uses fast math.
* It runs the others in turns, and compares the shortest times.
* The fastest one takes the place of the program, if it saves at least 5 % of the time.

The choice is kept in the folder `jax_compilation_cache_dir`, if there is one; another process that
compiles the same program reads it there, and measures nothing.

Programs with callbacks, other side effects or several devices are left alone, and those that take
less than 0.1 ms or more than 2 s.

For a program with large blocks of memory, it also measures with another setting of the C library,
and leaves that on if it helps (`memory.py`).
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import re
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.extension import hooks
from . import logger, xla
from .interruptions import dispensable
from .memory import keep_large_blocks, release_large_blocks

Flags = dict[str, Any]  # XLA flags and their values
IN_PARTS = "in parts"  # stands among them for another text of the module

_LIBRARY, _DOTS = "xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
VARIANTS: dict[str, Flags] = {
    "library for dots": {_LIBRARY: _DOTS},
    "no library": {_LIBRARY: ""},
    "wide vectors": {"xla_cpu_prefer_vector_width": 512},
    "library for dots, wide vectors": {_LIBRARY: _DOTS, "xla_cpu_prefer_vector_width": 512},
    "concurrent": {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_CONCURRENCY_OPTIMIZED"},
    "older fusion": {"xla_cpu_use_fusion_emitters": False},
    IN_PARTS: {IN_PARTS: True},
    "in parts, wide vectors": {IN_PARTS: True, "xla_cpu_prefer_vector_width": 512},
}
AS_ALWAYS = "as always"  # the name of the program that was compiled first

CALLS = 3  # the call whose arguments are kept
SHORTEST, LONGEST = 1e-4, 2.0  # seconds that a program takes
GAIN = 0.95  # a variant is better if it takes at most this part of the time
ROUNDS, MOST_SECONDS = 30, 2.0  # of measuring


class Choice(NamedTuple):
    """The choice for a module: the name of the variant, and the seconds that each one took."""

    module: str
    variant: str
    seconds: dict[str, float]


_CHOICES_LIMIT = 1024
_choices: dict[str, Choice] = {}  # by the hash of a module and its options


def choices() -> list[Choice]:
    """What the autotuner has chosen in this process, or read from the cache: the oldest first.

    >>> from minijax.experimental import autotune
    >>> f = jax.jit(lambda x: jnp.tanh(x @ x).sum(0), compiler_options="autotune")
    >>> for _ in range(3):
    ...     y = f(np.ones((256, 256), np.float32))
    >>> autotune.wait()
    True
    >>> module, variant, seconds = autotune.choices()[-1]
    >>> print(module, variant in seconds, min(seconds.values()) > 0)
    jit__lambda True True
    """
    return list(_choices.values())


# ----------------------------------------------------------------------------------------------
# The program


class Source(NamedTuple):
    """What a program is compiled from; `load(flags)` compiles it with more options, and
    `load(flags, text)` another text. `in_parts` is that of a loop over parts, if there is one."""

    text: str
    options: Any
    device: Any
    handlers: list
    load: Callable[..., Any]
    in_parts: str | None


# What must not happen more often than the program says. Callbacks are refused by the caller.
_EFFECTS = "has_side_effect = true"
_DONATED = re.compile(r"tf\.aliasing_output|jax\.buffer_donor")


def tuned(source: Source) -> Any:
    """The loaded program of a module, to be exchanged for a faster one after a few calls."""
    if _EFFECTS in source.text:
        return source.load({})
    key = _key(source)
    variant = _choices[key].variant if key in _choices else _recalled(key, source)
    if variant is None:
        return TunedProgram(source.load({}), Tuning(key, source))
    try:
        program = _loaded(source, VARIANTS.get(variant, {}))
    except RuntimeError:
        return source.load({})
    keep_large_blocks(program)
    return program


def _loaded(source, flags):
    """The program of a variant."""
    if IN_PARTS not in flags:
        return source.load(flags)
    if source.in_parts is None:
        raise RuntimeError("The program does not compute its rows one by one.")
    return source.load({k: v for k, v in flags.items() if k != IN_PARTS}, source.in_parts)


def _key(source):
    where = str(source.device).encode()
    seen = source.text.encode() + source.options.SerializeAsString() + where
    return hashlib.sha256(seen).hexdigest()


def _recalled(key, source):
    """The name of the variant that was kept for this module, or `None`."""
    for cache in hooks.program_cache:
        data = cache.recall_choice(source.text, source.options, (source.device,))
        if data is not None:
            said = json.loads(data)
            if said["flags"] == VARIANTS.get(said["variant"], {}):
                _note(key, Choice(said["module"], said["variant"], said["seconds"]))
                return said["variant"]
    return None


def _note(key, choice):
    if len(_choices) >= _CHOICES_LIMIT:
        _choices.clear()
    _choices[key] = choice


class TunedProgram:
    """Stands for a loaded program of jaxlib: the best one so far."""

    __slots__ = ("best", "_tuning", "__weakref__")

    def __init__(self, program: Any, tuning: Tuning):
        self.best, self._tuning = program, tuning

    def execute_sharded(self, buffers: list, **options: Any) -> Any:
        if self._tuning is not None:
            self._count(buffers)
        return self.best.execute_sharded(buffers, **options)

    def _count(self, buffers):
        """Note a call. The third one begins the tuning."""
        tuning = self._tuning
        if tuning is not None and tuning.is_due():
            self._tuning = None
            with contextlib.suppress(RuntimeError):  # the call itself tells what is wrong
                tuning.begin(self, buffers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.best, name)


# ----------------------------------------------------------------------------------------------
# The choice


class Tuning:
    """The tuning of one program."""

    def __init__(self, key: str, source: Source):
        self.key, self.source, self.calls = key, source, 0
        self._claim = threading.Lock()
        self._donates = bool(_DONATED.search(source.text))

    def is_due(self) -> bool:
        """Count a call; true once, in the thread that makes the third one."""
        self.calls += 1
        return self.calls >= CALLS and self._claim.acquire(blocking=False)

    def begin(self, program: TunedProgram, buffers: list) -> None:
        """Keep copies of the arguments, and let the background thread do the rest."""
        self.program = weakref.ref(program)
        self.first = program.best
        self.arguments = self._copies(buffers)
        if self._donates:
            xla().wait(*self.arguments)
        tuner.add(self)

    def run(self) -> None:
        """Find the best program, and have it used."""
        once = self._time(self.first)
        if once > LONGEST or min(once, self._time(self.first)) < SHORTEST:
            return
        programs = {AS_ALWAYS: self.first, **self._candidates()}
        seconds = self._measured(programs)
        if keep_large_blocks(self.first):
            with_memory = self._measured(programs)
            if min(with_memory.values()) > GAIN * min(seconds.values()):
                release_large_blocks()
            else:
                seconds = with_memory
        fastest = min(seconds, key=seconds.__getitem__)
        if seconds[fastest] > GAIN * seconds[AS_ALWAYS]:
            fastest = AS_ALWAYS
        program = self.program()
        if program is not None:
            program.best = programs[fastest]
        self._remember(fastest, seconds)

    def _candidates(self):
        """The variants that compile, and whose results agree with the program's."""
        expected, found = self._results(self.first), {}
        for name, flags in VARIANTS.items():
            try:
                program = _loaded(self.source, flags)
                if agree(expected, self._results(program)):
                    found[name] = program
            except Exception as error:
                logger(__name__).debug("variant %r is left out: %s", name, error)
            tuner.check()
        return found

    def _measured(self, programs):
        """The shortest time of each; those that are far behind do not stay to the end."""
        seconds = dict.fromkeys(programs, float("inf"))
        end, rounds = time.perf_counter() + MOST_SECONDS, 0
        while rounds < 3 or (rounds < ROUNDS and time.perf_counter() < end):
            rounds += 1
            least = min(seconds.values())
            for name, program in programs.items():
                if rounds <= 3 or seconds[name] < 1.3 * least or name == AS_ALWAYS:
                    seconds[name] = min(seconds[name], self._time(program))
                    tuner.check()
        return seconds

    def _remember(self, variant, seconds):
        source, flags = self.source, VARIANTS.get(variant, {})
        name = re.search(r"module @(\w+)", source.text)
        choice = Choice(name[1] if name else "module", variant, seconds)
        _note(self.key, choice)
        data = json.dumps({**choice._asdict(), "flags": flags}).encode()
        for cache in hooks.program_cache:
            cache.keep_choice(source.text, source.options, (source.device,), data)

    def _copies(self, buffers):
        return [xla("transfers").copy(x, self.source.device) for x in buffers]

    def _operands(self):
        """The arguments of a run. Donated ones are gone after it, so a run gets copies."""
        operands = self._copies(self.arguments) if self._donates else self.arguments
        xla().wait(*operands)
        return operands

    def _run(self, program, operands):
        results = program.execute_sharded(operands).consume_with_handlers(self.source.handlers)
        xla().wait(*results)
        return results

    def _results(self, program):
        return [np.array(xla().to_numpy(x)) for x in self._run(program, self._operands())]

    def _time(self, program):
        operands = self._operands()
        start = time.perf_counter()
        self._run(program, operands)
        return time.perf_counter() - start


_TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 3e-2, "float16": 4e-3}


def agree(expected: list[np.ndarray], results: list[np.ndarray]) -> bool:
    """Whether results are the same up to rounding. Integers and narrow floats must be equal."""
    return all(map(_agrees, expected, results))


def _agrees(x, y):
    if x.dtype.kind == "c":
        return _agrees(x.real, y.real) and _agrees(x.imag, y.imag)
    tolerance = _TOLERANCES.get(x.dtype.name)
    if tolerance is None:
        return x.tobytes() == y.tobytes()
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    finite = np.isfinite(x)
    if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return False
    x, y = x[finite], y[finite]
    scale = 0.1 * np.max(np.abs(x), initial=0.0)  # a sum's rounding depends on its terms
    return bool(np.all(np.abs(x - y) <= tolerance * (np.abs(x) + scale)))


# ----------------------------------------------------------------------------------------------
# The thread


class Tuner:
    """A thread that does one tuning after the other. It ends when no more are waiting."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: a forked process has no thread."""
        self._turn = threading.Condition()
        self._waiting: deque[Tuning] = deque()
        self._works = self._leaves = False
        dispensable.clear()

    def add(self, tuning: Tuning) -> None:
        """Do a tuning after those that were added before."""
        with self._turn:
            self._waiting.append(tuning)
            if self._works or self._leaves:
                return
            self._works = True
        thread = threading.Thread(target=self._work, name="minijax-autotune", daemon=True)
        dispensable.add(thread)
        try:
            thread.start()
        except RuntimeError:  # Python is ending, and starts no more threads
            self.leave()

    def _work(self):
        try:
            while (tuning := self._next()) is not None:
                try:
                    tuning.run()
                except Exception as error:  # the first program stays in use
                    logger(__name__).debug("a program is not tuned: %s", error)
                tuning = None
        except SystemExit:
            pass
        finally:
            dispensable.discard(threading.current_thread())

    def _next(self):
        with self._turn:
            if self._waiting and not self._leaves:
                return self._waiting.popleft()
            self._works = False
            self._turn.notify_all()
            return None

    def check(self) -> None:
        """Raise `SystemExit` in the thread if the process is about to end."""
        if self._leaves:
            raise SystemExit

    def leave(self) -> None:
        """Do no more."""
        self._leaves = True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all programs that were called often enough are tuned.

        Args:
          timeout: how many seconds to wait at most.

        Returns:
          whether there is nothing left to do.
        """
        with self._turn:
            return self._turn.wait_for(lambda: self._leaves or not self._works, timeout)


tuner = Tuner()
wait = tuner.wait
atexit.register(tuner.leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=tuner.forget)
