"""Chapter 14: eager operations on an accelerator.

On a CPU, NumPy evaluates. If data is on a GPU, that would mean to fetch the arguments of every
operation and to send its result back; so there each primitive is compiled, once for each type of
its arguments, and runs where its arguments are. (JAX does so on CPUs, too.)
"""

from __future__ import annotations

import functools

from ..core.dispatch import xla
from ..core.operators import add, install_binary_operators, multiply, subtract, true_divide
from ..lax import advanced_indexing
from ..runtime import cuda


@functools.cache
def default_is_accelerator() -> bool:
    """Whether the default device is none of NumPy's. (Known as soon as it is needed: whether there
    is a GPU at all can be told without loading XLA.)"""
    found = cuda.has_device() and xla().default_device().platform != "cpu"
    if found:
        drop_short_cuts()
    return found


def drop_short_cuts() -> None:
    """Let the operators of arrays, and `x.at[...].set`, bind primitives, and not ask NumPy behind
    everybody's back."""
    advanced_indexing.set_at_hand = lambda x, index, y: None
    install_binary_operators(
        {"add": add, "sub": subtract, "mul": multiply, "truediv": true_divide})
