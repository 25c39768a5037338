"""Chapter 15: events of the library, for those who watch: how often and how long it compiles …

The names of the events are JAX's, so that programs that count compilations find them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from .. import settings
from ..core.extension import Extension, register
from ..runtime import logger

_lock = threading.Lock()


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

    def record_event(self, event):
        record_event(event)

    def record_duration(self, event, seconds, what=""):
        record_event_duration_secs(event, seconds)
        if what:
            level = logging.WARNING if settings.log_compiles.value else logging.DEBUG
            logger("minijax.jit").log(level, "%s in %.6f sec", what, seconds)


register(Monitoring())


def clear_event_listeners() -> None:
    """Forget all listeners of all kinds."""
    for listeners in (_events, _durations, _time_spans, _scalars):
        listeners.clear()
