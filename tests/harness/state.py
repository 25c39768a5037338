"""What `jax._src.state` has besides its public names."""

from __future__ import annotations

# chapter 15
from collections.abc import Callable, Sequence
from typing import Any

from minijax.core.core import ShapedArray, typeof
from minijax.core.jaxpr import ClosedJaxpr
from minijax.core.tree import tree_map
from minijax.state.discharge import discharge
from minijax.state.functions import (
    RefView as TransformedRef,
    addupdate as ref_addupdate,
    freeze,
    get as ref_get,
    new_ref,
    set as ref_set,
    swap as ref_swap,
)
from minijax.state.refs import AbstractRef
from tests.harness.partial_discharge import discharge_some

__all__ = ["TransformedRef", "ref_addupdate", "ref_get", "ref_set", "ref_swap"]


def shaped_array_ref(shape: tuple, dtype: Any, weak_type: bool = False) -> AbstractRef:
    """The type of references to arrays of this type."""
    return AbstractRef(ShapedArray(shape, dtype, weak_type))


def get_ref_aval_from_value(x: Any) -> tuple[AbstractRef, Any]:
    """The type of a reference to this value, and the value."""
    return AbstractRef(typeof(x)), x


def discharge_state(
    closed_jaxpr: ClosedJaxpr, *, should_discharge: bool | Sequence[bool] = True
) -> ClosedJaxpr:
    """A pure jaxpr: references become arrays, and their contents at the end are further results.

    `should_discharge` may say of each argument whether this happens to it.
    """
    if isinstance(should_discharge, bool):
        should_discharge = (should_discharge,) * len(closed_jaxpr.in_avals)
    if all(should_discharge):
        return discharge(closed_jaxpr)
    return discharge_some(closed_jaxpr, tuple(map(bool, should_discharge)))


def run_state(f: Callable) -> Callable:
    """A function that calls `f` with references to the arrays of a pytree, and returns what they
    hold in the end."""
    def wrapped(args):
        refs = tree_map(new_ref, args)
        f(refs)
        return tree_map(freeze, refs)

    return wrapped


run_state_reference = run_state
