"""The registry of containers with a batch dimension of their own, which `vmap` takes apart by the
functions of their libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..checks import api as checks
from ..core.core import Tracer


class Vmappable(NamedTuple):
    """What a library says of a class of containers."""

    axis_size_type: type
    to_elt: Callable
    from_elt: Callable


vmappables: dict[type, Vmappable] = {}
make_iota_handlers: dict[type, Callable] = {}


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type, to_elt: Callable,
                       from_elt: Callable, make_iota: Callable | None) -> None:
    """Let `vmap` map over containers of a class.

    Args:
      data_type: the class.
      spec_type: the class of its specifications; `int`, or one of its own.
      axis_size_type: the class of the number of examples.
      to_elt: `(cont, get_idx, x, spec) -> element`. `cont(part, spec)` makes one example of a part
        of the container, and `get_idx()` is the number of the example.
      from_elt: `(cont, axis_size, element, spec) -> x`, with `cont(axis_size, part, spec)`.
      make_iota: the numbers of the examples, for an axis size of class `axis_size_type`.
    """
    vmappables[data_type] = Vmappable(axis_size_type, to_elt, from_elt)
    checks.spec_types.add(spec_type)
    if make_iota is not None:
        make_iota_handlers[axis_size_type] = make_iota


def unregister_vmappable(data_type: type) -> None:
    """Does nothing, as in JAX: a class stays registered."""


def vmappable_of(x: Any) -> Vmappable | None:
    """What is registered for the class of `x`. A tracer counts as what it stands for: the class of
    its type may be registered."""
    return vmappables.get(type(x.aval) if isinstance(x, Tracer) else type(x))


def is_vmappable(x: Any) -> bool:
    """Whether `x` is a container of a registered class."""
    return vmappable_of(x) is not None
