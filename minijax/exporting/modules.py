"""Chapter 16: the StableHLO module of an exported function.

It holds all constants, since no caller passes them later, and says which arguments may be donated.
If it is for several platforms, its first argument is the number of the platform.

If sizes are not known, types have a `?` in their place. The sizes of the arguments are read at the
head of the function, and all others are computed there. Operations that make arrays of such sizes
take them as an operand, as `dynamic_broadcast_in_dim`, `dynamic_reshape` … Everything stands in one
function, in which all sizes are at hand. XLA compiles only known sizes, so a caller refines the
module first (`calling.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core.core import ShapedArray
from ..core.jaxpr import ClosedJaxpr, JaxprEqn
from ..core.jit import Spec
from ..core.lowering import (
    Body,
    Constant,
    Value,
    ints_text,
    lowering_rules,
    stored,
    tensor_type,
    typed_text,
)
from ..core.primitives import lowest
from ..lax.families import lower_fun
from ..lax.reductions import highest
from ..numpy import logaddexp
from ..random.keys import random_unwrap_p, random_wrap_p
from ..runtime.modules import DonatingModule, ProgramBody
from ..settings import enable_x64
from .dimensions import Dim, Operation, variables


def is_symbolic(aval: Any) -> bool:
    """Whether a type has a size that is not known."""
    return any(isinstance(size, Dim) for size in aval.shape)


class ExportedBody(ProgramBody):
    """A function of an exported module."""

    module: ExportedModule  # type: ignore[assignment]

    def constant_name(self, value: Any, aval: ShapedArray) -> str:
        if is_symbolic(aval):
            scalar = Constant(self, value, stored(aval).update(shape=()))
            return self._spread(scalar, aval.shape, ()).name
        return Body.constant_name(self, value, aval)

    def text(self, arguments: Sequence[str], results: Sequence[Value], visibility: str) -> str:
        if visibility == "public" and len(self.module.platforms) > 1:
            arguments = [_PLATFORM, *arguments]
        return super().text(arguments, results, visibility)

    # Sizes that are not known. Their lines stand at the head, among the constants.

    def call(self, jaxpr: ClosedJaxpr, operands: Sequence[Value], name: str) -> list[Value]:
        if self.module.is_symbolic:
            return self.inline(jaxpr, operands)
        return super().call(jaxpr, operands, name)

    def op(self, text: str, aval: ShapedArray) -> Value:
        if text.startswith("stablehlo.iota dim") and is_symbolic(aval):
            text = text.replace("iota", f"dynamic_iota {self.sizes(aval.shape)},")
            text = text.replace(" : ", f" : (tensor<{aval.ndim}xi32>) -> ")
        return super().op(text, aval)

    def rule_of(self, eqn: JaxprEqn) -> Callable:
        rule = super().rule_of(eqn)
        if not any(is_symbolic(v.aval) for v in (*eqn.invars, *eqn.outvars)):
            return rule
        if eqn.primitive.name in DYNAMIC_RULES:
            return DYNAMIC_RULES[eqn.primitive.name]
        if eqn.primitive.name in _SHAPELESS or eqn.primitive.name.startswith("reduce_"):
            return rule
        raise NotImplementedError(
            f"export: {eqn.primitive} of arrays whose sizes are not known: {eqn}. Export the "
            "function for sizes that are known.")

    def broadcast(self, x: Value, shape: tuple[int, ...],
                  dims: Sequence[int] | None = None) -> Value:
        if x.aval.shape == shape or not any(isinstance(size, Dim) for size in shape):
            return super().broadcast(x, shape, dims)
        if type(x) is Constant and not x.aval.shape:
            return Constant(self, x.value, ShapedArray(shape, x.aval.dtype))
        return self._spread(x, shape, range(x.aval.ndim) if dims is None else dims)

    def constant(self, value: Any, aval: ShapedArray) -> Value:
        if isinstance(value, Dim):
            return Value(self.size(value), aval)
        return super().constant(value, aval)

    def _spread(self, x: Value, shape: tuple, dims: Sequence[int]) -> Value:
        sizes, out = self.sizes(shape), ShapedArray(shape, x.aval.dtype)
        kinds = f"({x.type}, tensor<{len(shape)}xi32>) -> {tensor_type(out)}"
        return self.op(f"stablehlo.dynamic_broadcast_in_dim {x.name}, {sizes}, "
                       f"dims = {ints_text(dims)} : {kinds}", out)

    def head_line(self, text: str) -> str:
        """The name of what a line at the head of the function computes."""
        return self.constants.setdefault(text, f"%c{len(self.constants)}")

    def size(self, size: Any) -> str:
        """The name of a size, as a scalar."""
        if not isinstance(size, Dim):
            return self.head_line(f"stablehlo.constant dense<{size}> : tensor<i32>")
        terms = []
        for monomial, coefficient in size.coefficients.items():
            term = self.size(coefficient)
            for factor, power in monomial:
                for _ in range(power):
                    term = self._scalar("multiply", term, self._factor(factor))
            terms.append(term)
        total = terms[0]
        for term in terms[1:]:
            total = self._scalar("add", total, term)
        return total

    def _scalar(self, op, *names):
        return self.head_line(f"stablehlo.{op} {', '.join(names)} : tensor<i32>")

    def _factor(self, factor) -> str:
        if not isinstance(factor, Operation):
            return self._variable(factor)
        left, right = self.size(factor.left), self.size(factor.right)
        if factor.name in ("max", "min"):
            return self._scalar(f"{factor.name}imum", left, right)
        # XLA rounds to zero, Python down. Dividends can be negative, divisors are not.
        rest = self._scalar("add", self._scalar("remainder", left, right), right)
        rest = self._scalar("remainder", rest, right)
        if factor.name == "mod":
            return rest
        return self._scalar("divide", self._scalar("subtract", left, rest), right)

    def _variable(self, name: str) -> str:
        """A variable, from the size of an argument that is a multiple of it and a number."""
        where, d, factor, offset = self.module.sources[name]
        aval = self.module.in_avals[where]
        size = self.head_line(f"stablehlo.get_dimension_size %arg{where}, dim = {d} : "
                              f"({tensor_type(aval)}) -> tensor<i32>")
        if offset:
            size = self._scalar("subtract", size, self.size(offset))
        return size if factor == 1 else self._scalar("divide", size, self.size(factor))

    def sizes(self, shape: Sequence) -> str:
        """The name of a vector of sizes."""
        if not shape:
            return self.head_line("stablehlo.constant dense<> : tensor<0xi32>")
        names = [self.head_line(f"stablehlo.reshape {self.size(size)} : (tensor<i32>) -> "
                                "tensor<1xi32>") for size in shape]
        kinds = ", ".join(["tensor<1xi32>"] * len(names))
        return self.head_line(f"stablehlo.concatenate {', '.join(names)}, dim = 0 : ({kinds}) -> "
                              f"tensor<{len(names)}xi32>")


_PLATFORM = '%platform: tensor<i32> {jax.global_constant = "_platform_index"}'


class ExportedModule(DonatingModule):
    """The module of a function that is exported for some platforms.

    Each variable of the arguments' sizes is in `sources`: the number of an argument, a dimension of
    it, and the factor and the offset with which its size is made of the variable.
    """

    body_class = ExportedBody

    def __init__(self, jaxpr: ClosedJaxpr, spec: Spec, platforms: tuple[str, ...]):
        super().__init__(jaxpr, spec)
        self.platforms, self.in_avals = platforms, jaxpr.in_avals
        self.sources = find_sources(jaxpr.in_avals)
        self.is_symbolic = bool(self.sources)
        polymorphic = self.is_symbolic or len(platforms) > 1
        self.attributes = (f"jax.uses_shape_polymorphism = {str(polymorphic).lower()}, "
                           f"{DonatingModule.attributes}")


def find_sources(avals: Sequence[ShapedArray]) -> dict[str, tuple[int, int, int, int]]:
    """Where the variables of these types can be read.

    Raises:
      ValueError: of one of them no size is a multiple, and a number; or scopes are mixed.
    """
    sizes: list[Any] = [size for aval in avals for size in aval.shape if isinstance(size, Dim)]
    for size in sizes:
        sizes[0].check_same_scope(size)
    places: list[Any] = [(size, i, d) for i, aval in enumerate(avals)
                         for d, size in enumerate(aval.shape) if isinstance(size, Dim)]
    sources: dict[str, tuple[int, int, int, int]] = {}
    for size, i, d in places:
        names, coefficients = variables(size), dict(size.coefficients)
        offset = coefficients.pop((), 0)
        if len(names) == 1 and [*coefficients] == [(((name := min(names)), 1),)]:
            sources.setdefault(name, (i, d, coefficients[((name, 1),)], offset))
    unknown = set().union(*(variables(size) for size, *_ in places)) - sources.keys()
    if unknown:
        raise ValueError(
            f"Cannot solve for values of dimension variables {unknown}. We can only solve linear "
            "uni-variate constraints: name each variable in a size that depends on no other.")
    return sources


# ----------------------------------------------------------------------------------------------
# Lowering rules for arrays whose sizes are not known

# Primitives whose rules write only the types of operands and results, or spread scalars.
_SHAPELESS = frozenset("""
    abs acos acosh add add_any and argmax argmin asin asinh atan atan2 atanh bitcast_convert_type
    cbrt ceil clamp concatenate cond conv_general_dilated convert_element_type copy cos cosh
    custom_jvp_call custom_vjp_call dim_as_value div dot_general dynamic_slice dynamic_update_slice
    eq erf erf_inv erfc exp exp2 expm1 fft floor gather ge gt imag integer_pow is_finite jit le
    le_to lgamma log log1p logistic lt lt_to max min mul name ne neg not optimization_barrier or
    population_count pow random_bits random_gamma random_split real rem remat2 rev round rsqrt scan
    scatter scatter-add select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh
    sort sqrt square stop_gradient sub tan tanh threefry2x32 top_k transpose while xor
    """.split())


def _broadcast_in_dim(ctx, x, *, shape, broadcast_dimensions, **params):
    return ctx.broadcast(x, shape, broadcast_dimensions)


def _reshape(ctx, x, **params):
    (out,) = ctx.avals_out
    if not is_symbolic(out):
        return ctx.op(f"stablehlo.reshape {x.name} : ({x.type}) -> {tensor_type(out)}", out)
    kinds = f"({x.type}, tensor<{out.ndim}xi32>) -> {tensor_type(out)}"
    return ctx.op(f"stablehlo.dynamic_reshape {x.name}, {ctx.sizes(out.shape)} : {kinds}", out)


def _iota(ctx, *, dimension, **params):
    (out,) = ctx.avals_out
    return ctx.op(f"stablehlo.iota dim = {dimension} : {tensor_type(out)}", out)


def _slice(ctx, x, *, start_indices, limit_indices, strides):
    (out,) = ctx.avals_out
    ones = strides or (1,) * len(start_indices)
    vectors = [ctx.sizes(entries) for entries in (start_indices, limit_indices, ones)]
    kinds = ", ".join([x.type] + [f"tensor<{x.aval.ndim}xi32>"] * 3)
    return ctx.op(f"stablehlo.real_dynamic_slice {x.name}, {', '.join(vectors)} : ({kinds}) -> "
                  f"{tensor_type(out)}", out)


def _pad(ctx, x, value, *, padding_config):
    (out,) = ctx.avals_out
    vectors = [ctx.sizes(entries) for entries in zip(*padding_config)]
    kinds = ", ".join([x.type, value.type] + [f"tensor<{x.aval.ndim}xi32>"] * 3)
    return ctx.op(f"stablehlo.dynamic_pad {x.name}, {value.name}, {', '.join(vectors)} : "
                  f"({kinds}) -> {tensor_type(out)}", out)


def _tile(ctx, x, *, reps):
    """Each repetition is a dimension of its own, until the last reshape."""
    pairs = tuple(n for pair in zip(reps, x.aval.shape) for n in pair)
    return _reshape(ctx, ctx.broadcast(x, pairs, range(1, len(pairs), 2)))


def _stack(ctx, *xs, axis):
    (out,) = ctx.avals_out
    shape = (*out.shape[:axis], 1, *out.shape[axis + 1:])
    kind = f"tensor<{out.ndim}xi32>"
    parts, row = [], ShapedArray(shape, out.dtype)
    for x in xs:
        parts.append(ctx.op(f"stablehlo.dynamic_reshape {x.name}, {ctx.sizes(shape)} : "
                            f"({x.type}, {kind}) -> {tensor_type(row)}", row))
    return ctx.op(typed_text("concatenate", parts, out, f", dim = {axis}"), out)


def _split(ctx, x, *, sizes, axis):
    start, outs, avals = 0, [], ctx.avals_out
    for size, aval in zip(sizes, avals):
        starts = tuple(start if d == axis else 0 for d in range(aval.ndim))
        limits = tuple(start + size if d == axis else n for d, n in enumerate(x.aval.shape))
        ctx.avals_out = [aval]
        outs.append(_slice(ctx, x, start_indices=starts, limit_indices=limits, strides=None))
        start = start + size
    ctx.avals_out = avals
    return outs


def _key_words(ctx, keys, **params):
    """The two words of each key. XLA infers no sizes through the usual rule's `bitcast_convert`."""
    (out,) = ctx.avals_out
    if not is_symbolic(out) or "ui64" not in keys.type:
        return lowering_rules[random_unwrap_p](ctx, keys, **params)
    with enable_x64(True):
        return _split_words(ctx, Value(keys.name, ShapedArray(keys.aval.shape, np.uint64)))


