"""Chapter 11: special functions, which XLA can compute and NumPy cannot.

A row is a name, what CHLO (a dialect that XLA expands) calls the operation, and the derivative.
Evaluation compiles the one primitive. A special function that CHLO lacks has a program of
ordinary operations instead (`special_primitive`, `lower_program`), in a file of its own.
"""

import math
from collections.abc import Callable

from ..core import dtypes
from ..core.boundary import public
from ..core.core import Primitive, typeof
from ..core.forward import defjvp
from ..core.primitives import elementwise_type, full_like, make_primitive
from .elementwise import add, div, exp, gt, lt, mul, neg, reciprocal, sin, square, sub
from .families import FLOAT, chlo_rule, const_like, give_rules, unary_row
from .rounding import round
from .selection import select


def special_primitive(name: str, arity: int, lowering: Callable,
                      typed: Callable = lambda rule: rule) -> Primitive:
    """An elementwise primitive of floats, evaluated by compiling it. Its JVP is still to come."""
    primitive = make_primitive(name, typed(elementwise_type(name, [FLOAT] * arity)))
    give_rules(primitive, arity, None, lowering=lowering)
    return primitive


def _bell(t, x):
    """t exp(-x²)"""
    return mul(t, exp(neg(square(x))))


def _trigamma(x):
    """The derivative of `digamma`. XLA sums it from few terms, which are wrong far below 0; there,
    ψ₁(x) = π² / sin²(πx) - ψ₁(1 - x)."""
    one, is_negative = const_like(x, 1), lt(x, const_like(x, 0))
    argument = select(is_negative, sub(one, x), x)
    is_large = gt(argument, const_like(x, 1 / dtypes.finfo(typeof(x).dtype).eps))
    above = select(is_large, reciprocal(argument), polygamma(one, argument))
    sine = sin(mul(const_like(x, math.pi), sub(x, round(x))))  # of an argument without full turns
    pole = div(const_like(x, math.pi**2), square(select(is_negative, sine, full_like(x, 1))))
    return select(is_negative, sub(pole, above), above)


erf_p, erf = unary_row(
    "erf", FLOAT, None, "The error function: 2/√π ∫₀ˣ exp(-t²) dt, elementwise.",
    lowering=chlo_rule("erf"),
    jvp=lambda t, x: mul(const_like(x, 2 / math.sqrt(math.pi)), _bell(t, x)))
erfc_p, erfc = unary_row(
    "erfc", FLOAT, None, "1 - erf(x), exact where that is small, elementwise.",
    lowering=chlo_rule("erfc"),
    jvp=lambda t, x: mul(const_like(x, -2 / math.sqrt(math.pi)), _bell(t, x)))
erf_inv_p, erf_inv = unary_row(
    "erf_inv", FLOAT, None, "The inverse of `erf`, elementwise.",
    lowering=chlo_rule("erf_inv"), jvp_of_result=lambda t, y, x: mul(
        const_like(x, math.sqrt(math.pi) / 2), mul(t, exp(square(y)))))
digamma_p, digamma = unary_row(
    "digamma", FLOAT, None, "The derivative of `lgamma`, elementwise.",
    lowering=chlo_rule("digamma"), jvp=lambda t, x: mul(t, _trigamma(x)))
lgamma_p, lgamma = unary_row(
    "lgamma", FLOAT, None, "log |Γ(x)|, elementwise.",
    lowering=chlo_rule("lgamma"), jvp=lambda t, x: mul(t, digamma(x)))


polygamma_p = special_primitive("polygamma", 2, chlo_rule("polygamma"))
zeta_p = special_primitive("zeta", 2, chlo_rule("zeta"))


@public
def polygamma(m, x):
    """Derivative number `m` of `digamma`, elementwise.

    Args:
      m: a float array of whole numbers, which give the order of the derivative.
      x: a float array of the same dtype, and of the same shape or a scalar.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.
      ValueError: differentiation by `m`.

    >>> lax.polygamma(1.0, 1.0).round(4).item()  # π²/6
    1.6448999643325806
    """
    return polygamma_p.bind(m, x)


@public
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


def not_differentiable(name: str, argument: str) -> Callable:
    """The JVP rule for an argument whose derivative is not implemented."""

    def rule(t, *primals):
        raise ValueError(f"{name} cannot be differentiated by its argument {argument}; if that is "
                         "a constant, keep it out of the arguments of grad and jvp")

    return rule


defjvp(polygamma_p, not_differentiable("polygamma", "m"),
       lambda t, m, x: mul(t, polygamma(add(m, const_like(m, 1)), x)))
