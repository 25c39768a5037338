"""Chapter 16: Taylor mode, derivatives of high order in one go.

Move the argument along a curve, x(ε) = x₀ + x₁ε + x₂ε² + …; then f(x(ε)) is a power series as well.
`jet` computes its coefficients up to a given order. The k-th derivative of f along v is k! times
the k-th coefficient for x(ε) = x + vε: so k nested `jvp`s, which do 2ᵏ times the work of f, are
replaced by one walk through f with polynomials, which does about k² times the work.

That is a transformation like those before: a trace, a tracer (of a polynomial instead of a pair of
primal and tangent), and a column of rules. But only few rules must be written here. For all other
primitives, the derivative of chapter 2 is enough: along the curve, y = f(x) has the slope

    y' = jvp(f)(x, x')

and the series of y' is one order shorter than that of y. So the rule differentiates by the
primitive's JVP rule, asks for the `jet` of *that* to one order less, and integrates.

A polynomial is a list of coefficients, all of one type. It may be shorter than the order asks for:
what is missing is zero. A constant is a polynomial of degree 0.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checks.sequences import iterable
from ..core import dtypes, primitives
from ..core.api_util import flatten_fun_nokwargs
from ..core.boundary import public
from ..core.core import (
    Primitive,
    RuleTable,
    missing_rule,
    typeof,
)
from ..core.forward import Zero, instantiate_zeros, primitive_jvps
from ..core.tree import tree_structure
from ..core.util import partition_list
from ..custom_rules.jvp import custom_jvp_call_p
from ..lax import (
    complex_numbers,
    convolution,
    cumulative,
    elementwise as lax,
    fourier as fft,
    gathering as gather,
    scattering as scatter,
    shaping,
    slicing,
    trigonometric,
    windowed_reductions as reduce_window,
)
from ..lax.control_flow.parts import PartsTrace as _PartsTrace
from ..lax.cutting import concatenate_p, pad_p, slice_p, split_p
from ..lax.selection import select_n_p
from ..lax.shaping import copy_p
from ..lax.special import lgamma
from ..lax.stacking import stack_p, unstack_p
from ..numpy._arguments import ensure_arraylike
from ..pytree.functions import treedef_is_leaf
from ..pytree.registration import register_pytree_node

Polynomial = list  # of coefficients


@public
def jet(fun: Callable, primals: Sequence, series: Sequence, factorial_scaled: bool = True,
        **_) -> tuple[Any, Any]:
    """The Taylor series of `fun` along a curve.

    Args:
      fun: a function of arrays that returns a pytree of arrays.
      primals: the arguments at ε = 0.
      series: for each argument, a list of the derivatives of the curve there, from the first on;
        all lists have one length, the order.
      factorial_scaled: if false, the lists hold coefficients of powers of ε, in and out, instead
        of derivatives, which are k! times as large.

    Returns:
      `(primals_out, series_out)`: the result, and a pytree like it that has, for each array, the
      list of derivatives.

    Raises:
      ValueError: lists of different lengths, or arguments that are no arrays.
      TypeError: integers, which do not move along a curve.

    >>> from minijax.experimental.jet import jet
    >>> y, derivatives = jet(lambda x: x**3, (2.0,), ([1.0, 0.0, 0.0],))
    >>> y.item(), [d.item() for d in derivatives]
    (8.0, [12.0, 12.0, 6.0])
    """
    order = _order(primals, series)
    scale = [float(math.factorial(k)) if factorial_scaled else 1 for k in range(1, order + 1)]
    polynomials = [*map(functools.partial(_curve, scale), primals, series)]
    flat_fun, out_tree = flatten_fun_nokwargs(fun, tree_structure(tuple(primals)))
    outs = jet_flat(flat_fun, order, polynomials)
    values = [y[0] for y in outs]
    derivatives = [[k * c for k, c in zip(scale, _padded(y, order)[1:])] for y in outs]
    return out_tree().unflatten(values), out_tree().unflatten(derivatives)


jet2 = functools.partial(jet, factorial_scaled=False)


def fact(n):
    """The factorial of a number, as JAX computes it: by the gamma function.

    >>> round(fact(3).item(), 3)
    6.0
    """
    return lax.exp(lgamma(n + 1.0))


class ZeroTerm:
    """JAX's mark for a derivative that is zero, here for programs that name it."""