def _keys_of_words(ctx, words, **params):
    (out,) = ctx.avals_out
    if not is_symbolic(out) or "ui64" not in tensor_type(out):
        return lowering_rules[random_wrap_p](ctx, words, **params)
    with enable_x64(True):
        return Value(_joined_words(ctx, words).name, out)


_HALF = np.uint64(32)
_split_words = lower_fun(lambda x: lax.concatenate(
    [lax.expand_dims(lax.convert_element_type(word, np.uint32), (x.ndim,))
     for word in (x, lax.shift_right_logical(x, lax.full_like(x, _HALF)))], x.ndim))


@lower_fun
def _joined_words(words):
    low, high = (lax.convert_element_type(lax.index_in_dim(words, i, -1, keepdims=False),
                                          np.uint64) for i in (0, 1))
    return lax.bitwise_or(low, lax.shift_left(high, lax.full_like(high, _HALF)))


def _running(primitive, combine, start):
    """A loop over the elements. The windows of the usual rule are padded by a known number."""

    def program(x, *, axis, reverse):
        order = (axis, *(d for d in range(x.ndim) if d != axis))
        rows = lax.transpose(x, order)
        first = lax.full(rows.shape[1:], start(x.dtype), x.dtype)
        step = lambda total, row: (combine(total, row),) * 2
        _, totals = lax.scan(step, first, rows, reverse=reverse)
        return lax.transpose(totals, tuple(map(order.index, range(x.ndim))))

    loop, usual = lower_fun(program), lowering_rules[primitive]

    def rule(ctx, x, *, axis, reverse):
        known = not isinstance(x.aval.shape[axis], Dim)
        return (usual if known else loop)(ctx, x, axis=axis, reverse=reverse)

    return rule


DYNAMIC_RULES: dict[str, Callable] = {
    "random_unwrap": _key_words, "random_wrap": _keys_of_words,
    "broadcast_in_dim": _broadcast_in_dim, "reshape": _reshape, "squeeze": _reshape,
    "expand_dims": _reshape, "iota": _iota, "slice": _slice, "pad": _pad, "stack": _stack,
    "split": _split, "tile": _tile,
    "cumsum": _running(lax.cumsum_p, lax.add, lambda dtype: 0),
    "cumprod": _running(lax.cumprod_p, lax.mul, lambda dtype: 1),
    "cummax": _running(lax.cummax_p, lax.max, lowest),
    "cummin": _running(lax.cummin_p, lax.min, highest),
    "cumlogsumexp": _running(lax.cumlogsumexp_p, logaddexp, lambda dtype: -np.inf)}
