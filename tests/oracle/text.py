"""The text of a jaxpr, in the form that both libraries must agree on.

minijax has no sharding, so its equations carry no such parameters. They are left out on JAX's
side *while it prints*, because taking them out of finished text would leave its line breaks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np

from tests.oracle.namespaces import jax

SHARDING_PARAMS = frozenset({"sharding", "out_sharding"})


def jaxpr_text(jaxpr: Any) -> str:
    """`str(jaxpr)`, from either library, without sharding parameters."""
    if not type(jaxpr).__module__.startswith("jax."):
        return str(jaxpr)
    with _printing_without_sharding():
        return str(jaxpr)


def is_jaxpr(value: Any) -> bool:
    """Whether `value` is a (closed) jaxpr of either library."""
    return type(value).__name__ in ("ClosedJaxpr", "Jaxpr")


@contextlib.contextmanager
def _printing_without_sharding() -> Iterator[None]:
    jax_core = jax._src.core
    print_eqn, print_pair = jax_core._pp_eqn, jax_core.pp_kv_pair

    def eqn(eqn: Any, context: Any, settings: Any, params: Any = None) -> Any:
        names = sorted(eqn.params) if params is None else params
        kept = [name for name in names if name not in SHARDING_PARAMS]
        return print_eqn(eqn, context, settings, kept)

    def pair(name: str, value: Any, context: Any, settings: Any) -> Any:
        return print_pair(name, plain_ints(value), context, settings)

    with (
        mock.patch.object(jax_core, "_pp_eqn", eqn),
        mock.patch.object(jax_core, "pp_kv_pair", pair),
    ):
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
