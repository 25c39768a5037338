"""The text of a jaxpr, in the form that both libraries must agree on.

Axes that JAX happened to compute with NumPy are written as the ints they mean, *while it prints*,
because a change of finished text would leave its line breaks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np

from tests.oracle.namespaces import jax


def jaxpr_text(jaxpr: Any) -> str:
    """`str(jaxpr)`, from either library."""
    if not type(jaxpr).__module__.startswith("jax."):
        return str(jaxpr)
    with _printing_plain_ints():
        return str(jaxpr)


def is_jaxpr(value: Any) -> bool:
    """Whether `value` is a (closed) jaxpr of either library."""
    return type(value).__name__ in ("ClosedJaxpr", "Jaxpr")


@contextlib.contextmanager
def _printing_plain_ints() -> Iterator[None]:
    jax_core = jax._src.core
    print_pair = jax_core.pp_kv_pair

    def pair(name: str, value: Any, context: Any, settings: Any) -> Any:
        return print_pair(name, plain_ints(value), context, settings)

    with mock.patch.object(jax_core, "pp_kv_pair", pair):
        yield


def plain_ints(value: Any) -> Any:
    """Axes that JAX happened to compute with NumPy, as the ints they mean."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(plain_ints, value))
    if type(value) in (tuple, list):
        return type(value)(plain_ints(v) for v in value)
    if hasattr(value, "_fields"):  # dimension numbers
        return type(value)(*map(plain_ints, value))
    return value
