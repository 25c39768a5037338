"""Differentiable functions, what they are in mathematics, and the points at which derivatives are tried.

A row is: the programs, separated by semicolons, as texts of `jnp`, `lax`, `nn`, `special` and their arguments
x, y, z; the function as mpmath computes it, with any number of digits; and points beside the common ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

X, XY, XYZ = "x", "xy", "xyz"
# Tiny, ordinary and large: all of a sign, in the order of size.
SIZES = [1e-30, 1e-20, 1e-8, 1e-3, 0.5, 1.0, 2.5, 17.0, 40.0, 88.0, 1e4, 1e10, 1e20, 1e30]
LARGER = [1e-300, 1e-160, 37.5, 300.0, 700.0, 1e160, 1e300]  # in double precision
FEW = [1e-30, 1e-20, 1e-8, 0.5, 1.0, 2.5, 40.0, 1e10, 1e20, 1e30]
FEW_LARGER = [1e-160, 1e160]


class Row(NamedTuple):
    """A function of mathematics, and the programs that compute it."""

    arguments: str
    programs: tuple[str, ...]
    exact: Callable[..., Any]
    more: tuple[float, ...]
    only: Callable[..., bool] | None

    def points(self, dtype: Any) -> list[tuple[float, ...]]:
        """The points at which derivatives are tried, each a number of this dtype."""
        is_double = np.dtype(dtype) == np.float64
        if len(self.arguments) == 1:
            sizes = SIZES + (LARGER if is_double else [])
        elif len(self.arguments) == 2:
            sizes = FEW + (FEW_LARGER if is_double else [])
        else:
            sizes = [0.5, 2.5]
        line = sorted({0.0, *sizes, *(-x for x in sizes), *self.more})
        line = [float(np.asarray(x, dtype)) for x in line]
        grid = np.meshgrid(*[line] * len(self.arguments), indexing="ij")
        points = [tuple(map(float, p)) for p in zip(*(x.ravel() for x in grid))]
        return [p for p in points if self.only is None or self.only(*p)]


ROWS: list[Row] = []


def row(arguments: str, programs: str, exact: Callable, *more: float,
        only: Callable[..., bool] | None = None) -> None:
    """Add a row to the table."""
    ROWS.append(Row(arguments, tuple(x.strip() for x in programs.split(";")), exact, more, only))


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def inverse_error_function(y):
    if abs(y) >= 1:
        raise ValueError("no real value")
    start = mp.mpf(mp.erfinv(float(y))) if abs(y) < 0.999999 else mp.erfinv(y)
    return mp.findroot(lambda x: mp.erf(x) - y, start) if y else mp.mpf(0)


def polynomial(*coefficients):
    return lambda x: mp.polyval(coefficients, x)


# ----------------------------------------------------------------------------------------------
# One argument

row(X, "lax.sin(x); jnp.sin(x)", mp.sin)
row(X, "lax.cos(x); jnp.cos(x)", mp.cos)
row(X, "lax.tan(x); jnp.tan(x)", mp.tan, 1.5707963)
row(X, "lax.asin(x); jnp.arcsin(x)", mp.asin, 0.9999999, -0.9999999)
row(X, "lax.acos(x); jnp.arccos(x)", mp.acos, 0.9999999, -0.9999999)
row(X, "lax.atan(x); jnp.arctan(x)", mp.atan)
row(X, "lax.sinh(x); jnp.sinh(x)", mp.sinh, 89.0, 710.0, -710.0)
row(X, "lax.cosh(x); jnp.cosh(x)", mp.cosh, 89.0, 710.0, -710.0)
row(X, "lax.tanh(x); jnp.tanh(x); nn.tanh(x)", mp.tanh, 9.0, 20.0)
row(X, "lax.asinh(x); jnp.arcsinh(x)", mp.asinh)
row(X, "lax.acosh(x); jnp.arccosh(x)", mp.acosh, 1.0000001)
row(X, "lax.atanh(x); jnp.arctanh(x)", mp.atanh, 0.9999999, -0.9999999)
row(X, "lax.exp(x); jnp.exp(x)", mp.exp, 88.7, 709.7, -103.0, -740.0)
row(X, "lax.exp2(x); jnp.exp2(x); 2.0 ** x", lambda x: mp.power(2, x), 127.5, 128.0, 1023.5, 1024.0000000000002, -126.5)
row(X, "lax.expm1(x); jnp.expm1(x)", mp.expm1, 88.7, 709.7)
row(X, "lax.log(x); jnp.log(x)", mp.log)
row(X, "jnp.log2(x)", lambda x: mp.log(x) / mp.log(2))
row(X, "jnp.log10(x)", lambda x: mp.log(x) / mp.log(10))
row(X, "lax.log1p(x); jnp.log1p(x)", mp.log1p, -0.9999999)
row(X, "lax.sqrt(x); jnp.sqrt(x); x ** 0.5", mp.sqrt)
row(X, "lax.rsqrt(x); x ** -0.5", lambda x: 1 / mp.sqrt(x))
row(X, "lax.cbrt(x); jnp.cbrt(x)", lambda x: mp.sign(x) * mp.cbrt(abs(x)))
row(X, "lax.square(x); jnp.square(x); x ** 2; x ** 2.0; jnp.power(x, 2); lax.integer_pow(x, 2)", lambda x: x * x)
row(X, "x ** 3; x ** 3.0; lax.pow(x, 3)", lambda x: x**3)
row(X, "lax.reciprocal(x); jnp.reciprocal(x); 1 / x; x ** -1; x ** -1.0", lambda x: 1 / x)
row(X, "x ** -2; x ** -2.0; lax.integer_pow(x, -2)", lambda x: 1 / x**2)
row(X, "x ** 1.0; x ** 1; x ** jnp.array(1); jnp.positive(x)", lambda x: x)
row(X, "x ** 0.0; x ** 0; x ** jnp.array(0)", lambda x: mp.mpf(1) + 0 * x)
row(X, "x ** 1.5; jnp.power(x, 1.5)", lambda x: mp.power(x, mp.mpf("1.5")))
row(X, "3.0 ** x", lambda x: mp.power(3, x), 80.7, 81.0, 646.0, 646.5)
row(X, "lax.neg(x); jnp.negative(x); -x", lambda x: -x)
row(X, "lax.abs(x); jnp.abs(x); jnp.fabs(x)", abs)
row(X, "jnp.deg2rad(x); jnp.radians(x)", lambda x: x * mp.pi / 180)
row(X, "jnp.rad2deg(x); jnp.degrees(x)", lambda x: x * 180 / mp.pi)
row(X, "lax.sign(x); jnp.sign(x)", mp.sign)
row(X, "lax.floor(x); jnp.floor(x); jnp.trunc(jnp.abs(x)) * jnp.sign(x) - (x < 0)", mp.floor)
row(X, "jnp.sinc(x)", lambda x: mp.sinc(mp.pi * x))
row(X, "jnp.nan_to_num(x); lax.real(lax.complex(x, x)); jnp.real(x); jnp.clip(x, -jnp.inf); lax.convert_element_type(x, x.dtype)",
    lambda x: x)
row(X, "lax.logistic(x); nn.sigmoid(x); special.expit(x)", sigmoid, -17.0, -89.0, -103.0, 36.0, -710.0)
row(X, "nn.softplus(x); jnp.logaddexp(x, 0.0)", softplus, 37.42994775023705, 16.0)
row(X, "nn.log_sigmoid(x)", lambda x: -softplus(-x), -16.0, -37.5)
row(X, "nn.silu(x); nn.swish(x)", lambda x: x * sigmoid(x), -16.0)
row(X, "nn.mish(x)", lambda x: x * mp.tanh(softplus(x)), -16.0)
row(X, "nn.gelu(x, approximate=False)", lambda x: x * ndtr(x), -5.0, -13.0, -38.0)
row(X, "nn.gelu(x)", lambda x: x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))), -5.0)
row(X, "nn.relu(x); jnp.maximum(x, 0.0)", lambda x: x if x > 0 else mp.mpf(0))
row(X, "nn.relu6(x)", lambda x: min(max(x, mp.mpf(0)), mp.mpf(6)), 6.0)
row(X, "nn.elu(x)", lambda x: x if x > 0 else mp.expm1(x))
row(X, "nn.celu(x)", lambda x: x if x > 0 else mp.expm1(x))
row(X, "nn.selu(x)", lambda x: mp.mpf("1.0507009873554804934193349852946") * (
    x if x > 0 else mp.mpf("1.6732632423543772848170429916717") * mp.expm1(x)))
row(X, "nn.leaky_relu(x)", lambda x: x if x > 0 else x / 100)
row(X, "nn.hard_tanh(x)", lambda x: min(max(x, mp.mpf(-1)), mp.mpf(1)))
row(X, "nn.hard_sigmoid(x)", lambda x: min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6, 3.0, -3.0)
row(X, "nn.hard_silu(x); nn.hard_swish(x)", lambda x: x * min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6, 3.0, -3.0)
row(X, "nn.soft_sign(x)", lambda x: x / (1 + abs(x)))
row(X, "nn.squareplus(x)", lambda x: (x + mp.sqrt(x * x + 4)) / 2)
row(X, "nn.sparse_plus(x)", lambda x: mp.mpf(0) if x <= -1 else x if x >= 1 else (x + 1) ** 2 / 4)
row(X, "nn.sparse_sigmoid(x)", lambda x: min(max((x + 1) / 2, mp.mpf(0)), mp.mpf(1)))
row(X, "nn.log1mexp(x)", lambda x: mp.log(-mp.expm1(-x)), 0.6931472, 0.7)
row(X, "lax.erf(x); special.erf(x)", mp.erf, 5.0, 26.0)
row(X, "lax.erfc(x); special.erfc(x)", mp.erfc, 5.0, 9.0, 26.0)
row(X, "lax.erf_inv(x); special.erfinv(x)", inverse_error_function, 0.9999, -0.9999, 0.9999999)
row(X, "special.erfcx(x)", lambda x: mp.exp(x * x) * mp.erfc(x), -5.0, 9.0, 26.0, -9.0)
row(X, "special.dawsn(x)", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), 5.0, 0.2)
row(X, "special.ndtr(x)", ndtr, 5.0, -5.0, -13.0, -37.0)
row(X, "special.log_ndtr(x)", lambda x: mp.log(ndtr(x)), 5.0, -5.0, -13.0, -37.0)
row(X, "special.ndtri(x)", lambda p: mp.sqrt(2) * inverse_error_function(2 * p - 1), 1e-5, 0.9999, 0.1)
row(X, "lax.lgamma(x); special.gammaln(x)", lambda x: mp.log(abs(mp.gamma(x))) if x < 0 else mp.loggamma(x),
    -0.5, -0.999, -2.0000005, -16.5, -100.25, 2.0, 1.4616321)
row(X, "special.gamma(x)", mp.gamma, -0.5, -0.999, -16.5, 34.0, 170.0, 2.0, 1.4616321)
row(X, "special.factorial(x)", lambda x: mp.gamma(x + 1), 34.0, 170.0, only=lambda x: x >= 0)
row(X, "lax.digamma(x); special.digamma(x); special.polygamma(0, x)", mp.digamma, -0.5, -0.999, -16.5, -100.25, 1.4616321)
row(X, "special.polygamma(1, x)", lambda x: mp.polygamma(1, x), -0.5, -16.5, only=lambda x: abs(x) < 1e200)
row(X, "special.polygamma(3, x)", lambda x: mp.polygamma(3, x), -0.5, -16.5, only=lambda x: abs(x) < 1e200)
row(X, "special.zeta(x, 1.0)", mp.zeta, 1.0001, 2.0, 1.5)
row(X, "special.entr(x)", lambda x: -x * mp.log(x))
row(X, "special.logit(x)", lambda x: mp.log(x / (1 - x)), 0.9999999, 0.75)
row(X, "special.i0(x); jnp.i0(x)", lambda x: mp.besseli(0, x), 8.0, 7.9, 90.0, only=lambda x: abs(x) < 1e4)
row(X, "special.i1(x)", lambda x: mp.besseli(1, x), 8.0, 7.9, 90.0, only=lambda x: abs(x) < 1e4)
row(X, "special.i0e(x); lax.bessel_i0e(x)", lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), 8.0, 7.9, only=lambda x: abs(x) < 1e4)
row(X, "special.i1e(x); lax.bessel_i1e(x)", lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), 8.0, 7.9, only=lambda x: abs(x) < 1e4)
row(X, "special.bessel_jn(x, v=1)[1]", lambda x: mp.besselj(1, x), only=lambda x: abs(x) < 50)
row(X, "special.exp1(x)", lambda x: mp.e1(x) if x > 0 else mp.mpc(0, 1), 90.0)
row(X, "special.expi(x)", mp.ei, -90.0, 0.3725074)
row(X, "special.expn(2, x)", lambda x: mp.expint(2, x), only=lambda x: x >= 0)
row(X, "special.fresnel(x)[0]", mp.fresnels, 1.6, 5.0)
row(X, "special.fresnel(x)[1]", mp.fresnelc, 1.6, 5.0)
row(X, "special.sici(x)[0]", mp.si, 4.0, 3.1415927)
row(X, "special.sici(x)[1]", lambda x: mp.ci(x), 4.0, 1.5707963)
row(X, "special.spence(x)", lambda x: mp.polylog(2, 1 - x), 1.0, 0.9999, 2.0, only=lambda x: 0 <= x < 1e25)
row(X, "special.multigammaln(x, 2)", lambda x: mp.log(mp.pi) / 2 + mp.loggamma(x) + mp.loggamma(x - mp.mpf("0.5")), 0.75,
    only=lambda x: x > 0.5)
row(X, "special.hyp2f1(0.5, 1.5, 2.5, x)", lambda x: mp.hyp2f1(0.5, 1.5, 2.5, x), 0.9, -0.9, only=lambda x: abs(x) < 1)

# ----------------------------------------------------------------------------------------------
# Two arguments, and three

row(XY, "lax.add(x, y); jnp.add(x, y)", lambda x, y: x + y)
row(XY, "lax.sub(x, y); jnp.subtract(x, y)", lambda x, y: x - y)
row(XY, "lax.mul(x, y); jnp.multiply(x, y)", lambda x, y: x * y)
row(XY, "lax.div(x, y); jnp.divide(x, y); jnp.true_divide(x, y)", lambda x, y: x / y)
row(XY, "lax.pow(x, y); jnp.power(x, y); jnp.float_power(x, y); x ** y", mp.power, 2.0, 0.0, 1.5)
row(XY, "lax.atan2(x, y); jnp.arctan2(x, y)", mp.atan2)
row(XY, "jnp.hypot(x, y)", lambda x, y: mp.sqrt(x * x + y * y))
row(XY, "lax.max(x, y); jnp.maximum(x, y); jnp.fmax(x, y); jnp.clip(x, y)", max)
row(XY, "lax.min(x, y); jnp.minimum(x, y); jnp.fmin(x, y)", min)
row(XY, "lax.rem(x, y); jnp.fmod(x, y)", lambda x, y: mp.sign(x) * mp.fmod(abs(x), abs(y)),
    only=lambda x, y: y != 0 and abs(x / y) < 1e6)
row(XY, "jnp.remainder(x, y); jnp.mod(x, y)", lambda x, y: x - y * mp.floor(x / y), only=lambda x, y: y != 0 and abs(x / y) < 1e6)
row(XY, "jnp.copysign(x, y)", lambda x, y: abs(x) * mp.sign(y))
row(XY, "jnp.logaddexp(x, y)", lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))))
row(XY, "jnp.logaddexp2(x, y)", lambda x, y: max(x, y) + mp.log1p(mp.power(2, -abs(x - y))) / mp.log(2))
row(XY, "special.xlogy(x, y)", lambda x, y: x * mp.log(y))
row(XY, "special.xlog1py(x, y)", lambda x, y: x * mp.log1p(y))
row(XY, "special.rel_entr(x, y)", lambda x, y: x * mp.log(x / y), only=lambda x, y: y > 0 and x >= 0)
row(XY, "special.kl_div(x, y)", lambda x, y: x * mp.log(x / y) - x + y, only=lambda x, y: y > 0 and x >= 0)
row(XY, "special.boxcox(x, y)", lambda x, y: mp.expm1(y * mp.log(x)) / y if y else mp.log(x), only=lambda x, y: x > 0)
row(XY, "special.boxcox1p(x, y)", lambda x, y: mp.expm1(y * mp.log1p(x)) / y if y else mp.log1p(x), only=lambda x, y: x > -1)
row(XY, "special.beta(x, y)", mp.beta)
row(XY, "special.betaln(x, y)", lambda x, y: mp.log(abs(mp.beta(x, y))), only=lambda x, y: x > 0 and y > 0)
row(XY, "lax.igamma(x, y); special.gammainc(x, y)", lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    only=lambda a, x: 1e-9 < a < 100 and 1e-9 < x < 100)
row(XY, "lax.igammac(x, y); special.gammaincc(x, y)", lambda a, x: mp.gammainc(a, x, regularized=True),
    only=lambda a, x: 1e-9 < a < 100 and 1e-9 < x < 100)
row(XY, "nn.squareplus(x, y)", lambda x, y: (x + mp.sqrt(x * x + y)) / 2, only=lambda x, y: y >= 0)
row(XY, "nn.elu(x, y)", lambda x, a: x if x > 0 else a * mp.expm1(x))
row(XY, "nn.celu(x, y)", lambda x, a: x if x > 0 else a * mp.expm1(x / a), only=lambda x, a: a > 0)
row(XY, "nn.leaky_relu(x, y)", lambda x, a: x if x > 0 else a * x)
row(XYZ, "lax.betainc(x, y, z); special.betainc(x, y, z)", lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), 0.1, 0.9, 20.0,
    only=lambda a, b, x: a > 0 and b > 0 and 0 < x < 1)
row(XYZ, "lax.clamp(x, y, z); jnp.clip(y, x, z)", lambda low, x, high: min(max(low, x), high), only=lambda low, x, high: low < high)
row(XYZ, "special.hyp1f1(x, y, z)", mp.hyp1f1, only=lambda a, b, x: b > 0)
row(X, "special.loggamma(x)", mp.loggamma, 2.0, 1.4616321, only=lambda x: x > 0)
