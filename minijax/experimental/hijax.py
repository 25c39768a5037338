"""Chapter 16: `jax.experimental.hijax`: operations with rules that are methods of a class.

A `VJPHiPrimitive` is an operation on pytrees of arrays that is `expand`ed where it is computed, and
that has its own rules for derivatives and batching. A `HiPrimitive` is the same, one array at a
time, with the rules of chapter 1's `Primitive`.

A `HiType` is a type of values that are no arrays, and a `MutableHiType` one of values that change.
`mutable_values.py` says how they are traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

from ..core.core import pytype_aval_mappings
from ..core.effects import control_flow_allowed_effects as control_flow_allowed_effects
from ..core.api import vmap
from ..core.batching import BatchTrace, WithTrace, containers, primitive_batchers
from ..core.core import (
    Primitive,
    ShapedArray as ShapedArray,
    Tracer,
    install_methods,
    state,
    typeof,
)
from ..core.forward import (
    JVPTrace,
    Zero as Zero,
    instantiate_zeros as instantiate_zeros,
    jvpfun,
    primitive_jvps,
    zeros,
)
from ..core.lowering import register_lowering
from ..core.partial_eval import JaxprTrace
from ..core.staging import DynamicJaxprTracer
from ..core.transposition import (
    is_undefined_primal as is_undefined_primal,
    primitive_transposes,
)
from ..core.primitives import add_any_p
from ..core.tree import tree_flatten, tree_leaves, tree_map
from ..custom_rules import custom_vjp
from ..custom_rules import custom_vjp as custom_vjp3  # JAX has it twice
from ..lax.families import lower_fun
from ..state.functions import RefView as TransformedRef
from ..state.refs import AbstractRef as AbstractRef
from .mapped_values import (
    MappingSpec as MappingSpec,
    batch_trace_of,
    example_of,
    mapped_by_spec,
    sum_of_examples,
    unmapped,
)
from .mutable_values import (
    Untraced,
    guarded,
    is_high,
    made,
    register_class,
    resolved,
    without_derivative,
)

AbstractValue = ShapedArray

# ----------------------------------------------------------------------------------------------
# Operations on pytrees of arrays


class VJPHiPrimitive:
    """An operation on pytrees of arrays. A subclass sets, before it calls `super().__init__()`:

      in_avals: the types of the arguments, a tuple of pytrees.
      out_aval: the type of the result, a pytree.
      params: a dictionary of parameters, which become attributes.

    It defines `expand(*args)`, and may define:

      vjp_fwd(nonzeros, *args) -> (result, residuals), with
        vjp_bwd_retval(residuals, ct) -> cotangents of the arguments, or
        vjp_bwd(residuals, ct, *accumulators), which calls their method `accum`;
      jvp(primals, tangents) -> (result, tangent);
      lin(nonzeros, *args) -> (result, residuals), with linearized(residuals, *tangents) -> tangent;
      transpose(ct, *args), where linear arguments are accumulators;
      batch_dim_rule(axis_data, dims) -> dimension(s) of the result, or
        batch(axis_data, args, dims) -> (result, dimension(s)).

    >>> from minijax.experimental.hijax import VJPHiPrimitive
    >>> class Square(VJPHiPrimitive):
    ...     def __init__(self, aval):
    ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
    ...         super().__init__()
    ...     def expand(self, x):
    ...         return x * x
    ...     def jvp(self, primals, tangents):
    ...         return self(*primals), 2 * primals[0] * tangents[0]
    >>> jax.jvp(lambda x: Square(jax.typeof(x))(x), (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """

    in_avals: tuple
    out_aval: Any
    params: dict[str, Any]
    effects: frozenset = frozenset()

    def __init__(self):
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(f"{type(self).__name__}.__init__ must set `self.{name}` "
                                     "before it calls `super().__init__()`.")
        if _defines(self, "vjp_bwd") and _defines(self, "vjp_bwd_retval"):
            raise AttributeError(f"{type(self).__name__} must not define both `vjp_bwd` and "
                                 "`vjp_bwd_retval`.")
        self.in_avals_flat, self.in_tree = tree_flatten(self.in_avals)
        self.out_avals_flat, self.out_tree = tree_flatten(self.out_aval)
        vars(self).update(self.params)
        self._is_high = any(getattr(aval, "is_high", False)
                            for aval in (*self.in_avals_flat, *self.out_avals_flat))
        self.check(*self.in_avals)

    def check(self, *in_avals: Any) -> None:
        """Raise an error for types that the operation does not take."""

    def expand(self, *args: Any) -> Any:
        """The result."""
        raise _missing(self, "expand")

    def vjp_fwd(self, nonzeros: Any, /, *args: Any) -> Any:
        """The result, and what `vjp_bwd` needs."""
        raise _missing(self, "vjp_fwd", "grad")

    def vjp_bwd(self, residuals: Any, ct: Any, /, *accumulators: Any) -> None:
        """Add the cotangents of the arguments to the accumulators."""
        cts = self.vjp_bwd_retval(residuals, ct)
        tree_map(lambda accumulator, ct: accumulator.accum(ct), accumulators, tuple(cts))

    def vjp_bwd_retval(self, residuals: Any, ct: Any, /) -> Any:
        """The cotangents of the arguments."""
        raise _missing(self, "vjp_bwd` or `vjp_bwd_retval", "grad")

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """The result, and its tangent."""
        raise _missing(self, "jvp", "jvp")

    def lin(self, nonzeros: Any, *primals: Any) -> Any:
        """The result, and what `linearized` needs."""
        raise _missing(self, "lin` and `linearized", "linearize")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """The tangent of the result."""
        raise _missing(self, "lin` and `linearized", "linearize")

    def transpose(self, ct: Any, *args: Any) -> None:
        """Add the cotangents of the linear arguments to the accumulators in their places."""
        raise _missing(self, "transpose", "transpose")

    def batch(self, axis_data: Any, args: Any, dims: Any) -> Any:
        """The results for all examples, and their batch dimension(s)."""
        out_dim = self.batch_dim_rule(axis_data, dims)
        return VmapOf(self, axis_data, dims, out_dim)(*args), out_dim

    def batch_dim_rule(self, axis_data: Any, dims: Any, /) -> Any:
        """The batch dimension(s) of the result."""
        raise _missing(self, "batch` or `batch_dim_rule", "vmap")

    def __call__(self, *args: Any) -> Any:
        leaves, tree = tree_flatten(args)
        if tree != self.in_tree:
            raise ValueError(f"{self}: expected arguments of structure {self.in_tree}, got {tree}.")
        if self._is_high and not any(map(is_differentiated, leaves)):
            trace = batch_trace_of(leaves)
            if trace and (_defines(self, "batch") or _defines(self, "batch_dim_rule")):
                return self.out_tree.unflatten(_batched(self, trace, leaves))
            if not any(map(_has_type_only, leaves)):
                leaves = [resolved(x) if is_high(x) else x for x in leaves]
                outs, tree = tree_flatten(made(self.expand(*self.in_tree.unflatten(leaves))))
                return tree.unflatten(guarded(outs, type(self).__name__))
        return self.out_tree.unflatten(call_hi_primitive_p.bind(*leaves, _prim=self))

    def __eq__(self, other):
        return type(self) is type(other) and self.params == other.params

    def __hash__(self):
        return hash((type(self).__name__, tuple(self.params.items())))

    def __repr__(self):
        return f"{type(self).__name__}[{self.params}]"


def _defines(prim: VJPHiPrimitive, *methods: str) -> bool:
    """Whether the class of an operation defines these methods itself."""
    return all(getattr(type(prim), name) is not getattr(VJPHiPrimitive, name) for name in methods)


def _missing(prim: VJPHiPrimitive, method: str, use: str = "") -> NotImplementedError:
    why = f"for {use} support, " if use else ""
    return NotImplementedError(f"{why}subclass {type(prim)} must implement `{method}`")


class GradAccum:
    """What the cotangents of an argument are added to."""

    def __init__(self, aval: Any):
        self.aval = aval

    def accum(self, ct: Any) -> None:
        """Add a cotangent."""


class NullAccum(GradAccum):
    """For an argument without a tangent: its cotangents are dropped."""

    def total(self):
        return zeros(self.aval.to_tangent_aval())


class _Accumulator(GradAccum):
    """What `vjp_bwd` and `transpose` add the cotangent of an argument to."""

    def __init__(self, aval):
        self.aval, self.ct = aval, None

    def accum(self, ct: Any) -> None:
        """Add a cotangent. A `Zero`, or `None`, adds nothing."""
        if ct is not None and not isinstance(ct, Zero):
            self.ct = ct if self.ct is None else self.ct + ct

    def total(self):
        return zeros(self.aval.to_tangent_aval()) if self.ct is None else self.ct


call_hi_primitive_p = Primitive("call_hi_primitive", multiple_results=True, memoize_avals=False)


def _expanded(*leaves, _prim):
    outs, tree = tree_flatten(_prim.expand(*_prim.in_tree.unflatten(leaves)))
    if tree != _prim.out_tree:
        raise ValueError(f"{_prim}: `expand` returned {tree}, out_aval has {_prim.out_tree}.")
    return outs


call_hi_primitive_p.def_impl(_expanded)
register_lowering(call_hi_primitive_p, lower_fun(_expanded, multiple_results=True))


@call_hi_primitive_p.def_effectful_abstract_eval
def _types(*avals, _prim):
    for aval, wanted in zip(avals, _prim.in_avals_flat, strict=True):
        if getattr(wanted, "is_high", False):
            continue
        if (aval.shape, aval.dtype) != (wanted.shape, wanted.dtype):
            raise TypeError(f"{_prim}: expected an argument of type {wanted.str_short(True)}, got "
                            f"{aval.str_short(True)}.")
    return _prim.out_avals_flat, _prim.effects


def _jvp(primals, tangents, *, _prim):
    """Where tangents are waited for (in `linearize`), the rules for that come first. So they do in
    a program, which may be linearized later, if there is no other rule."""
    args = _prim.in_tree.unflatten(primals)
    waiting = isinstance(state.trace, JaxprTrace) or (
        state.trace.staging and not _defines(_prim, "jvp"))
    if waiting and _defines(_prim, "vjp_fwd"):
        fun = _with_vjp(_prim, [not isinstance(t, Zero) for t in tangents])
        return jvpfun(fun, primals, tangents)
    nonzeros = _prim.in_tree.unflatten([not isinstance(t, Zero) for t in tangents])
    directions = _prim.in_tree.unflatten(map(_instantiated, tangents))
    if waiting and _defines(_prim, "lin", "linearized"):
        out, residuals, *_ = _prim.lin(nonzeros, *args)
        tangent = _prim.linearized(residuals, *directions)
    else:
        out, tangent = _prim.jvp(args, directions)
    return tree_leaves(out), _prim.out_tree.flatten_up_to(tangent)


def _instantiated(tangent):
    """A tangent as a value. A type of hijax says what its zero is."""
    if isinstance(tangent, Zero) and getattr(tangent.aval, "is_high", False):
        return tangent.aval.vspace_zero()
    return instantiate_zeros(tangent)


def _with_vjp(prim, nonzeros):
    """The operation on flat arguments, with its rule for reverse mode. `nonzeros` says for each
    argument whether it has a tangent."""
    fun = custom_vjp(lambda *leaves: tree_leaves(prim(*prim.in_tree.unflatten(leaves))))

    def fwd(*leaves):
        out, residuals, *_ = prim.vjp_fwd(prim.in_tree.unflatten(nonzeros),
                                          *prim.in_tree.unflatten(leaves))
        return tree_leaves(out), residuals

    def bwd(residuals, cts):
        accumulators = [(_Accumulator if nonzero else NullAccum)(aval)
                        for nonzero, aval in zip(nonzeros, prim.in_avals_flat)]
        prim.vjp_bwd(residuals, prim.out_tree.unflatten(cts),
                     *prim.in_tree.unflatten(accumulators))
        return tuple(accumulator.total() for accumulator in accumulators)

    fun.defvjp(fwd, bwd)
    return fun


def _transpose(cts, *leaves, _prim):
    slots = [_Accumulator(x.aval) if is_undefined_primal(x) else x for x in leaves]
    cts = _prim.out_tree.unflatten(map(_instantiated, cts))
    _prim.transpose(cts, *_prim.in_tree.unflatten(slots))
    return [slot.total() if isinstance(slot, _Accumulator) else None for slot in slots]


def _batch(trace, leaves, dims, *, _prim):
    args, in_dims = _prim.in_tree.unflatten(leaves), _prim.in_tree.unflatten(dims)
    out, out_dims = _prim.batch(trace.axis_data, args, in_dims)
    return tree_leaves(out), _dims_of(_prim.out_tree, out_dims)


def _batched(prim: VJPHiPrimitive, trace: BatchTrace, leaves: Sequence) -> list:
    """The results for one example, by the rule of the operation. This is done without an equation,
    because results that are no arrays are mapped by specs, which `BatchTrace` does not know."""
    values, dims = zip(*map(trace.to_batch_info, leaves))
    args, in_dims = prim.in_tree.unflatten(values), prim.in_tree.unflatten(dims)
    out, out_dims = trace.in_parent(prim.batch, trace.axis_data, args, in_dims)
    return [example_of(trace, x, d)
            for x, d in zip(tree_leaves(out), _dims_of(prim.out_tree, out_dims))]


def _dims_of(tree, dims) -> list:
    """A batch dimension for each leaf; `None` is one."""
    leaves, _ = tree_flatten(dims, is_leaf=lambda x: x is None)
    return leaves if len(leaves) == tree.num_leaves else leaves * tree.num_leaves


primitive_jvps[call_hi_primitive_p] = _jvp
primitive_transposes[call_hi_primitive_p] = _transpose
primitive_batchers[call_hi_primitive_p] = WithTrace(_batch)


class VmapOf(VJPHiPrimitive):
    """An operation for many examples, with the rules of the operation for one."""

    prim: VJPHiPrimitive
    axis_data: Any
    in_dims: Any
    out_dim: Any

    def __init__(self, prim, axis_data, in_dims, out_dim):
        self.in_dims_flat = tuple(_dims_of(prim.in_tree, in_dims))
        out_dims = _dims_of(prim.out_tree, out_dim)
        size = axis_data.size
        self.in_avals = prim.in_tree.unflatten([
            unmapped(size, d, aval) for d, aval in zip(self.in_dims_flat, prim.in_avals_flat)])
        self.out_aval = prim.out_tree.unflatten([
            unmapped(size, d, aval) for d, aval in zip(out_dims, prim.out_avals_flat)])
        self.params = {"prim": prim, "axis_data": axis_data, "in_dims": in_dims,
                       "out_dim": out_dim}
        for method in ("vjp_fwd", "jvp", "lin"):  # what the operation lacks, this lacks, too
            if not _defines(prim, method):
                setattr(self, method, getattr(prim, method))
        super().__init__()

    def __hash__(self):
        return hash((self.prim, self.axis_data, self.in_dims_flat))

    def _vmap(self, fun, in_axes, out_axes):
        return vmap(fun, in_axes, out_axes, self.axis_data.name, self.axis_data.size,
                    self.axis_data.spmd_name)

    def expand(self, *args):
        return self._vmap(self.prim.expand, self.in_dims, self.out_dim)(*args)

    def jvp(self, primals, tangents):
        return self._vmap(self.prim.jvp, (self.in_dims, self.in_dims),
                          (self.out_dim, self.out_dim))(primals, tangents)

    def vjp_fwd(self, nonzeros, /, *args):
        def fwd(*args):
            out, residuals, *_ = self.prim.vjp_fwd(nonzeros, *args)
            return out, residuals

        return self._vmap(fwd, self.in_dims, (self.out_dim, 0))(*args)

    def vjp_bwd(self, residuals, ct, /, *accumulators):
        def bwd(residuals, ct):
            inner = [*map(_Accumulator, self.prim.in_avals_flat)]
            self.prim.vjp_bwd(residuals, ct, *self.prim.in_tree.unflatten(inner))
            return [accumulator.total() for accumulator in inner]

        axes = [0 if d is None else d for d in self.in_dims_flat]
        cts = self._vmap(bwd, (0, self.out_dim), axes)(residuals, ct)
        for accumulator, x, d in zip(tree_leaves(accumulators), cts, self.in_dims_flat):
            accumulator.accum(x.sum(0) if d is None else x)

    def batch_dim_rule(self, axis_data, dims, /):
        """The rule for one example does not see the inner batch dimension of an operand, so it is
        told the outer one without it. Its answer does not count the inner one of the result."""
        dims = _dims_of(self.in_tree, dims)
        seen = [d if d is None or inner is None else d - (inner < d)
                for d, inner in zip(dims, self.in_dims_flat)]
        out_dim = self.prim.batch_dim_rule(axis_data, self.in_tree.unflatten(seen))
        return self.out_tree.unflatten([
            d if d is None or inner is None else d + (inner <= d)
            for d, inner in zip(_dims_of(self.out_tree, out_dim),
                                _dims_of(self.out_tree, self.out_dim))])


# ----------------------------------------------------------------------------------------------
# Operations on arrays, and types of other values


class HiPrimitive(Primitive):
    """A primitive whose rules are methods.

    A subclass defines `abstract_eval(*avals, **params) -> (aval(s), effects)` and
    `to_lojax(*args, **params)`, and may define `jvp(primals, tangents, **params)` and
    `transpose(ct, *args, **params)`.
    """

    is_plain = False  # whether the derivative is that of `to_lojax`

    def __init__(self, name: str):
        super().__init__(name, type(self).multiple_results)
        self.def_effectful_abstract_eval(self.abstract_eval)
        self.def_impl(lambda *args, **params: self.to_lojax(*args, **params))
        register_lowering(self, lower_fun(self.impl, self.multiple_results))
        primitive_jvps[self] = lambda primals, tangents, **params: self.jvp(
            primals, tangents, **params)
        primitive_transposes[self] = lambda ct, *args, **params: self.transpose(
            ct, *args, **params)

    def bind(self, *args, **params):
        high = any(map(is_high, args))
        if high:
            args = [resolved(x) if is_high(x) else without_derivative(x) for x in args]
        # What differentiates sees the operation, and applies its rules. All others see arrays.
        if any(map(is_differentiated, args)) or any(map(_has_type_only, args)):
            return super().bind(*args, **params)
        if high or self._makes_values(args, params):
            out = made(self.to_lojax(*args, **params))
            has_rule = type(self).jvp is not HiPrimitive.jvp and not self.is_plain
            return guarded(out, self.name) if has_rule else out
        return super().bind(*args, **params)

    def _makes_values(self, args, params) -> bool:
        """Whether the results of an operation on arrays are no arrays."""
        if not args:
            return True
        avals, _ = type(self).abstract_eval(self, *map(typeof, args), **params)
        avals = avals if isinstance(avals, (list, tuple)) else [avals]
        return any(getattr(aval, "is_high", False) for aval in avals)

    def is_high(self, *avals: Any, **params: Any) -> bool:
        """Whether the operation is on other values than arrays."""
        return True

    def is_effectful(self, params: dict) -> bool:
        """Whether an application has effects."""
        return False

    def to_lojax(self, *args: Any, **params: Any) -> Any:
        """The result, by other primitives."""
        raise NotImplementedError(f"{type(self).__name__} must define `to_lojax`.")

    def jvp(self, primals: Sequence, tangents: Sequence, **params: Any) -> Any:
        """The result(s), and their tangents."""
        raise NotImplementedError(f"{type(self).__name__} must define `jvp` for derivatives.")

    def transpose(self, *args: Any, **params: Any) -> Any:
        """The cotangents of the operands."""
        raise NotImplementedError(f"{type(self).__name__} must define `transpose`.")


def is_differentiated(x: Any) -> bool:
    """Whether a value has a tangent, or is one."""
    return isinstance(x, Tracer) and isinstance(x._trace, (JVPTrace, JaxprTrace))


def _has_type_only(x: Any) -> bool:
    """Whether `x` is traced for `eval_shape` or `make_jaxpr`, which know no arrays of a value."""
    return isinstance(x, DynamicJaxprTracer) and getattr(x.aval, "is_high", False)


class _NoDType:
    """In place of the dtype of an array. It is equal to that of the same type."""

    name = "hijax"
    kind = "O"

    def __init__(self, type_of_values: HiType):
        self._type = type_of_values

    def __eq__(self, other):
        return isinstance(other, _NoDType) and self._type == other._type

    def __hash__(self):
        return hash((_NoDType, self._type))

    @property
    def dtype(self) -> Any:
        """NumPy asks for it, where a value that is no array is taken for a constant array: one that
        a jitted function returns, for example."""
        raise Untraced


# What types that do not say it answer. (They may be dataclasses, so a class attribute would be
# the default of a field.)
class _NoShape(tuple):
    """The shape of a value that is no array. The engine has a `MappingSpec` for a dimension, where
    it batches a call of a function with such an operand."""

    __slots__ = ()

    def __getitem__(self, i):
        if isinstance(i, MappingSpec):
            raise NotImplementedError(
                f"A value that vmap maps by {i} was passed to a function with rules of its own, or "
                "to a transformation. Pass its elements, which are arrays.")
        return super().__getitem__(i)


_AS_OF_A_SCALAR: dict[str, Any] = {"shape": _NoShape(), "ndim": 0}


class HiType:
    """A type of values that are no arrays. Subclasses say how arrays represent a value:
    `lo_ty()`, `lower_val(value)`, `raise_val(*arrays)`. They may say

      to_tangent_aval(), vspace_zero(), vspace_add(x, y): for derivatives;
      dec_rank(size, spec), inc_rank(size, spec): for `vmap`, with a `MappingSpec`;
      leading_axis_spec(): for `scan`.
    """

    is_high = True
    has_qdd = False
    # What the engine asks of the type of an array.
    dtype: Any = property(_NoDType)
    weak_type = False
    placement: Any = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        containers[cls] = mapped_by_spec

    def __getattr__(self, name):
        if name in _AS_OF_A_SCALAR:
            return _AS_OF_A_SCALAR[name]
        if name == "update":
            raise NotImplementedError(
                f"A value of type {type(self).__name__}, a type of hijax, cannot be traced in this "
                "way in minijax. Pass arrays, `lower_val` makes them.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def str_short(self, short_dtypes: bool = False, **options: Any) -> str:
        """The type as text."""
        return repr(self)

    def to_ct_aval(self) -> Any:
        """The type of cotangents."""
        return self.to_tangent_aval()

    to_cotangent_aval = to_ct_aval


class HiPspec:
    """How a value of a `HiType` is cut for `shard_map`, which takes arrays only: nothing is of this
    class."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{cls.__name__}: `shard_map` takes arrays only. Pass it the "
                                  "arrays that the value consists of.")


class MutableHiType(HiType):
    """A type of values that change. Subclasses say how arrays represent a value: `lo_ty_qdd`,
    `new_from_loval`, `read_loval`, `update_from_loval`."""

    has_qdd = True
    is_writer = False

    def lo_ty(self) -> list:
        """The types of the arrays of a value depend on its state."""
        raise NotImplementedError("The arrays of a value that changes are those of `lo_ty_qdd`.")




def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Declare the type of the values of a class.

    Args:
      val_cls: the class.
      typeof_fn: from a value to its type, a `HiType`.
    """
    pytype_aval_mappings[val_cls] = typeof_fn
    containers[val_cls] = mapped_by_spec
    primitive_batchers[add_any_p] = sum_of_examples
    register_class(val_cls)


def _of_type(tracer: Tracer, name: str) -> Any:
    """What a type has for its tracers: an `aval_method` or an `aval_property`."""
    if name not in ("aval", "_trace"):
        found = getattr(type(tracer.aval), name, None)
        if isinstance(found, aval_method):
            return MethodType(found.fun, tracer)
        if isinstance(found, aval_property):
            return found.fget(tracer)
    raise AttributeError(f"{type(tracer).__name__!r} object has no attribute {name!r}")


install_methods({"__getattr__": _of_type}, Tracer)


@dataclass(frozen=True)
class AvalQDD:
    """A type of values that change, and what is known of the value now."""

    aval: Any
    qdd: Any
    is_high = True
    has_qdd = True


@dataclass(frozen=True)
class AvalMutableQDD:
    """A type, and what is known of its value, which tracing changes."""

    aval: Any
    mutable_qdd: Any


class aval_method:
    """In the class of a type: a method that tracers of the type have, too."""

    def __init__(self, fun: Callable):
        self.fun = fun


class aval_property:
    """In the class of a type: a property that tracers of the type have, too."""

    def __init__(self, fget: Callable):
        self.fget = fget


# What `dir` shows: JAX's names.
_SHOWN = """AbstractRef AbstractValue AvalMutableQDD AvalQDD HiPrimitive HiPspec HiType
    MutableHiType ShapedArray TransformedRef VJPHiPrimitive Zero aval_method aval_property
    control_flow_allowed_effects instantiate_zeros is_undefined_primal register_hitype""".split()


def __dir__():
    return [*_SHOWN]