class ZeroSeries:
    """JAX's mark for derivatives that are all zero. Our results hold arrays instead."""


zero_term, zero_series = ZeroTerm(), ZeroSeries()
register_pytree_node(ZeroTerm, lambda _: ((), None), lambda _, __: zero_term)
register_pytree_node(ZeroSeries, lambda _: ((), None), lambda _, __: zero_series)


def _order(primals, series) -> int:
    """The length that all lists have."""
    iterable("jet: series", series, "a sequence with a list of derivatives for each argument")
    lengths = {len(terms) for terms in series}
    if len(lengths) != 1:
        raise ValueError("jet: the lists in `series` must have one length for all arguments, got "
                         f"the lengths {sorted(lengths)}")
    for i, (x, terms) in enumerate(zip(primals, series)):
        for what, leaf in (("primal value", x), *((f"term {j}", t) for j, t in enumerate(terms))):
            if not treedef_is_leaf(tree_structure(leaf)):
                raise ValueError(f"jet: the {what} of argument {i} is not an array, but {leaf!r}")
            if np.shape(leaf) not in ((), np.shape(x)):
                raise TypeError(f"jet: the {what} of argument {i} must have the shape of the "
                                f"primal value, {np.shape(x)}, got {np.shape(leaf)}.")
    return lengths.pop()


def _curve(scale, primal, terms) -> Polynomial:
    """An argument as a polynomial."""
    primal = ensure_arraylike("jet", primal)
    if not dtypes.issubdtype(primal.dtype, np.inexact):
        if primal.dtype != bool and any(np.any(t) for t in terms):
            raise TypeError(f"jet: an argument of dtype {primal.dtype} cannot move along a curve: "
                            "make it a float, close over it, or give derivatives that are zero.")
        return [primal]
    return [primal, *(primitives.convert(t, primal.dtype, typeof(t).weak_type) / k
                      for k, t in zip(scale, terms))]


# ----------------------------------------------------------------------------------------------
# The trace


class JetTrace(_PartsTrace):
    """Computes with polynomials in ε. The setting is `order`, the highest degree."""

    __slots__ = ()
    # A function with a derivative of its own is not entered, but differentiated by that.
    rules = {custom_jvp_call_p: lambda trace, polynomials, **params: by_jvp(
        custom_jvp_call_p, trace.order, *polynomials, **params)}

    @property
    def order(self) -> int:
        return self.settings[0]

    def box(self, polynomial: Polynomial):
        """A tracer, unless the value does not move: then the value will do."""
        if not dtypes.issubdtype(typeof(polynomial[0]).dtype, np.inexact):
            return polynomial[0]
        return super().box(polynomial[: self.order + 1])

    def widen(self, polynomial: Polynomial, n: int) -> Polynomial:
        return _padded(polynomial, n - 1)

    def apply(self, primitive, polynomials, params):
        rule = jet_rules.get(primitive) or functools.partial(by_jvp, primitive)
        return rule(self.order, *polynomials, **params)


def jet_flat(fun: Callable, order: int, polynomials: Sequence[Polynomial]) -> list[Polynomial]:
    """The polynomials of what `fun` returns, a list of arrays, for those of its arguments."""
    return JetTrace.run(fun, polynomials, order)


# ----------------------------------------------------------------------------------------------
# Polynomials


def _padded(x: Polynomial, degree: int) -> Polynomial:
    """With zeros for the coefficients that are missing up to `degree`."""
    return x + [shaping.full_like(x[0], 0) for _ in range(degree + 1 - len(x))]


def _derivative(x: Polynomial) -> Polynomial:
    return [k * c for k, c in enumerate(x)][1:]


def _integral(start, slope: Polynomial) -> Polynomial:
    """The polynomial with this slope whose value at ε = 0 is `start`."""
    return [start, *(c / k for k, c in enumerate(slope, start=1))]


def _sum(terms: Sequence):
    return functools.reduce(lax.add, terms)


def _in_product(x: Polynomial, y: Polynomial, k: int, mul: Callable = lax.mul) -> list:
    """The products whose sum is the k-th coefficient of x · y."""
    return [mul(c, y[k - j]) for j, c in enumerate(x) if 0 <= k - j < len(y)]


# ----------------------------------------------------------------------------------------------
# The rule for everything

# primitive -> (order, *polynomials, **params) -> polynomial, or a list of them
jet_rules: dict[Primitive, Callable] = {}


