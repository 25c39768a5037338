"""Chapter 9: how a primitive gets all its rules in a few lines.

`unary_row` and `binary_row` make an elementwise primitive and its `lax` function from the columns
that differ between primitives: the accepted types, the evaluation, the derivative, the lowering.
Batching is the same for all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ..checks.tracebacks import hide_frames
from ..compat.optional import may_be_asked
from ..core.array import def_numpy, direct_binary, direct_unary
from ..core.batching import batch_size, bdim_at_front, defbroadcasting, defvectorized
from ..core.core import Primitive, typeof
from ..core.forward import defbilinear_jvp, defjvp, defjvp2, deflinear_jvp
from ..core.jaxpr import ClosedJaxpr
from ..core.lowering import Body, Value, nary_rule, register_lowering
from ..core.primitives import (
    broadcast_in_dim,
    constant,
    convert,
    elementwise_type,
    eq,
    full_like,
    make_primitive,
)
from ..core.staging import jaxpr_of
from ..core.transposition import deftranspose, primitive_transposes
from ..runtime.dispatch import apply_primitive
from ..text.naming import named
from .precision import AccuracyMode, Tolerance, is_default_accuracy
from .selection import select

# Kinds of element types, besides those of the starters.
INTEGER = (np.integer,)
BOOL_OR_INT = (np.integer, np.bool_)
FLOAT = (np.floating,)
COMPLEX = (np.complexfloating,)
SINGLE_OR_DOUBLE = (np.float32, np.float64)
REAL = (np.integer, np.floating)
SIGNED = (np.floating, np.complexfloating, np.signedinteger)


# ----------------------------------------------------------------------------------------------
# Rows of tables


def unary_row(name: str, accepted: tuple, numpy_rule: Callable | None, doc: str,
              out_dtype: Callable | None = None, **rules) -> tuple[Primitive, Callable]:
    """An elementwise primitive of one operand, and its `lax` function.

    Args:
      name: the primitive's name.
      accepted: the kinds of element types.
      numpy_rule: the evaluation; `None` compiles the primitive.
      doc: the first line of the function's documentation.
      out_dtype: the result's element type as a function of the operand's, if they differ.
      rules: as for `give_rules`.
    """
    primitive = make_primitive(name, elementwise_type(name, [accepted], out_dtype))
    give_rules(primitive, 1, numpy_rule, **rules)
    return primitive, unary_function(primitive, accepted, doc)


def binary_row(name: str, accepted, numpy_rule: Callable | None, doc: str,
               out_dtype: Callable | None = None, **rules) -> tuple[Primitive, Callable]:
    """As `unary_row`, of two operands; a list has the accepted kinds of each."""
    kinds = accepted if isinstance(accepted, list) else [accepted, accepted]
    primitive = make_primitive(name, elementwise_type(name, kinds, out_dtype))
    give_rules(primitive, 2, numpy_rule, **rules)
    return primitive, binary_function(primitive, doc)


def give_rules(primitive: Primitive, arity: int, numpy_rule: Callable | None, *,
               lowering: str | Callable, jvp: Callable | tuple | None = None,
               jvp_of_result: Callable | tuple | None = None) -> None:
    """Give an elementwise primitive its rules.

    Args:
      primitive: it has its types already.
      arity: how many operands it takes.
      numpy_rule: the evaluation; `None` compiles the primitive.
      lowering: the name of the StableHLO operation, or a lowering rule.
      jvp: `(tangent, *operands) -> tangent`, or one such function for each operand.
      jvp_of_result: the same, with the result before the operands.
    """
    if numpy_rule is None:
        primitive.def_impl(functools.partial(apply_primitive, primitive))
    else:
        def_numpy(primitive, numpy_rule)
    (defvectorized if arity == 1 else defbroadcasting)(primitive)
    register_lowering(primitive, nary_rule(lowering) if isinstance(lowering, str) else lowering)
    for define, rule in ((defjvp, jvp), (defjvp2, jvp_of_result)):
        if rule is not None:
            define(primitive, *(rule if isinstance(rule, tuple) else (rule,)))


def deflinear2(primitive: Primitive, transpose_rule: Callable) -> None:
    """The JVP and the transpose of a primitive that is linear in all operands together.

    Args:
      transpose_rule: `(ct, *operands, **params)` -> a cotangent for each operand.
    """
    deflinear_jvp(primitive)
    primitive_transposes[primitive] = transpose_rule


def defbilinear(primitive: Primitive, lhs_rule: Callable, rhs_rule: Callable) -> None:
    """The JVP and the transposes of a primitive that is linear in each of its two operands.

    It is not linear in both at once. The rules are those of `deftranspose`.
    """
    defbilinear_jvp(primitive)
    deftranspose(primitive, lhs_rule, rhs_rule, bilinear=True)


# ----------------------------------------------------------------------------------------------
# The functions of `lax`


def unary_function(primitive: Primitive, accepted: tuple, doc: str) -> Callable:
    """The public function of a primitive of one operand."""
    name, has_accuracy = primitive.name, primitive.name in _WITH_ACCURACY
    if has_accuracy:
        may_be_asked(primitive, "accuracy", is_default_accuracy)

    apply = direct_unary(primitive)

    def plain(x):
        """{doc}

        Args:
          x: an array of any shape; dtype {kinds}.

        Returns:
          an array of the shape of `x`.

        Raises:
          TypeError: another dtype.
        """
        try:
            return apply(x)
        except Exception as error:
            hide_frames(error)
            raise

    def with_accuracy(x, *, accuracy: AccuracyMode | Tolerance | None = None):
        """{doc}

        Args:
          x: an array of any shape; dtype {kinds}.
          accuracy: how exactly. On the CPU there is one way to compute the value; the derivatives
            of `tanh`, `logistic` and `expm1` keep their digits if it is `AccuracyMode.HIGHEST`.

        Returns:
          an array of the shape of `x`.

        Raises:
          TypeError: another dtype.
          NotImplementedError: an accuracy that is neither a mode nor a tolerance.
        """
        try:
            return apply(x) if accuracy is None else primitive.bind(x, accuracy=accuracy)
        except Exception as error:
            hide_frames(error)
            raise

    kinds = ", ".join(kind.__name__ for kind in accepted)
    function = with_accuracy if has_accuracy else plain
    return named(name, __package__, doc=doc, kinds=kinds)(function)  # where `pickle` finds it


_WITH_ACCURACY = ("cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin",
                  "sqrt", "tan", "tanh")


def binary_function(primitive: Primitive, doc: str) -> Callable:
    """The public function of a primitive of two operands."""

    apply = direct_binary(primitive)

    @named(primitive.name, __package__, doc=doc)
    def function(x, y):
        """{doc}

        Args:
          x, y: arrays of one dtype and one rank (or scalars), their dimensions equal or 1.

        Returns:
          an array of the common shape.

        Raises:
          TypeError: dtypes or shapes that do not fit; `minijax.numpy` promotes them.
        """
        try:
            return apply(x, y)
        except Exception as error:
            hide_frames(error)
            raise

    return function


# ----------------------------------------------------------------------------------------------
# What batching rules, derivatives and lowering rules are made of


def all_at_front(args: Sequence, dims: Sequence[int | None]) -> list:
    """The operands of a batching rule, each with the batch dimension first. Operands that are not
    batched are repeated."""
    size = batch_size(args, dims)
    return [bdim_at_front(x, d, size) for x, d in zip(args, dims)]


def never_weak(rule: Callable) -> Callable:
    """A type rule whose result is strong, whatever the operands' types."""
    return lambda *avals, **params: rule(*avals, **params).strip_weak_type()


