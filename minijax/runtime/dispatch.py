"""Chapter 6: how is a primitive evaluated that NumPy has no function for? XLA compiles it.

The counterpart in JAX is `jax/_src/dispatch.py`, where all primitives are evaluated this way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import settings
from ..core.array import def_numpy
from ..core.core import Primitive, eval_trace, set_current_trace
from .jit import PjitFunction, jit


@functools.lru_cache(4096)
def _jitted_primitive(primitive: Primitive, params: tuple) -> PjitFunction:
    def call(*args):
        return primitive.bind(*args, **dict(params))

    call.__name__ = primitive.name
    return jit(call)


def apply_primitive(primitive: Primitive, *args, **params) -> Any:
    """Evaluate a primitive by compiling it.

    `primitive.def_impl(functools.partial(apply_primitive, primitive))` makes it the evaluation
    rule. The program is kept for the next call with these parameters and types.
    """
    call = _jitted_primitive(primitive, tuple(params.items()))
    if not settings.disable_jit.value:
        return call(*args)
    with settings.disable_jit(False):  # the setting concerns the user's functions only
        return call(*args)


def def_numpy_or_xla(primitive: Primitive, rule: Callable, by_xla: Callable) -> None:
    """Evaluate a primitive on NumPy by `rule`; or by XLA, if `by_xla` says so of its operands.

    Args:
      by_xla: `(*NumPy values, **params)` -> a truth value.
    """
    compiled = on_xla(primitive)

    def evaluate(*values, **params):
        return (compiled if by_xla(*values, **params) else rule)(*values, **params)

    def_numpy(primitive, evaluate)


def on_xla(primitive: Primitive) -> Callable:
    """The evaluation of a primitive by XLA, from NumPy values to an `ndarray`."""
    def evaluate(*values, **params):
        with set_current_trace(eval_trace):
            return np.asarray(apply_primitive(primitive, *values, **params))

    return evaluate