def by_jvp(primitive: Primitive, order: int, *args: Polynomial, **params):
    """y' = jvp(x, x'), to one order less; integrated, that is y."""
    rule = primitive_jvps.get(primitive)
    if rule is None:
        raise missing_rule(primitive, "Taylor-mode differentiation", 2)
    moves = [len(x) > 1 for x in args]

    def jvp(*leaves):
        """Of the values of all arguments, and the slopes of those that move."""
        values, slopes = leaves[: len(args)], iter(leaves[len(args):])
        out, slope = rule(values, [next(slopes) if m else Zero.from_primal_value(x)
                                   for m, x in zip(moves, values)], **params)
        return (out, slope) if primitive.multiple_results else ([out], [slope])

    curves = [*args, *(_derivative(x) for x in args if len(x) > 1)]
    values, slopes = jvp(*(x[0] for x in curves))
    moved = [type(slope) is not Zero for slope in slopes]
    series = [[slope] for slope in partition_list(moved, slopes)[1]]
    if series and order > 1:
        series = jet_flat(lambda *leaves: partition_list(moved, jvp(*leaves)[1])[1], order - 1,
                          [x[:order] for x in curves])
    rest = iter(series)
    outs = [_integral(y, next(rest)) if m else [y] for y, m in zip(values, moved)]
    return outs if primitive.multiple_results else outs[0]


# ----------------------------------------------------------------------------------------------
# Linear primitives: each coefficient for itself


def _linear(primitive: Primitive) -> None:
    """The primitive is linear in all its arguments together."""
    def rule(order, *args, **params):
        degree = max(map(len, args)) - 1
        in_step = zip(*(_padded(x, degree) for x in args))
        outs = [primitive.bind(*coefficients, **params) for coefficients in in_step]
        return [*map(list, zip(*outs))] if primitive.multiple_results else outs

    jet_rules[primitive] = rule


def _linear_in_floats(primitive: Primitive) -> None:
    """The primitive is linear in its floats; indices, or the like, it takes besides.

    Its own derivative tells which are which: coefficient by coefficient, it is applied to them.
    """
    def rule(order, *args, **params):
        values, out = [x[0] for x in args], []
        for k in range(1, max(map(len, args))):
            terms = [x[k] if k < len(x) else Zero.from_primal_value(x[0]) for x in args]
            value, term = primitive_jvps[primitive](values, terms, **params)
            out = [*(out or [value]), instantiate_zeros(term)]
        return out

    jet_rules[primitive] = rule


for _p in (
    primitives.neg_p, complex_numbers.real_p, complex_numbers.imag_p, complex_numbers.complex_p,
    complex_numbers.conj_p, copy_p,
    primitives.broadcast_in_dim_p, concatenate_p, pad_p, primitives.reshape_p,
    shaping.rev_p, split_p, primitives.squeeze_p, stack_p, primitives.transpose_p,
    unstack_p, slice_p, cumulative.cumsum_p, primitives.reduce_sum_p,
    reduce_window.reduce_window_sum_p, fft.fft_p,
):
    _linear(_p)

for _p in (
    primitives.add_p, primitives.add_any_p, primitives.sub_p, primitives.convert_element_type_p,
    select_n_p, slicing.dynamic_slice_p, slicing.dynamic_update_slice_p, gather.gather_p,
    scatter.scatter_add_p, scatter.scatter_p, scatter.scatter_sub_p,
):
    _linear_in_floats(_p)

# ----------------------------------------------------------------------------------------------
# Products and quotients


def _bilinear(primitive: Primitive) -> None:
    """The primitive is linear in each of its two arguments."""
    def rule(order, x, y, **params):
        mul = functools.partial(primitive.bind, **params)
        return _product(order, x, y, mul)

    jet_rules[primitive] = rule


def _product(order, x, y, mul: Callable = lax.mul):
    degree = min(order, len(x) + len(y) - 2)
    return [_sum(_in_product(x, y, k, mul)) for k in range(degree + 1)]


for _p in (primitives.mul_p, primitives.dot_general_p, convolution.conv_general_dilated_p):
    _bilinear(_p)


def _quotient(order, x, y):
    """From x = y · z: all but one of the products in the k-th coefficient of x are known."""
    x, z = _padded(x, order), []
    for k in range(order + 1):
        known = _in_product(z, y[1:], k - 1)
        z.append((lax.sub(x[k], _sum(known)) if known else x[k]) / y[0])
    return z


