"""Chapter 15: events of the library, for those who watch: how often and how long it compiles …

The names of the events are JAX's, so that programs that count compilations find them.
"""

import importlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..core.extension import Extension, register
from ..runtime import logger
from ..settings import bool_state, choice_state

log_compiles = bool_state(
    "jax_log_compiles",
    "Whether every compilation by XLA is logged as a warning (else at level DEBUG).")
logging_level = choice_state(
    "jax_logging_level",
    ("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", None), "NOTSET",
    "From which level on the library's log is shown on stderr; NOTSET leaves that to `logging`.")

_lock = threading.RLock()


class _Listeners:
    """The functions that are called for one kind of events."""

    def __init__(self):
        self._functions: tuple[Callable, ...] = ()  # replaced, never changed: others iterate

    def register(self, callback: Callable) -> None:
        """Have `callback` called from now on."""
        with _lock:
            self._functions += (callback,)

    def unregister(self, callback: Callable) -> None:
        """Have it called no more."""
        with _lock:
            assert callback in self._functions, f"{callback} is not registered"
            self._functions = tuple(f for f in self._functions if f != callback)

    def clear(self) -> None:
        with _lock:
            self._functions = ()

    def __iter__(self) -> Iterator[Callable]:
        return iter(self._functions)

    def __call__(self, *args, **metadata) -> None:
        for function in self._functions:
            function(*args, **metadata)


_events, _durations, _time_spans, _scalars = (_Listeners() for _ in range(4))

register_event_listener = _events.register
unregister_event_listener = _events.unregister
register_event_duration_secs_listener = _durations.register
unregister_event_duration_listener = _durations.unregister
register_event_time_span_listener = _time_spans.register
unregister_event_time_span_listener = _time_spans.unregister
register_scalar_listener = _scalars.register
unregister_scalar_listener = _scalars.unregister


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell the listeners of `register_event_listener` that something happened.

    Args:
      event: what, such as "/my/program/step".
      **kwargs: more about it.

    >>> from minijax import monitoring
    >>> show = lambda event, **kwargs: print(event, kwargs)
    >>> monitoring.register_event_listener(show)
    >>> monitoring.record_event("/step", number=1)
    /step {'number': 1}
    >>> monitoring.unregister_event_listener(show)
    """
    _events(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell the listeners of `register_event_duration_secs_listener` how long something took.

    Args:
      event: what.
      duration: in seconds.
      **kwargs: more about it.
    """
    _durations(event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float,
                           **kwargs: str | int) -> None:
    """Tell the listeners of `register_event_time_span_listener` when something happened.

    Args:
      event: what.
      start_time, end_time: in seconds since the epoch.
      **kwargs: more about it.
    """
    _time_spans(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Tell the listeners of `register_scalar_listener` a number.

    Args:
      event: what was measured.
      value: the number.
      **kwargs: more about it.
    """
    _scalars(event, value, **kwargs)


class Monitoring(Extension):
    """The engine's events go to the listeners. With the setting `log_compiles`, the steps of
    compilations also go to the log."""

    def record(self, event, seconds, about):
        if seconds is None:
            record_event(event)
            return
        name = {"fun_name": about["fun_name"]} if about else {}
        record_event_duration_secs(event, seconds, **name)
        if event in _STEPS:
            end = time.time()
            record_event_time_span(event, end - seconds, end, **name)
            self._log(event, seconds, **about)

    def _log(self, event, seconds, fun_name, in_avals):
        if event == _LOWERING:
            _log("Compiling %s with global shapes and types %s.", fun_name, tuple(in_avals))
        _log(f"Finished {_STEPS[event]} in %.6f sec", fun_name, seconds)


_LOWERING = "/jax/core/compile/jaxpr_to_mlir_module_duration"
_STEPS = {
    "/jax/core/compile/jaxpr_trace_duration": "tracing %s for jit",
    _LOWERING: "jaxpr to MLIR module conversion %s",
    "/jax/core/compile/backend_compile_duration": "XLA compilation of %s",
}  # fmt: skip


def _log(message, *args):
    log = logger("minijax.jit")
    (log.warning if log_compiles.value else log.debug)(message, *args)


def _show_log(*_: Any) -> None:
    """Show the log from the level in force on; `logging` would show warnings only."""
    level = logging_level.value
    log = logger("minijax")
    log.setLevel(level or "NOTSET")
    for handler in [handler for handler in log.handlers if handler.get_name() == _SHOWN]:
        log.removeHandler(handler)
    if level not in (None, "NOTSET"):
        logging = importlib.import_module("logging")  # it takes a while to load
        shown = logging.StreamHandler()
        shown.set_name(_SHOWN)
        shown.setFormatter(logging.Formatter(
            "{levelname}:{asctime}:{name}:{lineno}: {message}", style="{"))
        log.addHandler(shown)


_SHOWN = "jax_logging_level"
logging_level.watchers.append(_show_log)
if logging_level.value not in (None, "NOTSET"):
    _show_log()
register(Monitoring())


def clear_event_listeners() -> None:
    """Forget all listeners of all kinds."""
    for listeners in (_events, _durations, _time_spans, _scalars):
        listeners.clear()
