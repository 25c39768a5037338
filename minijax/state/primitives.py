"""Chapter 15: the primitives on references, and their rules.

    new_ref   : a → Ref a
    get       : Ref a → a
    swap      : Ref a, a → a            writes, and returns what was there
    addupdate : Ref a, a → ()           adds in place
    freeze    : Ref a → a               the contents, at the end of the reference's life

*Forward mode* pairs a reference with a second one for the tangent of its contents. *Transposition*
runs backwards over a third one, for their cotangent (`accumulation.py`). *Batching* adds an index
for the examples (`batching.py`).

The counterparts in JAX are in `jax/_src/state/primitives.py` and `jax/_src/core.py`.
"""

from typing import Any

from ..checks.array import concrete
from ..core.array import as_array
from ..core.batching import BatchTrace, BatchTracer, bdim_at
from ..core.core import Primitive, ShapedArray, state, typeof
from ..core.dtypes import float0
from ..core.forward import JVPTrace, Zero, primitive_jvps
from ..core.partial_eval import JaxprTrace, default_partial_eval
from ..core.primitives import convert
from ..lax.control_flow.scan import instantiate_later
from . import checks
from .indexing import accumulate, read, selected_shape, write
from .refs import ACCUM, END, MADE, READ, WRITE, AbstractRef, Ref, is_ref

NO_GRAD = "no_grad_no_remat"

# ----------------------------------------------------------------------------------------------
# Making a reference


class NewRef(Primitive):
    """`new_ref`. Differentiation and batching hold a reference even if its first contents are
    constant, because later ones may not be."""

    def bind(self, x, **params):
        return _make(state.trace, x, params)


def _make(trace, x, params):
    """A new reference, as `trace` holds it."""
    if isinstance(trace, BatchTrace):
        value, dim = trace.to_batch_info(x)
        size = trace.axis_data.size
        value = trace.in_parent(bdim_at, value, dim, size, 0 if dim is None else dim)
        return BatchTracer(trace, trace.in_parent(_make_in, value, params), dim or 0)
    if isinstance(trace, JVPTrace):
        value, tangent = trace.unbox(x)
        ref = trace.in_parent(_make_in, value, params)
        if params["kind"] == NO_GRAD:
            return ref
        return trace.box(ref, trace.in_parent(_make_tangent, tangent, params))
    if isinstance(trace, JaxprTrace) and not trace.is_unknown(x):
        return trace.in_parent(_make_in, x, params)
    return trace.process_primitive(new_ref_p, (x,), params)


def _make_in(x, params):
    return _make(state.trace, x, params)


def _make_tangent(tangent, params):
    """The tangent of a new reference. If tangents are unknown, so is this reference: what is
    written to it later may be unknown."""
    if type(tangent) is Zero and tangent.aval.dtype == float0:
        return Zero(AbstractRef(tangent.aval))
    tangent = instantiate_later(tangent)
    if isinstance(state.trace, JaxprTrace):
        return default_partial_eval(state.trace, new_ref_p, [tangent], params)
    return _make_in(tangent, params)


new_ref_p = NewRef("new_ref")


@new_ref_p.def_impl
def _new_ref(x, *, memory_space, kind):
    x = as_array(x)
    return Ref(AbstractRef(x.aval, memory_space, kind), x)


@new_ref_p.def_effectful_abstract_eval
def _new_ref_type(x, *, memory_space, kind):
    checks.contents(x, type(x) is AbstractRef)
    return AbstractRef(x, memory_space, kind), MADE


# ----------------------------------------------------------------------------------------------
# Reading and writing: values and types

get_p = Primitive("get")
swap_p = Primitive("swap")
addupdate_p = Primitive("addupdate", multiple_results=True)
freeze_p = Primitive("freeze")


@get_p.def_impl
def _get(ref, *operands, tree):
    concrete(ref)
    out = read(ref.value, tree, operands)
    if out is ref.value:
        ref.is_shared = True
    return out


@swap_p.def_impl
def _swap(ref, value, *operands, tree):
    concrete(ref)
    swap_p.out_aval((ref.aval, typeof(value), *map(typeof, operands)), {"tree": tree})
    old = read(ref.value, tree, operands)
    ref.value = as_contents(write(ref.value, tree, operands, value), ref)
    ref.is_shared = True
    return old