def _integer_pow(order, x, *, y):
    """Products; but the power of a quotient by its equation."""
    if y < 0:
        return _power(lax.integer_pow(x[0], y), order, x, y)
    if y == 0:
        return [shaping.full_like(x[0], 1)]
    root = x if y < 2 else _integer_pow(order, x, y=y // 2)
    square = root if y < 2 else _product(order, root, root)
    return square if y % 2 == 0 or y == 1 else _product(order, square, x)


jet_rules[primitives.div_p] = _quotient
jet_rules[primitives.integer_pow_p] = _integer_pow
jet_rules[lax.square_p] = lambda order, x: _product(order, x, x)

# ----------------------------------------------------------------------------------------------
# Functions whose derivative is made of themselves. By their JVP rule, each order would compute the
# one before anew; the differential equation gives one coefficient after the other.


def _power(start, order, x, a):
    """y = xᵃ: from x y' = a y x'. The slope of the power is the power again."""
    y = [start]
    for k in range(1, order + 1):
        terms = [(a * j - (k - j)) * c * y[k - j] for j, c in enumerate(x[: k + 1]) if j]
        y.append(_sum(terms) / (k * x[0]))
    return y


def _riccati(start, order, x, a, b, c):
    """y' = (a + b y + c y²) x'."""
    y, slope, dx = [start], [], _derivative(x)
    for k in range(order):
        terms = [shaping.full_like(start, a)] if a and k == 0 else []
        terms += [b * y[k]] if b else []
        terms += [c * product for product in _in_product(y, y, k)] if c else []
        slope.append(_sum(terms))
        y.append(_sum(_in_product(slope, dx, k)) / (k + 1))
    return y


def _defpower(primitive: Primitive, exponent: float) -> None:
    jet_rules[primitive] = lambda order, x, **params: _power(
        primitive.bind(x[0], **params), order, x, exponent)


def _defriccati(primitive: Primitive, a: float, b: float, c: float) -> None:
    jet_rules[primitive] = lambda order, x, **params: _riccati(
        primitive.bind(x[0], **params), order, x, a, b, c)


_defpower(lax.sqrt_p, 1 / 2)
_defpower(lax.rsqrt_p, -1 / 2)
_defpower(lax.cbrt_p, 1 / 3)
_defriccati(primitives.exp_p, 0, 1, 0)
_defriccati(lax.exp2_p, 0, math.log(2), 0)
_defriccati(lax.expm1_p, 1, 1, 0)
_defriccati(lax.logistic_p, 0, 1, -1)
_defriccati(primitives.tanh_p, 1, 0, -1)
_defriccati(lax.tan_p, 1, 0, 1)


def _pow(order, x, y):
    """A power with a constant exponent, or exp(y log x)."""
    value = lax.pow_p.bind(x[0], y[0])
    if len(y) == 1:
        return _power(value, order, x, primitives.convert(y[0], typeof(x[0]).dtype))
    exponent, = jet_flat(lambda x, y: [lax.mul(y, lax.log(x))], order, [x, y])
    return _riccati(value, order, exponent, 0, 1, 0)


jet_rules[lax.pow_p] = _pow


def _sine_and_cosine(sine, cosine, sign: int, order: int, x: Polynomial):
    """s' = c x' and c' = ± s x'."""
    s, c, dx = [sine(x[0])], [cosine(x[0])], _derivative(x)
    for k in range(order):
        s_next, c_next = (_sum(_in_product(y, dx, k)) / (k + 1) for y in (c, s))
        s.append(s_next)
        c.append(sign * c_next)
    return s, c


def _defpair(sine_p: Primitive, cosine_p: Primitive, sign: int) -> None:
    both = functools.partial(_sine_and_cosine, sine_p.bind, cosine_p.bind, sign)
    jet_rules[sine_p] = lambda order, x, **params: both(order, x)[0]
    jet_rules[cosine_p] = lambda order, x, **params: both(order, x)[1]


_defpair(primitives.sin_p, primitives.cos_p, -1)
_defpair(trigonometric.sinh_p, trigonometric.cosh_p, 1)

jet_rules = RuleTable(jet_rules)  # what is set from now on changes a rule that traces have obeyed
