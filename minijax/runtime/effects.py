"""Chapter 15: programs with effects, and how to wait for them.

XLA returns a token with such a program's results. The token is ready when the program has ended.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from collections import deque
from typing import Any

from ..core.extension import Extension, register
from . import exits, xla
from .effect_sets import is_ordered

_MOST_PENDING = 64
_pending: deque = deque()  # tokens of programs with effects that may still be running


def run_with_token(executable: Any, buffers: list) -> tuple[list, Any]:
    """Start a program; returns also a token, whose `block_until_ready` waits for its end."""
    try:
        started = executable.execute(buffers, with_tokens=True)
        return started.consume_with_handlers(executable.handlers), started.consume_token()
    except xla().XlaRuntimeError as error:
        raise xla().our_error(error) from None


class Effects(Extension):
    """Programs with effects are started such that `effects_barrier` can wait for them."""

    def run_with_effects(self, executable, effects, buffers):
        outs, token = run_with_token(executable, buffers)
        if is_ordered(effects):  # also with the effects of other programs
            xla().wait(token)
            return outs
        _pending.append(token)
        if len(_pending) > _MOST_PENDING:
            xla().wait(_pending.popleft())
        return outs


register(Effects())


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
        with contextlib.suppress(IndexError):  # another thread was faster
            xla().wait(_pending.popleft())


# Otherwise the end of the process would cut off late effects.
atexit.register(exits.wait_for, effects_barrier)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pending.clear)  # they are the parent's