@addupdate_p.def_impl
def _addupdate(ref, value, *operands, tree):
    concrete(ref)
    addupdate_p.out_aval((ref.aval, typeof(value), *map(typeof, operands)), {"tree": tree})
    ref.value = as_contents(accumulate(ref.value, tree, operands, value), ref)
    ref.is_shared = True
    return []


@freeze_p.def_impl
def _freeze(ref):
    concrete(ref)
    ref.is_shared = True
    return ref.value


def as_contents(x, ref):
    """An array of the type of the reference's contents: the weak type may be another."""
    inner = ref.aval.inner_aval
    same = typeof(x).weak_type == inner.weak_type
    x = as_array(x)
    return x if same else convert(x, inner.dtype, inner.weak_type)


@get_p.def_effectful_abstract_eval
def _get_type(ref, *operands, tree):
    shape = selected_shape(tree, operands, ref.shape)
    return ref.inner_aval.update(shape=shape), READ


@swap_p.def_effectful_abstract_eval
def _swap_type(ref, value, *operands, tree):
    checks.contents(value, type(value) is AbstractRef)
    shape = selected_shape(tree, operands, ref.shape)
    checks.stored("swap", ref, shape, value)
    return ref.inner_aval.update(shape=shape), WRITE


@addupdate_p.def_effectful_abstract_eval
def _addupdate_type(ref, value, *operands, tree):
    checks.contents(value, type(value) is AbstractRef)
    checks.stored("addupdate", ref, selected_shape(tree, operands, ref.shape), value)
    return [], ACCUM


@freeze_p.def_effectful_abstract_eval
def _freeze_type(ref):
    return ref.inner_aval, END

# ----------------------------------------------------------------------------------------------
# Forward mode


def _get_jvp(primals, tangents, *, tree):
    out = get_p.bind(*primals, tree=tree)
    if type(tangents[0]) is Zero:
        return out, Zero.from_primal_value(out)
    return out, get_p.bind(tangents[0], *primals[1:], tree=tree)


def _swap_jvp(primals, tangents, *, tree):
    (ref, _, *operands), (ref_dot, value_dot, *_) = primals, tangents
    ignored = _ignores_tangents(ref, ref_dot, value_dot)
    out = swap_p.bind(*primals, tree=tree)
    if ignored:
        return out, Zero.from_primal_value(out)
    return out, swap_p.bind(ref_dot, instantiate_later(value_dot), *operands, tree=tree)


def _ignores_tangents(ref, ref_dot, value_dot) -> bool:
    """Whether nothing is to be done for the tangent of a write."""
    if ref.aval.kind == NO_GRAD or type(ref_dot) is Zero and type(value_dot) is Zero:
        return True
    if type(ref_dot) is Zero:
        raise checks.differentiated_write(ref.aval)
    return False


def _addupdate_jvp(primals, tangents, *, tree):
    (ref, _, *operands), (ref_dot, value_dot, *_) = primals, tangents
    addupdate_p.bind(*primals, tree=tree)
    if not _ignores_tangents(ref, ref_dot, value_dot) and type(value_dot) is not Zero:
        addupdate_p.bind(ref_dot, value_dot, *operands, tree=tree)
    return [], []


def _freeze_jvp(primals, tangents):
    out = freeze_p.bind(*primals)
    (ref_dot,) = tangents
    return out, Zero.from_primal_value(out) if type(ref_dot) is Zero else freeze_p.bind(ref_dot)


primitive_jvps.update({get_p: _get_jvp, swap_p: _swap_jvp, addupdate_p: _addupdate_jvp,
                       freeze_p: _freeze_jvp})

# ----------------------------------------------------------------------------------------------
# Contents


def inner_type(aval: Any) -> ShapedArray:
    """The type of the contents of a reference; any other type as it is."""
    return aval.inner_aval if type(aval) is AbstractRef else aval


def contents_of(x: Any) -> Any:
    """The contents of a reference; any other value as it is."""
    return get_p.bind(x, tree=()) if is_ref(x) else x
