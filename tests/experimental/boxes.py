"""A class of values that change: a `Box` holds a pytree. It is JAX's private class of this name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from minijax.core.batching import BatchTracer
from minijax.core.core import state, typeof
from minijax.core.forward import JVPTracer, Zero
from minijax.core.jaxpr import Effect
from minijax.core.tree import PyTreeDef, tree_flatten, tree_leaves
from minijax.experimental.hijax import HiPrimitive, MutableHiType, aval_method, register_hitype
from minijax.experimental.mutable_values import cur_qdd, hi_type, is_high
from minijax.runtime.effect_sets import control_flow_allowed_effects


class BoxEffect(Effect):
    """The effect of operations on boxes."""


box_effect = log_effect = BoxEffect()
control_flow_allowed_effects.add_type(BoxEffect)


@dataclass(frozen=True)
class BoxTypeState:
    """The static part of a box: the structure of its contents, and the types of the leaves."""

    leaf_avals: tuple
    treedef: PyTreeDef

    def to_tangent_qdd(self) -> BoxTypeState:
        """That of a box with tangents."""
        return BoxTypeState(tuple(a.to_tangent_aval() for a in self.leaf_avals), self.treedef)


class _OnlyType(MutableHiType):
    """The one type of its class, which is its own tangent type."""

    def __hash__(self):
        return hash(type(self))

    def __eq__(self, other):
        return isinstance(other, type(self))

    def to_tangent_aval(self):
        return type(self)()


class BoxTy(_OnlyType):
    """The type of boxes."""

    get = aval_method(lambda box: box_get(box))
    set = aval_method(lambda box, val: box_set(box, val))

    def __repr__(self):
        return "BoxTy"

    def lo_ty_qdd(self, box_state):
        """The types of the arrays of a box in this state."""
        return [ty for aval in box_state.leaf_avals for ty in aval.lo_ty()]

    def new_from_loval(self, box_state, *arrays):
        """A box with these arrays in it."""
        return Box._new(_contents(box_state, arrays))

    def read_loval(self, box_state, box):
        """The arrays of a box."""
        return [x for leaf in tree_leaves(box_get(box)) for x in _arrays(leaf)]

    def update_from_loval(self, box_state, box, *arrays):
        """Put these arrays into a box."""
        box_set(box, _contents(box_state, arrays))


def _arrays(leaf):
    return hi_type(leaf).lower_val(leaf) if is_high(leaf) else [leaf]


def _contents(box_state, arrays):
    """The contents of a box in this state, made of arrays."""
    rest, leaves = iter(arrays), []
    for aval in box_state.leaf_avals:
        leaves.append(aval.raise_val(*[next(rest) for _ in aval.lo_ty()]))
    return box_state.treedef.unflatten(leaves)


class Box:
    """A value that holds a pytree of arrays, which `set` replaces, by any other one.

    >>> from tests.experimental.boxes import Box
    >>> box = Box(1.0)
    >>> f = jax.jit(lambda x: box.set(box.get() + x))
    >>> f(2.0)
    >>> print(box.get())
    3.0
    """

    _val: Any
    _depth: int  # of the traces in which it was made

    def __new__(cls, init_val=None):
        box = new_box()
        box.set(init_val)
        return box

    @classmethod
    def _new(cls, contents):
        box = super().__new__(cls)
        box._val = contents
        return box

    def get(self) -> Any:
        """The contents."""
        return box_get(self)

    def set(self, val: Any) -> None:
        """Replace the contents."""
        box_set(self, val)

    def cur_qdd(self) -> BoxTypeState:
        """The static part of the box."""
        return self.type_state()

    def type_state(self) -> BoxTypeState:
        """The static part of the box."""
        leaves, treedef = tree_flatten(self._val)
        return BoxTypeState(
            tuple(hi_type(x) if is_high(x) else typeof(x) for x in leaves), treedef)

    @property
    def ty(self) -> BoxTy:
        return BoxTy()


register_hitype(Box, lambda box: BoxTy())


def _depth(trace: Any) -> int:
    """How many traces are around a trace."""
    return 0 if trace.parent is None else 1 + _depth(trace.parent)


class NewBox(HiPrimitive):
    """An empty box."""

    def to_lojax(self, *, treedef):
        box = Box._new(None)
        box._depth = _depth(state.trace)
        return box


class BoxSet(HiPrimitive):
    """Replace the contents of a box."""

    multiple_results = True
    is_plain = True

    def to_lojax(self, box, *leaves, treedef):
        for x in leaves:
            if isinstance(x, BatchTracer) and _depth(x._trace) > getattr(box, "_depth", math.inf):
                raise NotImplementedError(
                    "Batching rule for 'box_set' not implemented: a function under `vmap` set a "
                    "box that was made outside of it. Return the value instead.")
        box._val = treedef.unflatten(leaves)
        return []

    def jvp(self, primals, tangents, *, treedef):
        box, *leaves = primals
        box_dot, *leaves_dot = tangents
        if type(box_dot) is Zero:
            raise Exception("can't differentiate Box.set operation, did you forget "
                            "jax.lax.stop_gradient?")
        box_set_p.bind(box, *leaves, treedef=treedef)
        box_set_p.bind(box_dot, *leaves_dot, treedef=treedef)
        return [], []


class BoxGet(HiPrimitive):
    """The leaves of the contents of a box."""

    multiple_results = True

    def to_lojax(self, box, *, avals):
        return tree_leaves(box._val)

    def jvp(self, primals, tangents, *, avals):
        outs = box_get_p.bind(*primals, avals=avals)
        (box_dot,) = tangents
        if type(box_dot) is Zero:
            return outs, [Zero.from_primal_value(x) for x in outs]
        return outs, box_get_p.bind(box_dot, avals=tuple(a.to_tangent_aval() for a in avals))


new_box_p, box_set_p, box_get_p = NewBox("new_box"), BoxSet("box_set"), BoxGet("box_get")


def new_box() -> Box:
    """An empty box."""
    return new_box_p.bind(treedef=tree_flatten(None)[1])


def box_set(box: Box, val: Any) -> None:
    """Replace the contents of a box."""
    leaves, treedef = tree_flatten(val)
    box_set_p.bind(box, *leaves, treedef=treedef)


def _primal(box: Any) -> Box:
    """The box behind the tracers of forward mode, which pair it with one for tangents."""
    while isinstance(box, JVPTracer):
        box = box.primal
    return box


def box_get(box: Box) -> Any:
    """The contents of a box."""
    known = cur_qdd(_primal(box))
    return known.treedef.unflatten(box_get_p.bind(box, avals=known.leaf_avals))
