"""Chapter 11: special functions, which XLA knows how to compute and NumPy does not.

A row is a name, what CHLO (a dialect that XLA expands) calls the operation, and the derivative.
Evaluation compiles the one primitive.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from ..batching.rules import defbroadcasting, defvectorized
from ..core import Primitive, typeof
from ..forward import defjvp, defjvp2
from ..primitives.elementwise import constant, exp, mul, neg, square
from ..primitives.shape_rules import FLOAT, elementwise_rule, make_primitive
from ..xla.jit import apply_primitive
from ..xla.lowering import register_lowering


def lower_as(op: str) -> Callable:
    def rule(ctx, *operands):
        (out,) = ctx.avals_out
        operands = [ctx.broadcast(x, out.shape) for x in operands]
        names, types = (", ".join(words) for words in zip(*((x.name, x.type) for x in operands)))
        result = operands[0].type
        return ctx.op(f"chlo.{op} {names} : {types} -> {result}", out)

    return rule


def _row(name: str, op: str, doc: str) -> tuple[Primitive, Callable]:
    """The primitive of one argument, and its `lax` function."""
    primitive = make_primitive(name, elementwise_rule(name, [FLOAT]))
    primitive.def_impl(functools.partial(apply_primitive, primitive))
    defvectorized(primitive)
    register_lowering(primitive, lower_as(op))

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

polygamma_p = make_primitive("polygamma", elementwise_rule("polygamma", [FLOAT, FLOAT]))
polygamma_p.def_impl(functools.partial(apply_primitive, polygamma_p))
defbroadcasting(polygamma_p)
register_lowering(polygamma_p, lower_as("polygamma"))


def polygamma(m, x):
    """Derivative number `m` of `digamma`, elementwise.

    Args:
      m: a float array: which derivative; whole numbers only make sense.
      x: a float array of the same dtype, and of the same shape or a scalar.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.
    """
    return polygamma_p.bind(m, x)


def _like(x, value: float):
    aval = typeof(x)
    return constant(value, aval.dtype, aval.weak_type)


def _bell(t, x):
    """t exp(-x²)"""
    return mul(t, exp(neg(square(x))))


defjvp(erf_p, lambda t, x: mul(_like(x, 2 / math.sqrt(math.pi)), _bell(t, x)))
defjvp(erfc_p, lambda t, x: mul(_like(x, -2 / math.sqrt(math.pi)), _bell(t, x)))
defjvp2(erf_inv_p,
        lambda t, y, x: mul(_like(x, math.sqrt(math.pi) / 2), mul(t, exp(square(y)))))
defjvp(lgamma_p, lambda t, x: mul(t, digamma(x)))
defjvp(digamma_p, lambda t, x: mul(t, polygamma(_like(x, 1), x)))
defjvp(polygamma_p, None, lambda t, m, x: mul(t, polygamma(m + _like(m, 1), x)))
