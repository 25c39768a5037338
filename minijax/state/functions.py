"""Chapter 15: `jax.ref`. The functions that users call on references."""

import math
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.batching import BatchTracer
from ..core.boundary import api_boundary
from ..core.core import Tracer, install_methods, typeof
from ..core.primitives import convert, filled
from ..core.staging import shaped_abstractify
from ..core.tree import NodeType
from ..lax.indexing import Indexing, indexing_of
from ..pytree.registration import register_node_type
from ..text.key_paths import GetAttrKey
from . import checks
from .indexing import parse, selected_shape
from .primitives import addupdate_p, freeze_p, get_p, new_ref_p, swap_p
from .refs import AbstractRef, Ref, is_ref


@api_boundary
def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """A reference to a mutable array.

    Args:
      init_val: its first contents, an array or a number.
      memory_space: the kind of memory for the contents; `None` for the device's own.
      kind: "no_grad_no_remat" if differentiation shall ignore what is written, or `None`.

    Raises:
      ValueError: `init_val` is itself a reference.

    >>> ref = jax.new_ref(jnp.arange(3))
    >>> ref[0] = 10
    >>> ref
    Ref([10,  1,  2], dtype=int32)
    """
    checks.contents(init_val, is_ref(init_val))
    return new_ref_p.bind(init_val, memory_space=memory_space, kind=kind)


@api_boundary
def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """A reference whose contents are still to be written. They are zeros.

    Args:
      ty: any object with a shape and a dtype.
      memory_space: the kind of memory for the contents; `None` for the device's own.

    >>> jax.empty_ref(jax.ShapeDtypeStruct((2,), "float32"))
    Ref([0., 0.], dtype=float32)
    """
    return new_ref_p.bind(filled(shaped_abstractify(ty), 0), memory_space=memory_space, kind=None)


@api_boundary
def freeze(ref: Ref) -> Any:
    """The contents of a reference, which must not be used afterwards.

    >>> ref = jax.new_ref(jnp.zeros(2))
    >>> ref[0] = 1.0
    >>> jax.freeze(ref)
    Array([1., 0.], dtype=float32)
    """
    checks.ref(ref, is_ref(ref), "freeze")
    return freeze_p.bind(ref)


def free_ref(ref: Ref) -> None:
    """Declare that a reference will not be used any more. Python frees it."""
    checks.ref(ref, is_ref(ref), "free_ref")


def _parsed(ref, idx, where):
    """The reference behind a view, and the static part and the operands of the whole index."""
    base, tree, operands = (ref.ref, ref.tree, ref.operands) if type(ref) is RefView else \
        (ref, (), ())
    checks.ref(base, is_ref(base), where)
    if idx is None or idx is Ellipsis or isinstance(idx, tuple) and not idx:
        return base, tree, operands
    shape = selected_shape(tree, operands, typeof(base).shape)
    static, more = parse(idx, shape)
    return base, (*tree, static), (*operands, *more)


@api_boundary
def get(ref: Any, idx: Any = None) -> Any:
    """What `ref[idx]` reads.

    Args:
      ref: a reference, or a view of one.
      idx: integers, slices, `...`, arrays of integers, or a tuple of these. `None` for all.

    Raises:
      ValueError: an integer is out of bounds.

    >>> jax.ref.get(jax.new_ref(jnp.arange(5)), slice(1, 3))
    Array([1, 2], dtype=int32)
    """
    ref, tree, operands = _parsed(ref, idx, "ref_get")
    return get_p.bind(ref, *operands, tree=tree)


@api_boundary
def swap(ref: Any, idx: Any, value: Any, _function_name: str = "ref_swap") -> Any:
    """Write `ref[idx] = value`, and return the old contents.

    Args:
      ref: a reference, or a view of one.
      idx: as for `get`.
      value: an array of the shape and the dtype of the selected part. Numbers are converted.

    Raises:
      ValueError: the value does not fit.

    >>> ref = jax.new_ref(jnp.arange(3))
    >>> jax.ref.swap(ref, 1, 10), ref
    (Array(1, dtype=int32), Ref([ 0, 10,  2], dtype=int32))
    """
    return _swap(ref, idx, value, _function_name)


def _swap(ref, idx, value, where):
    base, tree, operands = _parsed(ref, idx, where)
    return swap_p.bind(base, _of_kind(value, base), *operands, tree=tree)


def _of_kind(value, ref):
    """A number of the kind of the contents takes their dtype, and so does any integer."""
    checks.contents(value, is_ref(value))
    aval, dtype = typeof(value), typeof(ref).dtype
    both = lambda kind: all(dtypes.issubdtype(d, kind) for d in (aval.dtype, dtype))
    fits = both(np.integer) or aval.weak_type and both(np.floating)
    return convert(value, dtype) if fits else value


@api_boundary
def set(ref: Any, idx: Any, value: Any) -> None:
    """Write `ref[idx] = value`. The arguments are those of `swap`."""
    _swap(ref, idx, value, "ref_set")


@api_boundary
def addupdate(ref: Any, idx: Any, x: Any) -> None:
    """Add `x` to `ref[idx]` in place. The arguments are those of `swap`.

    >>> ref = jax.new_ref(jnp.arange(3))
    >>> jax.ref.addupdate(ref, 1, 10)
    >>> ref
    Ref([ 0, 11,  2], dtype=int32)
    """
    base, tree, operands = _parsed(ref, idx, "ref_addupdate")
    addupdate_p.bind(base, x, *operands, tree=tree)


# ----------------------------------------------------------------------------------------------
# Views, and the methods of references and of their tracers


class RefView:
    """A part of a reference, as `ref.at[1:]`: it is read and written like a reference."""

    def __init__(self, ref: Any, tree: tuple, operands: tuple):
        self.ref, self.tree, self.operands = ref, tree, operands

    @property
    def shape(self) -> tuple[int, ...]:
        return selected_shape(self.tree, self.operands, typeof(self.ref).shape)

    @property
    def dtype(self):
        return typeof(self.ref).dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    at = property(lambda self: _Viewer(self))
    __getitem__ = get
    __setitem__ = set

    def addupdate(self, x: Any) -> None:
        """Add `x` to the part in place."""
        addupdate(self, None, x)

    def __repr__(self):
        return f"RefView({self.ref!r}, shape={self.shape})"


def _children(view):
    return (view.ref, view.operands), _hashable(view.tree)


def _named_children(view):
    (ref, operands), tree = _children(view)
    return ((GetAttrKey("ref"), ref), (GetAttrKey("operands"), operands)), tree


def _view(tree, children):
    ref, operands = children
    if type(ref) is BatchTracer:
        raise checks.view_mapped(typeof(ref))
    return RefView(ref, _with_slices(tree), tuple(operands))


def _hashable(tree):
    """A static index with tuples for its slices, which have no hash in older Pythons."""
    return tuple(tuple((e.start, e.stop, e.step) if isinstance(e, slice) else e for e in index)
                 for index in tree)


def _with_slices(tree):
    return tuple(tuple(slice(*e) if isinstance(e, tuple) else e for e in index) for index in tree)


# A view enters a traced function as its reference and the operands of its index.
register_node_type(NodeType(RefView, _children, _view, _named_children))


class _Viewer:
    """What `ref.at` returns: index it for a view."""

    def __init__(self, ref):
        self.ref = ref

    def __getitem__(self, idx):
        return RefView(*_parsed(self.ref, idx, "at"))


indexing_of[AbstractRef] = Indexing(get, set, _Viewer)
install_methods({"addupdate": lambda ref, x, idx=(): addupdate(ref, idx, x)}, Tracer)
