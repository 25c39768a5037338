"""Chapter 14: `shard_map` without `in_specs`: arguments are cut by the shardings that they have.

An array has a sharding, but its abstract value does not. So under `jit`, this file looks up the
array that an argument of the traced function stands for. The trace then holds only for arrays with
the same sharding, and is not kept.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from ..core.core import Tracer
from ..core.extension import Extension, register
from ..core.forward import JVPTracer
from ..core.jit import JitFunction
from ..core.staging import DynamicJaxprTracer
from ..core.tree import tree_map
from .mesh import AxisType
from .partition_spec import P
from .sharding import NamedSharding
from .spec_checks import checked_mesh


class _AtHand(threading.local):
    """The arguments of the jitted functions that are being traced, the innermost last, and whether
    the sharding of one was asked for."""

    def __init__(self):
        self.calls: list[list] = []
        self.asked = False


_at_hand = _AtHand()


def infer_specs(args: tuple, mesh: Any, axis_names: Any) -> Any:
    """The specs of the arguments' shardings on the mesh.

    Raises:
      TypeError: the axes are not of type Explicit; or it is not known how an argument lies.
    """
    mesh = checked_mesh(mesh)
    axes = frozenset(axis_names) or frozenset(mesh.axis_names)
    types = dict(zip(mesh.axis_names, mesh.axis_types))
    if any(types.get(name) is not AxisType.Explicit for name in axes):
        raise TypeError("shard_map: in_specs is needed. Without it, arguments are cut as they lie, "
                        f"but only if the axes of the mesh are of type Explicit, got {mesh}.")
    return tree_map(lambda x: _spec_of(x, axes), args)


def _spec_of(x, axes):
    sharding = getattr(_array_behind(x, len(_at_hand.calls)), "sharding", None)
    if not isinstance(sharding, NamedSharding):
        return P()
    return P(*(tuple(name for name in sharding.spec.axes_of(d) if name in axes)
               for d in range(len(sharding.spec))))


def _array_behind(x, depth):
    """The array for which a tracer stands: an argument of a jitted function, maybe differentiated.

    `depth` of the functions that are being traced can have `x` as an argument.
    """
    if isinstance(x, JVPTracer):
        return _array_behind(x.primal, depth)
    if not isinstance(x, Tracer):
        return x
    if isinstance(x, DynamicJaxprTracer) and depth:
        leaves, invars = _at_hand.calls[depth - 1], x._trace.builder.invars
        if x.atom in invars and len(invars) == len(leaves):
            _at_hand.asked = True
            return _array_behind(leaves[invars.index(x.atom)], depth - 1)
    raise TypeError(f"shard_map: in_specs is needed: it is not known how {x} lies on devices, as "
                    "it is no argument of the function that is jitted. (Its type does not say it.)")


class ArgumentsAtHand(JitFunction):
    """A jitted function whose arguments' shardings can be looked up while it is traced."""

    __slots__ = ()

    def _traced(self, call):
        outside, _at_hand.asked = _at_hand.asked, False
        _at_hand.calls.append(call.leaves)
        try:
            return super()._traced(call)
        finally:
            _at_hand.calls.pop()
            if _at_hand.asked:  # then the trace depends on more than the arguments' types
                self._traces.clear()
            _at_hand.asked |= outside


@functools.cache
def _with_arguments(cls):
    return type(cls.__name__, (ArgumentsAtHand, cls), {"__slots__": ()})


class InferredSpecs(Extension):
    """Jitted functions keep their arguments while they are traced."""

    def jit_class(self, cls, options):
        return _with_arguments(cls)


register(InferredSpecs())
