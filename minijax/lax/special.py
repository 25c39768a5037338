"""Chapter 11: special functions, which XLA knows how to compute and NumPy does not.

A row is a name, what CHLO (a dialect that XLA expands) calls the operation, and the derivative.
Evaluation compiles the one primitive. A special function that CHLO does not know has a program of
ordinary operations instead (`special_primitive`, `lower_program`), in a file of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from ..core.batching_rules import defbroadcasting, defvectorized
from ..core.core import Primitive, typeof
from ..core.forward import defjvp, defjvp2
from ..core.jit import apply_primitive
from ..core.lowering import lower_fun, register_lowering
from ..core.primitives.elementwise import add, constant, convert, exp, mul, neg, square
from ..core.primitives.shape_rules import FLOAT, broadcast_shapes, elementwise_rule, make_primitive
from ..core.primitives.shaping import broadcast_to


def lower_as(op: str) -> Callable:
    def rule(ctx, *operands):
        (out,) = ctx.avals_out
        operands = [ctx.broadcast(x, out.shape) for x in operands]
        names, types = (", ".join(words) for words in zip(*((x.name, x.type) for x in operands)))
        result = operands[0].type
        return ctx.op(f"chlo.{op} {names} : {types} -> {result}", out)

    return rule


def lower_program(program: Callable) -> Callable:
    """Lowering by an elementwise `program` of ordinary operations.

    It gets operands of one shape, and of single precision at least.
    """

    def widened(*args):
        dtype = typeof(args[0]).dtype
        shape = broadcast_shapes(*(typeof(x).shape for x in args))
        wide = np.promote_types(dtype, np.float32)
        return convert(program(*(broadcast_to(convert(x, wide), shape) for x in args)), dtype)

    return lower_fun(widened)


def special_primitive(name: str, arity: int, lowering: Callable) -> Primitive:
    """An elementwise primitive of floats, evaluated by compiling it. Its JVP is still to come."""
    primitive = make_primitive(name, elementwise_rule(name, [FLOAT] * arity))
    primitive.def_impl(functools.partial(apply_primitive, primitive))
    (defvectorized if arity == 1 else defbroadcasting)(primitive)
    register_lowering(primitive, lowering)
    return primitive


def _row(name: str, op: str, doc: str) -> tuple[Primitive, Callable]:
    """The primitive of one argument, and its `lax` function."""
    primitive = special_primitive(name, 1, lower_as(op))

    def function(x):
        return primitive.bind(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc}\n\nArgs:\n  x: an array of any shape; dtype floating.\n\n"
        "Returns:\n  an array of the shape of `x`.\n\nRaises:\n  TypeError: another dtype.\n"
    )
    return primitive, function


erf_p, erf = _row("erf", "erf", "The error function: 2/√π ∫₀ˣ exp(-t²) dt, elementwise.")
erfc_p, erfc = _row("erfc", "erfc", "1 - erf(x), exact where that is small, elementwise.")
erf_inv_p, erf_inv = _row("erf_inv", "erf_inv", "The inverse of `erf`, elementwise.")
lgamma_p, lgamma = _row("lgamma", "lgamma", "log |Γ(x)|, elementwise.")
digamma_p, digamma = _row("digamma", "digamma", "The derivative of `lgamma`, elementwise.")

polygamma_p = special_primitive("polygamma", 2, lower_as("polygamma"))
zeta_p = special_primitive("zeta", 2, lower_as("zeta"))


def polygamma(m, x):
    """Derivative number `m` of `digamma`, elementwise.

    Args:
      m: a float array: which derivative; whole numbers only make sense.
      x: a float array of the same dtype, and of the same shape or a scalar.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.
      ValueError: differentiation by `m`.

    >>> lax.polygamma(1.0, 1.0).round(4).item()  # π²/6
    1.6448999643325806
    """
    return polygamma_p.bind(m, x)


def zeta(x, q):
    """Hurwitz' zeta function, the sum of (k + q)⁻ˣ over k = 0, 1, 2 …, elementwise.

    Args:
      x: a float array: the exponents, above 1.
      q: a float array of the same dtype, and of the same shape or a scalar.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.

    >>> lax.zeta(2.0, 1.0).round(4).item()  # π²/6
    1.6448999643325806
    """
    return zeta_p.bind(x, q)


def _like(x, value: float):
    aval = typeof(x)
    return constant(value, aval.dtype, aval.weak_type)


def not_differentiable(name: str, argument: str) -> Callable:
    """The JVP rule for an argument by which nobody knows the derivative."""

    def rule(t, *primals):
        raise ValueError(f"{name} cannot be differentiated by its argument {argument}; if that is "
                         "a constant, keep it out of the arguments of grad and jvp")

    return rule


def _bell(t, x):
    """t exp(-x²)"""
    return mul(t, exp(neg(square(x))))


defjvp(erf_p, lambda t, x: mul(_like(x, 2 / math.sqrt(math.pi)), _bell(t, x)))
defjvp(erfc_p, lambda t, x: mul(_like(x, -2 / math.sqrt(math.pi)), _bell(t, x)))
defjvp2(erf_inv_p,
        lambda t, y, x: mul(_like(x, math.sqrt(math.pi) / 2), mul(t, exp(square(y)))))
defjvp(lgamma_p, lambda t, x: mul(t, digamma(x)))
defjvp(digamma_p, lambda t, x: mul(t, polygamma(_like(x, 1), x)))
defjvp(polygamma_p, not_differentiable("polygamma", "m"),
       lambda t, m, x: mul(t, polygamma(add(m, _like(m, 1)), x)))