def const_like(x, value):
    """The scalar `value` in the element type of `x`; weakly typed if `x` is a weak scalar."""
    aval = typeof(x)
    return constant(value, aval.dtype, aval.weak_type and not aval.shape)


def nonzero(x):
    """`x` with its zeros replaced by ones: safe to divide by, or to take the logarithm of."""
    return select(eq(x, const_like(x, 0)), full_like(x, 1), x)


def one_like(x):
    """The scalar 1 in the type of `x`."""
    aval = typeof(x)
    return constant(1, aval.dtype, aval.weak_type)


def chlo_rule(op: str) -> Callable:
    """Lowering to an operation of CHLO, a dialect that XLA expands before it compiles."""

    def rule(ctx, *operands, **params):
        (out,) = ctx.avals_out
        operands = [ctx.broadcast(x, out.shape) for x in operands]
        names, types = (", ".join(words) for words in zip(*((x.name, x.type) for x in operands)))
        return ctx.op(f"chlo.{op} {names} : {types} -> {operands[0].type}", out)

    return rule


def emit_region(ctx: Body, rule: Callable, avals: Sequence) -> tuple[str, list[str]]:
    """What `rule` computes from scalars of these types, as a region: its arguments, and its lines.
    """
    arguments = [Value(ctx.fresh(), aval) for aval in avals]
    outside = ctx.lines, ctx.avals_out
    ctx.lines, ctx.avals_out = [], [avals[0]]
    result = rule(ctx, *arguments)
    lines = [*ctx.lines, f"    stablehlo.return {result.name} : {result.type}"]
    ctx.lines, ctx.avals_out = outside
    return ", ".join(f"{x.name}: {x.type}" for x in arguments), lines


def inline_in_scope(ctx: Body, name: str, jaxpr: ClosedJaxpr,
                    operands: Sequence[Value]) -> list[Value]:
    """`ctx.inline(jaxpr, operands)`, whose operations profiles show in a scope of this name."""
    ctx.state["scope"] = name
    return ctx.inline(jaxpr, operands)


def lower_fun(fun: Callable, multiple_results: bool = False) -> Callable:
    """A rule from a function on arrays: the function's jaxpr is lowered in place of the primitive.
    """

    def rule(ctx, *operands, **params):
        in_avals = tuple(x.aval.update(placement=None) for x in operands)
        jaxpr = jaxpr_of(lambda *xs: _as_list(fun(*xs, **params), multiple_results), in_avals)
        outs = ctx.inline(jaxpr, operands)
        return outs if multiple_results else outs[0]

    return rule


def _as_list(out, multiple_results):
    return list(out) if multiple_results else [out]


def lower_program(program: Callable) -> Callable:
    """Lowering by an elementwise `program` of ordinary operations.

    It gets operands of one shape, and of single precision at least.
    """

    def widened(*args):
        dtype = typeof(args[0]).dtype
        wide = np.promote_types(dtype, np.float32)
        shape = np.broadcast_shapes(*(typeof(x).shape for x in args))
        args = [convert(x, wide) for x in args]
        return convert(program(*(_spread(x, shape) for x in args)), dtype)

    return lower_fun(widened)


def _spread(x, shape):
    own = typeof(x).ndim
    return broadcast_in_dim(x, shape, range(len(shape) - own, len(shape)))
