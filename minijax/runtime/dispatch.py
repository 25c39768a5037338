"""Chapter 6: how is a primitive evaluated that NumPy has no function for? XLA compiles it.

The counterpart in JAX is `jax/_src/dispatch.py`, where all primitives are evaluated this way.
"""

from __future__ import annotations

import functools
from typing import Any

from .. import settings
from ..core.core import Primitive
from ..core.jit import JitFunction, jit


@functools.lru_cache(4096)
def _jitted_primitive(primitive: Primitive, params: tuple) -> JitFunction:
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
